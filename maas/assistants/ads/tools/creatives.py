"""Tools that list and compare creatives by their stored figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from maas.assistants.ads import queries
from maas.assistants.ads.account import account_of, ad_account_of
from maas.assistants.ads.creatives import NOTES, CreativeFigures, find_creatives, read_creatives, recommend
from maas.assistants.ads.direction_figures import NO_DIRECTION
from maas.assistants.ads.metrics import DEFINITIONS, ctr
from maas.assistants.ads.period import Period, PeriodArguments
from maas.assistants.ads.references import Refusal, the_one
from maas.assistants.ads.tools.arguments import ListArguments, Reference, entities, stored_period_of
from maas.assistants.ads.tools.wordings import BEST_CREATIVES, COMPARE_CREATIVES, LIST_CREATIVES, WORST_CREATIVES
from maas.engine.stages import Deps
from maas.tools.calls import ToolAnswer, ToolFailure
from maas.tools.tool import Tool, ToolContext, tool
from shared.db import Database

DOMAIN = "creative"
MIN_COMPARED, MAX_COMPARED = 2, 5
Metric = Literal[
    "quality",
    "roi",
    "qcpl",
    "cpl",
    "ctr",
    "leads",
    "qualified_leads",
    "qualified_leads_crm",
    "sales",
    "purchases",
    "revenue",
    "spend",
    "results",
]
MEANINGS: dict[Metric, str] = {
    "quality": "ROI, then QCPL, then CPL",
    "leads": "all leads, qualified or not",
    "qualified_leads": DEFINITIONS["qualified_leads_engaged"],
    "qualified_leads_crm": DEFINITIONS["qualified_leads_crm"],
    "revenue": "what sold leads have paid: sales of other sources do not count",
}
NO_RESULTS = Refusal(
    "leads, sales of the CRM and purchases are stored by creative, each a metric of its own, other results are not: "
    "getROIReport has these goal by goal; tell the user that this list cannot be made",
    "По креативам хранятся заявки, продажи из CRM и покупки на сайте: рейтинга по другим результатам нет.",
)
SortKey = Callable[[CreativeFigures], tuple[Any, ...]]


class CreativesArguments(ListArguments):
    status: Literal["draft", "ready", "paused", "archived"] | None = Field(None, description="Only these")
    direction_id: Reference | None = Field(None, description="Only creatives of this direction, from getDirections")


class RankedArguments(ListArguments):
    metric: Metric = Field(
        "quality",
        description="quality: ROI, then QCPL, then CPL; sales: leads sold; purchases: on a site; results: of others",
    )
    limit: int = Field(default=5, ge=1, le=50, description="How many to list")


def _distinct(ids: list[str]) -> list[str]:
    if len(set(ids)) < len(ids):
        raise ValueError("name each creative once")
    return ids


class ComparedArguments(PeriodArguments):
    creative_ids: Annotated[
        list[Reference], Field(min_length=MIN_COMPARED, max_length=MAX_COMPARED), AfterValidator(_distinct)
    ] = Field(description="Two to five ids, from getCreatives")


def make_creative_tools(deps: Deps) -> list[Tool]:
    """Four tools: all creatives, the best, the worst, and some beside each other."""
    db = deps.db

    @tool(name="getCreatives", domain=DOMAIN, effect="read", needs="data", wording=LIST_CREATIVES)
    async def get_creatives(arguments: CreativesArguments, context: ToolContext) -> Any:
        """List creatives with spend, leads, cost per lead, tier, score and risk. Default period: last_30d."""
        period = await stored_period_of(db, arguments, context, "last_30d")
        direction_id = await _direction(db, context, arguments.direction_id)
        found = await read_creatives(db, context, period, status=arguments.status, direction_id=direction_id)
        return _list(period, found[: arguments.limit], context, len(found))

    @tool(name="getTopCreatives", domain=DOMAIN, effect="read", needs="data", wording=BEST_CREATIVES)
    async def get_top_creatives(arguments: RankedArguments, context: ToolContext) -> Any:
        """List the best creatives by a metric. Default: by quality, over all time."""
        return await _rank(db, arguments, context, is_best=True)

    @tool(name="getWorstCreatives", domain=DOMAIN, effect="read", needs="data", wording=WORST_CREATIVES)
    async def get_worst_creatives(arguments: RankedArguments, context: ToolContext) -> Any:
        """List the worst creatives by a metric, such as those with a high cpl. Default: by quality, over all time."""
        return await _rank(db, arguments, context, is_best=False)

    @tool(name="compareCreatives", domain=DOMAIN, effect="read", needs="data", wording=COMPARE_CREATIVES)
    async def compare_creatives(arguments: ComparedArguments, context: ToolContext) -> Any:
        """Compare two to five creatives, the best first. Default period: all."""
        ids = {row["id"] for row in await find_creatives(db, context, arguments.creative_ids)}
        if len(ids) < len(arguments.creative_ids):
            raise ToolFailure("two of these ids are of one creative: name each creative once")
        period = await stored_period_of(db, arguments, context, "all")
        found = sorted(await read_creatives(db, context, period, ids=sorted(ids)), key=lambda one: one.rank)
        return _list(period, found, context, len(found))

    return [get_creatives, get_top_creatives, get_worst_creatives, compare_creatives]


async def _direction(db: Database, context: ToolContext, reference: str | None) -> UUID | None:
    if reference is None:
        return None
    rows = await db.rows(queries.ads_directions, context.user_id, ad_account_of(context).id, reference)
    found: UUID = the_one(rows, NO_DIRECTION)["id"]
    return found


async def _rank(db: Database, arguments: RankedArguments, context: ToolContext, *, is_best: bool) -> ToolAnswer:
    metric = arguments.metric
    if metric == "results":
        raise ToolFailure(*NO_RESULTS)
    period = await stored_period_of(db, arguments, context, "all")
    found = [one for one in await read_creatives(db, context, period) if one.has_data]
    found.sort(key=sort_key(metric, is_best=is_best))
    ranked_by = {"metric": metric, "means": MEANINGS.get(metric) or DEFINITIONS.get(metric, metric)}
    return _list(period, found[: arguments.limit], context, len(found), {"ranked_by": ranked_by})


def _list(
    period: Period,
    found: Sequence[CreativeFigures],
    context: ToolContext,
    total: int,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> ToolAnswer:
    data = {
        "period": period.shown(),
        **more,
        **account_of(context).freshness("creative", "crm", "whatsapp"),
        **ad_account_of(context).shown(),
        "count": total,
        **(found[0].revenue_note if found else {}),
        "creatives": [one.shown() for one in found],
        "definitions": NOTES,
    }
    named = [{"id": one.id, "name": one.title} for one in found]
    return ToolAnswer(data, entities=entities(named), recommendations=recommend(found))


def sort_key(metric: Metric, *, is_best: bool) -> SortKey:
    """The key that puts the best, or the worst, first; what has no value comes last."""
    if metric == "quality":
        return _best_quality if is_best else _worst_quality
    is_more_better = metric not in ("qcpl", "cpl")
    sign = -1 if is_more_better == is_best else 1

    def key(one: CreativeFigures) -> tuple[Any, ...]:
        value = _value(one, metric)
        return (value is None, 0 if value is None else sign * value, one.title)

    return key


def _best_quality(one: CreativeFigures) -> tuple[Any, ...]:
    return (*one.rank, one.title)


def _worst_quality(one: CreativeFigures) -> tuple[Any, ...]:
    """Without any value it is neither good nor bad: last. A return below that of others counts before a cost."""
    is_unknown = all(is_missing for is_missing, _ in one.rank)
    return (is_unknown, *((is_missing, -value) for is_missing, value in one.rank), one.title)


def _value(one: CreativeFigures, metric: Metric) -> Decimal | int | None:
    values: dict[str, Decimal | int | None] = {
        "roi": one.roi,
        "qcpl": one.qcpl,
        "cpl": one.cpl,
        "ctr": ctr(one.figures.clicks, one.figures.impressions),
        "leads": one.leads,
        "qualified_leads": one.engaged,
        "qualified_leads_crm": one.qualified,
        "sales": one.sales,
        "purchases": one.purchases,
        "revenue": one.revenue,
        "spend": one.figures.spend,
    }
    return values[metric]
