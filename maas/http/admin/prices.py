"""/v1/admin/prices: what models cost, changed while everything runs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.http.admin import admin_of
from maas.http.authorize import read_body
from maas.http.schemas import NUMBER, RequestBody, Schema, json_response
from maas.http.state import app_state
from shared.errors import MaasError

MAX_DOLLARS = 10**6
Dollars = Annotated[float, Field(ge=0, le=MAX_DOLLARS, allow_inf_nan=False), NUMBER]
PROVIDER_PATTERN = "^[a-z0-9_-]{1,50}$"
MODEL_PATTERN = "^[!-~]{1,200}$"


class PricedModel(RequestBody):
    """The models of a price."""

    provider: Annotated[str, Field(pattern=PROVIDER_PATTERN)]
    model: Annotated[str, Field(pattern=MODEL_PATTERN)] = Field(
        description="A name, or with % and _ a pattern for LIKE; of several that match the longest applies."
    )


class NewPrice(PricedModel):
    """Dollars for a million tokens, and for a generated image."""

    input: Dollars
    cached: Dollars | None = Field(None, description="Of tokens in that the provider had cached; null: as input.")
    output: Dollars
    image: Dollars | None = Field(None, description="null: not known.")


class ModelPrice(Schema):
    """Dollars for a million tokens, and for a generated image."""

    provider: str
    model: str
    input: float
    cached: float | None
    output: float
    image: float | None
    updated_at: datetime


class ModelPriceList(Schema):
    results: list[ModelPrice]


async def get_prices(request: Request) -> Response:
    """List the prices of models."""
    admin_of(request)
    return json_response(await _read(request))


async def put_price(request: Request) -> Response:
    """Set the price of a model, or of all that a pattern matches; calls that were made before keep theirs."""
    principal, new = admin_of(request), await read_body(request, NewPrice)
    amounts = (new.input, new.cached, new.output, new.image)
    await app_state(request).db.value(queries.set_price, new.provider, new.model, *amounts, principal.name)
    return json_response(await _read(request))


async def post_drop_price(request: Request) -> Response:
    """Delete a price; calls of a model without one count as 0."""
    principal, old = admin_of(request), await read_body(request, PricedModel)
    if not await app_state(request).db.value(queries.drop_price, old.provider, old.model, principal.name):
        raise MaasError("not_found", f"there is no price of {old.provider}:{old.model}")
    return json_response(await _read(request))


async def _read(request: Request) -> ModelPriceList:
    rows = await app_state(request).db.rows(queries.prices)
    return ModelPriceList(results=[ModelPrice(**row) for row in rows])
