"""Requests, responses and errors of OAuth 2.1, by which apps sign in at /mcp where people sign in here."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from pydantic import ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse

from maas.accounts.apps import MAX_REDIRECTS
from maas.http.schemas import Schema, StorableText

OAUTH_PATH = "/oauth/"
MAX_BODY_BYTES = 16 * 1024
STATUS_OF_OAUTH_CODE = {
    "invalid_request": 400, "invalid_grant": 400, "invalid_target": 400, "unsupported_grant_type": 400,
    "invalid_client_metadata": 400, "invalid_redirect_uri": 400, "invalid_client": 401,
}  # fmt: skip
_CODES = {
    "invalid_json": "invalid_request",
    "bad_parameter": "invalid_request",
    "too_large": "invalid_request",
    "timeout": "invalid_request",
    "unsupported_media_type": "invalid_request",
    "rate_limited": "temporarily_unavailable",
    "busy": "temporarily_unavailable",
    "internal": "server_error",
}
Handler = Callable[[Request, Exception], Awaitable[JSONResponse]]


class NewClient(Schema):
    """Metadata of a client (RFC 7591). Other fields are ignored; nothing is verified."""

    model_config = ConfigDict(extra="ignore")

    redirect_uris: list[StorableText] = Field(min_length=1, max_length=MAX_REDIRECTS)
    client_name: StorableText | None = Field(None, description="At most 100 characters; longer ones are cut.")


class RegisteredClient(Schema):
    client_id: str
    client_id_issued_at: int = Field(description="Seconds since 1970.")
    client_name: str | None
    redirect_uris: list[str]
    grant_types: tuple[str, ...] = ("authorization_code", "refresh_token")
    response_types: tuple[str, ...] = ("code",)
    token_endpoint_auth_method: Literal["none"] = "none"


class TokenForm(Schema):
    """`code` with `code_verifier`, or `refresh_token`, as `grant_type` says."""

    grant_type: str
    client_id: StorableText
    code: StorableText | None = None
    code_verifier: StorableText | None = None
    redirect_uri: StorableText | None = Field(None, description="Where the code was sent.")
    refresh_token: StorableText | None = None
    resource: StorableText | None = Field(None, description="The one that was asked for, if any.")
    scope: StorableText | None = Field(None, description="Has no effect: an app keeps what it was allowed.")


class RevocationForm(Schema):
    token: StorableText = Field(description="An access or a refresh token.")
    client_id: StorableText


class TokenResponse(Schema):
    access_token: str = Field(description="For /mcp only: `Authorization: Bearer ...`.")
    token_type: Literal["Bearer"] = "Bearer"
    expires_in: int = Field(description="Seconds.")
    refresh_token: str = Field(description="Valid once.")
    scope: str


class OAuthError(Schema):
    error: str = Field(description="invalid_grant, invalid_request, ...")
    error_description: str


def in_oauth_format(handler: Handler) -> Handler:
    """Wrap an error handler so that errors of OAuth have the shape of RFC 6749."""

    async def handle(request: Request, error: Exception) -> JSONResponse:
        response = await handler(request, error)
        return _translate(response) if request.url.path.startswith(OAUTH_PATH) else response

    return handle


def _translate(response: JSONResponse) -> JSONResponse:
    error: dict[str, Any] = json.loads(bytes(response.body))["error"]
    code = _CODES.get(error["code"], error["code"])
    status = STATUS_OF_OAUTH_CODE.get(error["code"], response.status_code)
    headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
    text = "".join(char if " " <= char <= "~" and char not in '"\\' else "?" for char in error["message"])
    return JSONResponse(OAuthError(error=code, error_description=text).model_dump(), status, headers=headers)
