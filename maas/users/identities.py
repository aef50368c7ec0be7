"""Identities of users: the names by which clients know them, each of which stands for one UUID."""

from __future__ import annotations

from uuid import UUID

from shared.db import Database
from shared.errors import MaasError
from shared.text import is_blank

PROVIDER = "api"
LOCAL_USER = UUID("00000000-0000-4000-8000-000000000001")  # the user of commands that name none
MAX_NAME_CHARS = 200


async def find_user(db: Database, name: str) -> UUID | None:
    """The user with this name or UUID; None for an unknown name. Raises MaasError('bad_user')."""
    if (user_id := parse_user_id(name)) is not None:
        return user_id
    known: UUID | None = await db.value("find_user", PROVIDER, name)
    return known


async def get_or_create_user(db: Database, name: str) -> UUID:
    """The user with this name or UUID; an unknown name becomes a new user. Raises MaasError('bad_user')."""
    if (user_id := parse_user_id(name)) is not None:
        return user_id
    return UUID(str(await db.value("name_user", PROVIDER, name)))


async def has_name_prefix(db: Database, user_id: UUID, prefix: str) -> bool:
    """Whether this user has a name that begins with `prefix`."""
    return bool(await db.value("has_name", user_id, PROVIDER, prefix))


def parse_user_id(name: str) -> UUID | None:
    """The UUID that a name is, or None for another name. Raises MaasError('bad_user')."""
    if is_blank(name) or "\x00" in name or len(name) > MAX_NAME_CHARS or any("\ud800" <= c <= "\udfff" for c in name):
        raise MaasError("bad_user", f"user: must be a text of 1 to {MAX_NAME_CHARS} characters that is not blank")
    try:
        user_id = UUID(name)
    except ValueError:
        return None
    return user_id if str(user_id) == name.lower() else None  # 32 digits without hyphens may be a name
