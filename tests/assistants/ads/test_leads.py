"""Leads of the advertising assistants: lists, the funnel, the quality of sales, and moves in the CRM."""

from __future__ import annotations

import json
import re

import pytest

from tests.assistants.ads.shop import NOW, Shop
from tests.standins.running import Running

PERIODS = ("today", "yesterday", "last_7d", "last_14d", "last_30d", "last_90d", "last_6m", "last_12m", "all")


def known_issue(shop: Shop) -> None:
    """75 leads, 4 of them qualified, all older than a week."""
    for number in range(75):
        shop.lead(8 + number / 10, is_qualified=number < 4)


@pytest.mark.parametrize("has_ad_account", [True, False])
async def test_qualified_leads_out_of_the_period_are_not_hidden(bare: Shop, has_ad_account: bool) -> None:
    if has_ad_account:
        bare.connect()
    known_issue(bare)
    recent = await bare.data("getSalesQuality", {"period": "last_7d"})
    assert (recent["count"], recent["count_all_time"], recent["empty_in_period"]) == (0, 4, True)
    assert (recent["leads"], recent["leads_all_time"], recent["crm_qualification_rate"]) == (0, 75, None)
    ever = await bare.data("getSalesQuality")
    assert ever["period"]["name"] == "all" and not ever["empty_in_period"]
    assert (ever["count"], ever["qualified_leads_crm"], ever["crm_qualification_rate"]) == (4, 4, 5.33)
    named = await bare.data("getSalesQuality", {"period": "all"}, account=str(bare.account))
    assert {**named, "period": None} == {**ever, "period": None}


async def test_two_rates_have_two_names(shop: Shop) -> None:
    video = shop.creative("Видео", "71")
    known_issue(shop)
    shop.lead(source_creative_id=video, reached_key_stage=True)
    report = await shop.data("getROIReport", {"period": "last_30d"})
    (creative,) = [one for one in report["creatives"] if one["name"] == "Видео"]
    assert creative["creative_qualification_rate"] == 10.0  # 1 of 10 leads that Facebook counts
    assert report["total"]["crm_qualification_rate"] == 5.26  # 4 of 76 leads
    quality = await shop.data("getSalesQuality")
    assert quality["crm_qualification_rate"] == report["total"]["crm_qualification_rate"]
    assert "crm_qualification_rate" in quality["definitions"] and "creative_qualification_rate" not in quality


async def test_messages_count_without_whatsapp(bare: Shop) -> None:
    """Two messages of a lead, stored or counted by an analysis, make it qualified by deeds, once."""
    bare.connect(token="")
    video = bare.creative("Видео")
    talkative, silent = bare.lead(source_creative_id=video), bare.lead(source_creative_id=video)
    bare.lead(source_creative_id=video, chat_analysis_json=json.dumps({"messages_in": 2}))
    both = bare.lead(source_creative_id=video, reached_key_stage=True)
    bare.lead(source_creative_id=video, reached_key_stage=True)
    for lead, count in ((talkative, 2), (silent, 1), (both, 3)):
        for _ in range(count):
            bare.message(lead)
    bare.message(silent, "out")
    bare.message(silent, "out")
    day = NOW.date()
    bare.add("creative_metrics_history", creative_id=video, day=day, spend=20, leads=5, impressions=10)
    quality = await bare.data("getSalesQuality")
    assert (quality["qualified_leads_engaged"], quality["leads_with_2_messages"], quality["leads_in_key_stage"]) == (
        4,
        3,
        2,
    )
    (creative,) = (await bare.data("getROIReport"))["creatives"]
    assert (creative["qcpl"], creative["creative_qualification_rate"]) == (5.0, 80.0)
    assert bare.rows("select 1 from whatsapp_integration where user_account_id = %s", bare.account) == []


async def test_a_long_list_is_whole_leads_and_says_how_many_are_missing(shop: Shop) -> None:
    """What stands beside the list stays, the number of all leads first."""
    for number in range(100):
        shop.lead(1, name=f"Лид {number} " + "и" * 100)
    body = await shop.call("getLeads", {"limit": 100})
    data, leads = body["data"], body["data"]["leads"]
    assert data["count"] == 100 and 20 < len(leads) < 100 and all(one.keys() == leads[0].keys() for one in leads)
    assert body["_meta"]["left_out"] == {"leads": {"rows": 100 - len(leads), "of": 100}}
    assert "call getLeads again with other arguments (period, " in body["_meta"]["rest"]


@pytest.mark.parametrize("name", ["getLeads", "getFunnelStats", "getSalesQuality", "getROIReport"])
@pytest.mark.parametrize("period", PERIODS)
async def test_the_period_is_in_the_result(bare: Shop, name: str, period: str) -> None:
    bare.connect(token="")
    bare.lead()
    assert (await bare.data(name, {"period": period}))["period"]["name"] == period


