"""Metrics of advertising: return, costs of leads, tiers. Values are exact; `rounded` makes those that are shown.

A metric whose denominator is zero or unknown is None. The order of importance: ROI, then QCPL, then CPL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Literal

TierName = Literal["A", "B", "C", "D"]
TierMetric = Literal["roi", "qcpl", "cpl"]
Advice = Literal["scale", "keep", "test", "optimise", "review"]
DEFINITIONS: Mapping[str, str] = {
    "roi": "(revenue - spend) / spend x 100, percent",
    "qcpl": "spend / qualified_leads_engaged",
    "leads": "leads by forms and on sites, and conversations that were started",
    "cpl": "spend / leads",
    "cpm": "spend / impressions x 1000: the cost of 1000 impressions",
    "ctr": "clicks / impressions x 100, percent",
    "qualified_leads_crm": "leads that the CRM calls qualified",
    "qualified_leads_engaged": "leads that wrote 2 or more messages or reached a key stage of the funnel",
    "sales": "leads of the CRM that came in the period and were sold by now, or have paid; not what Facebook counts as "
    "purchases on a site",
    "purchases": "purchases on a site or in an app, as Facebook counts them; no sales of the CRM",
    "creative_qualification_rate": "qualified_leads_engaged / Facebook leads of the creative x 100, percent",
    "crm_qualification_rate": "qualified_leads_crm / all local leads x 100, percent",
    "tier": "A: ROI > 150 % or cost < 0.7 of its target; B: ROI 100-150 % or cost < target; "
    "C: ROI 50-100 % or cost up to 1.5 of the target; D: below. The best that is met counts, tier_by names it. "
    "The cost is QCPL if the direction has target_qcpl, else CPL against target_cpl, which makes B at best",
    "vs_target": "(value - target) / target x 100, percent; more than 0: more expensive than the target",
}
_ADVICE: Mapping[TierName, Advice] = {"A": "scale", "B": "keep", "C": "test", "D": "optimise"}
_TIERS: tuple[TierName, ...] = ("A", "B", "C", "D")
_CENT = Decimal("0.01")
_WIDE = Context(prec=100)  # the usual 28 digits refuse to round larger numbers


@dataclass(frozen=True, slots=True)
class Figures:
    """What Facebook counted. `spend` is in the account's currency; `leads` are those that Facebook counts."""

    spend: Decimal = Decimal(0)
    impressions: int = 0
    clicks: int = 0
    leads: int = 0

    def __add__(self, other: Figures) -> Figures:
        return Figures(
            self.spend + other.spend,
            self.impressions + other.impressions,
            self.clicks + other.clicks,
            self.leads + other.leads,
        )

    def shown(self) -> dict[str, Any]:
        """Spend, impressions, clicks, leads, CPL, CPM and CTR, for a result."""
        return {
            "spend": rounded(self.spend),
            "impressions": self.impressions,
            "clicks": self.clicks,
            "leads": self.leads,
            "cpl": rounded(cpl(self.spend, self.leads)),
            "cpm": rounded(cpm(self.spend, self.impressions)),
            "ctr": rounded(ctr(self.clicks, self.impressions)),
        }


@dataclass(frozen=True, slots=True)
class Tier:
    """How well something does. `name` is None without data; `conflict`: ROI and the cost say very different things."""

    name: TierName | None
    conflict: bool = False
    by: TierMetric | None = None  # what gave the name

    @property
    def advice(self) -> Advice | None:
        """What to do; `review` where ROI and the cost disagree by two tiers, which must not be scaled unseen."""
        if self.name is None:
            return None
        return "review" if self.conflict else _ADVICE[self.name]

    def shown(self) -> dict[str, Any]:
        return {"tier": self.name, "tier_by": self.by, "conflict": self.conflict, "advice": self.advice}


def roi(revenue: Decimal | None, spend: Decimal) -> Decimal | None:
    """The return on spend in percent; None if nothing was spent or the revenue is unknown."""
    return None if revenue is None or spend <= 0 else (revenue - spend) / spend * 100


def qcpl(spend: Decimal, qualified: int) -> Decimal | None:
    """The cost of a qualified lead."""
    return spend / qualified if qualified > 0 else None


def cpl(spend: Decimal, leads: int) -> Decimal | None:
    """The cost per lead."""
    return spend / leads if leads > 0 else None


def cpm(spend: Decimal, impressions: int) -> Decimal | None:
    """The cost of a thousand impressions."""
    return spend / impressions * 1000 if impressions > 0 else None


def ctr(clicks: int, impressions: int) -> Decimal | None:
    """Clicks among impressions, in percent."""
    return rate(clicks, impressions)


def rate(part: int, whole: int) -> Decimal | None:
    """A part of a whole in percent."""
    return Decimal(part) / whole * 100 if whole > 0 else None


def compare_to_target(value: Decimal | None, target: Decimal | None) -> Decimal | None:
    """By how many percent a value is above its target; less than 0: below."""
    return None if value is None or target is None or target <= 0 else (value - target) / target * 100


def tier(
    roi: Decimal | None, cost: Decimal | None, target: Decimal | None, metric: Literal["qcpl", "cpl"] = "qcpl"
) -> Tier:
    """The better one of the tiers by ROI and by a cost, which `metric` names, against its own target.

    CPL alone makes no tier A: a cheap lead may be a bad one.
    """
    known: dict[TierMetric, int | None] = {"roi": _tier_by_roi(roi), metric: _tier_by_cost(cost, target)}
    tiers = {name: max(one, 1) if name == "cpl" else one for name, one in known.items() if one is not None}
    if not tiers:
        return Tier(None)
    by = min(tiers, key=lambda name: tiers[name])
    return Tier(_TIERS[tiers[by]], max(tiers.values()) - tiers[by] >= 2, by)


def _tier_by_roi(roi: Decimal | None) -> int | None:
    """The index of the tier."""
    if roi is None:
        return None
    return 0 if roi > 150 else 1 if roi >= 100 else 2 if roi >= 50 else 3


def _tier_by_cost(cost: Decimal | None, target: Decimal | None) -> int | None:
    if cost is None or cost < 0 or target is None or target <= 0:  # less than 0: more was given back than spent
        return None
    share = cost / target
    return 0 if share < Decimal("0.7") else 1 if share < 1 else 2 if share <= Decimal("1.5") else 3


def rank(roi: Decimal | None, qcpl: Decimal | None, cpl: Decimal | None) -> tuple[tuple[bool, Decimal], ...]:
    """A sort key, the best first: by ROI, then QCPL, then CPL; what is unknown comes after all that is known."""
    values = (None if roi is None else -roi, qcpl, cpl)
    return tuple((value is None, Decimal(0) if value is None else value) for value in values)


def rounded(value: Decimal | int | None) -> float | None:
    """The number that a result shows: half is rounded up, away from zero."""
    if value is None:
        return None
    return float(Decimal(value).quantize(_CENT, ROUND_HALF_UP, _WIDE))
