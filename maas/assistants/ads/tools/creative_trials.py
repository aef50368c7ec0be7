"""Tools that test a creative with a small budget: an ad set of its own beside that of its direction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from maas.assistants.ads import queries
from maas.assistants.ads.account import ad_account_of
from maas.assistants.ads.ad_tree import AdTree, figures_of, tree_of
from maas.assistants.ads.creatives import name_of, title_of
from maas.assistants.ads.metrics import Figures
from maas.assistants.ads.period import Period
from maas.assistants.ads.phones import mask_phones
from maas.assistants.ads.tools.arguments import Money, Reference, minor_of, money
from maas.assistants.ads.tools.preparations import (
    TESTED_ALREADY,
    Preparations,
    budget_of_test,
    check_budget_of_test,
    tested_direction,
    uploaded_creative,
)
from maas.assistants.ads.tools.previews import Previews
from maas.assistants.ads.tools.wordings import START_TEST, STOP_TEST
from maas.assistants.ads.vendors import Vendors, vendor_errors
from maas.engine.stages import Deps
from maas.tools.calls import ToolAnswer, ToolDoubt, ToolFailure
from maas.tools.tool import Tool, ToolContext, tool
from maas.tools.wording import Preview
from shared.db import Database
from shared.text import as_uuid

DOMAIN = "creative"
NO_TEST = "there is no such test running: take an id from getCreativeTests"


class StartTestArguments(BaseModel):
    creative_id: Reference = Field(description="The id of the creative, from getCreatives")
    direction_id: Reference | None = Field(None, description="The direction whose audience it is shown to; its own")
    budget: Money | None = Field(
        None, description="The daily budget in the currency of the ad account; left out: 20 dollars, if it is USD"
    )


class StopTestArguments(BaseModel):
    test_id: Reference = Field(description="The id of the test, from getCreativeTests")


def make_creative_trials(deps: Deps, vendors: Vendors) -> list[Tool]:
    """Two tools."""
    db = deps.db

    async def verify_start(_: Any, context: ToolContext, data: Any) -> Any:
        """The status of the ad set and its ad at Facebook."""
        facebook = vendors.facebook(context)
        with vendor_errors():
            statuses = [await facebook.status(data[name]) for name in ("adset_id", "ad_id")]
        return {"verified": statuses == ["ACTIVE", "ACTIVE"], "statuses": statuses}

    async def verify_stop(_: Any, context: ToolContext, data: Any) -> Any:
        """The status of the ad set at Facebook."""
        if data["adset_id"] is None:
            return {"verified": True, "status": None}
        with vendor_errors():
            status = await vendors.facebook(context).status(data["adset_id"])
        return {"verified": status == "PAUSED", "status": status}

    async def preview_stop(arguments: StopTestArguments, context: ToolContext) -> Preview:
        return Preview(title_of(await _running_test(db, arguments, context)))

    @tool(
        name="startCreativeTest",
        domain=DOMAIN,
        effect="dangerous",
        needs="connected",
        wording=START_TEST,
        verify=verify_start,
        prepare=Preparations(db, vendors).creative_test,
        preview=Previews(db, vendors).creative_test,
    )
    async def start_creative_test(arguments: StartTestArguments, context: ToolContext) -> Any:
        """Start a test of a creative: an ad set of its own with a budget of about 20 dollars a day."""
        return await _start(db, tree_of(db, vendors, context), context, arguments)

    @tool(
        name="stopCreativeTest",
        domain=DOMAIN,
        effect="write",
        needs="connected",
        wording=STOP_TEST,
        verify=verify_stop,
        preview=preview_stop,
    )
    async def stop_creative_test(arguments: StopTestArguments, context: ToolContext) -> Any:
        """Stop a running test and store what it has shown."""
        account, test = ad_account_of(context), await _running_test(db, arguments, context)
        test_id: UUID = test["id"]
        tree = tree_of(db, vendors, context)
        result: dict[str, Any] = Figures().shown()
        if test["fb_adset_id"] is not None:
            await tree.set_status(test["fb_adset_id"], "PAUSED")
            result = await _figures(db, tree, test)
        await db.rows(queries.end_creative_test, context.user_id, test_id, result)
        title = str(mask_phones(test["title"]))
        data = {"test_id": str(test_id), "title": title, "adset_id": test["fb_adset_id"], "currency": account.currency}
        return ToolAnswer(data | {"result": result}, entities={f"test of {title}": str(test_id)})

    return [start_creative_test, stop_creative_test]


async def _running_test(db: Database, arguments: StopTestArguments, context: ToolContext) -> queries.CreativeTestsRow:
    """The test with this id, if it runs. Raises ToolFailure."""
    test_id, owner = as_uuid(arguments.test_id), (context.user_id, ad_account_of(context).id)
    rows = await db.rows(queries.creative_tests, *owner, None, test_id, "running", 1)
    if test_id is None or not rows:
        raise ToolFailure(NO_TEST)
    return rows[0]


async def _start(db: Database, tree: AdTree, context: ToolContext, arguments: StartTestArguments) -> ToolAnswer:
    creative = await uploaded_creative(db, context, arguments.creative_id)
    direction, adset_fb_id = await tested_direction(db, context, creative, arguments.direction_id)
    amount, currency = budget_of_test(arguments.budget, tree.account.currency), tree.account.currency
    budget, dollars = minor_of(amount, currency), amount if currency == "USD" else None
    adset = await tree.find_adset(adset_fb_id)
    check_budget_of_test(adset, currency)
    test = await db.row(queries.begin_creative_test, context.user_id, creative["id"], direction["id"], dollars, budget)
    if test is None:
        raise ToolFailure(*TESTED_ALREADY)
    adset_id, ad_id = await _create(db, tree, context, creative, adset, budget, test["id"])
    data = {
        "test_id": str(test["id"]),
        "creative": name_of(creative),
        "direction": direction["name"],
        "adset_id": adset_id,
        "ad_id": ad_id,
        "daily_budget": money(budget, tree.account.currency),
        "currency": currency,
    }
    return ToolAnswer(data, entities={f"test of {title_of(creative)}": str(test["id"])})


async def _create(
    db: Database,
    tree: AdTree,
    context: ToolContext,
    creative: queries.FindCreativesRow,
    adset: queries.AdsAdsetRow,
    budget: int,
    test_id: UUID,
) -> tuple[str, str]:
    """Create the ad set and the ad of a test. A failure that is sure ends the test; its ad set, if any, is paused."""
    account, name = tree.account.fb_id, f"Test: {title_of(creative)}"
    adset_id = None
    try:
        with vendor_errors():
            adset_id = await tree.facebook.create_adset(account, adset["campaign_fb_id"], name, budget, adset["fb_id"])
        await db.rows(queries.keep_creative_test, context.user_id, test_id, adset_id, None)
        with vendor_errors():
            ad_id = await tree.facebook.create_ad(account, adset_id, creative["fb_creative_id"] or "", name)
    except ToolDoubt:
        raise
    except ToolFailure as failure:
        await db.rows(queries.fail_creative_test, context.user_id, test_id)
        if adset_id is not None:
            with vendor_errors():
                await tree.facebook.set_status(adset_id, "PAUSED")
        raise ToolFailure(f"{failure.message}. The test was not started") from failure
    await db.rows(queries.keep_creative_test, context.user_id, test_id, adset_id, ad_id)
    return adset_id, ad_id


async def _figures(db: Database, tree: AdTree, test: Mapping[str, Any]) -> dict[str, Any]:
    """What the test's ad set has brought since it began."""
    zone = tree.account.timezone
    first = test["started_at"].astimezone(zone).date()
    today = (await db.value(queries.ads_now)).astimezone(zone).date()
    period = Period("custom", min(first, today), today, zone, today)
    rows = await tree.insights("adset", period, test["fb_adset_id"])
    return sum((figures_of(one) for one in rows), Figures()).shown() | {"period": period.shown()}
