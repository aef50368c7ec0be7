"""Facebook's Marketing API: the tree of an ad account, figures of its advertisements, and changes to it.

Money of figures is in the currency of the ad account, budgets are in its minor units. Days are days of the account's
time zone. Lists have archived objects, and no deleted ones; figures have both.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
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
from maas.assistants.ads.clients.facebook_objects import (
    ACCOUNT_FIELDS,
    AD_FIELDS,
    ADSET_FIELDS,
    CAMPAIGN_FIELDS,
    Ad,
    AdAccount,
    AdSet,
    Campaign,
    FormLead,
    account_of,
    ad_of,
    adset_of,
    campaign_of,
)
from shared.errors import Backoff
from shared.vendors import Vendor, VendorError
from shared.vendors.service import DEFAULT_LIMITS, MAX_PAGES, Limits, Params, Service

Status = Literal["ACTIVE", "PAUSED"]
OBJECTS_A_PAGE, FIGURES_A_PAGE = 200, 500
VENDOR = Vendor("facebook", "Facebook")
MAX_ROWS = 200_000
MAX_REPORT_PAUSE_S = 15.0  # between two looks at a report
ZERO_DECIMAL = frozenset({"CLP", "COP", "CRC", "HUF", "ISK", "IDR", "JPY", "KRW", "PYG", "TWD", "VND"})
IDS_A_REQUEST = 50
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


class FacebookClient:
    """The Marketing API by the token of one user. All methods raise VendorError."""

    def __init__(
        self, http: httpx2.AsyncClient, token: str, base_url: str, version: str, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        url = f"{base_url.rstrip('/')}/{version}"
        self._service = Service(http, VENDOR, url, ("authorization", "Bearer "), token, replies.read_refusal, limits)
        self._limits = limits
        self._token = token

    async def account(self, account_fb_id: str) -> AdAccount:
        """Return an ad account and whether it may run advertisements now."""
        return account_of(await self._object(account_fb_id, replies.Account, ACCOUNT_FIELDS))

    async def accounts(self) -> list[AdAccount]:
        """Return the ad accounts that the token sees."""
        return [account_of(one) for one in await self._list("/me/adaccounts", replies.Account, ACCOUNT_FIELDS)]

    async def permissions(self) -> frozenset[str]:
        """Return the permissions that the token has."""
        found = await self._list("/me/permissions", replies.Permission, ("permission", "status"))
        return frozenset(one.permission for one in found if one.status == "granted")

    async def token_ends_at(self) -> datetime | None:
        """Return when the token, or its access to data, ends; None: never, or Facebook does not tell."""
        params = [("input_token", self._token)]
        return (await self._service.read("/debug_token", replies.TokenReply.model_validate, params=params)).data.ends_at

    async def renewed_token(self, app_id: str, app_secret: str) -> tuple[str, int | None]:
        """Return a token that takes the place of this one, which is still valid, and after how many seconds it ends.

        None: never. One of a system user ends after 60 days, as this one did.
        """
        params = [
            ("grant_type", "fb_exchange_token"),
            ("client_id", app_id),
            ("client_secret", app_secret),
            ("set_token_expires_in_60_days", "true"),
            ("fb_exchange_token", self._token),
        ]
        found = await self._service.read("/oauth/access_token", replies.NewToken.model_validate, params=params)
        return found.access_token, found.expires_in or None

    async def campaigns(self, account_fb_id: str) -> list[Campaign]:
        """Return the campaigns of an ad account."""
        found = await self._objects(account_fb_id, "campaigns", replies.Campaign, CAMPAIGN_FIELDS)
        return [campaign_of(one) for one in found]

    async def adsets(self, parent_fb_id: str) -> list[AdSet]:
        """Return the ad sets of an ad account or a campaign."""
        return [adset_of(one) for one in await self._objects(parent_fb_id, "adsets", replies.AdSet, ADSET_FIELDS)]

    async def ads(self, parent_fb_id: str) -> list[Ad]:
        """Return the advertisements of an ad account, a campaign or an ad set."""
        return [ad_of(one) for one in await self._objects(parent_fb_id, "ads", replies.Ad, AD_FIELDS)]

    async def campaigns_by_id(self, fb_ids: Sequence[str]) -> list[Campaign]:
        """Return campaigns by their ids, deleted ones, too."""
        return [campaign_of(one) for one in await self._by_id(fb_ids, replies.Campaign, CAMPAIGN_FIELDS)]

    async def adsets_by_id(self, fb_ids: Sequence[str]) -> list[AdSet]:
        """Return ad sets by their ids, deleted ones, too."""
        return [adset_of(one) for one in await self._by_id(fb_ids, replies.AdSet, ADSET_FIELDS)]

    async def ads_by_id(self, fb_ids: Sequence[str]) -> list[Ad]:
        """Return advertisements by their ids, deleted ones, too."""
        return [ad_of(one) for one in await self._by_id(fb_ids, replies.Ad, AD_FIELDS)]

    async def insights(
        self, parent_fb_id: str, level: Level, since: date, until: date, by_day: bool = False
    ) -> list[Insights]:
        """Return the figures of the objects of `level` below `parent_fb_id`, of both days and those between.

        Facebook leaves out objects and days without impressions, and refuses days more than 37 months ago. It refuses
        too many figures, too: by day they are read a month at a time, a period that it refuses so in halves, and a day
        that it refuses as a report, which it makes in the background.
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
        more = [("level", level), ("time_range", period), *replies.in_any_status(level)]
        more += [("time_increment", "1")] if by_day else []
        try:
            rows = await self._list(path, replies.Figures, fields, more, FIGURES_A_PAGE)
        except VendorError as error:
            if error.code != "too_large":
                raise
            if since < until:
                halves = [await self._insights(parent_fb_id, level, *half, by_day) for half in halves_of(since, until)]
                return added_up(row for half in halves for row in half)
            rows = await self._report(path, [("fields", ",".join(fields)), *more])
        return [insights_of(row, level, by_day) for row in rows]

    async def _report(self, path: str, params: Params) -> list[replies.Figures]:
        """Return the figures of a report that Facebook makes now; the limit of all attempts is that of its making."""
        clock, backoff = asyncio.get_running_loop().time, Backoff(self._limits.first_pause_s, MAX_REPORT_PAUSE_S)
        end = clock() + self._limits.total_s
        report_id = await self._service.read(path, replies.report_id, params=params, method="POST")
        while True:
            report = await self._object(report_id, replies.Report, ("async_status", "async_percent_completion"))
            if report.is_ready:
                return await self._list(f"/{report_id}/insights", replies.Figures, (), (), FIGURES_A_PAGE)
            if report.has_failed:
                raise self._service.error("too_large", f"its report ended as {report.async_status}")
            if clock() + (pause_s := backoff.next_s()) >= end:
                raise self._service.error(
                    "timeout",
                    f"its report is {report.async_percent_completion} % ready after {self._limits.total_s:g} s",
                )
            await asyncio.sleep(pause_s)

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

    async def create_ad(self, account_fb_id: str, adset_fb_id: str, creative_fb_id: str, name: str) -> str:
        """Create an active advertisement from a creative and return its id."""
        creative = json.dumps({"creative_id": creative_fb_id})
        form = {"name": name, "adset_id": adset_fb_id, "creative": creative, "status": "ACTIVE"}
        return await self._service.write("POST", f"{self._path(account_fb_id)}/ads", replies.created_id, form=form)

    async def create_adset(
        self, account_fb_id: str, campaign_fb_id: str, name: str, daily_budget_minor: int, template_adset_fb_id: str
    ) -> str:
        """Create an active ad set with the audience and the goal of another one, and return its id."""
        template = await self._object(template_adset_fb_id, replies.Template, _COPIED)
        form = {"name": name, "campaign_id": campaign_fb_id, "status": "ACTIVE"}
        form["daily_budget"] = str(daily_budget_minor)
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

    async def _by_id(self, fb_ids: Sequence[str], model: type[B], fields: Sequence[str]) -> list[B]:
        """Return objects by their ids, in whatever state."""
        found: list[B] = []
        for first in range(0, len(fb_ids), IDS_A_REQUEST):
            ids = ",".join(self._path(one)[1:] for one in fb_ids[first : first + IDS_A_REQUEST])
            params = [("ids", ids), ("fields", ",".join(fields))]
            found += await self._service.read("/", replies.by_id(model), params=params)
        return found

    async def _list(
        self,
        path: str,
        model: type[B],
        fields: Sequence[str],
        more: Sequence[tuple[str, str]] = (),
        a_page: int = OBJECTS_A_PAGE,
    ) -> list[B]:
        """Return the objects of all pages. `paging.next` holds the token: only whether it is there matters."""
        named = [("fields", ",".join(fields))] if fields else []
        params = [*named, ("limit", str(a_page)), *more]
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
        raise self._service.error("bad_reply", "its list of pages has no end")

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
