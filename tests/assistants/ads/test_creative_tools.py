"""Tools on creatives: figures, comparison and what changes at Facebook, on its stand-in."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from maas.assistants.ads.tools.creatives import NO_RESULTS
from tests.assistants.ads.shop import TOKEN, Shop
from tests.standins.running import Running

TARGETING = {"geo_locations": {"countries": ["KZ"]}}
GOAL = {"optimization_goal": "LEAD_GENERATION", "billing_event": "IMPRESSIONS"}


@pytest.fixture
def shop(shop: Shop, facebook: Running) -> Shop:
    facebook.merge({"adsets": {"111": {"targeting": TARGETING, **GOAL}}})
    return shop


def figures(shop: Shop, creative: UUID, day: str = "2026-11-18", **values: Any) -> None:
    row = {"impressions": 1000, "clicks": 20, "spend": 100, "leads": 10} | values
    shop.add("creative_metrics_history", creative_id=creative, day=day, **row)


def engaged(shop: Shop, creative: UUID, number: int, **values: Any) -> None:
    for _ in range(number):
        shop.lead(source_creative_id=creative, reached_key_stage=True, **values)


async def test_quality_is_more_than_a_cheap_lead(shop: Shop) -> None:
    """CPL 3 with QCPL 5 ranks above CPL 2 with QCPL 10; what has no figures is not ranked."""
    dear, cheap = shop.creative("Дорогой", "71"), shop.creative("Дешёвый", "72")
    shop.creative("Пустой", "73")
    figures(shop, dear, spend=300, leads=100)
    figures(shop, cheap, spend=200, leads=100)
    engaged(shop, dear, 60)
    engaged(shop, cheap, 20)
    data = await shop.data("getTopCreatives")
    assert [(one["title"], one["cpl"], one["qcpl"]) for one in data["creatives"]] == [
        ("Дорогой", 3, 5),
        ("Дешёвый", 2, 10),
    ]
    assert data["period"]["name"] == "all" and data["count"] == 2
    by_cpl = await shop.data("getTopCreatives", {"metric": "cpl"})
    assert [one["title"] for one in by_cpl["creatives"]] == ["Дешёвый", "Дорогой"]
    worst = await shop.data("getWorstCreatives", {"metric": "cpl", "limit": 1})
    assert [one["title"] for one in worst["creatives"]] == ["Дорогой"]
    assert (await shop.data("getWorstCreatives"))["creatives"][0]["title"] == "Дешёвый"
    assert {one["title"] for one in (await shop.data("getCreatives"))["creatives"]} == {"Дорогой", "Дешёвый", "Пустой"}


async def test_the_measure_that_is_asked_for_ranks(shop: Shop) -> None:
    """Many leads are neither many qualified ones nor many sales; what is not stored by creative is refused."""
    many, good, sold = (shop.creative(name, str(71 + n)) for n, name in enumerate(("Много", "Хорошие", "Продажи")))
    for one, leads in ((many, 100), (good, 20), (sold, 10)):
        figures(shop, one, spend=100, leads=leads)
    engaged(shop, many, 1)
    engaged(shop, good, 5)
    engaged(shop, sold, 2, is_qualified=True, revenue=500)
    for metric, best in (
        ("leads", "Много"),
        ("qualified_leads", "Хорошие"),
        ("qualified_leads_crm", "Продажи"),
        ("sales", "Продажи"),
        ("revenue", "Продажи"),
    ):
        data = await shop.data("getTopCreatives", {"metric": metric, "limit": 1})
        assert (data["creatives"][0]["title"], data["ranked_by"]["metric"]) == (best, metric)
    assert data["ranked_by"]["means"] == "what sold leads have paid: sales of other sources do not count"
    assert (await shop.data("getTopCreatives", {"metric": "leads"}))["ranked_by"]["means"].startswith("all leads")
    refused = await shop.call("getTopCreatives", {"metric": "results"})
    assert (refused["error_code"], refused["say"]) == ("failed", NO_RESULTS.say)


async def test_sales_are_counted_by_creative(shop: Shop) -> None:
    """What is sold in the CRM, priced or not, and what has paid elsewhere; a lost lead is none, one of no creative is
    nobody's.
    """
    video = shop.creative("Ролик", "71")
    for stage, revenue in (("142", 500), ("142", 0), (None, 90), ("143", 0), ("12", 0)):
        shop.lead(9, source_creative_id=video, stage_id=stage, revenue=revenue)
    shop.lead(9, stage_id="142", revenue=70)
    (one,) = (await shop.data("getTopCreatives", {"metric": "sales"}))["creatives"]
    assert (one["sales"], one["revenue"]) == (3, 590)
    before = await shop.data("getCreatives", {"date_from": "2026-11-01", "date_to": "2026-11-09"})
    assert before["creatives"][0]["sales"] == 0
    report = await shop.data("getROIReport", {"period": "all"})
    assert (report["creatives"][0]["sales"], report["without_creative"]["sales"], report["total"]["sales"]) == (3, 1, 3)


async def test_purchases_are_counted_by_creative_and_day(shop: Shop) -> None:
    """They are no sales: neither stands for the other."""
    bought, sold = shop.creative("Покупки", "71"), shop.creative("Продажи", "72")
    figures(shop, bought, spend=100, leads=1, purchases=7, day="2026-11-09")
    figures(shop, bought, spend=100, leads=1, purchases=2)
    figures(shop, sold, spend=100, leads=9, purchases=1)
    shop.lead(9, source_creative_id=sold, stage_id="142", revenue=70)
    ranked = await shop.data("getTopCreatives", {"metric": "purchases"})
    assert [(one["title"], one["purchases"], one["sales"]) for one in ranked["creatives"]] == [
        ("Покупки", 9, 0),
        ("Продажи", 1, 1),
    ]
    days = (await shop.data("getCreativeMetrics", {"creative_id": "Покупки", "period": "last_30d"}))["days"]
    assert [one["purchases"] for one in days] == [7, 2]


async def test_tier_and_rates(shop: Shop) -> None:
    """Figures against the target of the direction; both rates have names of their own."""
    direction = shop.direction(target_cpl=10, target_qcpl=10)
    creative = shop.creative("Лето", "71", direction)
    figures(shop, creative, spend=100, leads=40)
    engaged(shop, creative, 20, is_qualified=True, revenue=5)
    shop.lead(source_creative_id=creative)
    data = await shop.data("getCreativeDetails", {"creative_id": str(creative)})
    one = data["creative"]
    assert (one["cpl"], one["qcpl"], one["roi"], one["revenue"]) == (2.5, 5, 0, 100)
    assert (one["tier"], one["conflict"], one["advice"]) == ("A", True, "review")
    assert (one["creative_qualification_rate"], one["target_cpl"]) == (50, 10)
    assert (one["vs_target_percent"], one["qcpl_vs_target_percent"]) == (-75, -50), "of a lead, of a qualified lead"
    assert "creative_qualification_rate" in data["definitions"] and data["period"]["name"] == "all"


async def test_a_video_is_followed_day_by_day(shop: Shop) -> None:
    creative = shop.creative("Лето", "71")
    figures(shop, creative, "2026-11-17", video_views=200, p25=100, p50=50, p75=20, p95=10)
    figures(shop, creative, "2026-11-18", video_views=100, p25=100, p50=100, p75=0, p95=0)
    data = await shop.data("getCreativeMetrics", {"creative_id": "71", "limit": 1})
    assert data["total"]["video"] == {
        "video_views": 300,
        "retention_25": 66.67,
        "retention_50": 50,
        "retention_75": 6.67,
        "retention_95": 3.33,
    }
    assert [day["day"] for day in data["days"]] == ["2026-11-18"] and data["days_count"] == 2
    assert (data["total"]["ctr"], data["total"]["cpm"]) == (2, 100) and data["period"]["name"] == "last_30d"


@pytest.mark.parametrize("number", [1, 6])
async def test_two_to_five_are_compared(shop: Shop, number: int) -> None:
    ids = [str(shop.creative(f"К{one}", str(one))) for one in range(number)]
    body = await shop.call("compareCreatives", {"creative_ids": ids})
    assert body["error_code"] == "validation_error" and "creative_ids" in body["message"]


async def test_a_creative_is_compared_with_others_only(shop: Shop) -> None:
    one, other = shop.creative("А", "71"), shop.creative("Б", "72")
    twice = await shop.call("compareCreatives", {"creative_ids": [str(one), str(one)]})
    assert twice["error_code"] == "validation_error"
    body = await shop.call("compareCreatives", {"creative_ids": [str(one), "71"]})
    assert body["error_code"] == "failed" and "of one creative" in body["message"]
    assert len((await shop.data("compareCreatives", {"creative_ids": [str(one), str(other)]}))["creatives"]) == 2


async def test_what_others_have_is_unknown(shop: Shop, facebook: Running) -> None:
    """In the same words as what does not exist; also what stands in another ad account of the user."""
    shop.connect(9)
    elsewhere = shop.creative("Другой", "99")
    stranger = Shop(shop._connection, shop.deps, shop.vendors, facebook)
    stranger.connect()
    theirs = stranger.creative("Чужой", "98")
    words = set()
    for reference in (str(elsewhere), str(theirs), "98", "99", str(uuid4()), "' or 1=1 --", "x" * 64):
        for name in ("getCreativeDetails", "getCreativeTranscript", "pauseCreative", "getCreativeAnalysis"):
            body = await shop.call(name, {"creative_id": reference}, account="act_1")
            assert body["error_code"] == "failed", body
            words.add(body["message"])
    assert words == {"there is no such creative: take an id or a title from getCreatives"}
    assert facebook.journal("POST") == []


async def test_risks_tests_and_transcripts(shop: Shop) -> None:
    creative = shop.creative("Звоните +7 701 123 45 67", "71")
    spoken = "update user_creatives set transcript = 'Звоните 8 701 123 45 67!' where id = %s returning id"
    shop.rows(spoken, creative)
    shop.add("creative_scores", creative_id=creative, risk_score=10, scored_at="2026-11-01T00:00:00+00:00")
    shop.add("creative_scores", creative_id=creative, risk_score=80, scored_at="2026-11-10T00:00:00+00:00")
    shop.add("creative_tests", creative_id=creative)
    advice = {"verdict": "Слабое начало", "recommendations": '["Короче"]', "model": "m"}
    shop.add("creative_analysis", creative_id=creative, score=55, **advice)
    (risk,) = (await shop.data("getCreativeScores"))["scores"]
    assert risk["risk_score"] == 80 and "701" not in risk["title"]
    tests = await shop.data("getCreativeTests", {"status": "running"})
    assert tests["count"] == 1 and tests["tests"][0]["status"] == "running"
    text = (await shop.data("getCreativeTranscript", {"creative_id": "71"}))["transcript"]
    assert "***4567" in text and "701" not in text
    analysis = (await shop.data("getCreativeAnalysis", {"creative_id": "71"}))["analysis"]
    assert (analysis["score"], analysis["recommendations"]) == (55, ["Короче"])


async def test_a_creative_is_launched_once(shop: Shop, facebook: Running) -> None:
    direction = shop.direction()
    shop.creative("Зима", "72")
    arguments = {"creative_id": "72", "direction_id": str(direction)}
    body = await shop.call("launchCreative", arguments)
    assert body["success"] and body["verification"] == {"verified": True, "status": "ACTIVE"}, body
    (write,) = facebook.journal("POST")
    assert write["path"] == "/v24.0/act_1/ads" and write["body"]["adset_id"] == "111"
    assert write["headers"]["authorization"] == f"Bearer {TOKEN}"
    again = await shop.call("launchCreative", arguments)
    assert again["error_code"] == "failed" and "already" in again["message"] and len(facebook.journal("POST")) == 1
    details = await shop.data("getCreativeDetails", {"creative_id": "72"})
    assert [(ad["name"], ad["direction"]) for ad in details["ads"]] == [("Фото", None), ("Зима", "Окна")]


async def test_what_cannot_be_launched(shop: Shop, facebook: Running) -> None:
    running, paused, empty = shop.direction(), shop.direction("П", "112", status="PAUSED"), shop.direction("Б", None)
    new, uploaded = str(shop.creative("Черновик")), "72"
    shop.creative("Зима", uploaded)
    for creative, direction, words in (
        (new, running, "not uploaded"),
        (uploaded, paused, "is paused"),
        (uploaded, empty, "no ad set"),
        (uploaded, uuid4(), "no such direction"),
    ):
        body = await shop.call("launchCreative", {"creative_id": creative, "direction_id": str(direction)})
        assert body["error_code"] == "failed" and words in body["message"], body
    assert facebook.journal("POST") == []


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("launchCreative", {"creative_id": "71", "direction_id": "Окна"}, "runs in this direction already"),
        ("pauseCreative", {"creative_id": "72"}, "no ad with this creative is running"),
        ("startCreativeTest", {"creative_id": "73"}, "belongs to no direction"),
        ("startCreativeTest", {"creative_id": "72", "direction_id": "Окна", "budget": 0.001}, "smallest unit"),
        ("startCreativeTest", {"creative_id": "71", "direction_id": "Окна"}, "is running already"),
        ("startCreativeTest", {"creative_id": "72", "direction_id": "Двери"}, "'Охват' of this direction spends 90.0"),
    ],
)
async def test_what_cannot_be_started_is_refused_before_anybody_is_asked(
    shop: Shop, facebook: Running, name: str, arguments: dict[str, Any], message: str
) -> None:
    """The test of 71 runs; the direction of doors is in a campaign with a budget of its own, as Facebook says now."""
    facebook.merge(
        {"adsets": {"112": {"campaign_id": "102", "daily_budget": None}}, "ads": {"122": {"status": "PAUSED"}}}
    )
    shop.direction()
    shop.direction("Двери", "112")
    tested = shop.creative("Лето", "71")
    shop.creative("Зима", "72")
    shop.creative("Осень", "73")
    shop.add("creative_tests", creative_id=tested)
    body = await shop.call(name, arguments, approved=False)
    assert body["error_code"] == "failed" and message in body["message"], body
    assert facebook.journal("POST") == []


async def test_a_test_is_asked_for_with_its_direction_and_its_budget(shop: Shop, facebook: Running) -> None:
    direction = shop.direction()
    creative = shop.creative("Зима", "72", direction)
    body = await shop.call("startCreativeTest", {"creative_id": "зима"}, approved=False)
    expected = {"creative_id": str(creative), "direction_id": str(direction), "budget": 20.0}
    assert (body["error_code"], body["arguments"]) == ("approval_required", expected)
    facebook.merge({"campaigns": {"101": {"daily_budget": 9000}}})
    await shop.data("getCampaigns")
    late = await shop.call("startCreativeTest", expected)
    assert late["error_code"] == "failed" and "nothing was started" in late["message"]
    assert facebook.journal("POST") == []


async def test_creatives_of_directions_that_share_a_name_are_asked_for(shop: Shop) -> None:
    first, second = shop.direction("Окна"), shop.direction("окна ", "112")
    shop.creative("Лето", "71", first)
    body = await shop.call("getCreatives", {"direction_id": "Окна"})
    assert body["error_code"] == "failed" and str(first) in body["message"] and str(second) in body["message"], body
    assert (await shop.data("getCreatives", {"direction_id": str(second)}))["count"] == 0


async def test_all_ads_of_a_creative_are_paused(shop: Shop, facebook: Running) -> None:
    shop.creative("Лето", "71")
    body = await shop.call("pauseCreative", {"creative_id": "71"})
    assert body["success"] and body["verification"]["verified"], body
    assert [one["outcome"] for one in body["data"]["ads"]] == ["paused"]
    assert facebook.state()["ads"]["121"]["status"] == "PAUSED"
    again = await shop.call("pauseCreative", {"creative_id": "71"})
    assert again["error_code"] == "failed" and "no ad with this creative is running" in again["message"]


async def test_some_ads_are_paused_and_some_not(shop: Shop, facebook: Running) -> None:
    facebook.merge({"ads": {"122": {"creative_id": "71"}}})
    shop.creative("Лето", "71")
    facebook.fault("status", path="/122", method="POST", status=400, code=100)
    body = await shop.call("pauseCreative", {"creative_id": "71"})
    assert body["success"] and body["data"]["failed"] == 1
    assert sorted(one["outcome"] for one in body["data"]["ads"]) == ["failed", "paused"]
    facebook.fault("cut", path="/122", method="POST", is_done=True)
    lost = await shop.call("pauseCreative", {"creative_id": "71"})
    assert lost["error_code"] == "in_doubt" and "122" in lost["message"]


async def test_a_test_has_an_ad_set_of_its_own(shop: Shop, facebook: Running) -> None:
    direction = shop.direction()
    shop.creative("Зима", "72", direction)
    body = await shop.call("startCreativeTest", {"creative_id": "72"})
    assert body["success"] and body["verification"]["verified"], body
    adset, ad = facebook.journal("POST")
    assert (adset["path"], adset["body"]["daily_budget"]) == ("/v24.0/act_1/adsets", "2000")
    assert (adset["body"]["campaign_id"], json.loads(adset["body"]["targeting"])) == ("101", TARGETING)
    assert ad["body"]["adset_id"] == body["data"]["adset_id"]
    again = await shop.call("startCreativeTest", {"creative_id": "72"})
    assert again["error_code"] == "failed" and "running already" in again["message"]
    stopped = await shop.call("stopCreativeTest", {"test_id": body["data"]["test_id"]})
    assert stopped["success"] and stopped["verification"] == {"verified": True, "status": "PAUSED"}, stopped
    (row,) = shop.rows("select * from creative_tests where user_id = %s", shop.user)
    assert (row["status"], row["budget_usd"], row["budget_minor"]) == ("stopped", 20, 2000)
    assert row["result"]["spend"] == 0
    late = await shop.call("stopCreativeTest", {"test_id": body["data"]["test_id"]})
    assert late["error_code"] == "failed"


async def test_a_test_in_another_currency_needs_a_budget(bare: Shop, facebook: Running) -> None:
    facebook.merge({"adsets": {"311": {"targeting": TARGETING, **GOAL}}})
    bare.connect(3, "KZT")
    direction = bare.direction(fb_adset_id="311")
    facebook.merge({"creatives": {"73": {"account_id": "act_3"}}})
    bare.creative("Зима", "73", direction)
    body = await bare.call("startCreativeTest", {"creative_id": "73"})
    assert body["error_code"] == "failed" and "KZT" in body["message"] and facebook.journal("POST") == []
    body = await bare.call("startCreativeTest", {"creative_id": "73", "budget": 10_000})
    assert body["success"] and facebook.journal("POST")[0]["body"]["daily_budget"] == "1000000", body


async def test_a_test_whose_ad_is_refused_leaves_nothing_running(shop: Shop, facebook: Running) -> None:
    shop.creative("Зима", "79", shop.direction())  # Facebook knows no such creative
    body = await shop.call("startCreativeTest", {"creative_id": "79"})
    assert body["error_code"] == "failed" and "not started" in body["message"]
    (row,) = shop.rows("select status, fb_adset_id from creative_tests where user_id = %s", shop.user)
    assert row["status"] == "failed" and facebook.state()["adsets"][row["fb_adset_id"]]["status"] == "PAUSED"


async def test_days_that_are_not_stored_are_in_no_figure(shop: Shop) -> None:
    """Else all that old leads paid would stand against what the last days cost."""
    creative = shop.creative("Видео")
    shop.rows("update ad_accounts set synced_from = '2026-11-01' where user_id = %s returning id", shop.user)
    shop.add("creative_metrics_history", creative_id=creative, day="2026-11-10", spend=100, impressions=9, leads=10)
    shop.lead(5, source_creative_id=creative, revenue=150)
    shop.lead(200, source_creative_id=creative, revenue=10_000)
    for tool in ("getTopCreatives", "getCreatives", "getCreativeDetails"):
        named = {"creative_id": str(creative)} if tool == "getCreativeDetails" else {}
        data = await shop.data(tool, {"period": "all"} | named)
        shown = data.get("creative") or data["creatives"][0]
        assert (shown["spend"], shown["revenue"], shown["roi"]) == (100.0, 150.0, 50.0)
        assert data["period"]["date_from"] == "2026-11-01" and "2026-11-01 are not stored" in data["period"]["left_out"]
    assert "left_out" not in (await shop.data("getCreatives", {"period": "last_7d"}))["period"]
    body = await shop.call("getCreatives", {"date_to": "2026-10-31"})
    assert body["error_code"] == "failed" and "only those since 2026-11-01" in body["message"]
