"""/v1/users/{id}/profile and /v1/users/{id}/preferences: who a user is, and how they want to work."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Annotated, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator, Field
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.http.authorize import read_body
from maas.http.request_input import read_id
from maas.http.schemas import QueryText, RequestBody, Schema, json_response
from maas.http.state import app_state

MAX_PREFERENCES = 20


@cache
def _known_zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _known(name: str) -> str:
    if name not in _known_zones():
        raise ValueError(f"unknown time zone {name!r}; use a name like Europe/Moscow")
    return name


ProfileText = Annotated[QueryText, Field(max_length=200)]
Language = Literal["ru", "en"]
Timezone = Annotated[str, Field(max_length=64), AfterValidator(_known)]
SlotName = Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,49}$")]
PreferenceText = Annotated[QueryText, Field(max_length=500)]


class NewProfile(RequestBody):
    """The whole profile; what is left out is deleted, but for the time zone."""

    name: ProfileText | None = None
    position: ProfileText | None = None
    department: ProfileText | None = None
    language: Language | None = Field(None, description="Of the interface; null: that of the browser.")
    timezone: Timezone | None = Field(
        None,
        description="IANA name, in which models read dates; null: MAAS_TIMEZONE. Left out, it stays as it is.",
    )


class Profile(Schema):
    name: str | None
    position: str | None
    department: str | None
    language: Language | None
    timezone: str | None


class NewPreferences(RequestBody):
    """All preferences; what is left out is deleted."""

    preferences: dict[SlotName, PreferenceText] = Field(
        max_length=MAX_PREFERENCES,
        description="By the name of the question, such as focus_time.",
        json_schema_extra={"additionalProperties": False},
    )


class Preference(Schema):
    value: str
    answered_at: datetime


class Preferences(Schema):
    preferences: dict[str, Preference] = Field(description="By the name of the question.")


async def get_profile(request: Request) -> Response:
    """Return the profile of a user."""
    row = await app_state(request).reads.row(queries.user_profile, read_id(request, "user"))
    empty = Profile(name=None, position=None, department=None, language=None, timezone=None)
    return json_response(Profile(**row) if row is not None else empty)


async def put_profile(request: Request) -> Response:
    """Replace the profile of a user."""
    user_id = read_id(request, "user")
    body = await read_body(request, NewProfile)
    db = app_state(request).db
    await db.value(queries.set_profile, user_id, body.name, body.position, body.department, body.language)
    if "timezone" in body.model_fields_set:
        await db.value(queries.set_timezone, user_id, body.timezone)
    return await get_profile(request)


async def get_preferences(request: Request) -> Response:
    """Return how a user wants to work, as an assistant has asked."""
    rows = await app_state(request).reads.rows(queries.user_preferences, read_id(request, "user"))
    found = {row["slot"]: Preference(value=row["value"], answered_at=row["answered_at"]) for row in rows}
    return json_response(Preferences(preferences=found))


async def put_preferences(request: Request) -> Response:
    """Replace the preferences of a user."""
    user_id = read_id(request, "user")
    body = await read_body(request, NewPreferences)
    await app_state(request).db.value(queries.set_preferences, user_id, dict(body.preferences))
    return await get_preferences(request)
