"""/v1/knowledge: documents of a user, and what is found in them and in everybody's."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, get_args
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas.http.attachments import read_form
from maas.http.auth.authorize import read_user
from maas.http.request_input import (
    read_cursor,
    read_id,
    read_limit,
    read_parameter,
    to_search_text,
    write_cursor,
)
from maas.http.schemas import QueryText, RequestBody, Schema, json_response
from maas.http.state import app_state
from maas.knowledge.documents import list_documents, remove
from maas.knowledge.ingestion import MAX_NAME_CHARS, add_document, new_track_id
from maas.knowledge.readers import READERS
from maas.knowledge.search import MIN_QUERY_CHARS, Mode, search_knowledge
from shared.errors import MaasError

MODES = get_args(Mode)
DOCUMENT_TYPES = tuple(READERS)
MAX_PASSAGES, DEFAULT_PASSAGES = 100, 10


class NewDocument(RequestBody):
    user_id: UUID
    name: Annotated[QueryText, Field(max_length=MAX_NAME_CHARS)] = Field(
        description="Its name or path, as references show it; it ends with .txt, .md, .html, .docx or .pdf. A document "
        "of this name is replaced."
    )
    file: bytes = Field(description="The file.", json_schema_extra={"format": "binary"})


class AddedDocument(Schema):
    id: UUID
    name: str
    outcome: Literal["added", "unchanged"]
    chunks: int = Field(description="0 if it is unchanged.")
    track_id: str


class DocumentState(Schema):
    id: UUID
    is_everybodys: bool = Field(description="Operators have added it for all users.")
    name: str
    media_type: str
    bytes: int
    pages: int | None
    chunks: int
    status: Literal["processing", "processed", "failed"]
    error: str | None
    track_id: str
    created_at: datetime
    updated_at: datetime


class DocumentPage(Schema):
    results: list[DocumentState]
    next: str | None = Field(description="Send it as `before` to get the next page.")


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
    max_bytes, track_id = state.settings.knowledge_bytes, new_track_id()
    async with read_form(request, NewDocument, "file", max_bytes, state.document_uploads) as form:
        added = await add_document(state.db, form.user_id, form.name, form.file, track_id=track_id, max_bytes=max_bytes)
    if added.outcome == "failed" or added.document_id is None:
        raise MaasError("invalid_request", f"file: {added.error}")
    body = AddedDocument(
        id=added.document_id, name=added.name, outcome=added.outcome, chunks=added.chunks, track_id=track_id
    )  # fmt: skip
    return json_response(body, 201)


async def get_documents(request: Request) -> Response:
    """List the documents that a user may find things in, newest first, everybody's included."""
    limit = read_limit(request)
    documents = await list_documents(app_state(request).db, read_user(request), limit, read_cursor(request))
    states = [DocumentState.model_validate(one, from_attributes=True) for one in documents]
    return json_response(DocumentPage(results=states, next=write_cursor(documents, limit)))


async def get_passages(request: Request) -> Response:
    """Find the passages that answer a query, in the documents of a user and in everybody's."""
    mode: Mode = read_parameter(request, "mode", _read_mode, "mix")
    limit: int = read_parameter(request, "limit", _read_limit, DEFAULT_PASSAGES)
    query: str | None = read_parameter(request, "q", to_search_text)
    if query is None or len(query) < MIN_QUERY_CHARS:
        raise MaasError("bad_parameter", f"q: must have at least {MIN_QUERY_CHARS} characters")
    found = await search_knowledge(app_state(request).db, read_user(request), query, mode=mode, limit=limit)
    results = [FoundPassage.model_validate(one, from_attributes=True) for one in found.passages]
    return json_response(PassageList(results=results, total=found.total))


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
    await remove(app_state(request).db, read_user(request), read_id(request, "document"))
    return Response(status_code=204)
