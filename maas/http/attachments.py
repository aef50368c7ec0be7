"""/v1/attachments: images of users, for runs that name them in `attachment_ids`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Literal, TypeVar
from uuid import UUID

from pydantic import BaseModel, Field
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from maas.conversations.attachments import read_attachment, read_content, remove_attachment, store_upload
from maas.http.authorize import check_body, owner_of, principal_of, read_user
from maas.http.request_input import content_type, read_chunks, read_id
from maas.http.schemas import RequestBody, Schema, json_response
from maas.http.state import app_state, until_sent
from shared.errors import MaasError
from shared.fair_semaphore import FairSemaphore

FORM_TYPE = "multipart/form-data"
IMAGE_TYPES = ("image/jpeg", "image/png", "image/webp")
CHUNK_BYTES = 64 * 1024
MAX_FORM_OVERHEAD_BYTES = 16 * 1024  # everything in the form but the file
Model = TypeVar("Model", bound=BaseModel)


class NewAttachment(RequestBody):
    user_id: UUID
    file: bytes = Field(description="A JPEG, PNG or WebP image.", json_schema_extra={"format": "binary"})


class Attachment(Schema):
    id: UUID
    kind: Literal["upload", "generated"]
    media_type: Literal["image/jpeg", "image/png", "image/webp"]
    bytes: int
    width: int = Field(description="In pixels, after the orientation was applied.")
    height: int
    sha256: str = Field(description="The hash of the stored image, which has no metadata.")
    created_at: datetime


async def post_attachment(request: Request) -> Response:
    """Upload a JPEG, PNG or WebP image; its metadata, such as the place and the camera, is removed."""
    state = app_state(request)
    max_bytes = state.settings.uploads.attachment_bytes
    async with read_form(request, NewAttachment, "file", max_bytes, state.shares.images) as form:
        row = await store_upload(state.db, form.user_id, form.file)
    return json_response(Attachment(**row), 201)


async def get_attachment(request: Request) -> Response:
    """Return the description of an image."""
    attachment_id, user_id = _read_ids(request)
    return json_response(Attachment(**await read_attachment(app_state(request).reads, attachment_id, user_id)))


async def get_content(request: Request) -> Response:
    """Return an image."""
    attachment_id, user_id = _read_ids(request)
    state = app_state(request)
    await until_sent(request).enter_async_context(state.shares.image_downloads.hold(user_id))
    row = await read_content(state.reads, attachment_id, user_id)
    etag = f'"{row["sha256"]}"'
    headers = {"etag": etag, "cache-control": "private, no-cache", "x-content-type-options": "nosniff"}
    if etag in (request.headers.get("if-none-match") or "").replace("W/", "").split(", "):
        return Response(status_code=304, headers=headers)
    extension = row["media_type"].partition("/")[2]
    headers["content-disposition"] = f'inline; filename="{attachment_id}.{extension}"'
    headers["content-length"] = str(len(row["content"]))
    return StreamingResponse(_in_chunks(row["content"]), media_type=row["media_type"], headers=headers)


async def _in_chunks(content: bytes) -> AsyncIterator[bytes]:
    """Yield what the client has room for; in one piece, all would wait in the connection after the request."""
    for start in range(0, len(content), CHUNK_BYTES):
        yield content[start : start + CHUNK_BYTES]


async def delete_attachment(request: Request) -> Response:
    """Delete an image; the message that it came with stays."""
    await remove_attachment(app_state(request).db, *_read_ids(request))
    return Response(status_code=204)


def _read_ids(request: Request) -> tuple[UUID, UUID]:
    return read_id(request, "attachment"), read_user(request)


@asynccontextmanager
async def read_form(
    request: Request, model: type[Model], file_field: str, max_file_bytes: int, share: FairSemaphore
) -> AsyncIterator[Model]:
    """Parse a multipart form as `model`, and check the user that it names.

    It is received into a temporary file; a place of `share` is held while the file is in memory.

    Raises MaasError: unsupported_media_type, too_large, invalid_request, not_found, rate_limited, share_used, busy.
    """
    if content_type(request) != FORM_TYPE:
        raise MaasError("unsupported_media_type", "send the body as multipart/form-data")
    async with (
        app_state(request).shares.uploads.hold(owner_of(request)),
        _received_form(request, max_file_bytes) as form,
        share.hold(_user_of(request, form)),
    ):
        values: dict[str, object] = {}
        for name, value in form.multi_items():
            if name in values:
                raise MaasError("invalid_request", f"{name[:80]!r}: must be sent only once")
            values[name] = await _read_field(name, value, file_field, max_file_bytes)
        yield await check_body(request, model, values)


@asynccontextmanager
async def _received_form(request: Request, max_file_bytes: int) -> AsyncIterator[FormData]:
    """Receive the body into a temporary file, which is deleted at the end."""
    chunks = read_chunks(request, max_file_bytes + MAX_FORM_OVERHEAD_BYTES)
    try:
        parser = MultiPartParser(
            request.headers, chunks, max_files=1, max_fields=10, max_part_size=MAX_FORM_OVERHEAD_BYTES
        )
        form = await parser.parse()
    except MultiPartException as error:
        raise MaasError("invalid_request", f"body: {error.message}") from error
    try:
        yield form
    finally:
        await form.close()


def _user_of(request: Request, form: FormData) -> Hashable:
    """Return whose share a form uses before its user was checked; a user whom the key does not serve loses no place."""
    principal, named = principal_of(request), form.get("user_id")
    user = named.lower() if isinstance(named, str) else ""
    return principal.user_id or ((principal.name, user) if principal.is_bound or not user else user)


async def _read_field(name: str, value: UploadFile | str, file_field: str, max_file_bytes: int) -> str | bytes:
    if isinstance(value, str):
        if name == file_field:
            raise MaasError("invalid_request", f"{name}: must be a file, with a filename")
        return value
    if "\x00" in f"{name}{value.filename}":
        raise MaasError("invalid_request", f"{file_field}: its name must not contain a NUL character")
    content = await value.read()
    if len(content) > max_file_bytes:
        raise MaasError("too_large", f"{file_field}: exceeds {max_file_bytes} bytes")
    return content
