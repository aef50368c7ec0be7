"""/v1/admin/accounts: accounts that an administrator makes for people who sign in with a password."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas.accounts import MAX_EMAIL_CHARS, MAX_NAME_CHARS, check_name, check_new_email, invite
from maas.accounts.passwords import unknown_password_hash
from maas.http.admin import admin_of
from maas.http.authorize import read_body
from maas.http.schemas import RequestBody, Schema, json_response
from maas.http.state import app_state
from shared.errors import MaasError

REFUSALS = {"validation_failed": "invalid_request", "user_already_exists": "conflict"}


class NewAccount(RequestBody):
    email: Annotated[str, Field(max_length=MAX_EMAIL_CHARS)]
    name: Annotated[str, Field(max_length=MAX_NAME_CHARS)] | None = None


class Invitation(Schema):
    user_id: UUID
    url_path: str = Field(description="The path of a link that sets the password, valid for 24 hours and once.")


async def post_account(request: Request) -> Response:
    """Create an account, also where sign-up is closed, and a one-time link by which the person sets a password."""
    principal, state = admin_of(request), app_state(request)
    body = await read_body(request, NewAccount)
    if state.settings.access.auth != "local":
        raise MaasError("conflict", "people do not sign in with a password here (MAAS_AUTH is not local)")
    try:
        email, name = check_new_email(body.email), check_name(body.name)
        user_id, path = await invite(state.db, email, unknown_password_hash(), name, principal.name)
    except MaasError as error:
        raise MaasError(REFUSALS.get(error.code, error.code), error.message) from error
    return json_response(Invitation(user_id=user_id, url_path=path), 201)
