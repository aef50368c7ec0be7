"""Requests, responses and errors of the sign-in (MAAS_AUTH=local), as GoTrue, the auth server of Supabase, has them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse

from maas.accounts import Account
from maas.accounts.sign_in import Session, app_metadata, user_metadata
from maas.http.schemas import Name, Schema, StorableText

AUTH_PATH = "/auth/v1"
MAX_TOKEN_CHARS = 500
EXTERNAL = {"email": True, "phone": False, "anonymous_users": False}
STATUS_OF_CODE = {
    "bad_json": 400, "validation_failed": 400, "invalid_credentials": 401, "reauthentication_needed": 400,
    "refresh_token_not_found": 400, "refresh_token_already_used": 400, "session_expired": 400,
    "no_authorization": 401, "bad_jwt": 403, "session_not_found": 403, "otp_expired": 403, "bad_origin": 403,
    "user_banned": 403,
    "not_found": 404, "user_not_found": 404, "too_large": 413, "unsupported_media_type": 415, "signup_disabled": 422,
    "user_already_exists": 422, "weak_password": 422, "same_password": 422, "over_request_rate_limit": 429,
    "busy": 503, "database_unreachable": 503, "database_read_only": 503, "statement_timeout": 503, "no_schema": 503,
}  # fmt: skip
_CODES = {
    "invalid_json": "bad_json",
    "invalid_request": "validation_failed",
    "bad_parameter": "validation_failed",
    "rate_limited": "over_request_rate_limit",
    "share_used": "over_request_rate_limit",
    "timeout": "request_timeout",
    "internal": "unexpected_failure",
}
Handler = Callable[[Request, Exception], Awaitable[JSONResponse]]


class ClientBody(Schema):
    """Base of the bodies; what GoTrue's clients send beside these fields has no effect."""

    model_config = ConfigDict(extra="allow")


class SignUpData(ClientBody):
    name: Name | None = Field(None, description="The name of the person.")
    admin_code: StorableText | None = Field(
        None, max_length=MAX_TOKEN_CHARS, description="The code that the server prints while there is no administrator."
    )


class SignUp(ClientBody):
    email: StorableText = Field(min_length=3, max_length=254)
    password: StorableText = Field(min_length=1, max_length=1000)
    data: SignUpData | None = None


class TokenRequest(ClientBody):
    """`email` and `password`, or `refresh_token`, as `grant_type` says."""

    email: StorableText | None = Field(None, max_length=254)
    password: StorableText | None = Field(None, max_length=1000)
    refresh_token: StorableText | None = Field(
        None, max_length=MAX_TOKEN_CHARS, description="Unset in the cookie mode of our own page."
    )


class Verification(ClientBody):
    type: Literal["recovery"]
    token_hash: StorableText = Field(max_length=MAX_TOKEN_CHARS, description="The token of a one-time link.")


class UserData(ClientBody):
    name: Name | None = None


class UserChange(ClientBody):
    email: StorableText | None = Field(None, max_length=254, description="Refused unless it is the current one.")
    password: StorableText | None = Field(None, max_length=1000, description="A new one ends all other sessions.")
    current_password: StorableText | None = Field(
        None, max_length=1000, description="Required, unless the person signed in within 5 minutes, or by a link."
    )
    data: UserData | None = None


class AccountUser(Schema):
    """An account, as GoTrue shows a user."""

    id: UUID = Field(description="The `user_id` whose memory this is.")
    aud: Literal["authenticated"] = "authenticated"
    role: Literal["authenticated"] = "authenticated"
    email: str
    phone: str = ""
    email_confirmed_at: datetime
    confirmed_at: datetime
    last_sign_in_at: datetime | None
    app_metadata: dict[str, Any] = Field(description="`is_admin`: whether this is an administrator.")
    user_metadata: dict[str, Any] = Field(description="`name`, if one is set.")
    identities: list[dict[str, Any]] = Field(default_factory=list)
    created_at: datetime
    updated_at: datetime
    is_anonymous: bool = False

    @classmethod
    def of(cls, account: Account) -> Self:
        """Return an account in the shape of Supabase Auth."""
        return cls(
            id=account.user_id,
            email=account.email,
            email_confirmed_at=account.created_at,
            confirmed_at=account.created_at,
            last_sign_in_at=account.last_sign_in_at,
            app_metadata=app_metadata(account),
            user_metadata=user_metadata(account),
            created_at=account.created_at,
            updated_at=account.updated_at,
        )


class AuthSession(Schema):
    access_token: str = Field(description="A token (JWT) for all routes: `Authorization: Bearer ...`.")
    token_type: Literal["bearer"] = "bearer"
    expires_in: int = Field(description="Seconds.")
    expires_at: int = Field(description="Seconds since 1970.")
    refresh_token: str = Field(description="Valid once; empty in the cookie mode of our own page.")
    user: AccountUser

    @classmethod
    def of(cls, session: Session, refresh_token: str) -> Self:
        """Return a session in the shape of Supabase Auth; `refresh_token` is empty where a cookie holds it."""
        return cls(
            access_token=session.access_token,
            expires_in=session.expires_in,
            expires_at=session.expires_at,
            refresh_token=refresh_token,
            user=AccountUser.of(session.account),
        )


class AuthSettings(Schema):
    """What a sign-in page must know."""

    disable_signup: bool = Field(description="Whether only administrators create accounts.")
    external: dict[str, bool] = Field(default_factory=lambda: dict(EXTERNAL))
    mailer_autoconfirm: bool = True
    phone_autoconfirm: bool = False
    sms_provider: str = ""
    saml_enabled: bool = False
    password_min_length: int


class AuthHealth(Schema):
    name: Literal["MaaS"] = "MaaS"
    version: str
    description: str = "Sign-in with email and password, in the shapes of GoTrue"


class WeakPassword(Schema):
    reasons: list[str]


class AuthError(Schema):
    code: int = Field(description="The HTTP status.")
    error_code: str = Field(description="invalid_credentials, refresh_token_not_found, weak_password, ...")
    msg: str
    weak_password: WeakPassword | None = None


def in_sign_in_format(handler: Handler) -> Handler:
    """Wrap an error handler so that errors of the sign-in have GoTrue's shape."""

    async def handle(request: Request, error: Exception) -> JSONResponse:
        response = await handler(request, error)
        return _translate(response) if request.url.path.startswith(f"{AUTH_PATH}/") else response

    return handle


def _translate(response: JSONResponse) -> JSONResponse:
    error: dict[str, Any] = json.loads(bytes(response.body))["error"]
    code = _CODES.get(error["code"], error["code"])
    status = STATUS_OF_CODE.get(code, response.status_code)
    headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
    body = AuthError(code=status, error_code=code, msg=error["message"])
    if code == "weak_password":
        body.weak_password = WeakPassword(reasons=error["details"]["reasons"])
    return JSONResponse(body.model_dump(exclude_none=True), status, headers=headers)
