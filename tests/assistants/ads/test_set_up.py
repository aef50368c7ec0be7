"""What a person decides once: the stages that make a lead qualified, and which ad sets are directions."""

from __future__ import annotations

import base64
import json
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest

from maas.assistants.ads import queries
from maas.assistants.ads.account import NO_ACCOUNT, read_account
from maas.assistants.ads.checks import check_accounts
from maas.assistants.ads.set_up import choose_stages, list_directions, set_rate
from maas.assistants.ads.sync_queue import SyncQueue
from maas.settings import load_settings
from shared.db import Database
from shared.errors import Advice, MaasError
from tests.assistants.ads.shop import NOW, TOKEN, Shop
from tests.standins.running import Running

AT = "2026-11-19T12:00:00Z"


async def stages(shop: Shop, *wanted: str) -> int:
    """Choose stages; how many leads changed."""
    account = await read_account(shop.deps.db, shop.user, None)
    assert account is not None
    return (await choose_stages(shop.deps.db, account, list(wanted)))[1]


async def directions(shop: Shop, *adsets: str, name: str | None = None, cpl: str | None = None) -> dict[str, Any]:
    """The directions of ad sets, after these became one."""
    account = await read_account(shop.deps.db, shop.user, None)
    assert account is not None
    target = None if cpl is None else Decimal(cpl)
    _, rows = await list_directions(shop.deps.db, account, list(adsets) or None, name, (target, None))
    return {row["fb_id"]: row["direction"] for row in rows}


@pytest.fixture
def funnel(shop: Shop) -> Shop:
    """A pipeline of four stages with a lead in each, and a lost one."""
    places = (("11", "Новый"), ("12", "Замер"), ("13", "Договор"), ("142", "Успех"), ("143", "Отказ"))
    for place, (stage, name) in enumerate(places):
        stored: dict[str, Any] = {"pipeline_id": "1", "stage_id": stage}
        shop.add("crm_stages", user_account_id=shop.account, pipeline_name="Продажи", name=name, place=place, **stored)
        shop.lead(crm_lead_id=f"9{stage}", is_qualified=stage == "142", **stored)
    return shop


async def test_qualified_from_a_stage_on(funnel: Shop) -> None:
    """Leads in it and in later ones, but not the lost one; the choice can be changed."""
    before = await funnel.data("getSalesQuality")
    assert before["count"] == 1 and "maas ads stages" in before["qualified_from_stages"]
    assert await stages(funnel, "12") == 2
    after = await funnel.data("getSalesQuality")
    assert (after["count"], after["qualified_from_stages"]) == (3, ["Замер"])
    assert await stages(funnel, "13") == 1
    assert (await funnel.data("getSalesQuality"))["count"] == 2
    with pytest.raises(MaasError, match="the CRM has no stage 99"):
        await stages(funnel, "99")
    assert (await funnel.data("getSalesQuality"))["count"] == 2


async def test_a_lead_that_was_qualified_and_is_lost_stays_qualified(funnel: Shop) -> None:
    await stages(funnel, "12")
    lost = [{"crm_lead_id": "912", "pipeline_id": "1", "stage_id": "143", "revenue": "0", "created_at": AT}]
    await funnel.deps.db.rows(queries.ads_keep_leads, funnel.user, funnel.account, lost)
    assert await stages(funnel, "11") == 1
    query = "select is_qualified from leads where user_id = %s and crm_lead_id = '912'"
    assert funnel.rows(query, funnel.user) == [{"is_qualified": True}]


async def test_a_lead_that_comes_to_the_stage_is_qualified(funnel: Shop) -> None:
    await stages(funnel, "12")
    moved = [{"crm_lead_id": "911", "pipeline_id": "1", "stage_id": "13", "revenue": "0", "created_at": AT}]
    await funnel.deps.db.rows(queries.ads_keep_leads, funnel.user, funnel.account, moved)
    assert (await funnel.data("getSalesQuality"))["count"] == 4


