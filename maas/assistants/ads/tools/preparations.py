"""Dangerous changes to advertising before their user is asked: the object is found, and what cannot work is refused.

A name becomes the id of its object, so that what is approved is what is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from maas.assistants.ads import queries
from maas.assistants.ads.ad_tree import AdTree, tree_of
from maas.assistants.ads.creatives import NOT_UPLOADED, find_creative
from maas.assistants.ads.direction_figures import NO_ADSET, directions_of, find_running_direction
from maas.assistants.ads.references import PAST, Refusal
from maas.assistants.ads.tools.arguments import minor_of, money
from maas.assistants.ads.vendors import Vendors
from maas.tools.calls import ToolFailure
from maas.tools.tool import ToolContext
from shared.db import Database

PAUSED = Refusal("it is paused already: nothing is to be done", "Это уже на паузе: делать ничего не нужно.")
RUNS = Refusal("it runs already: nothing is to be done", "Это уже работает: делать ничего не нужно.")
NOT_RUNNING = Refusal(
    "no ad with this creative is running: nothing was changed",
    "Ни одно объявление с этим креативом не работает: ничего не изменено.",
)
RUNS_ALREADY = Refusal(
    "the creative runs in this direction already: nothing was launched",
    "Креатив уже работает в этом направлении: ничего не запущено.",
)
TESTED_ALREADY = Refusal(
    "a test of this creative is running already: stop it first, see getCreativeTests",
    "Тест этого креатива уже идёт: сначала остановите его.",
)
TEST_DOLLARS = Decimal(20)


@dataclass(frozen=True, slots=True)
class Preparations:
    """What tools do with their arguments before a person sees them; each raises ToolFailure."""

    db: Database
    vendors: Vendors

    async def campaign_pause(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        row = await tree_of(self.db, self.vendors, context).fresh_campaign(arguments.campaign_id)
        _check_runs(row["status"])
        return _with_id(arguments, "campaign_id", row, "fb_id")

    async def adset_pause(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        row = await tree_of(self.db, self.vendors, context).fresh_adset(arguments.adset_id)
        _check_runs(row["status"])
        return _with_id(arguments, "adset_id", row, "fb_id")

    async def adset_budget(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        tree = tree_of(self.db, self.vendors, context)
        row = await tree.fresh_adset(arguments.adset_id)
        _check_budget(row, arguments.daily_budget, tree.account.currency)
        return _with_id(arguments, "adset_id", row, "fb_id")

    async def direction_budget(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        directions = directions_of(self.db, self.vendors, context)
        row = await directions.find(arguments.direction_id)
        if (fb_id := row["fb_adset_id"]) is None:
            raise ToolFailure(*NO_ADSET)
        tree = directions.tree or tree_of(self.db, self.vendors, context)
        _check_budget(await tree.fresh_adset(fb_id), arguments.daily_budget, directions.ad_account.currency)
        return _with_id(arguments, "direction_id", row, "id")

    async def direction_pause(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        row = await directions_of(self.db, self.vendors, context).find(arguments.direction_id)
        if row["status"] == "PAUSED":
            raise ToolFailure(*PAUSED)
        return _with_id(arguments, "direction_id", row, "id")

    async def creative_pause(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        creative = await find_creative(self.db, context, arguments.creative_id)
        if not await running_ads(self.db, context, tree_of(self.db, self.vendors, context), creative):
            raise ToolFailure(*NOT_RUNNING)
        return _with_id(arguments, "creative_id", creative, "id")

    async def creative_launch(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        creative = await uploaded_creative(self.db, context, arguments.creative_id)
        direction, adset_fb_id = await find_running_direction(self.db, context, arguments.direction_id)
        tree = tree_of(self.db, self.vendors, context)
        if await running_ads(self.db, context, tree, creative, adset_fb_id):
            raise ToolFailure(*RUNS_ALREADY)
        prepared = _with_id(arguments, "creative_id", creative, "id")
        return prepared | _with_id(arguments, "direction_id", direction, "id", only=True)

    async def creative_test(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        """With the direction and the budget that are left out, so that what is spent is seen."""
        creative = await uploaded_creative(self.db, context, arguments.creative_id)
        direction, adset_fb_id = await tested_direction(self.db, context, creative, arguments.direction_id)
        tree = tree_of(self.db, self.vendors, context)
        budget = budget_of_test(arguments.budget, tree.account.currency)
        check_budget_of_test(await tree.fresh_adset(adset_fb_id), tree.account.currency)
        owner = (context.user_id, tree.account.id)
        if await self.db.rows(queries.creative_tests, *owner, creative["id"], None, "running", 1):
            raise ToolFailure(*TESTED_ALREADY)
        prepared = _with_id(arguments, "creative_id", creative, "id")
        return prepared | {"direction_id": str(direction["id"]), "budget": float(budget)}


async def uploaded_creative(db: Database, context: ToolContext, reference: str) -> queries.FindCreativesRow:
    """The creative with this id or title, if Facebook has it. Raises ToolFailure."""
    creative = await find_creative(db, context, reference)
    if creative["fb_creative_id"] is None:
        raise ToolFailure(*NOT_UPLOADED)
    return creative


async def running_ads(
    db: Database, context: ToolContext, tree: AdTree, creative: queries.FindCreativesRow, adset_fb_id: str | None = None
) -> list[queries.CreativeAdsRow]:
    """The ads that show the creative and are not paused, as Facebook has them now."""
    await tree.ads()
    rows = await db.rows(queries.creative_ads, context.user_id, tree.account.id, creative["id"])
    return [row for row in rows if row["status"] == "ACTIVE" and adset_fb_id in (None, row["adset_fb_id"])]


async def tested_direction(
    db: Database, context: ToolContext, creative: queries.FindCreativesRow, reference: str | None
) -> tuple[queries.AdsDirectionsRow, str]:
    """The direction whose audience tests a creative, by default its own, and its ad set. Raises ToolFailure."""
    own = creative["direction_id"]
    if not (reference := reference or ("" if own is None else str(own))):
        raise ToolFailure("the creative belongs to no direction: name the direction whose audience tests it")
    return await find_running_direction(db, context, reference)


def budget_of_test(asked: Decimal | None, currency: str) -> Decimal:
    """The daily budget of a test. Raises ToolFailure if it must be asked for."""
    if asked is None and currency != "USD":
        raise ToolFailure(f"the ad account is in {currency}: ask for a budget of about 20 dollars in {currency}")
    amount = TEST_DOLLARS if asked is None else asked
    minor_of(amount, currency)
    return amount


def check_budget_of_test(row: queries.AdsAdsetRow, currency: str) -> None:
    """Raises ToolFailure where the campaign has the budget: Facebook takes no ad set with one of its own there."""
    if row["campaign_budget_minor"] is not None:
        budget = money(row["campaign_budget_minor"], currency)
        raise ToolFailure(
            f"a test needs a budget of its own, and the campaign {row['campaign']!r} of this direction spends {budget} "
            f"{currency} a day for all its ad sets: name another direction; nothing was started",
            f"Тесту нужен свой бюджет, а кампания «{row['campaign']}» тратит {budget:.10g} {currency} в день на все "
            "свои группы: выберите другое направление. Ничего не запущено.",
        )


def _with_id(
    arguments: BaseModel, name: str, row: Mapping[str, Any], column: str, *, only: bool = False
) -> dict[str, Any]:
    """The arguments in which a name is replaced by the id of the row that it means; `only` this argument."""
    values = {} if only else arguments.model_dump(mode="json")
    return values if row["is_id"] else values | {name: str(row[column])}


def _check_runs(status: str) -> None:
    """Raises ToolFailure for what runs no longer."""
    if status == "PAUSED":
        raise ToolFailure(*PAUSED)
    check_exists(status)


def check_exists(status: str) -> None:
    """Raises ToolFailure for what is archived or deleted."""
    if status in PAST:
        raise ToolFailure(
            f"it is {status.lower()} at Facebook and runs no longer: nothing can be changed",
            "В Facebook это удалено или в архиве: изменить ничего нельзя.",
        )


def check_stands(status: str) -> None:
    """Raises ToolFailure for what runs already, and for what is archived or deleted."""
    check_exists(status)
    if status == "ACTIVE":
        raise ToolFailure(*RUNS)


def check_adset_stands(row: queries.AdsAdsetRow) -> None:
    """Raises ToolFailure for an ad set that runs already or no longer, or that only its campaign keeps from running."""
    check_exists(row["status"])
    check_exists(row["campaign_status"])
    if row["status"] == "ACTIVE" and row["campaign_status"] != "ACTIVE":
        raise ToolFailure(
            f"the ad set itself is not paused, its campaign {row['campaign']!r} is: nothing was changed; "
            "resumeCampaign starts it with its other ad sets",
            f"Сама группа не на паузе, на паузе её кампания «{row['campaign']}». Ничего не изменено.",
        )
    check_stands(row["status"])


def waits_for_campaign(row: queries.AdsAdsetRow) -> dict[str, str]:
    """What a result says of an ad set that was started in a campaign that is paused; else empty."""
    if row["campaign_status"] == "ACTIVE":
        return {}
    return {"note": f"it does not run yet: its campaign {row['campaign']!r} is paused, resumeCampaign starts that"}


def _check_budget(row: queries.AdsAdsetRow, wanted: Any, currency: str) -> None:
    minor_of(wanted, currency)
    check_exists(row["status"])
    if row["daily_budget_minor"] is None and row["campaign_budget_minor"] is not None:
        budget = money(row["campaign_budget_minor"], currency)
        raise ToolFailure(
            f"this ad set has no budget of its own: its campaign {row['campaign']!r} spends {budget} {currency} a day "
            "for all its ad sets, and that is changed in Ads Manager; tell the user, nothing was changed",
            f"Своего бюджета у этой группы нет: кампания «{row['campaign']}» тратит {budget:.10g} {currency} в день "
            "на все свои группы. Этот бюджет меняют в Ads Manager; ничего не изменено.",
        )
