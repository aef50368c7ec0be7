"""The figures of directions: of their ad sets at Facebook where it is connected, else as they are stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from uuid import UUID

from maas.assistants.ads import queries
from maas.assistants.ads.account import Account, AdAccount, account_of, ad_account_of
from maas.assistants.ads.ad_tree import AdTree, tree_of
from maas.assistants.ads.goals import Goaled, Pair, goaled
from maas.assistants.ads.metrics import Figures
from maas.assistants.ads.period import Period
from maas.assistants.ads.references import Refusal, the_one
from maas.assistants.ads.vendors import Vendors
from maas.tools.calls import ToolFailure
from maas.tools.tool import ToolContext
from shared.db import Database

NO_ADSET = Refusal(
    "the direction has no ad set at Facebook, so it has no budget there",
    "У направления нет группы объявлений в Facebook, поэтому нет и бюджета.",
)
NO_DIRECTION = Refusal(
    "there is no such direction: take an id or a name from getDirections", "Такого направления нет в этом аккаунте."
)


class Directions:
    """The directions of one ad account. `tree` is None where Facebook is not connected."""

    def __init__(self, db: Database, account: Account, ad_account: AdAccount, tree: AdTree | None) -> None:
        self.account = account
        self.ad_account = ad_account
        self.tree = tree
        self._db = db

    @property
    def source(self) -> str:
        return "stored" if self.tree is None else "facebook"

    def covered(self, period: Period) -> Period:
        """The part of a period that its figures are of. Raises ToolFailure for days that Facebook has forgotten, or
        that are not stored."""
        if self.tree is None:
            return period.since(self.ad_account.stored_from)
        first, last = period.facebook_days
        return Period(period.name, first, last, period.zone, period.today)

    async def rows(self) -> list[queries.AdsDirectionsRow]:
        """All directions, with `adset_fb_ids`."""
        return await self._db.rows(queries.ads_directions, *self._owner, None)

    async def find(self, reference: str) -> queries.AdsDirectionsRow:
        """A direction, by its id, that of its ad set, or its name. Raises ToolFailure."""
        rows = await self._db.rows(queries.ads_directions, *self._owner, reference)
        return the_one(rows, NO_DIRECTION)

    async def figures(self, rows: Sequence[queries.AdsDirectionsRow], period: Period) -> dict[UUID, Goaled]:
        """The figures of each direction over a period."""
        if self.tree is None:
            found = await self._db.rows(queries.ads_direction_figures, *self._owner, period.first, period.last)
            return {one["direction_id"]: Goaled(_figures(one)) for one in found}
        pairs: defaultdict[str, list[Pair]] = defaultdict(list)
        for adset, one in await self.tree.goals(period):
            pairs[str(one.object_fb_id)].append((adset, one))
        return {row["id"]: goaled([pair for fb_id in row["adset_fb_ids"] for pair in pairs[fb_id]]) for row in rows}

    async def days(self, row: queries.AdsDirectionsRow, period: Period) -> dict[date, Goaled]:
        """The figures of a direction by day; days without any are left out. Those of Facebook are kept."""
        if self.tree is None:
            found = await self._db.rows(
                queries.ads_direction_days, self.account.user_id, row["id"], period.first, period.last
            )
            return {one["day"]: Goaled(_figures(one)) for one in found}
        days: defaultdict[date, list[Pair]] = defaultdict(list)
        for adset, one in await self.tree.adset_days(row["adset_fb_ids"], period):
            if one.day is not None:
                days[one.day].append((adset, one))
        found_days = {day: goaled(pairs) for day, pairs in days.items()}
        if found_days:
            kept = [{"day": day, **asdict(of.figures)} for day, of in sorted(found_days.items())]
            await self._db.rows(queries.ads_keep_direction_days, self.account.user_id, row["id"], kept)
        return found_days

    async def results(self, period: Period) -> dict[UUID, queries.AdsDirectionResultsRow]:
        """What became of the leads that came in a period: leads, engaged, qualified, revenue."""
        found = await self._db.rows(
            queries.ads_direction_results, self.account.user_id, self.account.id, period.start, period.end
        )
        return {one["direction_id"]: one for one in found if one["direction_id"] is not None}

    async def creatives(self, row: queries.AdsDirectionsRow, limit: int) -> list[queries.AdsDirectionCreativesRow]:
        return await self._db.rows(queries.ads_direction_creatives, self.account.user_id, row["id"], limit)

    @property
    def _owner(self) -> tuple[UUID, UUID]:
        return self.account.user_id, self.ad_account.id


def directions_of(db: Database, vendors: Vendors, context: ToolContext) -> Directions:
    """The directions that a call works for. Raises ToolFailure without an ad account."""
    account, ad_account = account_of(context), ad_account_of(context)
    tree = tree_of(db, vendors, context) if account.is_connected["ads"] else None
    return Directions(db, account, ad_account, tree)


def _figures(row: queries.AdsDirectionFiguresRow | queries.AdsDirectionDaysRow) -> Figures:
    return Figures(row["spend"], row["impressions"], row["clicks"], row["leads"])


async def find_running_direction(
    db: Database, context: ToolContext, reference: str
) -> tuple[queries.AdsDirectionsRow, str]:
    """The direction with this id or name, if it runs ads, and its ad set at Facebook. Raises ToolFailure."""
    rows = await db.rows(queries.ads_directions, context.user_id, ad_account_of(context).id, reference)
    row = the_one(rows, NO_DIRECTION)
    if row["status"] != "ACTIVE":
        raise ToolFailure("the direction is paused: nothing was launched", "Направление на паузе: ничего не запущено.")
    if row["fb_adset_id"] is None:
        raise ToolFailure(
            "the direction has no ad set at Facebook: nothing was launched",
            "У направления нет группы объявлений в Facebook: ничего не запущено.",
        )
    return row, row["fb_adset_id"]
