"""Documents that MaaS has read itself: each user finds their own ones and everybody's, without another service."""

from __future__ import annotations

from uuid import UUID

from maas import queries
from maas.assistants.corporate.knowledge import (
    FoundPassage,
    KnowledgeAnswer,
    KnowledgeData,
    KnowledgeQuery,
    KnowledgeState,
    Reference,
    TrackedDocument,
)
from maas.knowledge.documents import ingestion_status, tracked
from maas.knowledge.search import Found, Passage, search_knowledge
from shared.db import Database
from shared.models.calls import QueryEmbedder
from shared.text import clean, one_line

COUNTS = ("documents", "chunks", "pending", "processing", "processed", "failed")


class OwnBackend:
    """Our own search. No model is asked, so the response is passages word for word, the best first."""

    def __init__(self, db: Database, query_embedder: QueryEmbedder | None = None) -> None:
        self._db, self._query_embedder = db, query_embedder

    async def query(self, user_id: UUID, question: KnowledgeQuery) -> KnowledgeAnswer:
        """Raises MaasError."""
        return quoted(await self._search(user_id, question), question)

    async def query_data(self, user_id: UUID, question: KnowledgeQuery) -> KnowledgeData:
        """Raises MaasError."""
        return listed(await self._search(user_id, question), question)

    async def track_status(self, user_id: UUID, track_id: str) -> list[TrackedDocument]:
        """Raises MaasError."""
        return [_document(row) for row in await tracked(self._db, user_id, track_id)]

    async def pipeline_status(self, user_id: UUID) -> KnowledgeState:
        """Raises MaasError."""
        state = await ingestion_status(self._db, user_id)
        return KnowledgeState(bool(state["busy"]), {name: int(state[name]) for name in COUNTS})

    async def _search(self, user_id: UUID, question: KnowledgeQuery) -> Found:
        return await search_knowledge(
            self._db,
            user_id,
            question.query,
            mode=question.mode,
            limit=question.top_k,
            query_embedder=self._query_embedder,
        )


def quoted(found: Found, question: KnowledgeQuery) -> KnowledgeAnswer:
    """Numbered quotations. `found` is how many passages there are, which may be more than are quoted."""
    references = _references(found)
    response = "\n\n".join(map(_quotation, references, found.passages))
    return KnowledgeAnswer(response, references if question.include_references else (), False, found.total, _ids(found))


def listed(found: Found, question: KnowledgeQuery) -> KnowledgeData:
    """The passages as they are; there is no graph, so no entities and no relations."""
    references = _references(found)
    passages = tuple(
        FoundPassage(reference, one.text, one.score) for reference, one in zip(references, found.passages, strict=True)
    )
    return KnowledgeData(
        passages, references if question.include_references else (), found.total, documents=_ids(found)
    )


def _ids(found: Found) -> tuple[UUID, ...]:
    return tuple(dict.fromkeys(one.document_id for one in found.passages))


def _references(found: Found) -> tuple[Reference, ...]:
    return tuple(
        Reference(str(number), one.name, one.heading or None, one.page) for number, one in enumerate(found.passages, 1)
    )


def _quotation(reference: Reference, passage: Passage) -> str:
    """A passage under the number of its reference, its file, heading and page."""
    page = f"page {reference.page}" if reference.page is not None else None
    source = ", ".join(part for part in (reference.file_path, reference.heading, page) if part)
    return f"[{reference.reference_id}] {one_line(source)}\n«{clean(passage.text).strip()}»"


def _document(row: queries.TrackedDocumentsRow) -> TrackedDocument:
    created_at, updated_at = row["created_at"].isoformat(), row["updated_at"].isoformat()
    return TrackedDocument(row["name"], row["status"], row["error"], row["chunks"], created_at, updated_at)
