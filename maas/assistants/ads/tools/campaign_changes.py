"""Changes to campaigns and ad sets at Facebook. Each is seen again there before it is called done."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic import Field

from maas.assistants.ads import queries
from maas.assistants.ads.ad_tree import AdTree, tree_of
from maas.assistants.ads.clients.facebook import Status
from maas.assistants.ads.tools.arguments import (
    AdSetArguments,
    CampaignArguments,
    Money,
    minor_of,
    money,
)
from maas.assistants.ads.tools.preparations import Preparations, check_adset_stands, check_stands, waits_for_campaign
from maas.assistants.ads.tools.previews import Previews
from maas.assistants.ads.tools.wordings import (
    PAUSE_ADSET,
    PAUSE_CAMPAIGN,
    RESUME_ADSET,
    RESUME_CAMPAIGN,
    SET_BUDGET,
)
from maas.assistants.ads.vendors import Vendors, vendor_errors
from maas.engine.stages import Deps
from maas.tools.calls import ToolAnswer
from maas.tools.tool import Tool, ToolContext, tool

DOMAIN = "ads"


class BudgetArguments(AdSetArguments):
    daily_budget: Money = Field(description="The new daily budget, in the currency of the ad account, such as 5000")


def make_campaign_changes(deps: Deps, vendors: Vendors) -> list[Tool]:
    db = deps.db
    previews, preparations = Previews(db, vendors), Preparations(db, vendors)

    async def verify_status(_: Any, context: ToolContext, data: Any) -> Any:
        """The status that Facebook has now."""
        with vendor_errors():
            status = await vendors.facebook(context).status(data["id"])
        return {"verified": status == data["status"], "status": status}

    async def verify_budget(arguments: BudgetArguments, context: ToolContext, data: Any) -> Any:
        """The budget that Facebook has now."""
        with vendor_errors():
            minor = await vendors.facebook(context).daily_budget(data["id"])
        budget = money(minor, data["currency"])
        return {"verified": budget == data["daily_budget"], "daily_budget": budget}

    @tool(
        name="pauseCampaign",
        domain=DOMAIN,
        effect="dangerous",
        needs="connected",
        wording=PAUSE_CAMPAIGN,
        prepare=preparations.campaign_pause,
        preview=previews.campaign_pause,
        verify=verify_status,
    )
    async def pause_campaign(arguments: CampaignArguments, context: ToolContext) -> Any:
        """Pause a campaign: all its ads stop."""
        tree = tree_of(db, vendors, context)
        return await _set_status(tree, await tree.find_campaign(arguments.campaign_id), "PAUSED")

    @tool(
        name="resumeCampaign",
        domain=DOMAIN,
        effect="write",
        needs="connected",
        wording=RESUME_CAMPAIGN,
        preview=previews.campaign_start,
        verify=verify_status,
    )
    async def resume_campaign(arguments: CampaignArguments, context: ToolContext) -> Any:
        """Resume a paused campaign: its ads run again and spend money."""
        tree = tree_of(db, vendors, context)
        row = await tree.fresh_campaign(arguments.campaign_id)
        check_stands(row["status"])
        return await _set_status(tree, row, "ACTIVE")

    @tool(
        name="pauseAdSet",
        domain=DOMAIN,
        effect="dangerous",
        needs="connected",
        wording=PAUSE_ADSET,
        prepare=preparations.adset_pause,
        preview=previews.adset_pause,
        verify=verify_status,
    )
    async def pause_ad_set(arguments: AdSetArguments, context: ToolContext) -> Any:
        """Pause an ad set: all its ads stop."""
        tree = tree_of(db, vendors, context)
        return await _set_status(tree, await tree.find_adset(arguments.adset_id), "PAUSED")

    @tool(
        name="resumeAdSet",
        domain=DOMAIN,
        effect="write",
        needs="connected",
        wording=RESUME_ADSET,
        preview=previews.adset_start,
        verify=verify_status,
    )
    async def resume_ad_set(arguments: AdSetArguments, context: ToolContext) -> Any:
        """Resume a paused ad set: its ads run again and spend money."""
        tree = tree_of(db, vendors, context)
        row = await tree.fresh_adset(arguments.adset_id)
        check_adset_stands(row)
        return await _set_status(tree, row, "ACTIVE", waits_for_campaign(row))

    @tool(
        name="updateBudget",
        domain=DOMAIN,
        effect="dangerous",
        needs="connected",
        wording=SET_BUDGET,
        prepare=preparations.adset_budget,
        preview=previews.adset_budget,
        verify=verify_budget,
    )
    async def update_budget(arguments: BudgetArguments, context: ToolContext) -> Any:
        """Set the daily budget of an ad set, in the currency of the ad account."""
        tree = tree_of(db, vendors, context)
        currency = tree.account.currency
        minor = minor_of(arguments.daily_budget, currency)
        row = await tree.find_adset(arguments.adset_id)
        await tree.set_budget(row["fb_id"], minor)
        data = {
            "id": row["fb_id"],
            "name": row["name"],
            "currency": currency,
            "daily_budget": money(minor, currency),
            "daily_budget_before": money(row["daily_budget_minor"], currency),
        }
        return ToolAnswer(data, {row["name"] or row["fb_id"]: row["fb_id"]})

    return [pause_campaign, resume_campaign, pause_ad_set, resume_ad_set, update_budget]


async def _set_status(
    tree: AdTree,
    row: queries.AdsCampaignRow | queries.AdsAdsetRow,
    status: Status,
    more: Mapping[str, str] = MappingProxyType({}),
) -> ToolAnswer:
    await tree.set_status(row["fb_id"], status)
    data = {"id": row["fb_id"], "name": row["name"], "status": status, "status_before": row["status"], **more}
    return ToolAnswer(data, {row["name"] or row["fb_id"]: row["fb_id"]})
