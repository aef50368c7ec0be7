"""Creatives of one ad account: found by their ids, and shown with their figures, cost per lead and tier."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypedDict
from uuid import UUID

from maas.assistants.ads import queries
from maas.assistants.ads.account import account_of, ad_account_of
from maas.assistants.ads.metrics import (
    DEFINITIONS,
    Figures,
    Tier,
    cpl,
    rank,
    rate,
    roi,
    rounded,
)
from maas.assistants.ads.period import Period
from maas.assistants.ads.phones import mask_phones
from maas.assistants.ads.references import Refusal, the_one
from maas.assistants.ads.revenue import Revenue, read_revenue
from maas.assistants.ads.targets import judge, versus_targets
from maas.tools.tool import ToolContext
from shared.db import Database

_SHOWN = ("roi", "qcpl", "cpl", "cpm", "ctr", "sales", "purchases", "creative_qualification_rate", "tier")
NOTES = {name: DEFINITIONS[name] for name in _SHOWN} | {
    "results": "leads, sales and purchases are stored by creative: where ad sets have other goals, cpl and tier do not "
    "judge it, and getROIReport has its results goal by goal"
}
NO_CREATIVE = Refusal(
    "there is no such creative: take an id or a title from getCreatives", "Такого креатива нет в этом аккаунте."
)
NOT_UPLOADED = Refusal(
    "the creative is not uploaded to Facebook yet: nothing was launched",
    "Креатив ещё не загружен в Facebook: ничего не запущено.",
)
MAX_TITLE_CHARS = 200
MAX_ADVICE = 10


async def find_creative(db: Database, context: ToolContext, reference: str) -> queries.FindCreativesRow:
    """The creative with this id of ours or of Facebook, or with this title. Raises ToolFailure."""
    return (await find_creatives(db, context, [reference]))[0]


async def find_creatives(
    db: Database, context: ToolContext, references: Sequence[str]
) -> list[queries.FindCreativesRow]:
    """The creatives with these ids or titles, in their order. Raises ToolFailure."""
    rows = await db.rows(queries.find_creatives, context.user_id, ad_account_of(context).id, list(references))
    found = {one: [row for row in rows if row["reference"] == one] for one in references}
    return [the_one(found[one], NO_CREATIVE) for one in references]


async def read_creatives(
    db: Database,
    context: ToolContext,
    period: Period,
    *,
    ids: Sequence[UUID] | None = None,
    status: str | None = None,
    direction_id: UUID | None = None,
) -> list[CreativeFigures]:
    """The creatives of the ad account with their figures of a period, as stored; by default all, the newest first."""
    account = ad_account_of(context)
    revenue = await read_revenue(db, account_of(context), period)
    rows = await db.rows(
        queries.creatives,
        context.user_id,
        account.id,
        period.first,
        period.last,
        period.start,
        period.end,
        None if ids is None else list(ids),
        status,
        direction_id,
    )
    return [CreativeFigures(row, account.currency, revenue) for row in rows]


class CreativeFigures:
    """A creative and its figures. Where revenue is unknown, so is the return."""

    def __init__(self, row: queries.CreativesRow, currency: str, revenue: Revenue) -> None:
        self._row = row
        self._currency = currency
        self.revenue_note = revenue.shown()
        self.id: UUID = row["id"]
        self.title = title_of(row)
        self.figures = Figures(row["spend"], row["impressions"], row["clicks"], row["leads"])
        self.leads: int = max(row["leads"], row["local_leads"])
        self.engaged: int = row["engaged"]
        self.qualified: int = row["qualified"]
        self.sales: int = row["sales"]
        self.purchases: int = row["purchases"]
        self.revenue: Decimal | None = revenue.of(row["revenue"])
        self.roi = roi(self.revenue, self.figures.spend)
        self.qcpl = revenue.qcpl(self.figures.spend, self.engaged)
        self.cpl = cpl(self.figures.spend, self.figures.leads)
        self.tier: Tier = judge(self.roi, self.qcpl, self.cpl, row, currency)

    @property
    def has_data(self) -> bool:
        return self.figures.impressions > 0 or self.figures.spend > 0 or self.leads > 0

    @property
    def rank(self) -> tuple[tuple[bool, Decimal], ...]:
        """A sort key, the best first."""
        return rank(self.roi, self.qcpl, self.cpl)

    def shown(self) -> dict[str, Any]:
        row = self._row
        data = {
            **name_of(row),
            "media_type": row["media_type"],
            "status": row["status"],
            "direction": row["direction"],
            **self.figures.shown(),
            "leads_here": row["local_leads"],
            "qualified_leads_engaged": self.engaged,
            "qualified_leads_crm": self.qualified,
            "sales": self.sales,
            "purchases": self.purchases,
            "creative_qualification_rate": rounded(rate(self.engaged, self.figures.leads)),
            "revenue": rounded(self.revenue),
            "roi": rounded(self.roi),
            "qcpl": rounded(self.qcpl),
            **versus_targets(self.cpl, self.qcpl, row, self._currency),
            **self.tier.shown(),
            "score": row["score"],
            "risk_score": row["risk_score"],
        }
        return data | ({"video": video(row)} if row["media_type"] == "video" else {})


class Titled(TypedDict):
    """The column of a creative that names it."""

    title: str


class Named(Titled):
    """The columns of a creative that identify it."""

    id: UUID


def title_of(row: Titled) -> str:
    """The title of a creative, without phone numbers."""
    return (mask_phones(row["title"]) or "")[:MAX_TITLE_CHARS]


def name_of(row: Named) -> dict[str, str]:
    """The id and the title of a creative, as results have them."""
    return {"id": str(row["id"]), "title": title_of(row)}


def video(row: queries.CreativesRow | queries.CreativeDaysRow) -> dict[str, Any]:
    """Views of a video and the share of them, in percent, that reached 25, 50, 75 and 95 % of it."""
    views = row["video_views"]
    seen = {25: row["p25"], 50: row["p50"], 75: row["p75"], 95: row["p95"]}
    shares = {f"retention_{percent}": rounded(rate(count, views)) for percent, count in seen.items()}
    return {"video_views": views, **shares}


def recommend(found: Sequence[CreativeFigures]) -> list[str]:
    """What the tiers of creatives advise: codes with titles, for a model to put into words."""
    return [f"{one.tier.advice}: {one.title}" for one in found if one.tier.advice is not None][:MAX_ADVICE]
