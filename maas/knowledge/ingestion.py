"""Ingestion: files become documents. A file that was read before, and has not changed, is not read again."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal
from uuid import UUID, uuid4

import structlog

from maas import queries
from maas.knowledge.documents import store
from maas.knowledge.files import LINK, SourceFile, media_type_of
from maas.knowledge.outline import Unreadable
from maas.knowledge.reader import ReadDocument, read_file
from maas.knowledge.readers import MEDIA_TYPES
from shared.db import Database
from shared.errors import MaasError
from shared.json import is_storable
from shared.text import clean, is_blank

MAX_NAME_CHARS = 500
READERS_AT_ONCE = 2
EXPECTED_AT_ONCE = 1000
UNKNOWN_TYPE = "application/octet-stream"
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Added:
    """What became of one file: `error` says why it could not be read."""

    document_id: UUID | None
    name: str
    outcome: Literal["added", "unchanged", "failed"]
    chunks: int = 0
    error: str | None = None


def new_track_id() -> str:
    """The name of an ingestion, by which its documents are found."""
    return f"insert_{uuid4().hex}"


async def ingest_files(
    db: Database,
    user_id: UUID | None,
    files: Sequence[SourceFile],
    *,
    track_id: str,
    max_bytes: int,
    on_done: Callable[[Added], object] = lambda added: None,
) -> list[Added]:
    """Read files, as `list_files` found them, into documents; `user_id` None: for everybody.

    The same files again: what was read is left alone, so an ingestion that was stopped goes on where it was.
    """
    for start in range(0, len(files), EXPECTED_AT_ONCE):
        some = files[start : start + EXPECTED_AT_ONCE]
        documents = [
            {
                "name": one.name,
                "media_type": media_type_of(one.name) or UNKNOWN_TYPE,
                "bytes": one.size,
                "track_id": track_id,
            }
            for one in some
            if is_name(one.name)
        ]
        await db.value(queries.expect_documents, user_id, list({one["name"]: one for one in documents}.values()))
    slots = asyncio.Semaphore(READERS_AT_ONCE)

    async def ingest(file: SourceFile) -> Added:
        name = file.name
        async with slots:
            try:
                if file.size > max_bytes:
                    raise MaasError("too_large", _too_large(file.size, max_bytes))
                content = await asyncio.to_thread(file.read, max_bytes)
                added = await add_document(
                    db, user_id, name, content, track_id=track_id, max_bytes=max_bytes, is_expected=True
                )
            except OSError as error:
                reason = LINK if error.errno in (errno.ELOOP, errno.ENOTDIR) else error.strerror or str(error)
                added = Added(None, name, "failed", error=reason)
            except MaasError as error:
                if error.code not in ("too_large", "invalid_request"):
                    raise
                added = Added(None, name, "failed", error=error.message)
            if added.error is not None and is_name(name):
                await db.value(queries.mark_document, user_id, name, "failed", clean(added.error))
            on_done(added)
            return added

    return list(await asyncio.gather(*map(ingest, files)))


def is_name(name: str) -> bool:
    """Whether a document may have this name: 1 to MAX_NAME_CHARS characters in one line that Postgres can hold."""
    return not is_blank(name) and len(name) <= MAX_NAME_CHARS and is_storable(name) and "\n" not in name


def _too_large(size: int, max_bytes: int) -> str:
    return f"it has {size} bytes, and {max_bytes} are allowed: split it"


async def add_document(
    db: Database,
    user_id: UUID | None,
    name: str,
    content: bytes,
    *,
    track_id: str,
    max_bytes: int,
    is_expected: bool = False,
) -> Added:
    """Read a file and store it in place of the document of this name; `user_id` None: for everybody.

    A file that cannot be read changes nothing. `is_expected`: the document is shown while it is read. Raises
    MaasError: `invalid_request` for a name that cannot be, `too_large`.
    """
    if not is_name(name):
        raise MaasError("invalid_request", f"name: 1 to {MAX_NAME_CHARS} characters in one line")
    if len(content) > max_bytes:
        raise MaasError("too_large", _too_large(len(content), max_bytes))
    digest = sha256(content).hexdigest()
    known = await db.row(queries.known_document, user_id, name)
    if known is not None and known["sha256"] == digest and known["status"] == "processed":
        return Added(known["id"], name, "unchanged")
    if is_expected:
        await db.value(queries.mark_document, user_id, name, "processing", None)
    media_type = media_type_of(name)
    try:
        document = await _read(content, media_type)
    except Unreadable as error:
        log.info("document_unreadable", cause=str(error))
        return Added(known["id"] if known is not None else None, name, "failed", error=str(error))
    fields = {
        "name": name,
        "media_type": media_type,
        "sha256": digest,
        "bytes": len(content),
        "track_id": track_id,
        "pages": document.pages,
        "summary": document.summary,
        "status": "processed",
    }
    return Added(await store(db, user_id, fields, document.chunks), name, "added", len(document.chunks))


async def _read(content: bytes, media_type: str | None) -> ReadDocument:
    """What a file says, in at least one chunk. Raises Unreadable."""
    if media_type is None:
        endings = ", ".join(sorted(MEDIA_TYPES))
        raise Unreadable(f"its format is not supported; names end with {endings}")
    if not content or content.isspace():
        raise Unreadable("it is empty")
    document = await read_file(content, media_type)
    if not document.chunks:
        raise Unreadable("it contains no text; run OCR on a scan first")
    return document
