"""Secrets of users: the tokens that stand for `${user.NAME}` in the headers of MCP servers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import asyncpg

from maas import queries
from shared.db import Database
from shared.errors import MaasError
from shared.json import is_storable

RENEWAL_ACTOR = "mcp"


class UserSecret(NamedTuple):
    """The value of a secret, and when it was set; `repr` shows no value."""

    value: str
    changed_at: datetime

    def __repr__(self) -> str:
        return f"UserSecret(***, {self.changed_at})"


class UserSecrets:
    """Reads secrets for connections on behalf of users, as the role of orchestrators."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def read(self, user_id: UUID, names: Collection[str]) -> Mapping[str, UserSecret]:
        """Those of the named secrets that the user has."""
        rows = await self._db.rows(queries.read_secrets, user_id, sorted(names))
        return {row["name"]: UserSecret(row["value"], row["changed_at"]) for row in rows}

    async def renew(self, user_id: UUID, name: str, old: str, value: str) -> bool:
        """Replace a secret by the one that its service gave for it; False if it is no longer `old`."""
        return await renew_secret(self._db, user_id, name, old, value, RENEWAL_ACTOR)

    async def times(self, user_ids: Collection[UUID]) -> Mapping[tuple[UUID, str], datetime]:
        """When each secret of these users was set, by user and name."""
        rows = await self._db.rows(queries.secret_times, sorted(user_ids))
        return {(row["user_id"], row["name"]): row["changed_at"] for row in rows}


async def set_secret(db: Database, user_id: UUID, name: str, value: str, actor: str) -> bool:
    """Store or replace a secret; whether it is new. Raises MaasError('bad_parameter'), which quotes no value."""
    if not is_storable(name) or not is_storable(value):  # the driver's error would quote it
        raise MaasError(
            "bad_parameter", "value: 8 to 8000 printable ASCII characters without leading or trailing blanks"
        )
    try:
        return bool(await db.value(queries.set_secret, user_id, name, value, actor))
    except asyncpg.InvalidParameterValueError as error:
        raise MaasError("bad_parameter", str(error.args[0])) from None


async def renew_secret(db: Database, user_id: UUID, name: str, old: str, value: str, actor: str) -> bool:
    """Replace a secret, as the role of orchestrators; False if it is no longer `old`."""
    return bool(await db.value(queries.renew_secret, user_id, name, old, value, actor))


async def delete_secret(db: Database, user_id: UUID, name: str, actor: str) -> None:
    """Delete a secret. Raises MaasError('not_found')."""
    if not await db.value(queries.delete_secret, user_id, name, actor):
        raise MaasError("not_found", f"user {user_id} has no secret {name!r}; `maas secrets list` shows all names")


async def list_secrets(db: Database, user_id: UUID) -> list[queries.ListSecretsRow]:
    """The names of a user's secrets, and when each was set, without values."""
    return await db.rows(queries.list_secrets, user_id)
