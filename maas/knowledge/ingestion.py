"""Ingestion: files become documents. A file that was read before, and has not changed, is not read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Literal
from uuid import UUID, uuid4

import structlog

from maas.knowledge.chunks import cut, summary
from maas.knowledge.documents import store
from maas.knowledge.reader import read_sections
from maas.knowledge.readers import MEDIA_TYPES, READERS, Unreadable
from shared.db import Database
from shared.errors import MaasError
from shared.json import is_storable
from shared.text import is_blank

MAX_NAME_CHARS = 500
MAX_CHUNKS = 20_000
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


def media_type_of(name: str) -> str | None:
    """The type of a file by the end of its name; None for one that nothing here reads."""
    return MEDIA_TYPES.get(PurePosixPath(name).suffix.lower())


def files_in(paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """The files that can be read among `paths` and, sorted, in folders among them; each with its name as a document.

    Hidden files and links to folders are left out. Raises MaasError('bad_parameter') for a path that is not there.
    """
    for path in paths:
        if path.is_file():
            yield path, path.name
        elif path.is_dir():
            for found in sorted(path.rglob("*")):
                inner = found.relative_to(path.parent if path.name else path)
                if found.is_file() and media_type_of(found.name) and not any(p.startswith(".") for p in inner.parts):
                    yield found, inner.as_posix()
        else:
            raise MaasError("bad_parameter", f"{path}: there is no such file or folder")


async def add_document(
    db: Database, user_id: UUID | None, name: str, content: bytes, *,
    media_type: str | None = None, track_id: str, max_bytes: int,
) -> Added:  # fmt: skip
    """Read a file and store it in place of the document of this name; `user_id` None: for everybody.

    A file that cannot be read becomes a failed document that says why, unless one of its name was read before.
    Raises MaasError: `invalid_request` for a name that cannot be, `too_large`.
    """
    if is_blank(name) or len(name) > MAX_NAME_CHARS or not is_storable(name) or "\n" in name:
        raise MaasError("invalid_request", f"name: 1 to {MAX_NAME_CHARS} characters in one line")
    if len(content) > max_bytes:
        raise MaasError("too_large", f"{name}: has more than {max_bytes} bytes; split it")
    digest = sha256(content).hexdigest()
    known = await db.row("known_document", user_id, name)
    if known is not None and known["sha256"] == digest and known["status"] == "processed":
        return Added(known["id"], name, "unchanged")
    media_type = media_type or media_type_of(name)
    fields = {"name": name, "media_type": media_type or "unknown", "sha256": digest, "bytes": len(content),
              "track_id": track_id}  # fmt: skip
    try:
        if media_type not in READERS:
            endings = ", ".join(sorted({*MEDIA_TYPES}))
            raise Unreadable(f"its format is not read; names end with {endings}")
        if not content.strip():
            raise Unreadable("it is empty")
        sections = await read_sections(content, media_type)
        chunks = cut(sections)
        if not chunks:
            raise Unreadable("it holds no text; a scan must be recognised first")
        if len(chunks) > MAX_CHUNKS:
            raise Unreadable(f"it is too long, more than {MAX_CHUNKS} chunks: split it")
    except Unreadable as error:
        log.info("document_not_read", name=name, cause=str(error))
        if known is not None and known["status"] == "processed":
            return Added(known["id"], name, "failed", error=str(error))
        document_id = await store(db, user_id, fields | {"status": "failed", "error": str(error)}, ())
        return Added(document_id, name, "failed", error=str(error))
    pages = max((section.page for section in sections if section.page is not None), default=None)
    fields |= {"status": "processed", "pages": pages, "summary": summary(sections)}
    document_id = await store(db, user_id, fields, chunks)
    return Added(document_id, name, "added", len(chunks))
