"""Dangerous changes to advertising before their user is asked: the object is found, and what cannot work is refused.

A name becomes the id of its object, so that what is approved is what is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from maas.assistants.ads import queries
from maas.assistants.ads.ad_tree import tree_of
from maas.assistants.ads.creatives import NOT_UPLOADED, find_creative
from maas.assistants.ads.direction_figures import NO_ADSET, directions_of, find_running_direction
from maas.assistants.ads.tools.arguments import minor_of, money
from maas.assistants.ads.vendors import Vendors
from maas.tools.calls import ToolFailure
from maas.tools.tool import ToolContext
from shared.db import Database

PAUSED = "it is paused already: nothing is to be done"


@dataclass(frozen=True, slots=True)
class Preparations:
    """What tools do with their arguments before a person sees them; each raises ToolFailure."""

    db: Database
    vendors: Vendors

    async def campaign_pause(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        row = await tree_of(self.db, self.vendors, context).find_campaign(arguments.campaign_id)
        return _with_id(arguments, "campaign_id", row, "fb_id")

    async def adset_pause(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        row = await tree_of(self.db, self.vendors, context).find_adset(arguments.adset_id)
        return _with_id(arguments, "adset_id", row, "fb_id")

    async def adset_budget(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        tree = tree_of(self.db, self.vendors, context)
        row = await tree.find_adset(arguments.adset_id)
        _check_budget(row, arguments.daily_budget, tree.account.currency)
        return _with_id(arguments, "adset_id", row, "fb_id")

    async def direction_budget(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        directions = directions_of(self.db, self.vendors, context)
        row = await directions.find(arguments.direction_id)
        if (fb_id := row["fb_adset_id"]) is None:
            raise ToolFailure(NO_ADSET)
        tree = directions.tree or tree_of(self.db, self.vendors, context)
        _check_budget(await tree.find_adset(fb_id), arguments.daily_budget, directions.ad_account.currency)
        return _with_id(arguments, "direction_id", row, "id")

    async def direction_pause(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        row = await directions_of(self.db, self.vendors, context).find(arguments.direction_id)
        if row["status"] == "PAUSED":
            raise ToolFailure(PAUSED)
        return _with_id(arguments, "direction_id", row, "id")

    async def creative_pause(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        return _with_id(arguments, "creative_id", await find_creative(self.db, context, arguments.creative_id), "id")

    async def creative_launch(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        creative = await self._uploaded(arguments.creative_id, context)
        direction, _ = await find_running_direction(self.db, context, arguments.direction_id)
        prepared = _with_id(arguments, "creative_id", creative, "id")
        return prepared | _with_id(arguments, "direction_id", direction, "id", only=True)

    async def creative_test(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        creative = await self._uploaded(arguments.creative_id, context)
        prepared = _with_id(arguments, "creative_id", creative, "id")
        if arguments.direction_id is None:
            return prepared
        direction, _ = await find_running_direction(self.db, context, arguments.direction_id)
        return prepared | _with_id(arguments, "direction_id", direction, "id", only=True)

    async def _uploaded(self, reference: str, context: ToolContext) -> queries.FindCreativesRow:
        creative = await find_creative(self.db, context, reference)
        if creative["fb_creative_id"] is None:
            raise ToolFailure(NOT_UPLOADED)
        return creative


def _with_id(
    arguments: BaseModel, name: str, row: Mapping[str, Any], column: str, *, only: bool = False
) -> dict[str, Any]:
    """The arguments in which a name is replaced by the id of the row that it means; `only` this argument."""
    values = {} if only else arguments.model_dump(mode="json")
    return values if row["is_id"] else values | {name: str(row[column])}


def _check_budget(row: queries.AdsAdsetRow, wanted: Any, currency: str) -> None:
    minor_of(wanted, currency)
    if row["daily_budget_minor"] is None and row["campaign_budget_minor"] is not None:
        budget = money(row["campaign_budget_minor"], currency)
        raise ToolFailure(
            f"this ad set has no budget of its own: its campaign {row['campaign']!r} spends {budget} {currency} a day "
            "for all its ad sets, and that is changed in Ads Manager; tell the user, nothing was changed"
        )
