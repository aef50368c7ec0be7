"""/v1/knowledge: documents of a user, and what is found in them and in everybody's, which administrators add."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal, get_args
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas.http.admin import admin_of
from maas.http.attachments import read_form
from maas.http.authorize import principal_of, read_body, read_user
from maas.http.request_input import (
    read_cursor,
    read_id,
    read_limit,
    read_parameter,
    to_bool,
    to_search_text,
    write_cursor,
)
from maas.http.schemas import MessageText, QueryText, RequestBody, Schema, json_response
from maas.http.shares import MAX_SMALL_TEXT_BYTES
from maas.http.state import app_state
from maas.knowledge.documents import list_documents, read_chunks, read_document, remove
from maas.knowledge.ingestion import MAX_NAME_CHARS, add_document, new_track_id
from maas.knowledge.readers import READERS
from maas.knowledge.search import MIN_QUERY_CHARS, Mode, search_knowledge
from maas.memory.erase import answers_from, forget_origin
from shared.errors import MaasError
from shared.text import clean

MODES = get_args(Mode)
DOCUMENT_TYPES = tuple(READERS)
MAX_PASSAGES, DEFAULT_PASSAGES = 100, 10


DocumentName = Annotated[QueryText, Field(max_length=MAX_NAME_CHARS)]
NAME = (
    "Its name or path, as references show it; it ends with .txt, .md, .html, .docx or .pdf. A document of this name is "
    "replaced."
)


class NewSharedDocument(RequestBody):
    name: DocumentName = Field(description=NAME)
    file: bytes = Field(description="The file.", json_schema_extra={"format": "binary"})


class NewDocument(NewSharedDocument):
    user_id: UUID


class NewTextDocument(RequestBody):
    user_id: UUID
    name: DocumentName = Field(description=NAME.replace(", .docx or .pdf", ""))
    text: MessageText = Field(description="What the file would hold.")


class DocumentState(Schema):
    id: UUID
    is_everybodys: bool = Field(description="Operators have added it for all users.")
    name: str
    media_type: str
    bytes: int
    pages: int | None = Field(description="null for formats without pages.")
    chunks: int = Field(description="The number of pieces that are searched; 0 until it is read.")
    summary: str = Field(description="Its headings and its beginning.")
    status: Literal["pending", "processing", "processed", "failed"]
    error: str | None
    track_id: str = Field(description="The ingestion that read it last, or is about to.")
    created_at: datetime
    updated_at: datetime


class AddedDocument(DocumentState):
    outcome: Literal["added", "unchanged"] = Field(description="unchanged: this file was read before.")


class DocumentPage(Schema):
    results: list[DocumentState]
    next: str | None = Field(description="Send it as `before` to get the next page.")


class DocumentPiece(Schema):
    """A piece of a document; a heading is repeated in every piece below it."""

    number: int = Field(description="From 1.")
    heading: str
    page: int | None
    position: int = Field(description="Of its first character in the text of the document.")
    text: str


class DocumentText(Schema):
    results: list[DocumentPiece]
    next: int | None = Field(description="Send it as `after` to get the next page.")


class AnswerFromDocument(Schema):
    """An answer that was made from a document, as memory keeps it."""

    request_id: UUID
    id: UUID
    created_at: datetime
    answer: str = Field(description="The beginning of the answer.")


class DocumentRemoved(Schema):
    """What was made from a removed document: answers stay in memory unless `answers=true` forgets them."""

    answers: list[AnswerFromDocument] = Field(description="At most 100, newest first; none of everybody's document.")
    total: int = Field(description="How many answers were made from it.")
    forgotten: int = Field(description="How many of them were deleted.")


class FoundPassage(Schema):
    document_id: UUID
    chunk: int
    name: str
    heading: str
    page: int | None
    position: int = Field(description="Of its first character in the text of the document.")
    text: str
    score: float


class PassageList(Schema):
    results: list[FoundPassage]
    total: int = Field(description="How many passages answer nearly as well as the best one, at most 1,000.")


async def post_document(request: Request) -> Response:
    """Read a document (txt, md, html, docx, pdf) and keep it for one user."""
    state = app_state(request)
    max_bytes = state.settings.uploads.knowledge_bytes
    async with read_form(request, NewDocument, "file", max_bytes, state.shares.documents) as form:
        return await _add(request, form.user_id, form.name, form.file)


async def post_shared_document(request: Request) -> Response:
    """Read a document (txt, md, html, docx, pdf) and keep it for everybody."""
    admin_of(request)
    state = app_state(request)
    max_bytes = state.settings.uploads.knowledge_bytes
    async with read_form(request, NewSharedDocument, "file", max_bytes, state.shares.documents) as form:
        return await _add(request, None, form.name, form.file)


async def post_text(request: Request) -> Response:
    """Keep a text (txt, md, html) as a document of one user."""
    body = await read_body(request, NewTextDocument)
    shares, content = app_state(request).shares, clean(body.text).encode()
    share = shares.texts if len(content) <= MAX_SMALL_TEXT_BYTES else shares.documents
    async with share.hold(body.user_id):
        return await _add(request, body.user_id, body.name, content)


async def _add(request: Request, user_id: UUID | None, name: str, content: bytes) -> Response:
    state = app_state(request)
    added = await add_document(
        state.db, user_id, name, content, track_id=new_track_id(), max_bytes=state.settings.uploads.knowledge_bytes
    )
    if added.outcome == "failed" or added.document_id is None:
        raise MaasError("invalid_request", f"file: {added.error}")
    document = asdict(await read_document(state.db, user_id, added.document_id))
    return json_response(AddedDocument(**document, outcome=added.outcome), 201)


async def get_documents(request: Request) -> Response:
    """List the documents that a user may find things in, newest first, everybody's included."""
    return await _list(request, read_user(request))


