"""Campaigns and ad sets as Facebook has them now: lists with metrics, one campaign in full, and what was spent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Literal, TypeVar

from pydantic import Field

from maas.assistants.ads.ad_tree import AdTree, figures_of, sums_of, together, tree_of
from maas.assistants.ads.clients.facebook_insights import Insights
from maas.assistants.ads.clients.facebook_objects import Ad, AdSet, Campaign
from maas.assistants.ads.goals import (
    MAX_GOAL_DAYS,
    RESULTS,
    Pair,
    goal_of,
    results_by_goal,
    results_of,
    shown_results,
)
from maas.assistants.ads.metrics import DEFINITIONS, Figures, cpl
from maas.assistants.ads.period import Period
from maas.assistants.ads.references import DELETED, PAST
from maas.assistants.ads.targets import versus_target
from maas.assistants.ads.tools.arguments import (
    CampaignArguments,
    DaysArguments,
    ListArguments,
    Reference,
    entities,
    money,
    period_of,
)
from maas.assistants.ads.tools.campaign_changes import make_campaign_changes
from maas.assistants.ads.tools.roi import make_roi_tools
from maas.assistants.ads.tools.wordings import LIST_ADSETS, LIST_CAMPAIGNS, REPORT_SPEND, SHOW_CAMPAIGN
from maas.assistants.ads.vendors import Vendors
from maas.engine.stages import Deps
from maas.tools.calls import ToolAnswer
from maas.tools.tool import Tool, ToolContext, tool

DOMAIN = "ads"
T = TypeVar("T", Campaign, AdSet, Ad)
TIMEOUT_S = 60.0  # large accounts have many pages
_METRICS = {name: DEFINITIONS[name] for name in ("leads", "cpl", "cpm", "ctr")} | {"results": RESULTS}


class CampaignsArguments(ListArguments):
    status: Literal["ACTIVE", "PAUSED"] | None = Field(default=None, description="Only campaigns with this status")


class CampaignDetailsArguments(ListArguments, CampaignArguments):
    pass


class AdSetsArguments(ListArguments):
    campaign_id: Reference | None = Field(
        default=None, description="The id of the campaign, from getCampaigns; left out: of the whole account"
    )


class SpendArguments(DaysArguments):
    group_by: Literal["day", "campaign"] = Field(default="day", description="What each figure is of")


def make_campaign_tools(deps: Deps, vendors: Vendors) -> list[Tool]:
    """Ten tools: campaigns and ad sets, spend and return, and the changes to them."""
    db = deps.db

    @tool(
        name="getCampaigns", domain=DOMAIN, effect="read", needs="connected", timeout=TIMEOUT_S, wording=LIST_CAMPAIGNS
    )
    async def get_campaigns(arguments: CampaignsArguments, context: ToolContext) -> Any:
        """List campaigns with status, budget and metrics of a period (default last_7d), the most expensive first."""
        tree = tree_of(db, vendors, context)
        period = await period_of(db, arguments, context, "last_7d")
        reads = tree.campaigns(), tree.figures("campaign", period), tree.goals(period)
        campaigns, figures, goals = await together(*reads)
        campaigns += await tree.unlisted_campaigns(campaigns, figures)
        of_goals = _by_campaign(goals)
        chosen = [one for one in _current(campaigns, figures) if arguments.status in (None, one.status)]
        shown = _largest([(one, figures.get(one.fb_id, Figures())) for one in chosen], arguments.limit)
        items = [_campaign(one, of, tree) | results_by_goal(of_goals[one.fb_id]) for one, of in shown]
        total = sum((of for one in chosen if (of := figures.get(one.fb_id))), Figures())
        data = _head(period, tree) | {"count": len(chosen), "campaigns": items}
        in_total = [pair for one in chosen for pair in of_goals[one.fb_id]]
        return ToolAnswer(data | {"total": total.shown() | results_by_goal(in_total)}, entities(items))

    @tool(
        name="getCampaignDetails",
        domain=DOMAIN,
        effect="read",
        needs="connected",
        timeout=TIMEOUT_S,
        wording=SHOW_CAMPAIGN,
    )
    async def get_campaign_details(arguments: CampaignDetailsArguments, context: ToolContext) -> Any:
        """Show one campaign with its ad sets and its ads, and the metrics of each in a period (default last_7d)."""
        tree = tree_of(db, vendors, context)
        period = await period_of(db, arguments, context, "last_7d")
        found = await tree.find_campaign(arguments.campaign_id)
        fb_id = found["fb_id"]
        of_campaign, by_adset, by_ad = await together(
            tree.figures("campaign", period, fb_id),
            tree.insights("adset", period, fb_id),
            tree.insights("ad", period, fb_id),
        )
        of_adsets, of_ads = sums_of(by_adset), sums_of(by_ad)
        campaigns = await tree.campaigns()
        adsets, ads = ([], []) if found["status"] == DELETED else await tree.ads(fb_id)
        campaigns += await tree.unlisted_campaigns(campaigns, [fb_id])
        adsets += await tree.unlisted_adsets(adsets, of_adsets)
        ads += await tree.unlisted_ads(ads, of_ads)
        targets = await _targets(tree)
        known = {one.fb_id: one for one in adsets}
        reached = results_by_goal((known.get(str(one.object_fb_id)), one) for one in by_adset)
        own = [one for one in campaigns if one.fb_id == fb_id]
        campaign = [_campaign(one, of_campaign.get(fb_id, Figures()), tree) | reached for one in own]
        done = _actions(by_adset) | _actions(by_ad)
        adsets, ads = _current(adsets, of_adsets), _current(ads, of_ads)
        of_sets = _largest([(one, of_adsets.get(one.fb_id, Figures())) for one in adsets], arguments.limit)
        sets = [_adset(one, of, done.get(one.fb_id, {}), tree, targets) for one, of in of_sets]
        of_shown = _largest([(one, of_ads.get(one.fb_id, Figures())) for one in ads], arguments.limit)
        shown_ads = [_ad(one, of, known.get(one.adset_fb_id), done.get(one.fb_id, {})) for one, of in of_shown]
        data = _head(period, tree) | {
            "campaign": campaign[0] if campaign else None,
            "adsets_count": len(adsets),
            "adsets": sets,
            "ads_count": len(ads),
            "ads": shown_ads,
        }
        return ToolAnswer(data, entities([*campaign, *sets, *shown_ads]))

    @tool(name="getAdSets", domain=DOMAIN, effect="read", needs="connected", timeout=TIMEOUT_S, wording=LIST_ADSETS)
    async def get_ad_sets(arguments: AdSetsArguments, context: ToolContext) -> Any:
        """List the ad sets of a campaign with status, budget and metrics of a period (default last_7d)."""
        tree = tree_of(db, vendors, context)
        period = await period_of(db, arguments, context, "last_7d")
        parent = None
        if arguments.campaign_id is not None:
            parent = (await tree.find_campaign(arguments.campaign_id))["fb_id"]
        adsets, found = await together(tree.adsets(parent), tree.insights("adset", period, parent))
        figures, done = sums_of(found), _actions(found)
        adsets += await tree.unlisted_adsets(adsets, figures)
        targets = await _targets(tree)
        adsets = _current(adsets, figures)
        shown = _largest([(one, figures.get(one.fb_id, Figures())) for one in adsets], arguments.limit)
        items = [_adset(one, of, done.get(one.fb_id, {}), tree, targets) for one, of in shown]
        return ToolAnswer(_head(period, tree) | {"count": len(adsets), "adsets": items}, entities(items))

    @tool(
        name="getSpendReport", domain=DOMAIN, effect="read", needs="connected", timeout=TIMEOUT_S, wording=REPORT_SPEND
    )
    async def get_spend_report(arguments: SpendArguments, context: ToolContext) -> Any:
        """Report what was spent in a period (default last_7d), by day or by campaign, with leads, CPL, CPM and CTR.

        Days and campaigns without a single impression are left out.
        """
        tree = tree_of(db, vendors, context)
        period = await period_of(db, arguments, context, "last_7d")
        if arguments.group_by == "campaign":
            reads = tree.campaigns(), tree.figures("campaign", period), tree.goals(period)
            campaigns, figures, goals = await together(*reads)
            of_goals = _by_campaign(goals)
            campaigns += await tree.unlisted_campaigns(campaigns, figures)
            names = {one.fb_id: one.name for one in campaigns}
            shown = _largest(list(figures.items()), arguments.limit)
            items: list[dict[str, Any]] = [
                {"id": fb_id, "name": names.get(fb_id, fb_id)} | of.shown() | results_by_goal(of_goals[fb_id])
                for fb_id, of in shown
            ]
            total, found = sum(figures.values(), Figures()), entities(items)
            count = len(figures)
        else:
            is_short = period.count_of_facebook_days <= MAX_GOAL_DAYS
            rows, goals = await together(
                tree.insights("account", period, by_day=True), tree.goals(period, by_day=is_short)
            )
            reached = _by_day(goals)
            days = sorted((one for one in rows if one.day is not None), key=lambda one: str(one.day))
            items = [
                {"day": str(one.day)} | figures_of(one).shown() | results_by_goal(reached[one.day])
                for one in days[-arguments.limit :]
            ]
            total, found, count = sum(map(figures_of, rows), Figures()), {}, len(days)
        data = _head(period, tree) | {"group_by": arguments.group_by, "count": count}
        data |= {"total": total.shown() | results_by_goal(goals)}
        if arguments.group_by == "day" and period.count_of_facebook_days > MAX_GOAL_DAYS:
            data["results_note"] = f"results by day are given for at most {MAX_GOAL_DAYS} days; the total has all"
        return ToolAnswer(data | {"items": items}, found or None)

    reads: list[Tool] = [get_campaigns, get_campaign_details, get_ad_sets, get_spend_report]
    return [*reads, *make_roi_tools(deps, vendors), *make_campaign_changes(deps, vendors)]


async def _targets(tree: AdTree) -> dict[str, Mapping[str, Any]]:
    """The rows of the targets of ad sets, by id of Facebook."""
    return {row["fb_id"]: row for row in await tree.targets()}


def _head(period: Period, tree: AdTree) -> dict[str, Any]:
    return {"period": period.shown_of_facebook(), **tree.account.shown(), "definitions": _METRICS}


def _current(found: Sequence[T], figures: Mapping[str, Figures]) -> list[T]:
    """Those that are neither archived nor deleted, or have figures."""
    return [one for one in found if one.status not in PAST or one.fb_id in figures]


def _largest(pairs: Sequence[tuple[Any, Figures]], limit: int) -> list[tuple[Any, Figures]]:
    """Those on which most was spent."""
    return sorted(pairs, key=lambda pair: pair[1].spend, reverse=True)[:limit]


def _campaign(one: Campaign, figures: Figures, tree: AdTree) -> dict[str, Any]:
    return {
        "id": one.fb_id,
        "name": one.name,
        "status": one.status,
        "effective_status": one.effective_status,
        "objective": one.objective,
        "daily_budget": money(one.daily_budget_minor, tree.account.currency),
    } | figures.shown()


def _adset(
    one: AdSet, figures: Figures, done: Mapping[str, int], tree: AdTree, targets: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """An ad set with its figures; `done` are its actions by type."""
    currency, results = tree.account.currency, results_of(one, figures, done)
    shown = {
        "id": one.fb_id,
        "name": one.name,
        "status": one.status,
        "effective_status": one.effective_status,
        "campaign_id": one.campaign_fb_id,
        "daily_budget": money(one.daily_budget_minor, currency),
    } | figures.shown()
    shown |= shown_results(goal_of(one), results, figures.spend)
    if (target := targets.get(one.fb_id)) is not None:
        value: Decimal | None = cpl(figures.spend, figures.leads)
        shown |= {"direction": target["direction"]}
        shown |= versus_target(value, target["target_cpl"], target["target_cpl_currency"], currency)
    return shown


def _ad(one: Ad, figures: Figures, adset: AdSet | None, done: Mapping[str, int]) -> dict[str, Any]:
    """An ad with its figures, and the results that its ad set is optimised for."""
    shown = {"id": one.fb_id, "name": one.name, "status": one.status, "effective_status": one.effective_status}
    shown |= {"adset_id": one.adset_fb_id} | figures.shown()
    if adset is None:
        return shown | shown_results(None, None, figures.spend)
    return shown | shown_results(goal_of(adset), results_of(adset, figures, done), figures.spend)


def _actions(found: Iterable[Insights]) -> dict[str, Mapping[str, int]]:
    """What was done, by type of action, of each object; ids of ad sets and ads differ."""
    return {one.object_fb_id: one.actions for one in found if one.object_fb_id is not None}


def _by_campaign(pairs: Iterable[Pair]) -> dict[str, list[Pair]]:
    found: dict[str, list[Pair]] = defaultdict(list)
    for adset, one in pairs:
        if adset is not None:
            found[adset.campaign_fb_id].append((adset, one))
    return found


def _by_day(pairs: Iterable[Pair]) -> dict[date | None, list[Pair]]:
    found: dict[date | None, list[Pair]] = defaultdict(list)
    for pair in pairs:
        found[pair[1].day].append(pair)
    return found