async def test_ad_sets_are_proposed_and_become_directions(shop: Shop, shop_db: Database, facebook: Running) -> None:
    """With their ads, creatives, leads and what was spent."""
    await shop.data("getROIReport")  # ads and creatives are known
    await shop.data("getAdSets", {"campaign_id": "101"})
    shop.lead(source_ad_fb_id="121")
    for adset in ("111", "112"):
        (row,) = shop.rows("select id from adsets where user_id = %s and fb_id = %s", shop.user, adset)
        shop.add("adset_metrics_history", adset_id=row["id"], day="2026-11-18", spend=20, leads=10)
    assert await directions(shop) == {"111": None, "112": None, "113": None}
    assert await directions(shop, "112", "111", name="Казахстан", cpl="4.5") == {
        "111": "Казахстан",
        "112": "Казахстан",
        "113": None,
    }
    stored = shop.rows(
        "select fb_adset_id, daily_budget_minor, target_cpl from directions where user_id = %s", shop.user
    )
    assert stored == [{"fb_adset_id": "112", "daily_budget_minor": 3000, "target_cpl": Decimal("4.5")}]
    query = "select spend, leads from direction_metrics_daily where user_id = %s"
    assert shop.rows(query, shop.user) == [{"spend": 40, "leads": 20}]
    (direction,) = (await shop.data("getDirections", {"period": "last_30d"}))["directions"]
    assert (direction["name"], direction["target_cpl"], direction["local_leads"]) == ("Казахстан", 4.5, 1)
    assert {one["direction"] for one in (await shop.data("getROIReport"))["creatives"]} == {"Казахстан"}


@pytest.mark.parametrize("adsets", [["999"], ["111"], ["113", "111"], ["911"]])
async def test_only_a_free_ad_set_of_the_account_becomes_a_direction(shop: Shop, adsets: list[str]) -> None:
    await shop.data("getROIReport")
    await directions(shop, "111")
    with pytest.raises(MaasError, match="an ad set is unknown or has a direction"):
        await directions(shop, *adsets)
    assert len(shop.rows("select from directions where user_id = %s", shop.user)) == 1


async def test_of_another_user_nothing_is_chosen(funnel: Shop) -> None:
    stranger: UUID = uuid4()
    ids = (stranger, funnel.account)
    assert await funnel.deps.db.rows(queries.ads_set_qualifying, *ids, ["12"]) == []
    assert (
        await funnel.deps.db.rows(queries.ads_add_direction, stranger, funnel.ad_account, ["111"], None, None, None)
        == []
    )


@pytest.fixture
def tenge(shop: Shop) -> Shop:
    """A creative that cost 30 dollars and brought a lead that paid 20,000 tenge."""
    video = shop.creative("Видео", "71", shop.direction())
    shop.lead(source_creative_id=video, revenue=20_000, is_qualified=True)
    shop.add("creative_metrics_history", creative_id=video, day="2026-11-18", spend=30, impressions=10, leads=10)
    shop.rows("update crm_integration set currency = 'KZT' where user_id = %s returning 1", shop.user)
    return shop


REPORTS = (("getROIReport", "creatives"), ("getTopCreatives", "creatives"), ("getDirections", "directions"))


@pytest.mark.parametrize(("report", "items"), REPORTS)
async def test_revenue_of_another_currency_is_no_return(tenge: Shop, report: str, items: str) -> None:
    """Neither a return nor a revenue is named; the reason is, in words."""
    data = await tenge.data(report, {"period": "last_30d"})
    first = next(one for one in data[items] if one["name" if "name" in one else "title"] in ("Видео", "Окна"))
    assert (first["roi"], first["revenue"]) == (None, None)
    assert "leads pay in KZT and ads cost USD" in data["revenue_note"]
    assert data.get("total", {}).get("revenue") is None
    quality = await tenge.data("getSalesQuality")
    assert (quality["revenue"], quality["currency"]) == (20_000, "KZT")


async def rate(shop: Shop, value: str) -> str:
    account = await read_account(shop.deps.db, shop.user, None)
    assert account is not None
    return await set_rate(shop.deps.db, account, Decimal(value), date(2026, 11, 1))


@pytest.mark.parametrize(("report", "items"), REPORTS)
async def test_a_rate_makes_it_one(tenge: Shop, report: str, items: str) -> None:
    """20,000 tenge are 40 dollars; the rate and its day are in the result."""
    assert await rate(tenge, "0.002") == "1 KZT = 0.002 USD, rate of 2026-11-01"
    data = await tenge.data(report, {"period": "last_30d"})
    first = next(one for one in data[items] if one["name" if "name" in one else "title"] in ("Видео", "Окна"))
    assert (first["revenue"], first["roi"]) == (40, 33.33)
    assert data["revenue_note"] == "revenue is converted from KZT: 1 KZT = 0.002 USD, rate of 2026-11-01"


async def test_a_rate_to_another_currency_is_none(tenge: Shop) -> None:
    await rate(tenge, "0.002")
    tenge.rows("update ad_accounts set currency = 'EUR' where user_id = %s returning 1", tenge.user)
    assert "leads pay in KZT and ads cost EUR" in (await tenge.data("getTopCreatives"))["revenue_note"]


