"""API keys of programs that call over HTTP. A key is shown once, when it is created; the database has its hash."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from shared.db import Database
from shared.errors import MaasError
from shared.text import is_blank

SCOPES = ("ask", "read", "metrics", "admin")
MAX_NAME_CHARS, MAX_PREFIX_CHARS = 100, 200
MAX_DAYS = 36_500
_KEY = re.compile(r"maas_([0-9a-f]{12})_([0-9a-f]{64})", re.ASCII)
_NO_HASH = bytes(32)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key to create: for one user, for users with a name that begins with `prefix`, or for all users.

    `per_minute` limits requests; the key expires after `days`.
    """

    name: str
    scopes: Collection[str] = ("ask", "read")
    user_id: UUID | None = None
    prefix: str | None = None
    per_minute: int | None = None
    days: int | None = None

    def check(self) -> None:
        """Raises MaasError('bad_parameter')."""
        if is_blank(self.name) or len(self.name) > MAX_NAME_CHARS or not self.name.isprintable():
            raise MaasError("bad_parameter", f"NAME: must be 1 to {MAX_NAME_CHARS} printable characters, not all blank")
        if wrong := [scope for scope in self.scopes if scope not in SCOPES]:
            raise MaasError("bad_parameter", f"--scope: there is no {wrong[0]!r}; scopes are {', '.join(SCOPES)}")
        if self.prefix is not None and not (0 < len(self.prefix) <= MAX_PREFIX_CHARS and self.prefix.isprintable()):
            raise MaasError("bad_parameter", f"--prefix: must be 1 to {MAX_PREFIX_CHARS} printable characters")
        if self.days is not None and not 1 <= self.days <= MAX_DAYS:
            raise MaasError("bad_parameter", f"--expires: must be 1 to {MAX_DAYS} days")


async def create_key(db: Database, new: NewKey, actor: str) -> str:
    """Store a new key; returns its text, which is stored nowhere. Raises MaasError('bad_parameter')."""
    new.check()
    key_id, secret = secrets.token_hex(6), secrets.token_hex(32)
    scopes = [scope for scope in SCOPES if scope in new.scopes]
    await db.value(
        "create_key", key_id, new.name, hash_secret(secret), scopes, new.user_id, new.prefix, new.per_minute, new.days,
        actor,
    )  # fmt: skip
    return f"maas_{key_id}_{secret}"


async def revoke_key(db: Database, key_id: str, actor: str) -> bool:
    """Revoke a key; False when it was revoked before. Raises MaasError('not_found')."""
    verdict = await db.value("revoke_key", key_id, actor)
    if verdict == "not_found":
        raise MaasError("not_found", f"there is no key {key_id!r}; `maas keys list` shows their ids")
    return bool(verdict == "revoked")


async def list_keys(db: Database) -> list[asyncpg.Record]:
    """All keys with their state, the oldest first, without their hashes."""
    return await db.rows("list_keys")


def split_key(text: str) -> tuple[str, str] | None:
    """The id and the secret of a key; None for a text that is no key."""
    match = _KEY.fullmatch(text)
    return (match[1], match[2]) if match else None


def hash_secret(secret: str) -> bytes:
    """The SHA-256 of a secret: fast, and enough for 256 random bits."""
    return hashlib.sha256(secret.encode()).digest()


def is_secret_of(row: asyncpg.Record | None, secret: str) -> bool:
    """Whether the secret belongs to the key in `row`; takes the same time when there is no such key."""
    return hmac.compare_digest(hash_secret(secret), row["secret_hash"] if row is not None else _NO_HASH)
