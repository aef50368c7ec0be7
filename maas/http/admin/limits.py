"""/v1/admin/limits: quotas and rates of one user that operators set while everything runs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.engine.limits import NAMES, RATES
from maas.http.admin import admin_of
from maas.http.authorize import read_body
from maas.http.schemas import NUMBER, RequestBody, Schema, json_response
from maas.http.state import app_state
from maas.settings import SUBJECTS
from shared.errors import MaasError

MAX_VALUE = 10**15
DESCRIPTIONS = {name: field.description for kind in SUBJECTS.values() for name, field in kind.model_fields.items()}


class NewLimit(RequestBody):
    value: Annotated[int, Field(ge=0, le=MAX_VALUE), NUMBER]


class Limit(Schema):
    """A quota or a rate of one user."""

    name: str = Field(description="The setting in whose place it is: user_images for MAAS_USER_IMAGES.")
    description: str
    value: int = Field(description="What is in force.")
    configured: int = Field(description="What the settings say.")
    minimum: int
    maximum: int
    changed_by: str | None = Field(description="Who has set it; null: the settings.")
    updated_at: datetime | None


class LimitList(Schema):
    results: list[Limit]


async def get_limits(request: Request) -> Response:
    """List the quotas and rates of one user."""
    admin_of(request)
    return json_response(await _read(request))


async def put_limit(request: Request) -> Response:
    """Set a limit; in force within three seconds."""
    principal, name = admin_of(request), _name(request)
    body = await read_body(request, NewLimit)
    (limit,) = [one for one in (await _read(request)).results if one.name == name]
    if not limit.minimum <= body.value <= limit.maximum:
        raise MaasError("invalid_request", f"value: {name} must be between {limit.minimum} and {limit.maximum}")
    await app_state(request).db.value(queries.set_limit, name, body.value, principal.name)
    return await _changed(request)


async def delete_limit(request: Request) -> Response:
    """End a limit that was set: the settings apply again."""
    principal, name = admin_of(request), _name(request)
    if not await app_state(request).db.value(queries.drop_limit, name, principal.name):
        raise MaasError("not_found", f"no limit {name} was set")
    return await _changed(request)


def _name(request: Request) -> str:
    name: str = request.path_params["limit"]
    if name not in NAMES:
        raise MaasError("not_found", f"there is no limit {name[:100]}; there are {', '.join(NAMES)}")
    return name


async def _changed(request: Request) -> Response:
    state = app_state(request)
    await state.limits.read(state.db)  # here at once
    return json_response(await _read(request))


async def _read(request: Request) -> LimitList:
    state = app_state(request)
    rows = {row["name"]: row for row in await state.db.rows(queries.limits)}
    found = []
    for name in NAMES:
        row, own = rows[name], state.limits.of_settings[name]
        configured = own if name in RATES or row["configured"] is None else row["configured"]
        found.append(
            Limit(
                name=name,
                description=DESCRIPTIONS[name] or "",
                value=configured if row["value"] is None else row["value"],
                configured=configured,
                minimum=row["minimum"],
                maximum=row["maximum"],
                changed_by=row["changed_by"],
                updated_at=row["updated_at"],
            )
        )
    return LimitList(results=found)
