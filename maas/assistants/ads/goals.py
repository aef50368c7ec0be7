"""What an ad set is optimised for, and how often Facebook counted that: leads are the goal of some ad sets alone.

A campaign, a day or an account has the results of its ad sets: one number if all have the same goal, else one by goal,
since purchases and clicks do not add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from maas.assistants.ads.clients.facebook_insights import Insights
from maas.assistants.ads.clients.facebook_objects import AdSet
from maas.assistants.ads.clients.facebook_replies import THRUPLAY
from maas.assistants.ads.metrics import Figures, cpl, rounded

RESULTS = (
    "how often what the ad sets are optimised for (goal) was reached, as Facebook counts it; null where that is not "
    "read, such as reach. Where ad sets have several goals, by_goal has the results of each, which are not added up. "
    "Leads and CPL judge only what has leads or conversations as its goal"
)
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
    "VALUE": ("omni_purchase", "purchase", "offsite_conversion.fb_pixel_purchase"),
    "PURCHASE": ("omni_purchase", "purchase", "offsite_conversion.fb_pixel_purchase"),
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


def results_by_goal(pairs: Iterable[Pair]) -> dict[str, Any]:
    """The results of what has these ad sets, for a result of a tool: by goal where they have several; {} without any.

    One ad set whose results are not read makes those of its goal unknown.
    """
    counts: dict[str | None, int | None] = {}
    spend: dict[str | None, Decimal] = {}
    for adset, one in pairs:
        goal = None if adset is None else goal_of(adset)
        figures = Figures(one.spend, one.impressions, one.clicks, one.leads)
        found = None if adset is None else results_of(adset, figures, one.actions)
        known = counts.get(goal, 0)
        counts[goal] = None if found is None or known is None else known + found
        spend[goal] = spend.get(goal, Decimal(0)) + one.spend
    shown = [shown_results(goal, counts[goal], spend[goal]) | {"spend": rounded(spend[goal])} for goal in counts]
    if len(shown) > 1:
        shown.sort(key=lambda one: (-one["spend"], str(one["goal"])))
        return {"goal": None, "results": None, "cost_per_result": None, "by_goal": shown}
    return {name: value for one in shown for name, value in one.items() if name != "spend"}
