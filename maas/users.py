"""Users: the names by which clients know them, each of which stands for one UUID, and the API keys of programs.

A key is shown once, when it is created; the database has its hash.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from maas import queries
from shared.db import Database
from shared.errors import MaasError
from shared.json import is_storable
from shared.text import is_blank

PROVIDER = "api"
TELEGRAM = "telegram"  # the provider whose names are ids of private chats
LOCAL_USER = UUID("00000000-0000-4000-8000-000000000001")  # the user of commands that name none
MAX_USER_NAME_CHARS = 200
SCOPES = ("ask", "read", "metrics", "admin")
OWN_SCOPES = ("ask", "read")  # of keys that people make for themselves
MAX_OWN_KEYS = 20  # active ones of a user; maas_create_own_key counts them
MAX_KEY_NAME_CHARS, MAX_PREFIX_CHARS = 100, 200
MAX_DAYS = 36_500
_KEY = re.compile(r"maas_([0-9a-f]{12})_([0-9a-f]{64})", re.ASCII)
_NO_HASH = bytes(32)


async def find_user(db: Database, name: str, provider: str = PROVIDER) -> UUID | None:
    """The user with this name or UUID; None for an unknown name. Raises MaasError('bad_user').

    In the systems of other providers a name is never a UUID of ours.
    """
    if provider == PROVIDER and (user_id := parse_user_id(name)) is not None:
        return user_id
    known: UUID | None = await db.value(queries.find_user, provider, name)
    return known


async def get_or_create_user(db: Database, name: str, provider: str = PROVIDER) -> UUID:
    """The user with this name or UUID, as `find_user`; an unknown name becomes a new user."""
    if provider == PROVIDER and (user_id := parse_user_id(name)) is not None:
        return user_id
    return UUID(str(await db.value(queries.name_user, provider, name)))


async def has_name_prefix(db: Database, user_id: UUID, prefix: str) -> bool:
    """Whether this user has a name that begins with `prefix`."""
    return bool(await db.value(queries.has_name, user_id, PROVIDER, prefix))


def parse_user_id(name: str) -> UUID | None:
    """The UUID that a name is, or None for another name. Raises MaasError('bad_user')."""
    if is_blank(name) or len(name) > MAX_USER_NAME_CHARS or not is_storable(name):
        raise MaasError("bad_user", f"user: must be text of 1 to {MAX_USER_NAME_CHARS} characters that is not blank")
    try:
        user_id = UUID(name)
    except ValueError:
        return None
    return user_id if str(user_id) == name.lower() else None  # 32 digits without hyphens may be a name


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
        if is_blank(self.name) or len(self.name) > MAX_KEY_NAME_CHARS or not self.name.isprintable():
            message = f"NAME: must be 1 to {MAX_KEY_NAME_CHARS} printable characters, not all blank"
            raise MaasError("bad_parameter", message)
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
        queries.create_key,
        key_id,
        new.name,
        hash_secret(secret),
        scopes,
        new.user_id,
        new.prefix,
        new.per_minute,
        new.days,
        actor,
    )
    return f"maas_{key_id}_{secret}"


async def revoke_key(db: Database, key_id: str, actor: str) -> bool:
    """Revoke a key; False when it was revoked before. Raises MaasError('not_found')."""
    verdict = await db.value(queries.revoke_key, key_id, actor)
    if verdict == "not_found":
        raise MaasError("not_found", f"there is no key {key_id!r}; `maas keys list` shows their ids")
    return bool(verdict == "revoked")


async def create_own_key(db: Database, new: NewKey, actor: str) -> str:
    """Store a key that acts for one user only, who may have MAX_OWN_KEYS; returns its text, which is stored nowhere.

    Raises MaasError: `bad_parameter`, `quota_exceeded`.
    """
    new.check()
    key_id, secret = secrets.token_hex(6), secrets.token_hex(32)
    scopes = [scope for scope in OWN_SCOPES if scope in new.scopes]
    verdict = await db.value(
        queries.create_own_key, new.user_id, key_id, new.name, hash_secret(secret), scopes, new.days, actor
    )
    if verdict == "too_many":
        raise MaasError("quota_exceeded", f"this user has {MAX_OWN_KEYS} active keys: revoke some first")
    return f"maas_{key_id}_{secret}"


async def revoke_own_key(db: Database, user_id: UUID, key_id: str, actor: str) -> None:
    """Revoke a key that acts for this user only. Raises MaasError('not_found')."""
    if await db.value(queries.revoke_own_key, user_id, key_id, actor) == "not_found":
        raise MaasError("not_found", f"this user has no key {key_id[:12]!r}")


async def list_keys(db: Database) -> list[queries.ListKeysRow]:
    """All keys with their state, the oldest first, without their hashes."""
    return await db.rows(queries.list_keys)


def split_key(text: str) -> tuple[str, str] | None:
    """The id and the secret of a key; None for a text that is no key."""
    match = _KEY.fullmatch(text)
    return (match[1], match[2]) if match else None


def hash_secret(secret: str) -> bytes:
    """The SHA-256 of a secret: fast, and enough for 256 random bits."""
    return hashlib.sha256(secret.encode()).digest()


def is_secret_of(row: queries.FindKeyRow | None, secret: str) -> bool:
    """Whether the secret belongs to the key in `row`; takes the same time when there is no such key."""
    return hmac.compare_digest(hash_secret(secret), row["secret_hash"] if row is not None else _NO_HASH)
