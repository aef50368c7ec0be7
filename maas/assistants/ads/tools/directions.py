"""Directions, the lines of business that are advertised: with their figures against the target, and changes to them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from maas.assistants.ads import queries
from maas.assistants.ads.account import Domain
from maas.assistants.ads.ad_tree import together
from maas.assistants.ads.direction_figures import Directions, directions_of
from maas.assistants.ads.goals import GOALS, MAX_GOAL_DAYS, NOT_STORED, Goaled
from maas.assistants.ads.metrics import DEFINITIONS, rank, roi, rounded
from maas.assistants.ads.period import Period
from maas.assistants.ads.revenue import Revenue, read_revenue
from maas.assistants.ads.targets import Targeted, judge, versus_target, versus_targets
from maas.assistants.ads.tools.arguments import (
    DaysArguments,
    DirectionArguments,
    ListArguments,
    entities,
    money,
    period_of,
)
from maas.assistants.ads.tools.direction_changes import make_direction_changes
from maas.assistants.ads.tools.wordings import LIST_DIRECTIONS, SHOW_DIRECTION, SHOW_DIRECTION_DAYS
from maas.assistants.ads.vendors import Vendors, vendor_errors
from maas.engine.stages import Deps
from maas.tools.calls import ToolAnswer
from maas.tools.tool import Tool, ToolContext, tool

DOMAIN = "ads"
TIMEOUT_S = 60.0
_SHOWN = ("cpl", "cpm", "ctr", "qcpl", "roi", "qualified_leads_crm", "qualified_leads_engaged", "tier", "vs_target")
_LEADS: tuple[Domain, ...] = ("crm", "whatsapp")
_METRICS = {name: DEFINITIONS[name] for name in _SHOWN} | GOALS


class DirectionDetailsArguments(ListArguments, DirectionArguments):
    pass


class DirectionDaysArguments(DaysArguments, DirectionArguments):
    pass


def make_direction_tools(deps: Deps, vendors: Vendors) -> list[Tool]:
    """Six tools: directions, one in full, one by day, and the changes to them."""
    db = deps.db

    @tool(name="getDirections", domain=DOMAIN, effect="read", needs="data", timeout=TIMEOUT_S, wording=LIST_DIRECTIONS)
    async def get_directions(arguments: ListArguments, context: ToolContext) -> Any:
        """List the directions with budget, target CPL and the metrics of a period (default last_7d), the best first."""
        directions = directions_of(db, vendors, context)
        period = directions.covered(await period_of(db, arguments, context, "last_7d"))
        rows = await directions.rows()
        figures, results, revenue = await _read(deps, directions, rows, period)
        shown = [(row, figures.get(row["id"], Goaled()), results.get(row["id"])) for row in rows]
        ranked = sorted(shown, key=lambda one: _rank(one[1], one[2], revenue))
        items = [_direction(directions, row, of, result, revenue) for row, of, result in ranked[: arguments.limit]]
        advice = [
            f"{one['advice']}: {one['name']} (tier {one['tier']} by {one['tier_by']})"
            for one in items
            if one["advice"] is not None
        ]
        data = _head(directions, period, *_LEADS) | revenue.shown() | {"count": len(rows), "directions": items}
        return ToolAnswer(data, entities(items), advice)

    @tool(
        name="getDirectionDetails",
        domain=DOMAIN,
        effect="read",
        needs="data",
        timeout=TIMEOUT_S,
        wording=SHOW_DIRECTION,
    )
    async def get_direction_details(arguments: DirectionDetailsArguments, context: ToolContext) -> Any:
        """Show one direction: its ad set at Facebook, its creatives, and the metrics of a period (default last_7d)."""
        directions = directions_of(db, vendors, context)
        period = directions.covered(await period_of(db, arguments, context, "last_7d"))
        row = await directions.find(arguments.direction_id)
        figures, results, revenue = await _read(deps, directions, [row], period)
        adset, creatives = await together(_adset(directions, row), directions.creatives(row, arguments.limit))
        item = _direction(directions, row, figures.get(row["id"], Goaled()), results.get(row["id"]), revenue)
        shown = [
            {"id": str(one["id"]), "name": one["title"], "media_type": one["media_type"], "status": one["status"]}
            for one in creatives
        ]
        data = (
            _head(directions, period, *_LEADS)
            | revenue.shown()
            | {
                "direction": item | {"key_stage_ids": row["key_stage_ids"]},
                "facebook_adset": adset,
                "creatives_count": creatives[0]["total"] if creatives else 0,
                "creatives": shown,
            }
        )
        return ToolAnswer(data, entities([item, *shown]))

    @tool(
        name="getDirectionMetrics",
        domain=DOMAIN,
        effect="read",
        needs="data",
        timeout=TIMEOUT_S,
        wording=SHOW_DIRECTION_DAYS,
    )
    async def get_direction_metrics(arguments: DirectionDaysArguments, context: ToolContext) -> Any:
        """Show the metrics of one direction by day (default last_7d), each day's CPL against the target."""
        directions = directions_of(db, vendors, context)
        period = directions.covered(await period_of(db, arguments, context, "last_7d"))
        row = await directions.find(arguments.direction_id)
        days = await directions.days(row, period)
        currency = directions.ad_account.currency
        target = row["target_cpl"], row["target_cpl_currency"], currency

        is_short = arguments.limit <= MAX_GOAL_DAYS or len(days) <= MAX_GOAL_DAYS

        def shown(of: Goaled) -> dict[str, Any]:
            values = of.shown() if is_short else of.figures.shown()
            return values | {"vs_target_percent": versus_target(of.cpl, *target)["vs_target_percent"]}

        items = [{"day": str(day)} | shown(of) for day, of in sorted(days.items())[-arguments.limit :]]
        total = sum(days.values(), Goaled())
        direction = {"id": str(row["id"]), "name": row["name"]} | versus_target(total.cpl, *target)
        data = _head(directions, period) | {
            "direction": direction,
            "total": total.shown(),
            "count": len(days),
            "days": items,
        }
        if not is_short:
            data["results_note"] = f"results by day are given for at most {MAX_GOAL_DAYS} days; the total has all"
        return ToolAnswer(data, entities([direction]))

    return [get_directions, get_direction_details, get_direction_metrics, *make_direction_changes(deps, vendors)]


