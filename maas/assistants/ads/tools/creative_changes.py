"""Tools that change what runs: a creative is launched into a direction, or all its ads are paused."""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints

from maas.assistants.ads import queries
from maas.assistants.ads.ad_tree import AdTree, tree_of
from maas.assistants.ads.creatives import find_creative, name_of, title_of
from maas.assistants.ads.direction_figures import find_running_direction
from maas.assistants.ads.phones import mask_phones
from maas.assistants.ads.tools.arguments import Reference
from maas.assistants.ads.tools.creative_details import CreativeArguments
from maas.assistants.ads.tools.preparations import (
    NOT_RUNNING,
    RUNS_ALREADY,
    Preparations,
    running_ads,
    uploaded_creative,
)
from maas.assistants.ads.tools.previews import Previews
from maas.assistants.ads.tools.wordings import LAUNCH_CREATIVE, PAUSE_CREATIVE
from maas.assistants.ads.vendors import Vendors, vendor_errors
from maas.engine.stages import Deps
from maas.tools.calls import ToolAnswer, ToolDoubt, ToolFailure
from maas.tools.tool import Tool, ToolContext, tool
from maas.tools.wording import Preview
from shared.db import Database

DOMAIN = "creative"


class LaunchArguments(BaseModel):
    creative_id: Reference = Field(description="The id or the title of the creative, from getCreatives")
    direction_id: Reference = Field(description="The id or the name of the direction, from getDirections")
    ad_name: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = Field(
        None, description="The name of the ad; left out: the title of the creative"
    )


def make_creative_changes(deps: Deps, vendors: Vendors) -> list[Tool]:
    """Two tools."""
    db = deps.db
    preparations = Preparations(db, vendors)

    async def verify_launch(_: Any, context: ToolContext, data: Any) -> Any:
        """The status that Facebook gives the new ad."""
        with vendor_errors():
            status = await vendors.facebook(context).status(data["ad_id"])
        return {"verified": status == "ACTIVE", "status": status}

    async def verify_pause(_: Any, context: ToolContext, data: Any) -> Any:
        """The status that Facebook gives each ad now."""
        facebook, found = vendors.facebook(context), {}
        with vendor_errors():
            for one in data["ads"]:
                found[one["id"]] = await facebook.status(one["id"])
        return {"verified": all(status == "PAUSED" for status in found.values()), "statuses": found}

    async def preview_launch(arguments: LaunchArguments, context: ToolContext) -> Preview:
        creative = await find_creative(db, context, arguments.creative_id)
        direction, _ = await find_running_direction(db, context, arguments.direction_id)
        return Preview(f"{title_of(creative)} → {direction['name']}")

    @tool(
        name="launchCreative",
        domain=DOMAIN,
        effect="dangerous",
        needs="connected",
        wording=LAUNCH_CREATIVE,
        verify=verify_launch,
        prepare=preparations.creative_launch,
        preview=preview_launch,
    )
    async def launch_creative(arguments: LaunchArguments, context: ToolContext) -> Any:
        """Launch a creative into a direction: a new ad in the direction's ad set."""
        return await _launch(db, tree_of(db, vendors, context), context, arguments)

    @tool(
        name="pauseCreative",
        domain=DOMAIN,
        effect="dangerous",
        needs="connected",
        wording=PAUSE_CREATIVE,
        verify=verify_pause,
        prepare=preparations.creative_pause,
        preview=Previews(db, vendors).creative,
    )
    async def pause_creative(arguments: CreativeArguments, context: ToolContext) -> Any:
        """Pause all ads that show a creative."""
        return await _pause_all(db, tree_of(db, vendors, context), context, arguments.creative_id)

    return [launch_creative, pause_creative]


async def _launch(db: Database, tree: AdTree, context: ToolContext, arguments: LaunchArguments) -> ToolAnswer:
    creative = await uploaded_creative(db, context, arguments.creative_id)
    direction, adset_fb_id = await find_running_direction(db, context, arguments.direction_id)
    adset = await tree.find_adset(adset_fb_id)
    if await running_ads(db, context, tree, creative, adset["fb_id"]):
        raise ToolFailure(*RUNS_ALREADY)
    name = arguments.ad_name or title_of(creative)
    with vendor_errors():
        ad_id = await tree.facebook.create_ad(
            tree.account.fb_id, adset["fb_id"], creative["fb_creative_id"] or "", name
        )
    await db.rows(
        queries.keep_launched_ad,
        context.user_id,
        tree.account.id,
        adset["fb_id"],
        ad_id,
        name,
        "ACTIVE",
        creative["id"],
        direction["id"],
    )
    data = {"ad_id": ad_id, "ad_name": mask_phones(name), "creative": name_of(creative)}
    data |= {"direction": {"id": str(direction["id"]), "name": direction["name"]}, "status": "ACTIVE"}
    return ToolAnswer(data, entities={str(mask_phones(name)): ad_id})


async def _pause_all(db: Database, tree: AdTree, context: ToolContext, reference: str) -> ToolAnswer:
    creative = await find_creative(db, context, reference)
    ads = await running_ads(db, context, tree, creative)
    if not ads:
        raise ToolFailure(*NOT_RUNNING)
    outcomes = [await _pause(db, context, tree, ad) for ad in ads]
    data: dict[str, Any] = {"creative": name_of(creative), "ads": outcomes}
    counts = Counter(one["outcome"] for one in outcomes)
    if counts["in_doubt"]:
        raise ToolDoubt(f"not every ad is known to be paused: {json.dumps(outcomes, ensure_ascii=False)}")
    if counts["failed"] == len(outcomes):
        raise ToolFailure(f"no ad was paused: {outcomes[0]['message']}")
    if not counts["failed"]:
        await db.rows(queries.set_creative_status, context.user_id, creative["id"], "paused")
    data["failed"] = counts["failed"]
    return ToolAnswer(data, entities={one["name"]: one["id"] for one in outcomes})


async def _pause(db: Database, context: ToolContext, tree: AdTree, ad: queries.CreativeAdsRow) -> dict[str, Any]:
    shown = {"id": ad["fb_id"], "name": mask_phones(ad["name"]) or ad["fb_id"]}
    try:
        with vendor_errors():
            await tree.facebook.set_status(ad["fb_id"], "PAUSED")
    except ToolFailure as failure:
        outcome = "in_doubt" if isinstance(failure, ToolDoubt) else "failed"
        return shown | {"outcome": outcome, "message": failure.message}
    await db.rows(queries.set_ad_status, context.user_id, ad["id"], "PAUSED")
    return shown | {"outcome": "paused"}
