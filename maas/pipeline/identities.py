"""Users by other names: any text that a client knows a user by stands for one UUID."""

from __future__ import annotations

from uuid import UUID

from shared.db import Database
from shared.errors import MaasError
from shared.text import is_blank

PROVIDER = "api"
LOCAL_USER = UUID("00000000-0000-4000-8000-000000000001")  # a user of this machine, where none is named
LONGEST = 200


async def find_user(db: Database, name: str) -> UUID | None:
    """The user of this name, or of this UUID; None for a name that nobody had. Raises MaasError('bad_user')."""
    if (user_id := as_id(name)) is not None:
        return user_id
    found: UUID | None = await db.value("find_user", PROVIDER, name)
    return found


async def name_user(db: Database, name: str) -> UUID:
    """The same, but a name that nobody had is a new user. Raises MaasError('bad_user')."""
    if (user_id := as_id(name)) is not None:
        return user_id
    return UUID(str(await db.value("name_user", PROVIDER, name)))


async def has_name(db: Database, user_id: UUID, prefix: str) -> bool:
    """Whether this user has a name that begins so."""
    return bool(await db.value("has_name", user_id, PROVIDER, prefix))


def as_id(name: str) -> UUID | None:
    """The user's UUID, if the name is one. Raises MaasError('bad_user')."""
    if is_blank(name) or "\x00" in name or len(name) > LONGEST or any("\ud800" <= c <= "\udfff" for c in name):
        raise MaasError("bad_user", f"user: must be a text of 1 to {LONGEST} characters that is not blank")
    try:
        user_id = UUID(name)
    except ValueError:
        return None
    return user_id if str(user_id) == name.lower() else None  # 32 digits alone may be a name, too