async def test_leads_with_their_temperature(shop: Shop) -> None:
    video = shop.creative("Видео")
    hot, warm, cold, stored = (shop.lead(n, name=f"Лид {n}", source_creative_id=video) for n in range(1, 5))
    for lead, count, hours in ((hot, 4, 23), (warm, 4, 25), (cold, 1, 24 * 8)):
        for _ in range(count):
            shop.message(lead, hours_ago=hours)
    shop.rows('update leads set chat_analysis_json = \'{"temperature": "hot"}\' where id = %s returning 1', stored)
    data = await shop.data("getLeads")
    assert [one["temperature"] for one in data["leads"]] == ["hot", "warm", "cold", "hot"]
    assert data["leads"][0]["creative"] == "Видео" and data["leads"][0]["messages"] == 4
    for temperature, expected in (("hot", [hot, stored]), ("warm", [warm]), ("cold", [cold])):
        found = await shop.data("getLeads", {"temperature": temperature, "limit": 1})
        assert found["count"] == len(expected) and found["leads"][0]["id"] == str(expected[0])
    jid = shop.rows("select jid from whatsapp_chats where lead_id = %s", cold)[0]["jid"]
    shop.add("dialog_summaries", user_account_id=shop.account, chat_jid=jid, summary="Готов купить", temperature="hot")
    assert (await shop.data("getLeads", {"temperature": "hot"}))["count"] == 3
    assert (await shop.data("getLeadDetails", {"lead_id": str(cold)}))["lead"]["temperature"] == "hot"


async def test_leads_are_filtered(shop: Shop) -> None:
    video = shop.creative("Видео")
    one = shop.lead(1, is_qualified=True, stage_id="12", pipeline_id="1", source_creative_id=video)
    two = shop.lead(40, reached_key_stage=True)
    for arguments, expected in (
        ({"is_qualified": True}, [one]),
        ({"is_qualified": False}, [two]),
        ({"is_engaged": True}, [two]),
        ({"stage_id": "12"}, [one]),
        ({"creative_id": str(video)}, [one]),
        ({"creative_id": "видео"}, [one]),
        ({"period": "last_7d"}, [one]),
        ({}, [one, two]),
    ):
        data = await shop.data("getLeads", arguments)
        assert [lead["id"] for lead in data["leads"]] == list(map(str, expected)), arguments
    data = await shop.data("getLeads", {"period": "last_7d", "is_engaged": True})
    assert (data["count"], data["count_all_time"], data["empty_in_period"]) == (0, 1, True)
    assert (await shop.call("getLeads", {"limit": 101}))["error_code"] == "validation_error"
    assert (await shop.call("getLeads", {"creative_id": "71"}))["error_code"] == "failed"
    body = await shop.call("getLeads", {"stage_id": "Замеры"})
    assert body["error_code"] == "failed" and "there is no such stage" in body["message"]


async def test_phones_are_masked_wherever_they_are(shop: Shop) -> None:
    phone = "+7 (701) 123-45-67"
    analysis = json.dumps({"summary": f"Просит перезвонить на {phone} или 8 701 765 43 21 до 2026-11-23 12:30"})
    lead = shop.lead(name=f"Иван {phone}", phone=phone, chat_analysis_json=analysis)
    bodies = [await shop.call("getLeads"), await shop.call("getLeadDetails", {"lead_id": str(lead)})]
    for body in bodies:
        text = json.dumps(body, ensure_ascii=False)
        assert "4567" in text and not re.search(r"123.?45.?67|765.?43.?21|7011234567", text)
    details = bodies[1]["data"]["lead"]
    assert (details["name"], details["phone"]) == ("Иван ***4567", "***4567")
    assert details["summary"] == "Просит перезвонить на ***4567 или ***4321 до 2026-11-23 12:30"


async def test_the_funnel(shop: Shop) -> None:
    for place, (stage, name) in enumerate((("11", "Новый"), ("12", "Замер"))):
        shop.add(
            "crm_stages",
            user_account_id=shop.account,
            pipeline_id="1",
            stage_id=stage,
            pipeline_name="Продажи",
            name=name,
            place=place,
        )
    for number in range(10):
        shop.lead(
            1 if number < 8 else 100,
            pipeline_id="1",
            stage_id="11" if number < 6 else "12",
            is_qualified=number < 2,
            reached_key_stage=number < 4,
            revenue=50 if number == 0 else 0,
        )
    shop.lead()
    data = await shop.data("getFunnelStats", {"period": "last_30d"})
    assert [tuple(one.values()) for one in data["steps"]] == [
        (9, 100.0, 100.0, "leads"),
        (4, 44.44, 44.44, "engaged"),
        (2, 22.22, 50.0, "qualified_crm"),
        (1, 11.11, 50.0, "paid"),
    ]
    (sales, unknown) = data["pipelines"]
    assert [(one["id"], one["name"], one["count"]) for one in sales["stages"]] == [
        ("11", "Новый", 6),
        ("12", "Замер", 2),
    ]
    assert (sales["name"], unknown["name"], data["count_all_time"], data["revenue"]) == ("Продажи", None, 11, 50.0)


