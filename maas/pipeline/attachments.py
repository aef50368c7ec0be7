"""Images of users: kept once, read by their owner alone, and by the run that names them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from shared.db import Database
from shared.errors import MaasError
from shared.models.images import Image
from shared.pictures import look_at


async def keep_upload(db: Database, user_id: UUID, data: bytes) -> dict[str, Any]:
    """Store what a user sends; the same image again is the same row. Raises MaasError('bad_image')."""
    try:
        picture = await look_at(data)
    except ValueError as error:
        raise MaasError("bad_image", f"file: {error}") from error
    kept = await db.value(
        "keep_attachment", user_id, None, picture.media_type, picture.width, picture.height, picture.data
    )
    return await read_attachment(db, kept, user_id)


async def keep_drawing(db: Database, run_id: UUID, image: Image) -> UUID | None:
    """Store what a run drew and count it, once: the one that is there stays. None when the run was erased.

    Raises ValueError.
    """
    picture = await look_at(image.data)
    kept: UUID | None = await db.value(
        "keep_drawing", run_id, picture.media_type, picture.width, picture.height, picture.data
    )
    return kept


async def drawing_of_run(db: Database, run_id: UUID) -> UUID | None:
    """What it drew before."""
    drawn: UUID | None = await db.value("drawing_of_run", run_id)
    return drawn


async def photo_of_run(db: Database, run_id: UUID) -> UUID | None:
    """The first image that came with its query."""
    photo: UUID | None = await db.value("photo_of_run", run_id)
    return photo


async def read_attachment(db: Database, attachment_id: UUID, user_id: UUID) -> dict[str, Any]:
    """All but the bytes. Raises MaasError('not_found'), also for another user's."""
    row = await db.row("attachment", attachment_id, user_id)
    if row is None:
        raise not_found(attachment_id)
    return dict(row)


async def read_content(db: Database, attachment_id: UUID, user_id: UUID) -> dict[str, Any]:
    """{media_type, sha256, content}. Raises as `read_attachment` does."""
    row = await db.row("attachment_content", attachment_id, user_id)
    if row is None:
        raise not_found(attachment_id)
    return dict(row)


async def drop_attachment(db: Database, attachment_id: UUID, user_id: UUID) -> None:
    """Delete it; who named it shows it no more. Raises as `read_attachment` does."""
    if await db.value("drop_attachment", attachment_id, user_id) is None:
        raise not_found(attachment_id)


def not_found(attachment_id: UUID) -> MaasError:
    return MaasError("not_found", f"there is no attachment {attachment_id} of this user")
