"""Signing in: sessions with a short-lived access token and a refresh token that is replaced at each use."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from maas import queries
from maas.accounts import (
    TOKEN_BYTES,
    Account,
    check_name,
    check_new_email,
    hash_token,
    normalise_email,
    signing_secret,
)
from maas.accounts.passwords import PasswordHasher
from maas.settings.access import AccessSettings
from shared.db import Database
from shared.errors import MaasError

FRESH_S = 300.0
REUSE_GRACE_S = 10.0  # two tabs may refresh with the same token at the same moment
ISSUER, AUDIENCE = "maas", "authenticated"  # where no setting requires others
Method = Literal["password", "recovery"]
SignOutScope = Literal["global", "local", "others"]
_REFUSALS = {
    "closed": ("signup_disabled", "sign-up is closed here; ask an administrator for an account"),
    "exists": (
        "user_already_exists",
        "an account with this email exists already; sign in, or ask for a link to reset the password",
    ),
    "wrong_code": (
        "validation_failed",
        "admin_code: is unknown, expired or used; start the server again for a new one, if there is no administrator",
    ),
    "unknown": ("refresh_token_not_found", "this session has ended; sign in again"),
    "expired": ("session_expired", "this session expired because it was not used; sign in again"),
    "reused": (
        "refresh_token_already_used",
        "this refresh token was used before, so its session was ended for safety; sign in again",
    ),
}


@dataclass(frozen=True, slots=True)
class Session:
    """What a client keeps of a session; `repr` shows no token."""

    access_token: str
    expires_in: int
    expires_at: int
    refresh_token: str
    account: Account

    def __repr__(self) -> str:
        return f"Session({self.account.user_id})"


class SignIn:
    """Accounts and sessions of one server process. Errors are MaasErrors with the codes of GoTrue."""

    def __init__(
        self, db: Database, settings: AccessSettings, hasher: PasswordHasher, clock: Callable[[], float] = time.time
    ) -> None:
        self._db = db
        self._settings = settings
        self._hasher = hasher
        self._clock = clock
        self._secret: str | None = None

    async def sign_up(
        self, email: str, password: str, name: str | None, admin_code: str | None, client: str
    ) -> Session:
        """Create an account and sign in; `client` shares the hashing of passwords.

        Raises signup_disabled, user_already_exists, weak_password, ...
        """
        address, shown_name = check_new_email(email), check_name(name)
        is_open = self._settings.signup == "open"
        if not is_open and admin_code is None:
            raise _refusal("closed")
        stored = await self._hasher.hash(password, self._settings.password_length, address, client)
        code = hash_token(admin_code.strip().lower()) if admin_code is not None else None
        row = await self._db.row(queries.sign_up, address, stored, shown_name, code, is_open)
        assert row is not None
        if row["verdict"] != "created":
            raise _refusal(row["verdict"])
        return await self._begin(row["user_id"], "password")

    async def sign_in(self, email: str, password: str, client: str) -> Session:
        """Begin a session. Raises user_banned.

        Raises invalid_credentials, the same and as late for an email without an account.
        """
        row = await self._db.row(queries.find_account, normalise_email(email))
        is_right = await self._hasher.verify(row["password_hash"] if row is not None else None, password, client)
        if row is None or not is_right:
            raise MaasError("invalid_credentials", "invalid login credentials: the email or the password is wrong")
        return await self._begin(row["user_id"], "password")

    async def refresh(self, refresh_token: str) -> Session:
        """Replace a refresh token. Raises refresh_token_not_found, refresh_token_already_used, session_expired."""
        following = secrets.token_urlsafe(TOKEN_BYTES)
        row = await self._db.row(
            queries.refresh_session,
            hash_token(refresh_token),
            hash_token(following),
            self._settings.refresh_days,
            REUSE_GRACE_S,
        )
        assert row is not None
        if row["verdict"] != "refreshed":
            raise _refusal(row["verdict"])
        return await self._issue(row["user_id"], row["session_id"], following)

    async def use_link(self, token: str) -> Session:
        """Begin a session by a one-time link; it may set a new password. Raises otp_expired."""
        refresh_token = secrets.token_urlsafe(TOKEN_BYTES)
        row = await self._db.row(
            queries.use_link, hash_token(token), hash_token(refresh_token), self._settings.refresh_days
        )
        if row is None or row["session_id"] is None:
            raise MaasError("otp_expired", "this link is unknown, used or expired; ask an administrator for a new one")
        return await self._issue(row["user_id"], row["session_id"], refresh_token)

    async def account(self, user_id: UUID, session_id: UUID) -> Account:
        """Return the account of an open session. Raises session_not_found."""
        row = await self._db.row(queries.account, user_id)
        await self.check_open(user_id, session_id)
        if row is None:
            raise _session_not_found()
        return Account.of(row)

    async def check_open(self, user_id: UUID, session_id: UUID) -> None:
        """Raise session_not_found for a session that has ended or expired."""
        if await self._db.row(queries.auth_session, user_id, session_id) is None:
            raise _session_not_found()

    async def change(
        self,
        account: Account,
        session_id: UUID,
        password: str | None,
        current_password: str | None,
        name: str | None,
        client: str,
    ) -> Account:
        """Set the password, which ends all other sessions, or the name.

        Raises MaasError: reauthentication_needed, invalid_credentials, same_password, weak_password, session_not_found.
        """
        shown_name, user_id = check_name(name), account.user_id
        stored: str | None = None
        if password is not None:
            await self._check_present_password(user_id, session_id, password, current_password, client)
            stored = await self._hasher.hash(password, self._settings.password_length, account.email, client)
        await self._db.value(queries.change_account, user_id, session_id, stored, shown_name)
        return await self.account(user_id, session_id)

    async def sign_out(self, user_id: UUID, session_id: UUID, scope: SignOutScope) -> None:
        """End sessions: this one, all others, or all."""
        await self._db.value(queries.end_sessions, user_id, session_id, scope)

    async def find_session(self, refresh_token: str) -> tuple[UUID, UUID] | None:
        """Return the user and the id of the open session that has this refresh token."""
        row = await self._db.row(queries.find_session, hash_token(refresh_token))
        return (row["user_id"], row["session_id"]) if row is not None else None

    async def mark_browser(self, email: str, browser: str) -> str:
        """Return what proves that somebody signed in with this email in the browser of this name."""
        secret = await self._signing_secret()
        return hmac.digest(secret.encode(), f"browser\n{email}\n{browser}".encode(), "sha256").hex()

    async def _check_present_password(
        self, user_id: UUID, session_id: UUID, password: str, current: str | None, client: str
    ) -> None:
        """Demand the present password, unless the session began by a link or by a password within FRESH_S.

        A stolen token of an older session can therefore not set another password.
        """
        row = await self._db.row(queries.auth_session, user_id, session_id)
        if row is None:
            raise _session_not_found()
        is_fresh = row["method"] == "recovery" or row["age_s"] < FRESH_S
        if current is None and not is_fresh:
            raise MaasError(
                "reauthentication_needed",
                "current_password: also send the current password, or sign in again first",
            )
        stored = await self._db.value(queries.password_hash, user_id)
        if current is not None and not await self._hasher.verify(stored, current, client):
            raise MaasError("invalid_credentials", "current_password: is wrong")
        if await self._hasher.verify(stored, password, client):
            raise MaasError("same_password", "password: must differ from the current one")

    async def _begin(self, user_id: UUID, method: Method) -> Session:
        refresh_token = secrets.token_urlsafe(TOKEN_BYTES)
        session_id = await self._db.value(
            queries.begin_session, user_id, method, hash_token(refresh_token), self._settings.refresh_days
        )
        if session_id is None and await self._db.value(queries.is_blocked, user_id):
            raise MaasError("user_banned", "this account is blocked; ask an administrator")
        if session_id is None:
            raise MaasError("user_not_found", "this account was deleted")
        return await self._issue(user_id, session_id, refresh_token)

    async def _issue(self, user_id: UUID, session_id: UUID, refresh_token: str) -> Session:
        row = await self._db.row(queries.account, user_id)
        if row is None:
            raise MaasError("user_not_found", "this account was deleted")
        account, secret = Account.of(row), await self._signing_secret()
        now, lifetime = int(self._clock()), int(self._settings.access_lifetime)
        claims = {
            "iss": self._settings.jwt_issuer or ISSUER,
            "aud": self._settings.jwt_audience or AUDIENCE,
            "sub": str(user_id),
            "role": "authenticated",
            "email": account.email,
            "phone": "",
            "iat": now,
            "exp": now + lifetime,
            "session_id": str(session_id),
            "aal": "aal1",
            "is_anonymous": False,
            "amr": [{"method": "password", "timestamp": now}],
            "app_metadata": app_metadata(account),
            "user_metadata": user_metadata(account),
        }
        return Session(_sign(claims, secret), lifetime, now + lifetime, refresh_token, account)

    async def _signing_secret(self) -> str:
        if self._secret is None:
            self._secret = await signing_secret(self._db, self._settings)
        return self._secret


def app_metadata(account: Account) -> dict[str, Any]:
    """Return what the server says of an account, in GoTrue's form."""
    return {"provider": "email", "providers": ["email"], "is_admin": account.is_admin}


def user_metadata(account: Account) -> dict[str, Any]:
    """Return what a person says of themselves, in GoTrue's form."""
    return {"name": account.name} if account.name is not None else {}


def _sign(claims: dict[str, Any], secret: str) -> str:
    import jwt  # slow to load

    return jwt.encode(claims, secret, "HS256")


def _refusal(verdict: str) -> MaasError:
    return MaasError(*_REFUSALS[verdict])


def _session_not_found() -> MaasError:
    return MaasError("session_not_found", "this session has ended; sign in again")
