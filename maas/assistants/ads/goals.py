"""What an ad set is optimised for, and how often Facebook counted that: leads are the goal of some ad sets alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from maas.assistants.ads.clients.facebook_objects import AdSet
from maas.assistants.ads.metrics import Figures

RESULTS = (
    "how often what the ad set is optimised for (goal) was reached, as Facebook counts it; null where that is not "
    "read, such as reach. Leads and CPL judge only ad sets whose goal is leads or conversations: of another objective, "
    "getCampaignDetails has the results of each ad set"
)
LEAD_GOALS = ("LEAD_GENERATION", "QUALITY_LEAD", "CONVERSATIONS", "LEAD")
# Types of actions by goal, or by event of a goal that counts events. One result comes back under several of them; the
# first that is there counts.
_TYPES: Mapping[str, Sequence[str]] = {
    "LINK_CLICKS": ("link_click",),
    "LANDING_PAGE_VIEWS": ("omni_landing_page_view", "landing_page_view"),
    "POST_ENGAGEMENT": ("post_engagement",),
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
    types = _TYPES.get(goal or "")
    return None if types is None else next((actions[one] for one in types if one in actions), 0)
