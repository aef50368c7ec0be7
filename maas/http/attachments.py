"""/v1/attachments: images of a user, for runs that name them in `attachment_ids`."""

from __future__ import annotations

from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from maas.http.access import read_user
from maas.http.bodies import Attachment, NewAttachment
from maas.http.forms import read_form
from maas.http.parameters import read_id
from maas.http.rooms import rooms
from maas.http.sending import send
from maas.pipeline.attachments import drop_attachment, keep_upload, read_attachment, read_content

FORM = "multipart/form-data"
IMAGES = ("image/jpeg", "image/png", "image/webp")


async def post_attachment(request: Request) -> Response:
    """Upload an image: JPEG, PNG or WebP; what it tells of its place and camera is not kept."""
    parts = rooms(request)
    async with read_form(request, NewAttachment, "file", parts.settings.attachment_bytes, parts.uploading) as form:
        row = await keep_upload(parts.db, form.user_id, form.file)
    return send(Attachment(**row), 201)


async def get_attachment(request: Request) -> Response:
    """What an image is."""
    attachment_id, user_id = _whose(request)
    return send(Attachment(**await read_attachment(rooms(request).db, attachment_id, user_id)))


async def get_content(request: Request) -> Response:
    """The image itself."""
    attachment_id, user_id = _whose(request)
    row = await read_content(rooms(request).db, attachment_id, user_id)
    etag = f'"{row["sha256"]}"'
    headers = {"etag": etag, "cache-control": "private, no-cache", "x-content-type-options": "nosniff"}
    if etag in (request.headers.get("if-none-match") or "").replace("W/", "").split(", "):
        return Response(status_code=304, headers=headers)
    ending = row["media_type"].partition("/")[2]
    headers["content-disposition"] = f'inline; filename="{attachment_id}.{ending}"'
    return Response(row["content"], media_type=row["media_type"], headers=headers)


async def delete_attachment(request: Request) -> Response:
    """Delete an image; the words that came with it stay."""
    await drop_attachment(rooms(request).db, *_whose(request))
    return Response(status_code=204)


def _whose(request: Request) -> tuple[UUID, UUID]:
    return read_id(request, "attachment"), read_user(request)
