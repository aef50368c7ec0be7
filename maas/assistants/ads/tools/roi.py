"""The report on return: spend, leads, quality and revenue of each creative, the best first."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from maas.assistants.ads import queries
from maas.assistants.ads.account import account_of, ad_account_of
from maas.assistants.ads.ad_tree import together, tree_of
from maas.assistants.ads.goals import GOALS, NOT_STORED, Goaled, goaled
from maas.assistants.ads.metrics import DEFINITIONS, Figures, Tier, cpl, rank, rate, roi, rounded
from maas.assistants.ads.period import Period
from maas.assistants.ads.revenue import Revenue, read_revenue
from maas.assistants.ads.targets import judge, versus_targets
from maas.assistants.ads.tools.arguments import ListArguments, entities, period_of
from maas.assistants.ads.tools.wordings import REPORT_ROI
from maas.assistants.ads.vendors import Vendors
from maas.engine.stages import Deps
from maas.tools.calls import ToolAnswer
from maas.tools.tool import Tool, ToolContext, tool

TIMEOUT_S = 60.0
_METRICS = {
    name: DEFINITIONS[name]
    for name in (
        "roi",
        "qcpl",
        "cpl",
        "qualified_leads_crm",
        "qualified_leads_engaged",
        "sales",
        "creative_qualification_rate",
        "crm_qualification_rate",
        "tier",
        "vs_target",
    )
} | GOALS


@dataclass(frozen=True, slots=True)
class Results:
    """What became of the leads that came in a period. `revenue` is None where it is unknown."""

    leads: int = 0
    engaged: int = 0
    qualified: int = 0
    sales: int = 0
    revenue: Decimal | None = None

    def __add__(self, other: Results) -> Results:
        known = [one for one in (self.revenue, other.revenue) if one is not None]
        revenue = sum(known, Decimal(0)) if known else None
        return Results(
            self.leads + other.leads,
            self.engaged + other.engaged,
            self.qualified + other.qualified,
            self.sales + other.sales,
            revenue,
        )

    def shown(self) -> dict[str, Any]:
        return {
            "local_leads": self.leads,
            "qualified_leads_engaged": self.engaged,
            "qualified_leads_crm": self.qualified,
            "sales": self.sales,
            "revenue": rounded(self.revenue),
        }


@dataclass(frozen=True, slots=True)
class Return:
    """A creative, what was spent on it and what that brought."""

    creative: queries.AdsCreativesRow
    goaled: Goaled
    results: Results
    currency: str
    revenue: Revenue

    @property
    def figures(self) -> Figures:
        return self.goaled.figures

    @property
    def roi(self) -> Decimal | None:
        return roi(self.results.revenue, self.figures.spend)

    @property
    def qcpl(self) -> Decimal | None:
        return self.revenue.qcpl(self.figures.spend, self.results.engaged) if self.figures.spend > 0 else None

    @property
    def cpl(self) -> Decimal | None:
        return self.goaled.cpl

    @property
    def tier(self) -> Tier:
        return judge(self.roi, self.qcpl, self.cpl, self.creative, self.currency)

    def shown(self) -> dict[str, Any]:
        creative = self.creative
        target = versus_targets(self.cpl, self.qcpl, creative, self.currency)
        return (
            {
                "id": str(creative["id"]),
                "name": creative["title"],
                "status": creative["status"],
                "direction": creative["direction"],
                "spend": rounded(self.figures.spend),
                "facebook_leads": self.figures.leads,
                **self.results.shown(),
                "roi": rounded(self.roi),
                "qcpl": rounded(self.qcpl),
                "cpl": rounded(cpl(self.figures.spend, self.figures.leads)),
                **self.goaled.shown_goals(),
                "creative_qualification_rate": rounded(rate(self.results.engaged, self.figures.leads)),
            }
            | target
            | self.tier.shown()
        )

    def recommendation(self) -> str | None:
        """What to do, in codes and numbers, which need no language; None without data."""
        if (found := self.tier).advice is None:
            return None
        values = (
            f"ROI {rounded(self.roi)} %" if self.roi is not None else None,
            f"QCPL {rounded(self.qcpl)} {self.currency}" if self.qcpl is not None else None,
            f"CPL {rounded(self.cpl)} {self.currency}" if found.by == "cpl" else None,
        )
        why = ", ".join(one for one in (f"tier {found.name} by {found.by}", *values) if one is not None)
        return f"{found.advice}: {self.creative['title']} ({why})"


def make_roi_tools(deps: Deps, vendors: Vendors) -> list[Tool]:
    db = deps.db

    @tool(name="getROIReport", domain="ads", effect="read", timeout=TIMEOUT_S, wording=REPORT_ROI)
    async def get_roi_report(arguments: ListArguments, context: ToolContext) -> Any:
        """Report ROI, cost per qualified lead and tier of each creative, the best first (default: all time).

        Joins spend with the leads that came in the period and with what they paid. `advice` says what to scale.
        """
        account, ad_account = account_of(context), ad_account_of(context)
        owner = (account.user_id, ad_account.id)
        period = await period_of(db, arguments, context, "all")
        is_live = account.is_connected["ads"]
        if is_live:
            first, last = period.facebook_days
            period = Period(period.name, first, last, period.zone, period.today)
            tree = tree_of(db, vendors, context)
            pairs = await tree.creative_pairs(period)
        else:
            period = period.since(ad_account.stored_from)
        creatives, revenue, rows = await together(
            db.rows(queries.ads_creatives, *owner),
            read_revenue(db, account, period),
            db.rows(queries.ads_creative_results, account.user_id, account.id, period.start, period.end, ad_account.id),
        )
        figures: defaultdict[UUID | None, Goaled] = defaultdict(Goaled)
        if is_live:
            figures.update({creative_id: goaled(of) for creative_id, of in pairs.items()})
        else:
            for row in await db.rows(queries.ads_creative_figures, *owner, period.first, period.last):
                of = Figures(row["spend"], row["impressions"], row["clicks"], row["leads"])
                figures[row["creative_id"]] = Goaled(of)
        results = {row["creative_id"]: _results(row, revenue) for row in rows}
        nothing = Results(revenue=revenue.of(None))
        known = {row["id"] for row in creatives}
        found = [
            Return(row, figures[row["id"]], results.get(row["id"], nothing), ad_account.currency, revenue)
            for row in creatives
            if row["id"] in figures or row["id"] in results
        ]
        found.sort(key=lambda one: rank(one.roi, one.qcpl, one.cpl))
        items = [one.shown() for one in found[: arguments.limit]]
        other = sum((one for key, one in results.items() if key not in known), nothing)
        unmapped = sum((one.figures for key, one in figures.items() if key not in known), Figures())
        advertised = sum((one.results for one in found), nothing)
        data = {
            "period": period.shown(),
            **ad_account.shown(),
            "source": "facebook" if is_live else "stored",
            "definitions": _METRICS,
            **account.freshness(*(("crm", "whatsapp") if is_live else ("ads", "crm", "whatsapp"))),
            **revenue.shown(),
            **({} if is_live else {"results_note": NOT_STORED}),
            "count": len(found),
            "total": _total(sum((one.figures for one in found), unmapped), advertised, advertised + other, revenue),
            "without_creative": {"spend": rounded(unmapped.spend), "facebook_leads": unmapped.leads, **other.shown()},
        }
        if other.leads:
            data["not_in_total"] = (
                f"{other.leads} leads and their revenue: which advertisement they came from, if any, is not known; "
                "crm_qualification_rate counts them"
            )
        data["creatives"] = items
        advice = [one.recommendation() for one in found[: arguments.limit]]
        return ToolAnswer(data, entities(items), [one for one in advice if one is not None])

    return [get_roi_report]


def _results(row: queries.AdsCreativeResultsRow, revenue: Revenue) -> Results:
    return Results(row["leads"], row["engaged"], row["qualified"], row["sales"], revenue.of(row["revenue"]))


def _total(figures: Figures, results: Results, everyone: Results, revenue: Revenue) -> dict[str, Any]:
    """What all advertising cost and brought; the rate of the CRM is that of `everyone` in it."""
    return {
        "spend": rounded(figures.spend),
        "facebook_leads": figures.leads,
        **results.shown(),
        "roi": rounded(roi(results.revenue, figures.spend)),
        "qcpl": rounded(revenue.qcpl(figures.spend, results.engaged)),
        "cpl": rounded(cpl(figures.spend, figures.leads)),
        "crm_qualification_rate": rounded(rate(everyone.qualified, everyone.leads)),
    }