async def test_a_missing_rate_is_known_from_the_first_hour_on(tenge: Shop) -> None:
    """The greeting says what there is no return without; a rate between other currencies is none."""
    no_rate = "leads pay in KZT and ads cost USD, so revenue and ROI are left out: maas ads rate"
    assert no_rate in await missing(tenge)
    await rate(tenge, "0.002")
    assert not [one for one in await missing(tenge) if "maas ads rate" in one]
    tenge.rows("update ad_accounts set currency = 'EUR' where user_id = %s returning 1", tenge.user)
    assert no_rate.replace("USD", "EUR") in await missing(tenge)


@pytest.mark.parametrize(("report", "items"), REPORTS)
async def test_who_wrote_before_the_first_stored_message_is_not_known(tenge: Shop, report: str, items: str) -> None:
    """A cost over those who are known to have written would be too high: it is left out, in words."""
    tenge.rows("update leads set reached_key_stage = true where user_id = %s returning 1", tenge.user)
    tenge.add("whatsapp_integration", user_account_id=tenge.account, instance="main", synced_from="2026-11-19")
    data = await tenge.data(report, {"period": "last_7d"})
    assert data[items][0]["qcpl"] == 30 and "engaged_note" not in data
    tenge.lead(5)
    data = await tenge.data(report, {"period": "last_7d"})
    assert data[items][0]["qcpl"] is None and "no QCPL is given" in data["engaged_note"]
    assert data.get("total", {}).get("qcpl") is None
    assert "engaged_note" not in await tenge.data(report, {"date_from": "2026-11-19"})
    for tool in ("getSalesQuality", "getFunnelStats"):
        assert "too few" in (await tenge.data(tool, {"period": "last_7d"}))["engaged_note"]
        assert "engaged_note" not in await tenge.data(tool, {"date_from": "2026-11-19"})


async def test_each_ad_account_has_a_rate_of_its_own(tenge: Shop) -> None:
    """A business advertises in dollars and in tenge or yens, and its CRM counts in one currency."""
    await rate(tenge, "0.002")
    tenge.connect(2, "JPY", "Asia/Tokyo")
    other = await read_account(tenge.deps.db, tenge.user, "act_2")
    assert other is not None and await set_rate(tenge.deps.db, other, Decimal("0.3"), None)
    for account, of in (("act_1", "0.002 USD"), ("act_2", "0.3 JPY")):
        assert f"1 KZT = {of}" in (await tenge.data("getROIReport", account=account))["revenue_note"]


async def test_a_rate_needs_two_currencies(shop: Shop) -> None:
    with pytest.raises(MaasError, match="not known yet"):
        await rate(shop, "2")
    shop.rows("update crm_integration set currency = 'USD' where user_id = %s returning 1", shop.user)
    with pytest.raises(MaasError, match="no rate is needed"):
        await rate(shop, "2")


async def test_a_qualified_lead_has_a_target_of_its_own(shop: Shop) -> None:
    """A cost is judged against its own target, and the verdict names it: a lead of 2 dollars, a qualified one of 20."""
    direction = shop.direction(name="Балконы", target_cpl=4)
    video = shop.creative("Видео", "71", direction)
    shop.lead(source_creative_id=video, reached_key_stage=True)
    shop.add("creative_metrics_history", creative_id=video, day="2026-11-18", spend=20, impressions=10, leads=10)
    (one,) = (await shop.data("compareCreatives", {"creative_ids": [str(video), str(shop.creative("Б"))]}))[
        "creatives"
    ][:1]
    assert (one["tier"], one["tier_by"], one["advice"]) == ("B", "cpl", "keep")
    assert (one["vs_target_percent"], one["qcpl_vs_target_percent"]) == (-50, None)
    account = await read_account(shop.deps.db, shop.user, None)
    assert account is not None
    await list_directions(shop.deps.db, account, None, None, (None, Decimal(12)), "балконы")
    (one,) = (await shop.data("getTopCreatives"))["creatives"]
    assert (one["tier"], one["tier_by"], one["advice"]) == ("D", "qcpl", "optimise")
    assert (one["target_cpl"], one["target_qcpl"], one["qcpl_vs_target_percent"]) == (4, 12, 66.67)
    with pytest.raises(MaasError, match="there is no direction"):
        await list_directions(shop.deps.db, account, None, None, (None, Decimal(12)), "Кухни")


async def test_doctor_needs_no_right_to_read_tokens(shop: Shop) -> None:
    """The role of orchestrators sees that there are tokens, and not what they are."""
    services = [rf"{name} \d+, (\d+ without a token, )?\d+ not synced within a day" for name in ("Facebook", "amoCRM")]
    with pytest.raises(Advice, match=".*".join(services)):
        await check_accounts(shop.deps.settings, shop.deps.db)


