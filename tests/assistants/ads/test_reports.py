"""Reports of the advertising assistants: directions, and the return on what was spent."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.assistants.ads.shop import NOW, Shop
from tests.standins.running import Running

UNRELATED = {"name": "custom", "date_from": "2026-11-01", "date_to": "2026-11-15", "timezone": "Asia/Almaty"}


async def test_directions_with_figures_of_their_ad_sets(shop: Shop) -> None:
    windows, balconies = shop.direction(), shop.direction("Двери", "112", target_cpl=2, target_cpl_currency="EUR")
    empty = shop.direction("Пусто", None, target_cpl=None, target_cpl_currency=None)
    shop.lead(direction_id=windows, reached_key_stage=True)
    shop.lead(direction_id=windows, is_qualified=True)
    shop.lead(30, direction_id=windows, reached_key_stage=True)
    creative = shop.creative("Видео", direction=windows)
    shop.lead(source_creative_id=creative, reached_key_stage=True)
    body = await shop.call("getDirections")
    data = body["data"]
    assert data["source"] == "facebook" and data["period"]["date_from"] == "2026-11-14" and data["count"] == 3
    first, second, third = data["directions"]
    assert [one["id"] for one in data["directions"]] == [str(windows), str(balconies), str(empty)]
    assert (first["spend"], first["leads"], first["cpl"], first["vs_target_percent"]) == (30.0, 10, 3.0, -25.0)
    assert (first["local_leads"], first["qualified_leads_engaged"], first["qualified_leads_crm"]) == (3, 2, 1)
    assert (first["qcpl"], first["roi"], first["tier"], first["tier_by"]) == (15.0, None, "B", "cpl")
    assert second["vs_target_percent"] is None and "target is in EUR, the figures are in USD" in second["not_compared"]
    assert second["tier"] is None and third["spend"] == 0.0 and third["tier"] is None
    assert body["_entityMap"] == {"Окна": str(windows), "Двери": str(balconies), "Пусто": str(empty)}
    assert body["recommendations"] == ["keep: Окна (tier B by cpl)"]


async def test_a_direction_has_the_figures_of_all_its_ad_sets(shop: Shop) -> None:
    direction = shop.direction()
    await shop.data("getAdSets")
    shop.rows(
        "update adsets set direction_id = %s where user_id = %s and fb_id = '112' returning 1", direction, shop.user
    )
    (one,) = (await shop.data("getDirections"))["directions"]
    assert one["spend"] == 60.0


async def test_one_direction_in_full(shop: Shop) -> None:
    direction = shop.direction(key_stage_ids=["142"])
    for number in range(3):
        shop.creative(f"Видео {number}", direction=direction)
    data = await shop.data("getDirectionDetails", {"direction_id": "111", "limit": 2})
    assert data["direction"]["id"] == str(direction) and data["direction"]["key_stage_ids"] == ["142"]
    assert data["facebook_adset"] == {"id": "111", "status": "ACTIVE", "daily_budget": 50.0}
    assert data["creatives_count"] == 3 and len(data["creatives"]) == 2


async def test_a_direction_by_day_is_kept(shop: Shop) -> None:
    direction = shop.direction()
    data = await shop.data("getDirectionMetrics", {"direction_id": str(direction)})
    assert [(one["day"], one["spend"], one["leads"], one["vs_target_percent"]) for one in data["days"]] == [
        ("2026-11-18", 20.0, 10, -50.0),
        ("2026-11-20", 10.0, 0, None),
    ]
    assert data["direction"]["vs_target_percent"] == -25.0 and data["total"]["cpl"] == 3.0
    query = "select day::text, spend::float, leads from direction_metrics_daily where user_id = %s order by day"
    assert shop.rows(query, shop.user) == [
        {"day": "2026-11-18", "spend": 20.0, "leads": 10},
        {"day": "2026-11-20", "spend": 10.0, "leads": 0},
    ]
    # Kept before its ad set was read, which is kept below its campaign only.
    assert shop.rows("select 1 from adset_metrics_history where user_id = %s", shop.user) == []
    await shop.data("getAdSets")
    await shop.data("getDirectionMetrics", {"direction_id": str(direction)})
    assert len(shop.rows("select 1 from adset_metrics_history where user_id = %s", shop.user)) == 2


async def test_without_facebook_directions_have_their_stored_figures(bare: Shop, facebook: Running) -> None:
    bare.connect(token="")
    direction = bare.direction()
    for ago, spend in ((1, 8), (2, 4), (20, 100)):
        bare.add(
            "direction_metrics_daily",
            direction_id=direction,
            day=(NOW - timedelta(days=ago)).date(),
            spend=spend,
            impressions=100,
            clicks=10,
            leads=2,
        )
    (one,) = (data := await bare.data("getDirections"))["directions"]
    assert data["source"] == "stored" and (one["spend"], one["cpl"], one["vs_target_percent"]) == (12.0, 3.0, -25.0)
    days = (await bare.data("getDirectionMetrics", {"direction_id": str(direction)}))["days"]
    assert [one["spend"] for one in days] == [4.0, 8.0]
    assert (await bare.data("getDirectionDetails", {"direction_id": str(direction)}))["facebook_adset"][
        "status"
    ] is None
    assert facebook.journal() == []


async def test_a_pause_stops_the_direction_and_its_ad_set(shop: Shop, facebook: Running) -> None:
    direction = shop.direction()
    body = await shop.call("pauseDirection", {"direction_id": str(direction)})
    assert body["verification"] == {
        "verified": True,
        "status": {"direction": "PAUSED", "facebook": {"111": "PAUSED"}},
    }
    assert [(one["path"], one["body"]) for one in facebook.journal("POST")] == [("/v24.0/111", {"status": "PAUSED"})]
    assert shop.rows("select status from directions where id = %s", direction) == [{"status": "PAUSED"}]


async def test_a_pause_stops_all_ad_sets_of_a_direction(shop: Shop, facebook: Running) -> None:
    direction = shop.direction()
    await shop.data("getAdSets", {"campaign_id": "101"})
    own = "update adsets set direction_id = %s where user_id = %s and fb_id in ('111', '112') returning 1"
    shop.rows(own, direction, shop.user)
    body = await shop.call("pauseDirection", {"direction_id": str(direction)})
    assert body["verification"]["status"]["facebook"] == {"111": "PAUSED", "112": "PAUSED"}
    assert {facebook.state()["adsets"][fb_id]["status"] for fb_id in ("111", "112")} == {"PAUSED"}
    body = await shop.call("resumeDirection", {"direction_id": str(direction)})
    assert body["verification"] == {
        "verified": True,
        "status": {"direction": "ACTIVE", "facebook": {"111": "ACTIVE"}},
    }
    assert body["data"]["other_adset_ids"] == ["112"]
    assert facebook.state()["adsets"]["112"]["status"] == "PAUSED"


async def test_a_pause_that_fails_half_way_says_what_is_paused(shop: Shop, facebook: Running) -> None:
    direction = shop.direction()
    await shop.data("getAdSets", {"campaign_id": "101"})
    own = "update adsets set direction_id = %s where user_id = %s and fb_id in ('111', '112') returning 1"
    shop.rows(own, direction, shop.user)
    facebook.fault("status", method="POST", path="/112", code=100)
    body = await shop.call("pauseDirection", {"direction_id": str(direction)})
    assert body["error_code"] == "failed" and "PAUSED already: 111" in body["message"], body
    assert shop.rows("select status from directions where id = %s", direction) == [{"status": "ACTIVE"}]


async def test_a_budget_is_that_of_the_ad_set_everywhere(shop: Shop, facebook: Running) -> None:
    direction = shop.direction(daily_budget_minor=6000)
    await shop.data("updateBudget", {"adset_id": "111", "daily_budget": 75})
    (listed,) = (await shop.data("getDirections"))["directions"]
    details = await shop.data("getDirectionDetails", {"direction_id": str(direction)})
    budgets = listed["daily_budget"], details["direction"]["daily_budget"], details["facebook_adset"]["daily_budget"]
    assert budgets == (75.0, 75.0, 75.0)
    shop.rows("update directions set daily_budget_minor = 6000 where id = %s returning 1", direction)
    await shop.data("getAdSets", {"campaign_id": "101"})
    assert shop.rows("select daily_budget_minor from directions where id = %s", direction) == [
        {"daily_budget_minor": 7500}
    ]


async def test_a_direction_that_facebook_does_not_pause_stays(shop: Shop, facebook: Running) -> None:
    direction = shop.direction()
    facebook.fault("status", method="POST", code=100)
    assert (await shop.call("pauseDirection", {"direction_id": str(direction)}))["error_code"] == "failed"
    assert shop.rows("select status from directions where id = %s", direction) == [{"status": "ACTIVE"}]


async def test_a_direction_without_an_ad_set_is_paused_alone(shop: Shop, facebook: Running) -> None:
    direction = shop.direction(fb_adset_id=None)
    body = await shop.call("pauseDirection", {"direction_id": str(direction)})
    assert body["verification"] == {"verified": True, "status": {"direction": "PAUSED", "facebook": {}}}
    body = await shop.call("updateDirectionBudget", {"direction_id": str(direction), "daily_budget": 10})
    assert body["error_code"] == "failed" and "no ad set" in body["message"] and facebook.journal("POST") == []


async def test_a_budget_of_a_direction_reaches_its_ad_set(shop: Shop, facebook: Running) -> None:
    direction = shop.direction()
    body = await shop.call("updateDirectionBudget", {"direction_id": str(direction), "daily_budget": 70})
    assert body["verification"] == {"verified": True, "daily_budget": {"facebook": 70.0, "direction": 70.0}}
    assert [one["body"] for one in facebook.journal("POST")] == [{"daily_budget": "7000"}]
    assert shop.rows("select daily_budget_minor from directions where id = %s", direction) == [
        {"daily_budget_minor": 7000}
    ]


async def test_a_target_is_in_the_currency_of_the_account(shop: Shop, facebook: Running) -> None:
    direction = shop.direction(target_cpl=900, target_cpl_currency="KZT")
    body = await shop.call("updateDirectionTargetCPL", {"direction_id": str(direction), "target_cpl": "4.5"})
    assert body["verification"] == {"verified": True, "target_cpl": 4.5, "target_currency": "USD"}
    assert (body["data"]["target_cpl_before"], body["data"]["target_currency_before"]) == (900.0, "KZT")
    body = await shop.call(
        "updateDirectionTargetCPL", {"direction_id": str(direction), "target_cpl": 5}, approved=False, mode="plan"
    )
    assert body["error_code"] == "approval_required" and facebook.journal("POST") == []


async def test_return_joins_spend_leads_and_revenue_by_creative(shop: Shop) -> None:
    direction = shop.direction()
    video = shop.creative("Видео", "71", direction)
    photo = shop.creative("Фото", "72", direction)
    shop.creative("Лишний", "79")
    for number in range(4):
        shop.lead(source_creative_id=video, is_qualified=number < 3, reached_key_stage=number < 2, revenue=20)
    shop.lead(source_creative_id=photo, revenue=30, reached_key_stage=True)
    shop.lead(is_qualified=True)
    shop.lead(90, source_creative_id=video, revenue=1000)
    body = await shop.call("getROIReport", {"period": "last_30d"})
    data = body["data"]
    assert data["source"] == "facebook" and data["period"]["date_from"] == "2026-10-22"
    assert [one["name"] for one in data["creatives"]] == ["Видео", "Фото"] and data["count"] == 2
    first, second = data["creatives"]
    assert (first["spend"], first["facebook_leads"], first["revenue"], first["roi"]) == (30.0, 10, 80.0, 166.67)
    assert (first["cpl"], first["qcpl"], first["vs_target_percent"]) == (3.0, 15.0, -25.0)
    assert first["creative_qualification_rate"] == 20.0  # 2 of 10 leads that Facebook counts
    assert (first["tier"], first["tier_by"], first["advice"]) == ("A", "roi", "scale")
    assert (second["roi"], second["qcpl"], second["tier"], second["advice"]) == (0.0, 30.0, "B", "review")
    assert data["total"]["crm_qualification_rate"] == 66.67  # 4 of 6 leads here
    assert (data["total"]["spend"], data["total"]["revenue"], data["total"]["local_leads"]) == (65.0, 110.0, 5)
    assert data["without_creative"] == {
        "spend": 5.0,
        "facebook_leads": 0,
        "local_leads": 1,
        "qualified_leads_engaged": 0,
        "qualified_leads_crm": 1,
        "sales": 0,
        "revenue": 0.0,
    }
    assert {"creative_qualification_rate", "crm_qualification_rate"} <= data["definitions"].keys()
    assert body["_entityMap"] == {"Видео": str(video), "Фото": str(photo)}
    assert body["recommendations"] == [
        "scale: Видео (tier A by roi, ROI 166.67 %, QCPL 15.0 USD)",
        "review: Фото (tier B by cpl, ROI 0.0 %, QCPL 30.0 USD, CPL 2.0 USD)",
    ]
    by_hand = shop.rows(
        """select round((sum(revenue) - 30) / 30 * 100, 2)::float as roi, count(*) filter (where is_engaged) as engaged
           from leads where source_creative_id = %s and created_at >= '2026-10-21 19:00+00'""",
        video,
    )
    assert by_hand == [{"roi": first["roi"], "engaged": first["qualified_leads_engaged"]}]


async def test_what_comes_by_itself_is_no_return_on_advertising(shop: Shop) -> None:
    """A lead of no creative may have paid a lot; it is told apart, and its money is no return."""
    video = shop.creative("Видео", "71")
    shop.lead(source_creative_id=video, revenue=130)
    before = await shop.data("getROIReport", {"period": "last_30d"})
    shop.lead(revenue=1_000_000, reached_key_stage=True)
    after = await shop.data("getROIReport", {"period": "last_30d"})
    for name in ("revenue", "roi", "qcpl", "qualified_leads_engaged", "local_leads"):
        assert after["total"][name] == before["total"][name], name
    assert after["total"]["roi"] == 100.0  # 130 for 65
    assert after["without_creative"]["revenue"] == 1_000_000.0 and after["not_in_total"].startswith("1 leads")
    assert "not_in_total" not in before


async def test_without_facebook_return_is_that_of_stored_figures(bare: Shop, facebook: Running) -> None:
    bare.connect(token="")
    direction = bare.direction()
    for title, spend, leads, engaged in (("Дешёвый", 20, 10, 2), ("Качественный", 30, 10, 6), ("Пустой", 0, 0, 0)):
        creative = bare.creative(title, direction=direction)
        day = (NOW - timedelta(days=3)).date()
        bare.add("creative_metrics_history", creative_id=creative, day=day, spend=spend, leads=leads, impressions=10)
        for number in range(leads):
            bare.lead(source_creative_id=creative, reached_key_stage=number < engaged)
    data = await bare.data("getROIReport")
    assert data["source"] == "stored" and data["period"]["name"] == "all" and "ROI is unknown" in data["revenue_note"]
    found = [(one["name"], one["cpl"], one["qcpl"], one["roi"], one["advice"]) for one in data["creatives"]]
    assert found == [
        ("Качественный", 3.0, 5.0, None, "keep"),
        ("Дешёвый", 2.0, 10.0, None, "keep"),
        ("Пустой", None, None, None, None),
    ]
    assert facebook.journal() == []


async def test_ads_are_read_once_to_know_their_creatives(shop: Shop, facebook: Running) -> None:
    video = shop.creative("Видео", "71")
    await shop.data("getROIReport", {"period": "last_7d"})
    mapped = shop.rows("select creative_id from ad_creative_mapping where user_id = %s", shop.user)
    assert {"creative_id": video} in mapped and len(mapped) == 2


LIVE = ("getCampaigns", "getAdSets", "getSpendReport", "getROIReport", "getDirections")


@pytest.mark.parametrize("name", [*LIVE, "getCampaignDetails", "getDirectionDetails", "getDirectionMetrics"])
async def test_dates_are_in_the_result(shop: Shop, name: str) -> None:
    direction = shop.direction()
    of_direction = {"direction_id": str(direction)}
    ids = {
        "getCampaignDetails": {"campaign_id": "101"},
        "getDirectionDetails": of_direction,
        "getDirectionMetrics": of_direction,
    }
    dates = {"date_from": "2026-11-01", "date_to": "2026-11-15"}
    assert (await shop.data(name, ids.get(name, {}) | dates))["period"] == UNRELATED
    body = await shop.call(name, ids.get(name, {}) | {"date_from": "2026-11-02", "date_to": "2026-11-01"})
    assert body["error_code"] == "validation_error" and "is after date_to" in body["message"]
