"""The campaigns, ad sets and ads of one ad account: read from Facebook, and kept so that their ids are known.

An id is known only within the account, whoever else may have an object with it: what Facebook does not list for the
account is unknown here, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import asdict
from typing import Any, Literal
from uuid import UUID

from maas.assistants.ads import queries
from maas.assistants.ads.account import AdAccount, account_of, ad_account_of
from maas.assistants.ads.clients.facebook import FacebookClient, Status
from maas.assistants.ads.clients.facebook_insights import Insights, Level
from maas.assistants.ads.clients.facebook_objects import Ad, AdSet, Campaign
from maas.assistants.ads.goals import Pair
from maas.assistants.ads.metrics import Figures
from maas.assistants.ads.period import Period
from maas.assistants.ads.references import Refusal, the_one
from maas.assistants.ads.vendors import Vendors, vendor_errors
from maas.tools.concurrency import run_concurrently
from maas.tools.tool import ToolContext
from shared.db import Database
from shared.query import Query, jsonb, uuid

_OF_CREATIVES = ("purchases", "video_views", "p25", "p50", "p75", "p95")
NO_CAMPAIGN = Refusal(
    "there is no such campaign: take an id or a name from getCampaigns", "Такой кампании нет в этом рекламном аккаунте."
)
NO_ADSET = Refusal(
    "there is no such ad set: take an id or a name from getAdSets",
    "Такой группы объявлений нет в этом рекламном аккаунте.",
)


class AdTree:
    """The tree of one ad account. All methods that ask Facebook raise ToolFailure, or ToolDoubt for a write."""

    def __init__(self, db: Database, facebook: FacebookClient, account: AdAccount, user_id: UUID) -> None:
        self.facebook = facebook
        self.account = account
        self._db = db
        self._owner = (user_id, account.id)

    async def campaigns(self) -> list[Campaign]:
        """All campaigns of the account; they are kept, and those that are no longer there are known as deleted."""
        with vendor_errors():
            found = await self.facebook.campaigns(self.account.fb_id)
        await self._keep(queries.ads_keep_campaigns, found)
        await self._db.rows(queries.ads_mark_deleted_campaigns, *self._owner, [one.fb_id for one in found])
        return found

    async def adsets(self, campaign_fb_id: str | None = None) -> list[AdSet]:
        """The ad sets of a campaign, or of the account; they are kept, as campaigns are."""
        if campaign_fb_id is None:  # an ad set is kept below its campaign
            await self.campaigns()
        with vendor_errors():
            found = await self.facebook.adsets(campaign_fb_id or self.account.fb_id)
        await self._keep(queries.ads_keep_adsets, found)
        if campaign_fb_id is None:
            await self._db.rows(queries.ads_mark_deleted_adsets, *self._owner, [one.fb_id for one in found])
        return found

    async def ads(self, campaign_fb_id: str | None = None) -> tuple[list[AdSet], list[Ad]]:
        """The ad sets and the ads of a campaign, or of the account; they are kept, with the creatives of ads."""
        with vendor_errors():
            reads = self.adsets(campaign_fb_id), self.facebook.ads(campaign_fb_id or self.account.fb_id)
            adsets, ads = await together(*reads)
        await self._keep_ads(ads)
        if campaign_fb_id is None:
            await self._db.rows(queries.ads_mark_deleted_ads, *self._owner, [one.fb_id for one in ads])
        return adsets, ads

    async def unlisted_campaigns(self, listed: Iterable[Campaign], fb_ids: Iterable[str]) -> list[Campaign]:
        """Those of `fb_ids` that are not among `listed`: lists have no deleted ones. They are kept."""
        with vendor_errors():
            found = await self.facebook.campaigns_by_id(_missing(listed, fb_ids))
        await self._keep(queries.ads_keep_campaigns, found)
        return found

    async def unlisted_adsets(self, listed: Iterable[AdSet], fb_ids: Iterable[str]) -> list[AdSet]:
        """As `unlisted_campaigns`; they are kept with their campaigns."""
        with vendor_errors():
            found = await self.facebook.adsets_by_id(_missing(listed, fb_ids))
        await self.unlisted_campaigns([], await self._unknown("campaigns", (one.campaign_fb_id for one in found)))
        await self._keep(queries.ads_keep_adsets, found)
        return found

    async def unlisted_ads(self, listed: Iterable[Ad], fb_ids: Iterable[str]) -> list[Ad]:
        """As `unlisted_campaigns`; they are kept with their ad sets, campaigns and creatives."""
        with vendor_errors():
            found = await self.facebook.ads_by_id(_missing(listed, fb_ids))
        await self.unlisted_adsets([], await self._unknown("adsets", (one.adset_fb_id for one in found)))
        await self._keep_ads(found)
        return found

    async def insights(
        self, level: Level, period: Period, parent: str | None = None, by_day: bool = False
    ) -> list[Insights]:
        """The figures below `parent`, by default the account. Raises ToolFailure for days that it has forgotten."""
        since, until = period.facebook_days
        with vendor_errors():
            return await self.facebook.insights(parent or self.account.fb_id, level, since, until, by_day)

    async def figures(self, level: Level, period: Period, parent: str | None = None) -> dict[str, Figures]:
        """The figures of each object of `level`, by its id of Facebook."""
        return sums_of(await self.insights(level, period, parent))

    async def goals(self, period: Period, by_day: bool = False) -> list[Pair]:
        """The ad sets of the account that have figures, with these: what they tell is what was reached."""
        with vendor_errors():
            adsets, found = await together(
                self.facebook.adsets(self.account.fb_id), self.insights("adset", period, by_day=by_day)
            )
            ids = {one.object_fb_id for one in found if one.object_fb_id}
            adsets += await self.facebook.adsets_by_id(_missing(adsets, ids))
        known = {one.fb_id: one for one in adsets}
        return [(known.get(str(one.object_fb_id)), one) for one in found]

    async def adset_days(self, adset_fb_ids: Sequence[str], period: Period) -> list[Pair]:
        """The figures of ad sets by day, which are kept."""
        with vendor_errors():
            known = {one.fb_id: one for one in await self.facebook.adsets_by_id(adset_fb_ids)}
        found = [one for fb_id in adset_fb_ids for one in await self.insights("adset", period, fb_id, by_day=True)]
        await self._keep(queries.ads_keep_adset_days, _days(found))
        return [(known.get(str(one.object_fb_id)), one) for one in found]

    async def all_days(self, period: Period) -> tuple[int, int]:
        """Keep the figures by day of all ad sets, and with them of directions, and of creatives; how many rows of each.

        A day that Facebook has restated is changed. Figures of deleted objects are kept with these.
        """
        adsets = _days(await self.insights("adset", period, by_day=True))
        await self.unlisted_adsets([], await self._unknown("adsets", (one["fb_id"] for one in adsets)))
        await self._keep(queries.ads_keep_adset_days, adsets)
        days = (period.first, period.last)
        await self._db.rows(queries.ads_sync_direction_days, *self._owner, *days)
        ads = _days(await self.insights("ad", period, by_day=True), _OF_CREATIVES)
        await self.unlisted_ads([], await self._unknown("ads", (one["fb_id"] for one in ads)))
        await self._keep(queries.ads_keep_creative_days, ads)
        return len(adsets), len(ads)

    async def find_campaign(self, reference: str) -> queries.AdsCampaignRow:
        """The row of a campaign, by an id of ours or of Facebook, or by its name. Raises ToolFailure."""
        if not (rows := await self._db.rows(queries.ads_campaign, *self._owner, reference)):
            await self.campaigns()
            rows = await self._db.rows(queries.ads_campaign, *self._owner, reference)
        return the_one(rows, NO_CAMPAIGN, "fb_id")

    async def find_adset(self, reference: str) -> queries.AdsAdsetRow:
        """The row of an ad set, by an id of ours or of Facebook, or by its name. Raises ToolFailure."""
        if not (rows := await self._db.rows(queries.ads_adset, *self._owner, reference)):
            await self.adsets()
            rows = await self._db.rows(queries.ads_adset, *self._owner, reference)
        return the_one(rows, NO_ADSET, "fb_id")

    async def fresh_campaign(self, reference: str) -> queries.AdsCampaignRow:
        """As `find_campaign`, with what Facebook has now. Raises ToolFailure."""
        row = await self.find_campaign(reference)
        await self.unlisted_campaigns([], [row["fb_id"]])
        return {**await self.find_campaign(row["fb_id"]), "is_id": row["is_id"]}

    async def fresh_adset(self, reference: str) -> queries.AdsAdsetRow:
        """As `find_adset`, with what Facebook has now of it and its campaign. Raises ToolFailure."""
        row = await self.find_adset(reference)
        await self.unlisted_campaigns([], [row["campaign_fb_id"]])
        await self.unlisted_adsets([], [row["fb_id"]])
        return {**await self.find_adset(row["fb_id"]), "is_id": row["is_id"]}

    async def creative_pairs(self, period: Period) -> dict[UUID | None, list[Pair]]:
        """The figures of ads by the creative that they show, each with its ad set; None: it is not known.

        The ads are read from Facebook if some are not known.
        """
        found = await self.insights("ad", period)
        wanted = sorted({str(one.object_fb_id) for one in found})
        shown = await self._creatives_of(wanted)
        if len(shown) < len(wanted):
            _, ads = await self.ads()
            await self.unlisted_ads(ads, wanted)
            shown = await self._creatives_of(wanted)
        with vendor_errors():
            adsets = await self.facebook.adsets_by_id(sorted({row["adset_fb_id"] for row in shown.values()}))
        known = {one.fb_id: one for one in adsets}
        pairs: defaultdict[UUID | None, list[Pair]] = defaultdict(list)
        for one in found:
            row = shown.get(str(one.object_fb_id))
            pairs[row and row["creative_id"]].append((known.get(row["adset_fb_id"]) if row else None, one))
        return pairs

    async def targets(self) -> list[queries.AdsAdsetTargetsRow]:
        """The targets of ad sets that belong to directions with one."""
        return await self._db.rows(queries.ads_adset_targets, *self._owner)

    async def set_status(self, fb_id: str, status: Status) -> None:
        """Start or pause a campaign or an ad set, at Facebook and in its row."""
        with vendor_errors():
            await self.facebook.set_status(fb_id, status)
        await self._db.rows(queries.ads_set_status, *self._owner, fb_id, status)

    async def set_budget(self, adset_fb_id: str, minor: int) -> None:
        """Set the daily budget of an ad set, at Facebook, in its row and in that of its direction."""
        with vendor_errors():
            await self.facebook.set_daily_budget(adset_fb_id, minor)
        await self._db.rows(queries.ads_set_adset_budget, *self._owner, adset_fb_id, minor)

    async def _creatives_of(self, ad_fb_ids: Sequence[str]) -> dict[str, queries.AdsCreativesOfRow]:
        rows = await self._db.rows(queries.ads_creatives_of, *self._owner, ad_fb_ids)
        return {row["fb_id"]: row for row in rows}

    async def _unknown(self, kind: Literal["campaigns", "adsets", "ads"], fb_ids: Iterable[str | None]) -> list[str]:
        """Those of `fb_ids` that are not kept."""
        wanted = sorted({one for one in fb_ids if one is not None})
        rows = await self._db.rows(queries.ads_unknown, *self._owner, kind, wanted) if wanted else []
        return [row["fb_id"] for row in rows]

    async def _keep_ads(self, ads: Sequence[Ad]) -> None:
        """Keep ads and the creatives that they show."""
        await self._keep(queries.ads_keep_ads, ads)
        shown = [one for one in ads if one.creative_fb_id is not None]
        await self._keep(queries.ads_keep_creatives, shown)
        await self._keep(queries.ads_keep_shown, shown)

    async def _keep(self, query: Query[Any, uuid, uuid, jsonb], found: Sequence[Any]) -> None:
        if found:
            await self._db.rows(query, *self._owner, [one if isinstance(one, dict) else asdict(one) for one in found])


def tree_of(db: Database, vendors: Vendors, context: ToolContext) -> AdTree:
    """The tree of the ad account that a call works for. Raises ToolFailure without an ad account or a token."""
    return AdTree(db, vendors.facebook(context), ad_account_of(context), account_of(context).user_id)


async def together(*works: Coroutine[Any, Any, Any]) -> list[Any]:
    """The results of reads that run at the same time. The first exception cancels the others and is raised."""
    return await run_concurrently(works)


def _missing(listed: Iterable[Campaign | AdSet | Ad], fb_ids: Iterable[str]) -> list[str]:
    return sorted(set(fb_ids) - {one.fb_id for one in listed})


def figures_of(one: Insights) -> Figures:
    return Figures(one.spend, one.impressions, one.clicks, one.leads)


def sums_of(rows: Iterable[Insights]) -> dict[str, Figures]:
    """The figures of each object over all its rows."""
    found: dict[str, Figures] = {}
    for one in rows:
        if one.object_fb_id is not None:
            found[one.object_fb_id] = found.get(one.object_fb_id, Figures()) + figures_of(one)
    return found


def _days(found: Iterable[Insights], more: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Days as they are kept, with these fields beside the usual ones."""
    return [
        {"fb_id": one.object_fb_id, "day": one.day, **asdict(figures_of(one))}
        | {name: getattr(one, name) for name in more}
        for one in found
        if one.day is not None
    ]
