"""What a search in documents gives a model: the same shapes from a LightRAG server and from our own knowledge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from maas.assistants.corporate.lightrag_client import Mode
from maas.tools.rows import LeftOut, fit_members
from shared.text import clean, one_line, shorten

MAX_RESPONSE_BYTES = 14_500  # these and those below: of JSON, together less than a tool may return
MAX_PASSAGES_BYTES = 8_000
MAX_GRAPH_BYTES = 3_500
MAX_REFERENCES_BYTES = 4_000
MAX_DOCUMENTS_BYTES = 16_000
MAX_PASSAGE_CHARS = 1_500
MAX_DESCRIPTION_CHARS = 200
_DATA_LIMITS = {
    "passages": MAX_PASSAGES_BYTES,
    "entities": MAX_GRAPH_BYTES,
    "relations": MAX_GRAPH_BYTES,
    "references": MAX_REFERENCES_BYTES,
}


@dataclass(frozen=True, slots=True)
class KnowledgeQuery:
    """A question to documents; `top_k` is how many passages, entities or relations may count."""

    query: str
    mode: Mode = "mix"
    top_k: int = 10
    include_references: bool = True


@dataclass(frozen=True, slots=True)
class Reference:
    """A source. `heading` and `page` are known for our own knowledge only."""

    reference_id: str
    file_path: str
    heading: str | None = None
    page: int | None = None

    def to_json(self) -> dict[str, Any]:
        heading = shorten(one_line(clean(self.heading or "")), MAX_DESCRIPTION_CHARS)
        known = {"heading": heading or None, "page": self.page}
        named = {"reference_id": self.reference_id, "file_path": shorten(self.file_path, MAX_DESCRIPTION_CHARS)}
        return named | {name: value for name, value in known.items() if value is not None}


@dataclass(frozen=True, slots=True)
class KnowledgeAnswer:
    """`found` counts what the answer rests on; None if the sources were not asked for, so nobody knows.

    `is_generated`: a model of the server wrote `response`; else these are quotations, or nothing was found.
    `documents` are those quoted; None where a server does not say which.
    """

    response: str
    references: tuple[Reference, ...]
    is_generated: bool
    found: int | None
    documents: tuple[UUID, ...] | None = None

    def fitted(self) -> tuple[dict[str, Any], LeftOut]:
        """JSON within what a tool may return, and what was left out of it."""
        shown = {
            "response": self.response,
            "references": [one.to_json() for one in self.references],
            "llm_generated": self.is_generated,
            "found": self.found,
        }
        return fit_members(shown, {"response": MAX_RESPONSE_BYTES, "references": MAX_REFERENCES_BYTES})


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A part of a document, word for word. `score` is 0 to 1, None where the server gives none."""

    reference: Reference
    text: str
    score: float | None = None

    def to_json(self) -> dict[str, Any]:
        shown = self.reference.to_json() | {"text": shorten(clean(self.text), MAX_PASSAGE_CHARS)}
        return shown if self.score is None else shown | {"score": round(self.score, 3)}


@dataclass(frozen=True, slots=True)
class KnowledgeData:
    """What a question finds. `entities` and `relations` come from a graph, which only a LightRAG server has.

    `documents` are those of the passages; None where a server does not say which.
    """

    passages: tuple[FoundPassage, ...]
    references: tuple[Reference, ...]
    found: int
    entities: tuple[dict[str, str], ...] = ()
    relations: tuple[dict[str, str], ...] = ()
    documents: tuple[UUID, ...] | None = None

    def fitted(self) -> tuple[dict[str, Any], LeftOut]:
        """JSON within what a tool may return, and what was left out of it."""
        shown = {
            "passages": [one.to_json() for one in self.passages],
            "entities": [_shortened(one) for one in self.entities],
            "relations": [_shortened(one) for one in self.relations],
            "references": [one.to_json() for one in self.references],
            "found": self.found,
        }
        return fit_members(shown, _DATA_LIMITS)


@dataclass(frozen=True, slots=True)
class TrackedDocument:
    """A document of one upload, and how far it is. Times are ISO texts."""

    name: str
    status: str
    error: str | None
    chunks: int | None
    created_at: str
    updated_at: str

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "status": self.status,
            "error": self.error,
            "chunks": self.chunks,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }


@dataclass(frozen=True, slots=True)
class KnowledgeState:
    """Whether documents are being read. `counts` are those that the backend knows, by name."""

    is_busy: bool
    counts: dict[str, int]
    message: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"busy": self.is_busy, **self.counts} | ({"message": self.message} if self.message else {})


class KnowledgeBackend(Protocol):
    """Where documents are searched on behalf of one user. All methods raise MaasError."""

    async def query(self, user_id: UUID, question: KnowledgeQuery) -> KnowledgeAnswer: ...

    async def query_data(self, user_id: UUID, question: KnowledgeQuery) -> KnowledgeData: ...

    async def track_status(self, user_id: UUID, track_id: str) -> list[TrackedDocument]: ...

    async def pipeline_status(self, user_id: UUID) -> KnowledgeState: ...


def _shortened(fields: dict[str, str]) -> dict[str, str]:
    return {name: shorten(text, MAX_DESCRIPTION_CHARS) for name, text in fields.items()}