async def test_the_end_of_a_token_is_known_before_it_comes(shop: Shop, facebook: Running) -> None:
    """By doctor and at a greeting, a fortnight before; Facebook tells it, a token of amoCRM says it itself."""
    claims = base64.urlsafe_b64encode(json.dumps({"exp": int((NOW - timedelta(hours=13)).timestamp())}).encode())
    token = f"eyJhbGciOiJSUzI1NiJ9.{claims.decode().rstrip('=')}.c2lnbmF0dXJl"
    shop._set_secret(f"amocrm_{shop.account.hex}", token)
    for days, is_named in ((15, False), (13, True), (0, False)):
        ends = int((NOW + timedelta(days=days)).timestamp()) if days else 0
        facebook.merge({"token_ends": {TOKEN: ends}})
        queue = SyncQueue(shop.deps.db, shop.deps.settings)
        await queue.run_all(shop.user, None, lambda *_: None, print)
        await queue.close()
        named = [one for one in await missing(shop) if one.startswith("the token")]
        renews = "an operator renews it: maas ads connect"
        assert named[-1:] == [f"the token of amoCRM ended on 2026-11-20: {renews}"]
        assert named[:-1] == ([f"the token of Facebook ends on 2026-12-03: {renews}"] if is_named else [])
        with pytest.raises(Advice) as advice:
            await check_accounts(shop.deps.settings, shop.deps.db)
        assert ("1 whose token ends soon, the first on 2026-12-03" in str(advice.value)) is is_named
        assert "1 whose token ends soon, the first on 2026-11-19" in str(advice.value)


@pytest.mark.parametrize(("secret", "is_renewed"), [("appsecret0123456789", True), ("another0123456789", False)])
async def test_a_token_that_ends_is_renewed(shop: Shop, facebook: Running, secret: str, is_renewed: bool) -> None:
    """By the secret of its app, a fortnight before; without it, the token is used as long as it lives."""
    soon = {TOKEN: int((NOW + timedelta(days=13)).timestamp())}
    facebook.merge({"token_ends": soon, "app": ["4711", "appsecret0123456789"]})
    app = {"fb_app_id": "4711", "fb_app_secret": secret}
    settings = load_settings(fb_base_url=facebook.url, **app)
    for _ in range(2):
        queue = SyncQueue(shop.deps.db, settings)
        assert await queue.run_all(shop.user, None, lambda *_: None, print) == []
        await queue.close()
    values = shop.rows("select value from user_secrets where user_id = %s and name = 'facebook_1'", shop.user)
    assert values == [{"value": f"{TOKEN}R" if is_renewed else TOKEN}]
    assert len(facebook.journal("GET", "/oauth/access_token")) == (1 if is_renewed else 2)
    assert [one for one in await missing(shop) if "token" in one] == (
        [] if is_renewed else ["the token of Facebook ends on 2026-12-03: an operator renews it: maas ads connect"]
    )


async def test_a_sync_needs_no_end_of_the_token(shop: Shop, facebook: Running) -> None:
    """Facebook may tell it to nobody but the developers of the app."""
    facebook.fault("status", path="/debug_token", status=400, code=100, message="(#100) You must provide an app token")
    queue = SyncQueue(shop.deps.db, shop.deps.settings)
    assert await queue.run_all(shop.user, None, lambda *_: None, print) == []
    await queue.close()


async def missing(shop: Shop, user: UUID | None = None) -> list[str]:
    found: list[str] = (await shop.data("set_up", user=user))["missing"]
    return found


async def test_what_is_not_set_up_is_known_from_the_first_hour_on(shop: Shop) -> None:
    """Also where there is no business at all, which no other source can tell."""
    assert await missing(shop, uuid4()) == [NO_ACCOUNT]
    no_whatsapp = "WhatsApp is not connected: an operator runs maas ads connect"
    assert await missing(shop) == [
        "Facebook was never read to the end yet",
        "amoCRM was never read to the end yet",
        no_whatsapp,
    ]
    shop.forget_token("act_1")
    shop.rows(
        "update ads_syncs set error = 'amoCRM is closed' where user_id = %s and service = 'amoCRM' returning 1",
        shop.user,
    )
    first, second, _ = await missing(shop)
    assert first == "the token of Facebook is missing: an operator runs maas ads connect"
    assert second == "amoCRM was never read to the end, the last error: amoCRM is closed"
    shop.set_token("act_1", TOKEN)
    queue = SyncQueue(shop.deps.db, shop.deps.settings)
    assert await queue.run_all(shop.user, None, lambda *_: None, print) == []
    await queue.close()
    decisions = await missing(shop)
    assert [one.rpartition(": ")[2] for one in decisions] == [
        "an operator runs maas ads connect",
        "an operator runs maas ads directions",
        "maas ads stages",
    ]
    await directions(shop, "111")
    await stages(shop, "12")
    assert await missing(shop) == [no_whatsapp]
