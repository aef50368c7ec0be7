"""Facebook's Marketing API: the tree of an ad account, figures of its advertisements, and changes to it.

Money of figures is in the currency of the ad account, budgets are in its minor units. Days are days of the account's
time zone. Lists have archived objects, and no deleted ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal, TypeVar

import httpx2
from pydantic import BaseModel

from maas.assistants.ads.clients import facebook_replies as replies
from maas.assistants.ads.clients.facebook_insights import (
    FIGURES,
    Insights,
    Level,
    added_up,
    halves_of,
    insights_of,
    parts_of,
)
from shared.vendors import Vendor, VendorError
from shared.vendors.service import DEFAULT_LIMITS, MAX_PAGES, Limits, Service

Status = Literal["ACTIVE", "PAUSED"]
OBJECTS_A_PAGE, FIGURES_A_PAGE = 200, 500
VENDOR = Vendor("facebook", "Facebook")
MAX_ROWS = 200_000
ZERO_DECIMAL = frozenset({"CLP", "COP", "CRC", "HUF", "ISK", "IDR", "JPY", "KRW", "PYG", "TWD", "VND"})
_COPIED = (
    "targeting",
    "optimization_goal",
    "billing_event",
    "promoted_object",
    "destination_type",
    "bid_strategy",
    "bid_amount",
)
_ID = re.compile(r"[A-Za-z0-9_]{1,64}")
B = TypeVar("B", bound=BaseModel)


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
    """An ad set; `daily_budget_minor` is None if the campaign has the budget, or the set one for its whole life."""

    fb_id: str
    campaign_fb_id: str
    name: str
    status: str
    effective_status: str
    daily_budget_minor: int | None


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


class FacebookClient:
    """The Marketing API by the token of one user. All methods raise VendorError."""

    def __init__(
        self, http: httpx2.AsyncClient, token: str, base_url: str, version: str, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        url = f"{base_url.rstrip('/')}/{version}"
        self._service = Service(http, VENDOR, url, ("authorization", "Bearer "), token, replies.read_refusal, limits)

    async def account(self, account_fb_id: str) -> AdAccount:
        """Return an ad account and whether it may run advertisements now."""
        fields = ("name", "currency", "timezone_name", "account_status", "disable_reason")
        found = await self._object(account_fb_id, replies.Account, fields)
        can_run_ads = found.account_status == 1 and not found.disable_reason
        return AdAccount(
            account_fb_id, found.name, found.currency, found.timezone_name, found.account_status, can_run_ads
        )

    async def campaigns(self, account_fb_id: str) -> list[Campaign]:
        """Return the campaigns of an ad account."""
        fields = ("id", "name", "status", "effective_status", "objective", "daily_budget")
        return [
            Campaign(one.id, one.name, one.status, one.effective_status, one.objective, one.daily_budget)
            for one in await self._objects(account_fb_id, "campaigns", replies.Campaign, fields)
        ]

    async def adsets(self, parent_fb_id: str) -> list[AdSet]:
        """Return the ad sets of an ad account or a campaign."""
        fields = ("id", "campaign_id", "name", "status", "effective_status", "daily_budget")
        return [
            AdSet(one.id, one.campaign_id, one.name, one.status, one.effective_status, one.daily_budget)
            for one in await self._objects(parent_fb_id, "adsets", replies.AdSet, fields)
        ]

    async def ads(self, parent_fb_id: str) -> list[Ad]:
        """Return the advertisements of an ad account, a campaign or an ad set."""
        fields = ("id", "adset_id", "campaign_id", "name", "status", "effective_status", "creative{id,name,video_id}")
        return [
            Ad(
                one.id,
                one.adset_id,
                one.campaign_id,
                one.name,
                one.status,
                one.effective_status,
                one.creative.id if one.creative else None,
                one.creative.name or None if one.creative else None,
                one.creative.video_id if one.creative else None,
            )
            for one in await self._objects(parent_fb_id, "ads", replies.Ad, fields)
        ]

    async def insights(
        self, parent_fb_id: str, level: Level, since: date, until: date, by_day: bool = False
    ) -> list[Insights]:
        """Return the figures of the objects of `level` below `parent_fb_id`, of both days and those between.

        Facebook leaves out objects and days without impressions, and refuses days more than 37 months ago. It refuses
        too many figures, too: by day they are read a month at a time, and a period that it refuses so in halves.
        """
        found: list[Insights] = []
        for first, last in parts_of(since, until) if by_day else [(since, until)]:
            found += await self._insights(parent_fb_id, level, first, last, by_day)
        return found

    async def _insights(
        self, parent_fb_id: str, level: Level, since: date, until: date, by_day: bool
    ) -> list[Insights]:
        path, fields = f"{self._path(parent_fb_id)}/insights", (f"{level}_id", *FIGURES)
        period = json.dumps({"since": since.isoformat(), "until": until.isoformat()})
        more = [("level", level), ("time_range", period), *([("time_increment", "1")] if by_day else [])]
        try:
            rows = await self._list(path, replies.Figures, fields, more, FIGURES_A_PAGE)
        except VendorError as error:
            if error.code != "too_large" or since >= until:
                raise
        else:
            return [insights_of(row, level, by_day) for row in rows]
        halves = [await self._insights(parent_fb_id, level, *half, by_day) for half in halves_of(since, until)]
        return added_up(row for half in halves for row in half)

    async def form_leads(self, ad_fb_id: str, since: datetime) -> list[FormLead]:
        """Return who filled in a form of an advertisement since then; Facebook keeps them for 90 days."""
        after = {"field": "time_created", "operator": "GREATER_THAN", "value": int(since.timestamp()) - 1}
        path, more = f"{self._path(ad_fb_id)}/leads", [("filtering", json.dumps([after]))]
        return [
            FormLead(
                one.id,
                ad_fb_id,
                one.answer("full_name", "first_name"),
                one.answer("phone_number", "phone"),
                one.created_time,
            )
            for one in await self._list(path, replies.FormLead, ("id", "created_time", "field_data"), more)
        ]

    async def status(self, fb_id: str) -> str:
        """Return the status that was set for a campaign, an ad set or an advertisement."""
        return (await self._object(fb_id, replies.Status, ("status",))).status

    async def daily_budget(self, fb_id: str) -> int | None:
        """Return the daily budget of a campaign or an ad set in minor units, None if it has none."""
        return (await self._object(fb_id, replies.Budget, ("daily_budget",))).daily_budget

    async def set_status(self, fb_id: str, status: Status) -> None:
        """Start or pause a campaign, an ad set or an advertisement."""
        await self._change(fb_id, {"status": status})

    async def set_daily_budget(self, fb_id: str, minor: int) -> None:
        """Set the daily budget of a campaign or an ad set, in minor units."""
        await self._change(fb_id, {"daily_budget": str(minor)})

    async def create_ad(
        self, account_fb_id: str, adset_fb_id: str, creative_fb_id: str, name: str, status: Status = "ACTIVE"
    ) -> str:
        """Create an advertisement from a creative and return its id."""
        creative = json.dumps({"creative_id": creative_fb_id})
        form = {"name": name, "adset_id": adset_fb_id, "creative": creative, "status": status}
        return await self._service.write("POST", f"{self._path(account_fb_id)}/ads", replies.created_id, form=form)

    async def create_adset(
        self,
        account_fb_id: str,
        campaign_fb_id: str,
        name: str,
        daily_budget_minor: int,
        template_adset_fb_id: str,
        status: Status = "ACTIVE",
    ) -> str:
        """Create an ad set with the audience and the goal of another one, and return its id."""
        template = await self._object(template_adset_fb_id, replies.Template, _COPIED)
        form = {"name": name, "campaign_id": campaign_fb_id, "daily_budget": str(daily_budget_minor), "status": status}
        for field, value in template.model_dump(exclude_none=True).items():
            form[field] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return await self._service.write("POST", f"{self._path(account_fb_id)}/adsets", replies.created_id, form=form)

    def _path(self, fb_id: str) -> str:
        if not _ID.fullmatch(fb_id):
            raise self._service.error("invalid", "this is not the id of an object")
        return f"/{fb_id}"

    async def _object(self, fb_id: str, model: type[B], fields: Sequence[str]) -> B:
        params = [("fields", ",".join(fields))]
        return await self._service.read(self._path(fb_id), model.model_validate, params=params)

    async def _objects(self, parent_fb_id: str, edge: str, model: type[B], fields: Sequence[str]) -> list[B]:
        """Return the objects below another one, in whatever state but deleted."""
        more = [("effective_status", json.dumps(replies.STATUSES[edge]))]
        return await self._list(f"{self._path(parent_fb_id)}/{edge}", model, fields, more)

    async def _list(
        self,
        path: str,
        model: type[B],
        fields: Sequence[str],
        more: Sequence[tuple[str, str]] = (),
        a_page: int = OBJECTS_A_PAGE,
    ) -> list[B]:
        """Return the objects of all pages. `paging.next` holds the token: only whether it is there matters."""
        params = [("fields", ",".join(fields)), ("limit", str(a_page)), *more]
        found: list[B] = []
        cursors: list[str] = []
        while len(cursors) < MAX_PAGES and len(found) < MAX_ROWS:
            after = [("after", cursors[-1])] if cursors else []
            page = await self._service.read(path, replies.Page[model].model_validate, params=params + after)  # type: ignore[valid-type]
            found += page.data
            if not page.paging.has_next:
                return found
            if (cursor := page.paging.cursors.after) is None or cursor in cursors:
                break
            cursors.append(cursor)
        raise self._service.error("bad_reply", "its pages never end")

    async def _change(self, fb_id: str, form: Mapping[str, str]) -> None:
        if not await self._service.write("POST", self._path(fb_id), replies.is_success, form=form):
            raise self._service.error("invalid", "it did not make the change")


def minor_units(amount: Decimal, currency: str) -> int:
    """Return money in the units of the Marketing API's budgets: cents, or whole units of a zero-decimal currency.

    Half a unit is rounded up. Raises ValueError for NaN and infinities.
    """
    if not amount.is_finite():
        raise ValueError("an amount of money is a finite number")
    units = amount if currency.upper() in ZERO_DECIMAL else amount.scaleb(2)
    return int(units.to_integral_value(ROUND_HALF_UP))


def from_minor(minor: int, currency: str) -> Decimal:
    """Return the money that a budget of the Marketing API stands for."""
    return Decimal(minor) if currency.upper() in ZERO_DECIMAL else Decimal(minor).scaleb(-2)