async def _read(deps: Deps, directions: Directions, rows: list[queries.AdsDirectionsRow], period: Period) -> Any:
    """The figures, the results by direction, and how to count revenue."""
    account = directions.account
    return await together(
        directions.figures(rows, period),
        directions.results(period),
        read_revenue(deps.db, account, period),
    )


def _head(directions: Directions, period: Period, *of_leads: Domain) -> dict[str, Any]:
    """The period, the account and the age of what is stored: that of leads, and that of figures where they are."""
    stored: tuple[Domain, ...] = of_leads if directions.tree is not None else ("ads", *of_leads)
    head = {"period": period.shown(), **directions.ad_account.shown(), "source": directions.source}
    head |= {} if directions.tree is not None else {"results_note": NOT_STORED}
    return head | directions.account.freshness(*stored) | {"definitions": _METRICS}


def _values(of: Goaled, results: queries.AdsDirectionResultsRow | None, revenue: Revenue) -> tuple[Decimal | None, ...]:
    """ROI, QCPL and CPL."""
    figures = of.figures
    if figures.spend <= 0:
        return None, None, None
    engaged = results["engaged"] if results else 0
    paid = revenue.of(results["revenue"] if results else None)
    return roi(paid, figures.spend), revenue.qcpl(figures.spend, engaged), of.cpl


def _rank(
    of: Goaled, results: queries.AdsDirectionResultsRow | None, revenue: Revenue
) -> tuple[tuple[bool, Decimal], ...]:
    return rank(*_values(of, results, revenue))


def _direction(
    directions: Directions,
    row: queries.AdsDirectionsRow,
    of: Goaled,
    results: queries.AdsDirectionResultsRow | None,
    revenue: Revenue,
) -> dict[str, Any]:
    currency = directions.ad_account.currency
    roi_value, qcpl_value, cpl_value = _values(of, results, revenue)
    target = Targeted(
        target_cpl=row["target_cpl"], target_qcpl=row["target_qcpl"], target_cpl_currency=row["target_cpl_currency"]
    )
    return {
        "id": str(row["id"]),
        "name": row["name"],
        "status": row["status"],
        "facebook_adset_id": row["fb_adset_id"],
        "daily_budget": money(row["daily_budget_minor"], currency),
        **of.shown(),
        "local_leads": results["leads"] if results else 0,
        "qualified_leads_engaged": results["engaged"] if results else 0,
        "qualified_leads_crm": results["qualified"] if results else 0,
        "revenue": rounded(revenue.of(results["revenue"] if results else None)),
        "roi": rounded(roi_value),
        "qcpl": rounded(qcpl_value),
        **versus_targets(cpl_value, qcpl_value, target, currency),
        **judge(roi_value, qcpl_value, cpl_value, target, currency).shown(),
    }


async def _adset(directions: Directions, row: queries.AdsDirectionsRow) -> dict[str, Any] | None:
    """The ad set that runs a direction, as Facebook has it now; only its id where Facebook is not connected."""
    fb_id, tree = row["fb_adset_id"], directions.tree
    if fb_id is None:
        return None
    if tree is None:
        return {"id": fb_id, "status": None, "daily_budget": None}
    with vendor_errors():
        status, minor = await together(tree.facebook.status(fb_id), tree.facebook.daily_budget(fb_id))
    return {"id": fb_id, "status": status, "daily_budget": money(minor, directions.ad_account.currency)}