async def get_shared_documents(request: Request) -> Response:
    """List everybody's documents, newest first."""
    admin_of(request)
    return await _list(request, None)


async def _list(request: Request, user_id: UUID | None) -> Response:
    limit = read_limit(request)
    documents = await list_documents(app_state(request).reads, user_id, limit, read_cursor(request))
    rows = [asdict(one) for one in documents]
    return json_response(DocumentPage(results=[DocumentState(**one) for one in rows], next=write_cursor(rows, limit)))


async def get_document(request: Request) -> Response:
    """Return the state of a document of a user, or of one that is everybody's."""
    document = await read_document(app_state(request).reads, read_user(request), read_id(request, "document"))
    return json_response(DocumentState(**asdict(document)))


async def get_document_text(request: Request) -> Response:
    """Return what a document says, piece by piece, in its order."""
    limit = read_limit(request)
    after: int = read_parameter(request, "after", _read_number, 0)
    document_id = read_id(request, "document")
    rows = await read_chunks(app_state(request).reads, read_user(request), document_id, after, limit)
    pieces = [DocumentPiece(**row) for row in rows]
    return json_response(DocumentText(results=pieces, next=pieces[-1].number if len(pieces) == limit else None))


async def get_passages(request: Request) -> Response:
    """Find the passages that answer a query, in the documents of a user and in everybody's."""
    mode: Mode = read_parameter(request, "mode", _read_mode, "mix")
    limit: int = read_parameter(request, "limit", _read_limit, DEFAULT_PASSAGES)
    query: str | None = read_parameter(request, "q", to_search_text)
    if query is None or len(query) < MIN_QUERY_CHARS:
        raise MaasError("bad_parameter", f"q: must have at least {MIN_QUERY_CHARS} characters")
    state, user_id = app_state(request), read_user(request)
    async with state.shares.reads.hold(user_id):
        found = await search_knowledge(
            state.reads, user_id, query, mode=mode, limit=limit, query_embedder=state.query_embedder
        )
    results = [FoundPassage.model_validate(one, from_attributes=True) for one in found.passages]
    return json_response(PassageList(results=results, total=found.total))


def _read_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise ValueError("must be the number of a piece")
    return int(text)


def _read_limit(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= MAX_PASSAGES):
        raise ValueError(f"must be a whole number from 1 to {MAX_PASSAGES}")
    return int(text)


def _read_mode(text: str) -> Mode:
    if text not in MODES:
        raise ValueError(f"must be one of {', '.join(MODES)}")
    mode: Mode = text  # type: ignore[assignment]
    return mode


async def delete_document(request: Request) -> Response:
    """Remove a document of a user."""
    return await _remove(request, read_user(request), read_id(request, "document"))


async def delete_shared_document(request: Request) -> Response:
    """Remove a document of everybody's."""
    admin_of(request)
    text = request.path_params["document"]
    try:
        document_id = UUID(text)
    except ValueError as error:
        raise MaasError("not_found", f"there is no document {text[:80]!r}; an id is a UUID") from error
    return await _remove(request, None, document_id)


async def _remove(request: Request, user_id: UUID | None, document_id: UUID) -> Response:
    db, origin = app_state(request).db, {"kind": "document", "id": str(document_id)}
    is_forgetting = read_parameter(request, "answers", to_bool, False)
    await remove(db, user_id, document_id)
    answers, total = await answers_from(db, user_id, origin)
    forgotten = 0
    if is_forgetting and total:
        forgotten = (await forget_origin(db, user_id, [origin], principal_of(request).name))["answers"]
    named = [
        AnswerFromDocument(
            request_id=one["request_id"], id=one["id"], created_at=one["created_at"], answer=one["answer"]
        )
        for one in (answers if user_id is not None else [])
    ]
    return json_response(DocumentRemoved(answers=named, total=total, forgotten=forgotten))


UPLOADS = (post_document, post_shared_document)
