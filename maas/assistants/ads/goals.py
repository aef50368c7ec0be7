"""What an ad set is optimised for, and how often Facebook counted that: leads are the goal of some ad sets alone.

A campaign, a day or an account has the results of its ad sets: one number if all have the same goal, else one by goal,
since purchases and clicks do not add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from maas.assistants.ads.clients.facebook_insights import Insights
from maas.assistants.ads.clients.facebook_objects import AdSet
from maas.assistants.ads.clients.facebook_replies import PURCHASE_TYPES, THRUPLAY
from maas.assistants.ads.metrics import Figures, cpl, rounded

RESULTS = (
    "how often what the ad sets are optimised for (goal) was reached, as Facebook counts it; null where that is not "
    "read, such as reach. Where ad sets have several goals, by_goal has the results of each, which are not added up. "
    "Leads and CPL judge only what has leads or conversations as its goal"
)
LEAD_GOAL_CPL = (
    "the cost of a lead by what has leads or conversations as its goal; null: nothing has. It stands where money was "
    "spent for other goals, too, so that cpl, which divides all of it by all leads, is no cost of a lead there: order, "
    "tier and vs_target go by lead_goal_cpl then"
)
GOALS = {"results": RESULTS, "lead_goal_cpl": LEAD_GOAL_CPL}
NOT_STORED = "what was reached for other goals than leads is read from Facebook, which is not connected"
MAX_GOAL_DAYS = 31  # of a report by day that has results
Pair = tuple[AdSet | None, Insights]  # the figures of an ad set; None: Facebook does not know it any more
LEAD_GOALS = ("LEAD_GENERATION", "QUALITY_LEAD", "CONVERSATIONS", "LEAD")
# Types of actions by goal, or by event of a goal that counts events. One result comes back under several of them; the
# first that is there counts.
_TYPES: Mapping[str, Sequence[str]] = {
    "LINK_CLICKS": ("link_click",),
    "LANDING_PAGE_VIEWS": ("omni_landing_page_view", "landing_page_view"),
    "POST_ENGAGEMENT": ("post_engagement",),
    "THRUPLAY": (THRUPLAY,),
    "PAGE_LIKES": ("like",),
    "APP_INSTALLS": ("omni_app_install", "mobile_app_install"),
    "VALUE": PURCHASE_TYPES,
    "PURCHASE": PURCHASE_TYPES,
    "ADD_TO_CART": ("omni_add_to_cart", "add_to_cart", "offsite_conversion.fb_pixel_add_to_cart"),
    "INITIATED_CHECKOUT": (
        "omni_initiated_checkout",
        "initiate_checkout",
        "offsite_conversion.fb_pixel_initiate_checkout",
    ),
    "COMPLETE_REGISTRATION": (
        "omni_complete_registration",
        "complete_registration",
        "offsite_conversion.fb_pixel_complete_registration",
    ),
    "CONTENT_VIEW": ("omni_view_content", "view_content", "offsite_conversion.fb_pixel_view_content"),
}
_OF_EVENTS = ("OFFSITE_CONVERSIONS", "ONSITE_CONVERSIONS", "IN_APP_EVENTS")


def goal_of(adset: AdSet) -> str | None:
    """What an ad set is optimised for: the event where its goal is to have events, as Facebook names both."""
    return adset.event if adset.goal in _OF_EVENTS and adset.event is not None else adset.goal


def results_of(adset: AdSet, figures: Figures, actions: Mapping[str, int]) -> int | None:
    """How often the goal of an ad set was reached; None where that is not read."""
    goal = goal_of(adset)
    if goal in LEAD_GOALS:
        return figures.leads
    if goal == "IMPRESSIONS":
        return figures.impressions
    types = _TYPES.get(goal or "")
    return None if types is None else next((actions[one] for one in types if one in actions), 0)


def shown_results(goal: str | None, results: int | None, spend: Decimal) -> dict[str, Any]:
    """A goal, how often it was reached and what one result costs, for a result."""
    cost = rounded(cpl(spend, results)) if results is not None else None
    return {"goal": goal, "results": results, "cost_per_result": cost}


@dataclass(frozen=True, slots=True)
class Reached:
    """What was spent for a goal, and how often it was reached; None where that is not read."""

    spend: Decimal
    results: int | None

    def __add__(self, other: Reached) -> Reached:
        is_known = self.results is not None and other.results is not None
        return Reached(self.spend + other.spend, (self.results or 0) + (other.results or 0) if is_known else None)


ByGoal = Mapping[str | None, Reached]  # None: the ad sets are not known any more


def reached_by_goal(pairs: Iterable[Pair]) -> dict[str | None, Reached]:
    """What ad sets, or ads of theirs, reached, goal by goal. One that is not read makes all of its goal unknown."""
    found: dict[str | None, Reached] = {}
    for adset, one in pairs:
        goal, figures = (
            None if adset is None else goal_of(adset),
            Figures(one.spend, one.impressions, one.clicks, one.leads),
        )
        reached = Reached(one.spend, None if adset is None else results_of(adset, figures, one.actions))
        found[goal] = found[goal] + reached if goal in found else reached
    return found


def results_by_goal(pairs: Iterable[Pair]) -> dict[str, Any]:
    """The results of what has these ad sets, for a result: by goal where they have several; {} without any."""
    return shown_by_goal(reached_by_goal(pairs))


def shown_by_goal(by_goal: ByGoal) -> dict[str, Any]:
    """As results_by_goal."""
    shown = [
        shown_results(goal, one.results, one.spend) | {"spend": rounded(one.spend)} for goal, one in by_goal.items()
    ]
    if len(shown) > 1:
        shown.sort(key=lambda one: (-one["spend"], str(one["goal"])))
        return {"goal": None, "results": None, "cost_per_result": None, "by_goal": shown}
    return {name: value for one in shown for name, value in one.items() if name != "spend"}


def has_other_goals(by_goal: ByGoal) -> bool:
    """Whether money was spent for another goal than leads, so that a cost per lead of all of it cannot be right."""
    return any(goal is not None and goal not in LEAD_GOALS for goal in by_goal)


def cost_of_lead(figures: Figures, by_goal: ByGoal) -> Decimal | None:
    """What a lead cost where leads are the goal; None where nothing has that goal."""
    if not has_other_goals(by_goal):
        return cpl(figures.spend, figures.leads)
    of_leads = [one for goal, one in by_goal.items() if goal in LEAD_GOALS]
    return cpl(sum((one.spend for one in of_leads), Decimal(0)), sum(one.results or 0 for one in of_leads))


@dataclass(frozen=True, slots=True)
class Goaled:
    """Figures, and what was reached goal by goal; without any goal where Facebook did not tell it."""

    figures: Figures = field(default_factory=Figures)
    by_goal: ByGoal = field(default_factory=dict)

    def __add__(self, other: Goaled) -> Goaled:
        by_goal = dict(self.by_goal)
        for goal, one in other.by_goal.items():
            by_goal[goal] = by_goal[goal] + one if goal in by_goal else one
        return Goaled(self.figures + other.figures, by_goal)

    @property
    def cpl(self) -> Decimal | None:
        """What a lead cost where leads are the goal; None where nothing was spent, or nothing has that goal."""
        return cost_of_lead(self.figures, self.by_goal) if self.figures.spend > 0 else None

    def shown(self) -> dict[str, Any]:
        return self.figures.shown() | self.shown_goals()

    def shown_goals(self) -> dict[str, Any]:
        """The results by goal, and the cost of a lead by itself where other goals have their part of the money."""
        shown = shown_by_goal(self.by_goal)
        if has_other_goals(self.by_goal):
            shown["lead_goal_cpl"] = rounded(cost_of_lead(self.figures, self.by_goal))
        return shown


def goaled(pairs: Iterable[Pair]) -> Goaled:
    """The figures of ad sets, or of ads of theirs, all together."""
    pairs = list(pairs)
    figures = (Figures(one.spend, one.impressions, one.clicks, one.leads) for _, one in pairs)
    return Goaled(sum(figures, Figures()), reached_by_goal(pairs))
