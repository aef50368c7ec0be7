"""The objects of an ad account, as the Marketing API has them, and the fields that are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from maas.assistants.ads.clients import facebook_replies as replies

ACCOUNT_FIELDS = ("id", "name", "currency", "timezone_name", "account_status", "disable_reason")
CAMPAIGN_FIELDS = ("id", "name", "status", "effective_status", "objective", "daily_budget")
ADSET_FIELDS = (
    *("id", "campaign_id", "name", "status", "effective_status", "daily_budget"),
    *("optimization_goal", "promoted_object"),
)
AD_FIELDS = ("id", "adset_id", "campaign_id", "name", "status", "effective_status", "creative{id,name,video_id}")


@dataclass(frozen=True, slots=True)
class AdAccount:
    """An ad account; `fb_id` begins with act_, `timezone` is an IANA name, `status` is Facebook's number, 1: active."""

    fb_id: str
    name: str
    currency: str
    timezone: str
    status: int
    can_run_ads: bool


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign; `daily_budget_minor` is None if its ad sets have budgets of their own, or one for its whole life."""

    fb_id: str
    name: str
    status: str
    effective_status: str
    objective: str | None
    daily_budget_minor: int | None


@dataclass(frozen=True, slots=True)
class AdSet:
    """An ad set; `daily_budget_minor` is None if the campaign has the budget, or the set one for its whole life.

    `goal` is what it is optimised for, `event` which event, where its goal is to have events.
    """

    fb_id: str
    campaign_fb_id: str
    name: str
    status: str
    effective_status: str
    daily_budget_minor: int | None
    goal: str | None = None
    event: str | None = None


@dataclass(frozen=True, slots=True)
class Ad:
    """An advertisement."""

    fb_id: str
    adset_fb_id: str
    campaign_fb_id: str
    name: str
    status: str
    effective_status: str
    creative_fb_id: str | None
    creative_name: str | None = None
    video_fb_id: str | None = None


@dataclass(frozen=True, slots=True)
class FormLead:
    """Somebody who filled in a form of an advertisement."""

    fb_id: str
    ad_fb_id: str
    name: str | None
    phone: str | None
    created_at: datetime


def account_of(one: replies.Account) -> AdAccount:
    can_run_ads = one.account_status == 1 and not one.disable_reason
    return AdAccount(one.id, one.name, one.currency, one.timezone_name, one.account_status, can_run_ads)


def campaign_of(one: replies.Campaign) -> Campaign:
    return Campaign(one.id, one.name, one.status, one.effective_status, one.objective, one.daily_budget)


def adset_of(one: replies.AdSet) -> AdSet:
    event = one.promoted_object.custom_event_type if one.promoted_object else None
    budget, goal = one.daily_budget, one.optimization_goal
    return AdSet(one.id, one.campaign_id, one.name, one.status, one.effective_status, budget, goal, event)


def ad_of(one: replies.Ad) -> Ad:
    creative = one.creative
    return Ad(
        one.id,
        one.adset_id,
        one.campaign_id,
        one.name,
        one.status,
        one.effective_status,
        creative.id if creative else None,
        creative.name or None if creative else None,
        creative.video_id if creative else None,
    )