async def test_each_step_of_the_funnel_is_a_part_of_the_one_before(shop: Shop) -> None:
    """Leads are sold that nobody wrote to, as where people call."""
    shop.lead()
    shop.lead(reached_key_stage=True)
    for _ in range(3):
        shop.lead(is_qualified=True)
    shop.lead(revenue=50)
    steps = (await shop.data("getFunnelStats"))["steps"]
    assert [(one["step"], one["count"], one["percent_of_step_before"]) for one in steps] == [
        ("leads", 6, 100.0),
        ("engaged", 5, 83.33),
        ("qualified_crm", 4, 80.0),
        ("paid", 1, 25.0),
    ]


@pytest.mark.parametrize("stage", ["12", "замер"])
async def test_a_lead_moves_in_the_crm(shop: Shop, crm: Running, stage: str) -> None:
    direction = shop.direction(key_stage_ids=["12"])
    lead = shop.lead(crm_lead_id="5001", pipeline_id="1", stage_id="11", direction_id=direction, name="Иван")
    body = await shop.call("updateLeadStage", {"lead_id": str(lead), "stage_id": stage})
    assert body["success"], body
    assert body["verification"] == {"verified": True, "stage_id": "12", "pipeline_id": "1"}
    (write,) = crm.journal("PATCH")
    assert (write["path"], write["body"]) == ("/api/v4/leads/5001", {"status_id": 12, "pipeline_id": 1})
    query = "select stage_id, reached_key_stage, is_engaged from leads where id = %s"
    assert shop.rows(query, lead) == [{"stage_id": "12", "reached_key_stage": True, "is_engaged": True}]
    body = await shop.call("updateLeadStage", {"lead_id": "5001", "stage_id": "11"}, approved=False, mode="plan")
    assert body["error_code"] == "approval_required" and len(crm.journal("PATCH")) == 1


async def test_a_stage_that_pipelines_share_is_that_of_the_lead(shop: Shop, crm: Running) -> None:
    shop.lead(crm_lead_id="5001", pipeline_id="2", stage_id="21")
    assert (await shop.call("updateLeadStage", {"lead_id": "5001", "stage_id": "142"}))["success"]
    assert crm.journal("PATCH")[0]["body"] == {"status_id": 142, "pipeline_id": 2}
    shop.rows("update leads set pipeline_id = null where user_id = %s returning 1", shop.user)
    body = await shop.call("updateLeadStage", {"lead_id": "5001", "stage_id": "142"})
    assert (
        body["error_code"] == "failed" and "pipeline_id, one of" in body["message"] and len(crm.journal("PATCH")) == 1
    )


async def test_a_move_that_cannot_be_made(shop: Shop, crm: Running) -> None:
    lead, here = shop.lead(crm_lead_id="5001", pipeline_id="1", stage_id="11"), shop.lead()
    body = await shop.call("updateLeadStage", {"lead_id": str(lead), "stage_id": "99"})
    assert body["error_code"] == "failed" and "11 (Новый)" in body["message"]
    body = await shop.call("updateLeadStage", {"lead_id": str(here), "stage_id": "12"})
    assert "not in the CRM" in body["message"] and crm.journal("PATCH") == []
    crm.fault("status", method="PATCH", status=503, is_done=True)
    assert (await shop.call("updateLeadStage", {"lead_id": "5001", "stage_id": "12"}))["error_code"] == "in_doubt"
    assert shop.rows("select stage_id from leads where id = %s", lead) == [{"stage_id": "11"}]
    crm.fault("status", status=401, times=9)
    body = await shop.call("updateLeadStage", {"lead_id": "5001", "stage_id": "12"})
    assert body["error_code"] == "failed" and "access token" in body["message"]


async def test_without_a_crm_nothing_moves(bare: Shop, crm: Running) -> None:
    lead = bare.lead(crm_lead_id="5001")
    body = await bare.call("updateLeadStage", {"lead_id": str(lead), "stage_id": "12"})
    assert body["error_code"] == "not_connected" and crm.journal() == []
