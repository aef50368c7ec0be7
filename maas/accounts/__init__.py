"""Accounts of people who sign in with email and password (MAAS_AUTH=local): created, listed, helped when locked out."""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import Self
from uuid import UUID

from maas import queries
from maas.accounts.alphabets import looks_like_another
from maas.settings.access import AccessSettings
from shared.db import Database
from shared.errors import MaasError
from shared.json import is_storable
from shared.text import is_blank

MAX_EMAIL_CHARS, MAX_NAME_CHARS = 254, 200
TOKEN_BYTES, ADMIN_CODE_BYTES = 32, 10
LINK_HOURS = 24
_EMAIL = re.compile(r"""[^@\s<>()\[\],;:\\"]{1,64}@[^@\s<>()\[\],;:\\"]{1,253}""")


@dataclass(frozen=True, slots=True)
class Account:
    """A person who may sign in; `user_id` is the user whose memory this is."""

    user_id: UUID
    email: str
    name: str | None
    is_admin: bool
    created_at: datetime
    updated_at: datetime
    last_sign_in_at: datetime | None

    @classmethod
    def of(cls, row: queries.AccountRow) -> Self:
        return cls(**row)


def normalise_email(text: str) -> str:
    """Return the form in which an email is stored. Raises MaasError('validation_failed')."""
    email = unicodedata.normalize("NFKC", text.strip()).lower() if is_storable(text) else ""
    if len(email) > MAX_EMAIL_CHARS or not email.isprintable() or not _EMAIL.fullmatch(email):
        raise MaasError(
            "validation_failed",
            f"email: must be an address like ann@example.org of at most {MAX_EMAIL_CHARS} characters",
        )
    return email


def check_new_email(text: str) -> str:
    """Return the form in which the email of a new account is stored. Raises MaasError('validation_failed')."""
    email = normalise_email(text)
    if looks_like_another(email):
        raise MaasError(
            "validation_failed",
            "email: mixes alphabets, so it could pass for another address; write it in that of its last "
            "part (ann@example.org, анна@пример.рф)",
        )
    return email


def check_name(name: str | None) -> str | None:
    """Return a name without outer blanks, None for a blank one. Raises MaasError('validation_failed')."""
    if name is None or (is_storable(name) and is_blank(name)):
        return None
    text = name.strip()
    if len(text) > MAX_NAME_CHARS or not text.isprintable():
        raise MaasError("validation_failed", f"name: must have at most {MAX_NAME_CHARS} printable characters")
    return text


def hash_token(token: str) -> bytes:
    """Return the SHA-256 of a refresh token, a link or a code: fast, and enough for random bits."""
    return hashlib.sha256(token.encode(errors="replace")).digest()


async def signing_secret(db: Database, settings: AccessSettings) -> str:
    """Return the secret that signs access tokens: MAAS_JWT_SECRET, or the one that the database holds."""
    if settings.jwt_secret is not None:
        return settings.jwt_secret.get_secret_value()
    return str(await db.value(queries.signing_key))


async def create_account(
    db: Database, email: str, password_hash: str, name: str | None, user_id: UUID | None, is_admin: bool, actor: str
) -> UUID:
    """Create an account, of an existing user if `user_id` names one. Raises MaasError('user_already_exists')."""
    row = await db.row(queries.create_account, email, password_hash, name, user_id, is_admin, actor)
    assert row is not None
    if row["verdict"] == "exists":
        raise MaasError(
            "user_already_exists", f"{email} or this user has an account already; `maas users list` shows all"
        )
    return UUID(str(row["user_id"]))


async def invite(db: Database, email: str, password_hash: str, name: str | None, actor: str) -> tuple[UUID, str]:
    """Create an account of a new user; return the user and the path of a one-time link that sets the password.

    Raises MaasError('user_already_exists').
    """
    row = await db.row(queries.invite, email, password_hash, name, actor)
    assert row is not None
    if row["verdict"] == "exists":
        raise MaasError("user_already_exists", f"{email} has an account already")
    user_id = UUID(str(row["user_id"]))
    return user_id, await create_reset_path(db, user_id, actor)


async def list_accounts(db: Database) -> list[Account]:
    """Return all accounts, the oldest first."""
    return [Account.of(row) for row in await db.rows(queries.list_accounts)]


async def create_reset_path(db: Database, user_id: UUID, actor: str) -> str:
    """Return the path of a one-time link, valid for LINK_HOURS, which sets a new password. Raises not_found."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    if not await db.value(queries.create_link, user_id, hash_token(token), LINK_HOURS, actor):
        raise MaasError("not_found", f"user {user_id} has no account; `maas users list` shows all")
    return f"/ui/reset#token={token}"


async def offer_admin_code(db: Database) -> str | None:
    """Return a new code with which the first administrator may sign up; None if there is an administrator."""
    code = secrets.token_hex(ADMIN_CODE_BYTES)
    return code if await db.value(queries.offer_admin_code, hash_token(code), LINK_HOURS) else None
