"""Arguments that several tools take, and what their results say alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, PlainSerializer, WithJsonSchema

from maas.assistants.ads import queries
from maas.assistants.ads.account import account_of, ad_account_of
from maas.assistants.ads.clients.facebook import from_minor, minor_units
from maas.assistants.ads.metrics import rounded
from maas.assistants.ads.period import Period, PeriodArguments, PeriodName, resolve
from maas.tools.calls import ToolFailure
from maas.tools.tool import ToolContext
from shared.db import Database

MAX_MONEY = 10**9
MAX_ITEMS = 100
NO_MONEY = f"an amount of the account's currency is a number above 0, at most {MAX_MONEY:,}, such as 5000 or 12.5"


def _read_money(value: object) -> Decimal:
    """Raises ValueError for what is no amount."""
    try:
        amount = Decimal(str(value)) if isinstance(value, int | float | str | Decimal) else Decimal("NaN")
    except ArithmeticError:
        amount = Decimal("NaN")
    if isinstance(value, bool) or not amount.is_finite() or not 0 < amount <= MAX_MONEY:
        raise ValueError(NO_MONEY)
    return amount


Money = Annotated[
    Decimal,
    BeforeValidator(_read_money),
    PlainSerializer(float, return_type=float),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": MAX_MONEY}),
]
Reference = Annotated[str, Field(min_length=1, max_length=200)]  # an id, or a name


class ListArguments(PeriodArguments):
    """A period and a limit."""

    limit: int = Field(
        default=20, ge=1, le=MAX_ITEMS, description="How many to list; the total number is returned, too"
    )


class DaysArguments(PeriodArguments):
    """A period and a limit of days."""

    limit: int = Field(
        default=31, ge=1, le=MAX_ITEMS, description="How many days to list, the newest; totals are of all"
    )


class CampaignArguments(BaseModel):
    campaign_id: Reference = Field(description="The id of the campaign, or its name, from getCampaigns")


class AdSetArguments(BaseModel):
    adset_id: Reference = Field(description="The id of the ad set, or its name, from getAdSets")


class DirectionArguments(BaseModel):
    direction_id: Reference = Field(description="The id of the direction, or its name, from getDirections")


async def period_of(db: Database, arguments: PeriodArguments, context: ToolContext, default: PeriodName) -> Period:
    """The period of a call, in the zone of its account. Raises ToolFailure if it begins after today."""
    return resolve(arguments, account_of(context).timezone, await db.value(queries.ads_now), default)


async def stored_period_of(
    db: Database, arguments: PeriodArguments, context: ToolContext, default: PeriodName
) -> Period:
    """As `period_of`, without days of which nothing is stored. Raises ToolFailure, also if that is all of them."""
    return (await period_of(db, arguments, context, default)).since(ad_account_of(context).stored_from)


def minor_of(amount: Decimal, currency: str) -> int:
    """The amount in minor units. Raises ToolFailure for parts of a unit."""
    minor = minor_units(amount, currency)
    if from_minor(minor, currency) != amount:
        raise ToolFailure(f"{amount} {currency}: the smallest unit of {currency} is {from_minor(1, currency)}")
    return minor


def money(minor: int | None, currency: str) -> float | None:
    """What a budget in minor units is in the currency."""
    return None if minor is None else rounded(from_minor(minor, currency))


def entities(rows: Iterable[Mapping[str, Any]], name: str = "name") -> dict[str, str]:
    """The ids of rows by their names; where a name is there twice, by name and id."""
    found: dict[str, str] = {}
    for row in rows:
        label, entity_id = str(row[name] or row["id"]), str(row["id"])
        found[label if found.get(label, entity_id) == entity_id else f"{label} ({entity_id})"] = entity_id
    return found
