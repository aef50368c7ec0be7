"""/v1/users/{id}/specs: the preferences of a user that assistants keep to, such as the currency of reports."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints
from starlette.requests import Request
from starlette.responses import Response

from maas.assistants.ads import queries
from maas.http.authorize import principal_of, read_body
from maas.http.request_input import read_id
from maas.http.schemas import STORABLE_PATTERN, RequestBody, Schema, json_response
from maas.http.state import app_state

MAX_SPECS = 100
SpecKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,49}$")]
SpecValue = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=STORABLE_PATTERN)]


class NewSpecs(RequestBody):
    """All preferences of a user; those that are left out are deleted."""

    specs: dict[SpecKey, SpecValue] = Field(max_length=MAX_SPECS, json_schema_extra={"additionalProperties": False})


class Specs(Schema):
    specs: dict[str, str]


async def get_specs(request: Request) -> Response:
    """Return the preferences of a user."""
    rows = await app_state(request).reads.rows(queries.user_specs, read_id(request, "user"), MAX_SPECS)
    return json_response(Specs(specs={row["key"]: row["value"] for row in rows}))


async def put_specs(request: Request) -> Response:
    """Replace the preferences of a user."""
    user_id = read_id(request, "user")
    specs = (await read_body(request, NewSpecs)).specs
    await app_state(request).db.value(queries.set_specs, user_id, specs, principal_of(request).name)
    return json_response(Specs(specs=dict(sorted(specs.items()))))
