"""What changes to advertising would do, as it can be seen before: the object by name, old and new values.

Nothing is changed here. What cannot be seen is left out; then the arguments alone are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maas.assistants.ads import queries
from maas.assistants.ads.account import ad_account_of
from maas.assistants.ads.ad_tree import tree_of
from maas.assistants.ads.creatives import find_creative, title_of
from maas.assistants.ads.direction_figures import directions_of
from maas.assistants.ads.metrics import rounded
from maas.assistants.ads.tools.arguments import money
from maas.assistants.ads.tools.preparations import budget_of_test, tested_direction
from maas.assistants.ads.tools.wordings import BUDGET, STATUS, STATUSES, TARGET
from maas.assistants.ads.vendors import Vendors
from maas.tools.tool import ToolContext
from maas.tools.wording import Change, Preview
from shared.db import Database


@dataclass(frozen=True, slots=True)
class Previews:
    """The previews of tools; each gets their arguments."""

    db: Database
    vendors: Vendors

    async def campaign_pause(self, arguments: Any, context: ToolContext) -> Preview:
        return await self._campaign(arguments, context, "PAUSED")

    async def campaign_start(self, arguments: Any, context: ToolContext) -> Preview:
        return await self._campaign(arguments, context, "ACTIVE")

    async def adset_pause(self, arguments: Any, context: ToolContext) -> Preview:
        return await self._adset(arguments, context, "PAUSED")

    async def adset_start(self, arguments: Any, context: ToolContext) -> Preview:
        return await self._adset(arguments, context, "ACTIVE")

    async def adset_budget(self, arguments: Any, context: ToolContext) -> Preview:
        tree = tree_of(self.db, self.vendors, context)
        row = await tree.find_adset(arguments.adset_id)
        return _budget(_name(row), row["daily_budget_minor"], arguments.daily_budget, tree.account.currency)

    async def direction_budget(self, arguments: Any, context: ToolContext) -> Preview:
        directions = directions_of(self.db, self.vendors, context)
        row = await directions.find(arguments.direction_id)
        return _budget(row["name"], row["daily_budget_minor"], arguments.daily_budget, directions.ad_account.currency)

    async def direction_target(self, arguments: Any, context: ToolContext) -> Preview:
        directions = directions_of(self.db, self.vendors, context)
        row = await directions.find(arguments.direction_id)
        old, wanted = rounded(row["target_cpl"]), rounded(arguments.target_cpl)
        before = None if row["target_cpl_currency"] is None else _amount(old, row["target_cpl_currency"])
        change = Change(TARGET, before, _amount(wanted, directions.ad_account.currency))
        return Preview(row["name"], (change,))

    async def direction_pause(self, arguments: Any, context: ToolContext) -> Preview:
        return await self._direction(arguments, context, "PAUSED")

    async def direction_start(self, arguments: Any, context: ToolContext) -> Preview:
        return await self._direction(arguments, context, "ACTIVE")

    async def creative(self, arguments: Any, context: ToolContext) -> Preview:
        return Preview(title_of(await find_creative(self.db, context, arguments.creative_id)))

    async def creative_test(self, arguments: Any, context: ToolContext) -> Preview:
        creative = await find_creative(self.db, context, arguments.creative_id)
        direction, _ = await tested_direction(self.db, context, creative, arguments.direction_id)
        currency = ad_account_of(context).currency
        budget = _amount(float(budget_of_test(arguments.budget, currency)), currency)
        return Preview(f"{title_of(creative)} → {direction['name']}", (Change(BUDGET, "0", budget),))

    async def _direction(self, arguments: Any, context: ToolContext, status: str) -> Preview:
        row = await directions_of(self.db, self.vendors, context).find(arguments.direction_id)
        return Preview(row["name"], (_status(row["status"], status),))

    async def _campaign(self, arguments: Any, context: ToolContext, status: str) -> Preview:
        row = await tree_of(self.db, self.vendors, context).find_campaign(arguments.campaign_id)
        return Preview(_name(row), (_status(row["status"], status),))

    async def _adset(self, arguments: Any, context: ToolContext, status: str) -> Preview:
        row = await tree_of(self.db, self.vendors, context).find_adset(arguments.adset_id)
        return Preview(_name(row), (_status(row["status"], status),))


def _name(row: queries.AdsCampaignRow | queries.AdsAdsetRow) -> str:
    return str(row["name"] or row["fb_id"])


def _budget(name: str, old_minor: int | None, new: Any, currency: str) -> Preview:
    """What a change of a daily budget would do; people also consent to it by saying which way it goes."""
    old, wanted = money(old_minor, currency), float(new)
    direction = () if old is None or old == wanted else ("raise",) if wanted > old else ("lower",)
    return Preview(name, (Change(BUDGET, _amount(old, currency), _amount(wanted, currency)),), direction)


def _status(old: str, new: str) -> Change:
    return Change(STATUS, STATUSES.get(old, old), STATUSES.get(new, new))


def _amount(amount: float | None, currency: str) -> str | None:
    return None if amount is None else f"{amount:.10g} {currency}"
