"""Changes to directions: their budget and their pause also reach ad sets at Facebook, their target is ours alone."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from maas.assistants.ads import queries
from maas.assistants.ads.ad_tree import AdTree, tree_of
from maas.assistants.ads.clients.facebook import Status
from maas.assistants.ads.direction_figures import NO_ADSET, Directions, directions_of
from maas.assistants.ads.metrics import rounded
from maas.assistants.ads.tools.arguments import DirectionArguments, Money, minor_of, money
from maas.assistants.ads.tools.preparations import (
    Preparations,
    check_adset_stands,
    check_exists,
    waits_for_campaign,
)
from maas.assistants.ads.tools.previews import Previews
from maas.assistants.ads.tools.wordings import (
    PAUSE_DIRECTION,
    RESUME_DIRECTION,
    SET_DIRECTION_BUDGET,
    SET_TARGET,
)
from maas.assistants.ads.vendors import Vendors, vendor_errors
from maas.engine.stages import Deps
from maas.tools.calls import ToolAnswer, ToolFailure
from maas.tools.tool import Tool, ToolContext, tool
from shared.db import Database

DOMAIN = "ads"


class DirectionBudgetArguments(DirectionArguments):
    daily_budget: Money = Field(description="The new daily budget, in the currency of the ad account, such as 5000")


class TargetArguments(DirectionArguments):
    target_cpl: Money = Field(
        description="What a lead may cost at most, in the currency of the ad account, such as 4.5"
    )


def make_direction_changes(deps: Deps, vendors: Vendors) -> list[Tool]:
    db = deps.db
    previews, preparations = Previews(db, vendors), Preparations(db, vendors)

    async def verify_budget(_: Any, context: ToolContext, data: Any) -> Any:
        """The budget of the ad set that Facebook has now, and that of the direction."""
        directions = directions_of(db, vendors, context)
        with vendor_errors():
            minor = await vendors.facebook(context).daily_budget(data["facebook_adset_id"])
        row = await directions.find(data["id"])
        found = {
            "facebook": money(minor, data["currency"]),
            "direction": money(row["daily_budget_minor"], data["currency"]),
        }
        return {"verified": set(found.values()) == {data["daily_budget"]}, "daily_budget": found}

    async def verify_target(_: Any, context: ToolContext, data: Any) -> Any:
        """The target that is stored now."""
        row = await directions_of(db, vendors, context).find(data["id"])
        target = {"target_cpl": rounded(row["target_cpl"]), "target_currency": row["target_cpl_currency"]}
        return {"verified": target.items() <= data.items()} | target

    async def verify_status(_: Any, context: ToolContext, data: Any) -> Any:
        """The statuses of the direction and of the ad sets that were changed, at Facebook now."""
        row = await directions_of(db, vendors, context).find(data["id"])
        with vendor_errors():
            adsets = {fb_id: await vendors.facebook(context).status(fb_id) for fb_id in data["changed_adset_ids"]}
        is_done = {row["status"], *adsets.values()} == {data["status"]}
        return {"verified": is_done, "status": {"direction": row["status"], "facebook": adsets}}

    @tool(
        name="updateDirectionBudget",
        domain=DOMAIN,
        effect="dangerous",
        needs="connected",
        verify=verify_budget,
        wording=SET_DIRECTION_BUDGET,
        prepare=preparations.direction_budget,
        preview=previews.direction_budget,
    )
    async def update_direction_budget(arguments: DirectionBudgetArguments, context: ToolContext) -> Any:
        """Set the daily budget of a direction and of its ad set, in the currency of the ad account."""
        directions, row, tree = await _open(db, vendors, arguments, context)
        currency = directions.ad_account.currency
        minor = minor_of(arguments.daily_budget, currency)
        if (fb_id := row["fb_adset_id"]) is None:
            raise ToolFailure(*NO_ADSET)
        await tree.set_budget(fb_id, minor)
        before = money(row["daily_budget_minor"], currency)
        data = _head(row) | {
            "currency": currency,
            "daily_budget": money(minor, currency),
            "daily_budget_before": before,
        }
        return ToolAnswer(data, {row["name"]: data["id"]})

    @tool(
        name="updateDirectionTargetCPL",
        domain=DOMAIN,
        effect="write",
        needs="data",
        idempotent=True,
        verify=verify_target,
        wording=SET_TARGET,
        preview=previews.direction_target,
    )
    async def update_direction_target_cpl(arguments: TargetArguments, context: ToolContext) -> Any:
        """Set the target CPL of a direction, in the currency of the ad account."""
        directions = directions_of(db, vendors, context)
        row = await directions.find(arguments.direction_id)
        currency = directions.ad_account.currency
        await db.rows(
            queries.ads_set_direction_target, directions.account.user_id, row["id"], arguments.target_cpl, currency
        )
        before = {"target_cpl_before": rounded(row["target_cpl"]), "target_currency_before": row["target_cpl_currency"]}
        data = _head(row) | {"target_cpl": rounded(arguments.target_cpl), "target_currency": currency} | before
        return ToolAnswer(data, {row["name"]: data["id"]})

    @tool(
        name="pauseDirection",
        domain=DOMAIN,
        effect="dangerous",
        needs="connected",
        verify=verify_status,
        wording=PAUSE_DIRECTION,
        prepare=preparations.direction_pause,
        preview=previews.direction_pause,
    )
    async def pause_direction(arguments: DirectionArguments, context: ToolContext) -> Any:
        """Pause a direction and all its ad sets at Facebook."""
        directions, row, tree = await _open(db, vendors, arguments, context)
        data = await _set_status(db, directions, tree, row, row["adset_fb_ids"], "PAUSED")
        return ToolAnswer(data, {row["name"]: data["id"]})

    @tool(
        name="resumeDirection",
        domain=DOMAIN,
        effect="write",
        needs="connected",
        verify=verify_status,
        wording=RESUME_DIRECTION,
        preview=previews.direction_start,
    )
    async def resume_direction(arguments: DirectionArguments, context: ToolContext) -> Any:
        """Resume a paused direction and its own ad set at Facebook; other ad sets of it stay as they are."""
        directions, row, tree = await _open(db, vendors, arguments, context)
        own = [row["fb_adset_id"]] if row["fb_adset_id"] is not None else []
        note = await _check_start(tree, row, own)
        data = await _set_status(db, directions, tree, row, own, "ACTIVE") | note
        data["other_adset_ids"] = [fb_id for fb_id in row["adset_fb_ids"] if fb_id not in own]
        return ToolAnswer(data, {row["name"]: data["id"]})

    return [update_direction_budget, update_direction_target_cpl, pause_direction, resume_direction]


async def _check_start(tree: AdTree, row: queries.AdsDirectionsRow, adset_fb_ids: list[str]) -> dict[str, str]:
    """What a result says of ad sets that are to run again. Raises ToolFailure where that changes nothing."""
    note: dict[str, str] = {}
    for fb_id in adset_fb_ids:
        adset = await tree.fresh_adset(fb_id)
        if row["status"] == "ACTIVE":
            check_adset_stands(adset)
        for status in (adset["status"], adset["campaign_status"]):
            check_exists(status)
        note |= waits_for_campaign(adset)
    return note


async def _set_status(
    db: Database,
    directions: Directions,
    tree: AdTree,
    row: queries.AdsDirectionsRow,
    adset_fb_ids: list[str],
    status: Status,
) -> dict[str, Any]:
    """Start or pause ad sets of a direction, and then the direction. Raises ToolFailure, which says what was done."""
    for number, fb_id in enumerate(adset_fb_ids):
        try:
            await tree.set_status(fb_id, status)
        except ToolFailure as failure:
            if number > 0:
                failure.message += f"; {status} already: {', '.join(adset_fb_ids[:number])}"
            raise
    await db.rows(queries.ads_set_direction_status, directions.account.user_id, row["id"], status)
    return _head(row) | {"status": status, "status_before": row["status"], "changed_adset_ids": adset_fb_ids}


def _head(row: queries.AdsDirectionsRow) -> dict[str, Any]:
    return {"id": str(row["id"]), "name": row["name"], "facebook_adset_id": row["fb_adset_id"]}


async def _open(
    db: Database, vendors: Vendors, arguments: DirectionArguments, context: ToolContext
) -> tuple[Directions, queries.AdsDirectionsRow, AdTree]:
    """The direction that is meant, and the tree of its account, which tools that need a connection have."""
    directions = directions_of(db, vendors, context)
    row = await directions.find(arguments.direction_id)
    return directions, row, directions.tree or tree_of(db, vendors, context)
