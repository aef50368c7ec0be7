"""/v1/users/{id}/profile: what a user tells about themselves in the web interface."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas.http.auth.authorize import read_body
from maas.http.request_input import read_id
from maas.http.schemas import QueryText, RequestBody, Schema, json_response
from maas.http.state import app_state

ProfileText = Annotated[QueryText, Field(max_length=200)]
Language = Literal["ru", "en"]


class NewProfile(RequestBody):
    """The whole profile; what is left out is deleted."""

    name: ProfileText | None = None
    position: ProfileText | None = None
    language: Language | None = Field(None, description="Of the interface; null: that of the browser.")


class Profile(Schema):
    name: str | None
    position: str | None
    language: Language | None


async def get_profile(request: Request) -> Response:
    """Return the profile of a user."""
    row = await app_state(request).db.row("user_profile", read_id(request, "user"))
    return json_response(Profile(**row) if row is not None else Profile(name=None, position=None, language=None))


async def put_profile(request: Request) -> Response:
    """Replace the profile of a user."""
    user_id = read_id(request, "user")
    body = await read_body(request, NewProfile)
    await app_state(request).db.value("set_profile", user_id, body.name, body.position, body.language)
    return json_response(Profile(**body.model_dump()))
