"""Attachments: images of users, stored once each, readable by their owner and by the runs that name them."""

from __future__ import annotations

from uuid import UUID

from maas import queries
from shared.db import Database
from shared.errors import MaasError
from shared.images import sanitize_image_async
from shared.models import Image


async def store_upload(db: Database, user_id: UUID, data: bytes) -> queries.AttachmentRow:
    """Store an image that a user sends; the same image again is the same row. Raises MaasError('bad_image')."""
    try:
        picture = await sanitize_image_async(data)
    except ValueError as error:
        raise MaasError("bad_image", f"file: {error}") from error
    attachment_id = await db.value(
        queries.keep_attachment, user_id, None, picture.media_type, picture.width, picture.height, picture.data
    )
    return await read_attachment(db, attachment_id, user_id)


async def store_generated(db: Database, run_id: UUID, image: Image) -> UUID | None:
    """Store and count the image that a run has generated; returns its id.

    A run has one such image: a second one is dropped. None when the run was erased. Raises ValueError for bytes that
    are no image.
    """
    picture = await sanitize_image_async(image.data)
    attachment_id: UUID | None = await db.value(
        queries.keep_drawing, run_id, picture.media_type, picture.width, picture.height, picture.data
    )
    return attachment_id


async def find_generated(db: Database, run_id: UUID) -> UUID | None:
    """The image that a run has generated."""
    attachment_id: UUID | None = await db.value(queries.drawing_of_run, run_id)
    return attachment_id


async def find_photo(db: Database, run_id: UUID) -> UUID | None:
    """The first image that came with the query of a run."""
    attachment_id: UUID | None = await db.value(queries.photo_of_run, run_id)
    return attachment_id


async def read_attachment(db: Database, attachment_id: UUID, user_id: UUID) -> queries.AttachmentRow:
    """The row without its content. Raises MaasError('not_found'), also for an attachment of another user."""
    row = await db.row(queries.attachment, attachment_id, user_id)
    if row is None:
        raise not_found(attachment_id)
    return row


async def read_content(db: Database, attachment_id: UUID, user_id: UUID) -> queries.AttachmentContentRow:
    """{media_type, sha256, content}. Raises as `read_attachment` does."""
    row = await db.row(queries.attachment_content, attachment_id, user_id)
    if row is None:
        raise not_found(attachment_id)
    return row


async def remove_attachment(db: Database, attachment_id: UUID, user_id: UUID) -> None:
    """Delete an attachment; runs that named it show it no more. Raises as `read_attachment` does."""
    if await db.value(queries.drop_attachment, attachment_id, user_id) is None:
        raise not_found(attachment_id)


def not_found(attachment_id: UUID) -> MaasError:
    return MaasError("not_found", f"there is no attachment {attachment_id} of this user")
