"""Documents as the database holds them: those of a user, and everybody's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from maas import queries
from maas.knowledge.chunks import Chunk
from shared.db import Database
from shared.errors import MaasError

Status = Literal["pending", "processing", "processed", "failed"]
MAX_READING = timedelta(minutes=5)  # more than any file may take


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a user, or of everybody. `pages` is None for formats without pages.

    A pending one waits in an ingestion, or was left behind by one that was stopped. A failed one may have chunks: those
    of the file of this name that was read before.
    """

    id: UUID
    is_everybodys: bool
    name: str
    media_type: str
    bytes: int
    pages: int | None
    chunks: int
    summary: str
    status: Status
    error: str | None
    track_id: str
    created_at: datetime
    updated_at: datetime


async def store(db: Database, user_id: UUID | None, fields: dict[str, Any], chunks: Sequence[Chunk]) -> UUID:
    """Store a document in place of the one of its name; `user_id` None: everybody's."""
    stored: UUID = await db.value(queries.add_document, user_id, fields, [asdict(chunk) for chunk in chunks])
    return stored


async def list_documents(
    db: Database, user_id: UUID | None, limit: int, before: tuple[datetime, UUID] | None = None
) -> list[Document]:
    """The documents that this user may read, newest first; `user_id` None: everybody's alone."""
    rows = await db.rows(queries.list_documents, user_id, *(before or (None, None)), limit)
    return [Document(**row) for row in rows]


async def read_document(db: Database, user_id: UUID | None, document_id: UUID) -> Document:
    """A document that this user may read, or one of everybody's. Raises MaasError('not_found')."""
    row = await db.row(queries.document, user_id, document_id)
    if row is None:
        raise MaasError("not_found", f"there is no document {document_id}")
    return Document(**row)


async def read_chunks(
    db: Database, user_id: UUID, document_id: UUID, after: int, limit: int
) -> list[queries.DocumentChunksRow]:
    """The chunks of a document behind number `after`, in their order. Raises MaasError('not_found')."""
    await read_document(db, user_id, document_id)
    return await db.rows(queries.document_chunks, user_id, document_id, after, limit)


async def remove(db: Database, user_id: UUID | None, document_id: UUID) -> None:
    """Remove a document of this user, or of everybody. Raises MaasError('not_found')."""
    if not await db.value(queries.remove_document, user_id, document_id):
        raise MaasError("not_found", f"there is no document {document_id}")


async def tracked(db: Database, user_id: UUID, track_id: str) -> list[queries.TrackedDocumentsRow]:
    """The documents of one ingestion that this user may read: name, status, error, chunks and times."""
    return await db.rows(queries.tracked_documents, user_id, track_id[:64])


async def ingestion_status(db: Database, user_id: UUID) -> dict[str, Any]:
    """Whether documents of this user or everybody's are being read, and how many there are in each status."""
    row = await db.row(queries.knowledge_state, user_id, MAX_READING)
    assert row is not None
    return {
        "busy": row["busy"],
        "documents": row["documents"],
        "chunks": int(row["chunks"]),
        "pending": row["pending"],
        "processing": row["processing"],
        "processed": row["processed"],
        "failed": row["failed"],
    }
