"""Tools of the advertising assistants on stand-ins of Facebook and amoCRM, called through the executor."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from maas.tools.tool import Mode
from tests.assistants.ads.shop import TOKEN, Connection, Shop
from tests.standins.running import Running

ADS = (
    "getCampaigns",
    "getCampaignDetails",
    "getAdSets",
    "getSpendReport",
    "getROIReport",
    "getDirections",
    "getDirectionDetails",
    "getDirectionMetrics",
    "pauseCampaign",
    "resumeCampaign",
    "pauseAdSet",
    "resumeAdSet",
    "updateBudget",
    "updateDirectionBudget",
    "updateDirectionTargetCPL",
    "pauseDirection",
    "resumeDirection",
)
CRM = ("getLeads", "getLeadDetails", "getFunnelStats", "getSalesQuality", "updateLeadStage")
DANGEROUS = {"pauseCampaign", "pauseAdSet", "updateBudget", "updateDirectionBudget", "pauseDirection"}
WRITES = {"resumeCampaign", "resumeAdSet", "resumeDirection", "updateDirectionTargetCPL", "updateLeadStage"}


def test_the_tools_are_those_of_the_catalogue(bare: Shop) -> None:
    tools = {one.name: one for one in bare.tools if one.domain in ("ads", "crm")}
    assert {name for name, one in tools.items() if one.domain == "ads"} == set(ADS)
    assert {name for name, one in tools.items() if one.domain == "crm"} == set(CRM)
    assert {name for name, one in tools.items() if one.effect == "dangerous"} == DANGEROUS
    assert {name for name, one in tools.items() if one.effect == "write"} == WRITES
    assert all(one.verify is not None for one in tools.values() if one.effect != "read")
    reasons = [tools[name].reason for name in DANGEROUS]
    assert all(reasons) and len(set(reasons)) >= 4
    assert not any(one.is_idempotent for name, one in tools.items() if name in DANGEROUS | {"updateLeadStage"})


async def test_campaigns_with_metrics(shop: Shop, facebook: Running) -> None:
    body = await shop.call("getCampaigns")
    data = body["data"]
    assert data["period"] == {
        "name": "last_7d",
        "date_from": "2026-11-14",
        "date_to": "2026-11-20",
        "timezone": "Asia/Almaty",
    }
    assert [one["id"] for one in data["campaigns"]] == ["101", "103", "102"]
    first, _, reach = data["campaigns"]
    assert (first["spend"], first["leads"], first["cpl"], first["cpm"], first["ctr"]) == (60.0, 25, 2.4, 7.5, 1.88)
    assert (reach["daily_budget"], reach["cpl"], reach["spend"]) == (90.0, None, 0.0)
    assert data["count"] == 3 and data["total"]["spend"] == 65.0 and data["currency"] == "USD"
    assert body["_entityMap"] == {"Заявки": "101", "Заявки (103)": "103", "Охват": "102"}
    assert len(facebook.journal("GET", "act_1/campaigns")) == 2  # two pages
    stored = shop.rows("select fb_id, daily_budget_minor from campaigns where user_id = %s order by fb_id", shop.user)
    assert stored == [
        {"fb_id": "101", "daily_budget_minor": None},
        {"fb_id": "102", "daily_budget_minor": 9000},
        {"fb_id": "103", "daily_budget_minor": None},
    ]


async def test_what_archived_and_deleted_campaigns_cost_is_in_the_total(shop: Shop, facebook: Running) -> None:
    """They are listed by their names as long as they have figures."""
    facebook.merge({"campaigns": {"101": {"status": "ARCHIVED"}}})
    data, spent = await shop.data("getCampaigns"), await shop.data("getSpendReport")
    assert [one["status"] for one in data["campaigns"]] == ["ARCHIVED", "ACTIVE", "PAUSED"] and data["count"] == 3
    assert data["total"] == spent["total"] and data["total"]["spend"] == 65.0
    active = await shop.data("getCampaigns", {"status": "ACTIVE"})
    assert active["total"]["spend"] == sum(one["spend"] for one in active["campaigns"])
    assert (await shop.data("getCampaigns", {"date_to": "2026-01-31"}))["count"] == 2
    named = await shop.data("getCampaignDetails", {"campaign_id": "Заявки"})
    assert named["campaign"]["id"] == "103", "of two with the name, the one that is not archived is meant"
    facebook.merge({"campaigns": {"101": {"status": "DELETED"}}})
    data = await shop.data("getCampaigns")
    assert [(one["id"], one["status"]) for one in data["campaigns"]][:2] == [("101", "DELETED"), ("103", "ACTIVE")]
    assert data["total"] == spent["total"] and data["campaigns"][0]["spend"] == 60.0
    spent = await shop.data("getSpendReport", {"group_by": "campaign"})
    assert [one["name"] for one in spent["items"]] == ["Заявки", "Заявки"]
    named = await shop.data("getCampaignDetails", {"campaign_id": "Заявки"})
    assert named["campaign"]["id"] == "103", "of two with the name, the one that is not deleted is meant"
    details = await shop.data("getCampaignDetails", {"campaign_id": "101"})
    assert details["campaign"]["spend"] == sum(one["spend"] for one in details["ads"]) == 60.0


async def test_an_ad_that_was_deleted_is_not_paused_and_keeps_its_figures(shop: Shop, facebook: Running) -> None:
    """It was known as running, and Facebook refuses to change it."""
    shop.creative("Видео", "71")
    facebook.merge({"ads": {"125": {"adset_id": "113", "name": "Повтор", "status": "ACTIVE", "creative_id": "71"}}})
    await shop.data("getCampaignDetails", {"campaign_id": "101"})
    facebook.merge({"ads": {"121": {"status": "DELETED"}}})
    paused = await shop.data("pauseCreative", {"creative_id": "Видео"})
    assert [one["id"] for one in paused["ads"]] == ["125"] and paused["failed"] == 0
    details = await shop.data("getCampaignDetails", {"campaign_id": "101"})
    spends = {one["id"]: (one["status"], one["spend"]) for one in details["ads"]}
    assert spends == {"121": ("DELETED", 30.0), "122": ("ACTIVE", 30.0)}
    assert {one["name"]: one["spend"] for one in (await shop.data("getROIReport"))["creatives"]}["Видео"] == 30.0


async def test_leads_are_the_same_at_every_level(shop: Shop, facebook: Running) -> None:
    """Some ads of an account ask for a form, others for a message in WhatsApp."""
    day = {"spend": "9.00", "impressions": 900, "clicks": 9, "conversations": 20}
    facebook.merge({"days": {"123": {"2026-11-20": day}}})
    details = [await shop.data("getCampaignDetails", {"campaign_id": one}) for one in ("101", "102", "103")]
    by_ad = sum(ad["leads"] for one in details for ad in one["ads"])
    by_set = sum(of["leads"] for one in details for of in one["adsets"])
    campaigns, account = await shop.data("getCampaigns"), await shop.data("getSpendReport")
    by_campaign = sum(one["leads"] for one in campaigns["campaigns"])
    assert by_ad == by_set == by_campaign == campaigns["total"]["leads"] == account["total"]["leads"] == 45


async def test_campaigns_of_a_status_and_a_limit(shop: Shop) -> None:
    data = await shop.data("getCampaigns", {"status": "ACTIVE", "limit": 1})
    assert data["count"] == 2 and [one["id"] for one in data["campaigns"]] == ["101"]


async def test_what_was_read_is_brought_up_to_date(shop: Shop, facebook: Running) -> None:
    await shop.data("getCampaigns")
    before = shop.rows("select id, fb_id from campaigns where user_id = %s order by fb_id", shop.user)
    facebook.merge({"campaigns": {"101": {"name": "Другое"}}})
    await shop.data("getCampaigns")
    after = shop.rows("select id, fb_id, name from campaigns where user_id = %s order by fb_id", shop.user)
    assert [one["id"] for one in after] == [one["id"] for one in before] and after[0]["name"] == "Другое"


@pytest.mark.parametrize("is_ours", [False, True])
async def test_one_campaign_in_full(shop: Shop, is_ours: bool) -> None:
    shop.direction()
    campaign_id = "101"
    if is_ours:
        await shop.data("getCampaigns")
        rows = shop.rows("select id from campaigns where user_id = %s and fb_id = '101'", shop.user)
        campaign_id = str(rows[0]["id"])
    data = await shop.data("getCampaignDetails", {"campaign_id": campaign_id, "period": "last_30d"})
    assert data["campaign"]["id"] == "101" and data["campaign"]["spend"] == 60.0
    assert [(one["id"], one["spend"], one["daily_budget"]) for one in data["adsets"]] == [
        ("111", 30.0, 50.0),
        ("112", 30.0, 30.0),
    ]
    assert [(one["id"], one["adset_id"], one["leads"]) for one in data["ads"]] == [
        ("121", "111", 10),
        ("122", "112", 15),
    ]
    almaty = data["adsets"][0]
    assert (almaty["direction"], almaty["target_cpl"], almaty["vs_target_percent"]) == ("Окна", 4.0, -25.0)
    assert len(shop.rows("select 1 from ads where user_id = %s", shop.user)) == 2


async def test_ad_sets(shop: Shop) -> None:
    assert (await shop.data("getAdSets", {"campaign_id": "101"}))["count"] == 2
    data = await shop.data("getAdSets", {"period": "today"})
    assert data["count"] == 3 and data["adsets"][0]["id"] == "111" and data["adsets"][0]["spend"] == 10.0


@pytest.mark.parametrize(
    ("goal", "event", "shown", "results", "cost"),
    [
        ("LEAD_GENERATION", None, "LEAD_GENERATION", 10, 3.0),
        ("OFFSITE_CONVERSIONS", "PURCHASE", "PURCHASE", 4, 7.5),
        ("OFFSITE_CONVERSIONS", "LEAD", "LEAD", 10, 3.0),
        ("VALUE", "PURCHASE", "VALUE", 4, 7.5),
        ("LANDING_PAGE_VIEWS", None, "LANDING_PAGE_VIEWS", 60, 0.5),
        ("LINK_CLICKS", None, "LINK_CLICKS", 90, 0.33),
        ("APP_INSTALLS", None, "APP_INSTALLS", 0, None),
        ("THRUPLAY", None, "THRUPLAY", 12, 2.5),
        ("IMPRESSIONS", None, "IMPRESSIONS", 5000, 0.01),
        ("REACH", None, "REACH", None, None),
    ],
)
async def test_an_ad_set_has_the_results_that_it_is_optimised_for(
    shop: Shop, facebook: Running, goal: str, event: str | None, shown: str, results: int | None, cost: float | None
) -> None:
    """A shop sells, and its ads bring no leads; what is not read is no nought."""
    promoted = {"pixel_id": "1", "custom_event_type": event} if event else None
    facebook.merge({"adsets": {"111": {"optimization_goal": goal, "promoted_object": promoted}}})
    first = {"purchases": 3, "landings": 50, "whole_plays": 12}
    days = {"2026-11-18": first, "2026-11-20": {"purchases": 1, "landings": 10}}
    facebook.merge({"days": {"121": days}})
    for tool in ("getAdSets", "getCampaignDetails"):
        data = await shop.data(tool, {"campaign_id": "101", "period": "last_30d"})
        one = next(one for one in data["adsets"] if one["id"] == "111")
        assert (one["goal"], one["results"], one["cost_per_result"]) == (shown, results, cost)
        assert (one["spend"], one["leads"]) == (30.0, 10) and "results" in data["definitions"]
    (ad,) = [one for one in data["ads"] if one["id"] == "121"]
    assert (ad["goal"], ad["results"], ad["cost_per_result"]) == (shown, results, cost)
    spent = await shop.data("getSpendReport", {"period": "last_30d"})
    in_days = [_of_goal(one, shown)["results"] for one in spent["items"]]
    assert None in in_days if results is None else sum(in_days) == _of_goal(spent["total"], shown)["results"]
    facebook.merge({"max_days": 2})
    (one,) = [one for one in (await shop.data("getAdSets", {"period": "last_30d"}))["adsets"] if one["id"] == "111"]
    assert one["results"] == results, "halves of a period add up"


def _of_goal(one: dict[str, Any], goal: str) -> dict[str, Any]:
    """The results of one goal, which is the only one or one of several; none if it is not there."""
    every = one.get("by_goal", [one])
    return next((row for row in every if row["goal"] == goal), {"results": 0})


async def test_spend_by_day_and_by_campaign(shop: Shop) -> None:
    data = await shop.data("getSpendReport", {"period": "last_30d"})
    assert [(one["day"], one["spend"], one["leads"]) for one in data["items"]] == [
        ("2026-11-18", 20.0, 10),
        ("2026-11-19", 35.0, 15),
        ("2026-11-20", 10.0, 0),
    ]
    assert data["total"]["spend"] == 65.0 and data["total"]["cpl"] == 2.6
    data = await shop.data(
        "getSpendReport", {"group_by": "campaign", "date_from": "2026-10-01", "date_to": "2026-10-31"}
    )
    assert [(one["id"], one["name"], one["spend"]) for one in data["items"]] == [("101", "Заявки", 30.0)]
    assert data["period"]["name"] == "custom"


async def test_a_lead_that_facebook_tells_thrice_counts_once(shop: Shop) -> None:
    """The stand-in repeats each lead under three types of action."""
    assert (await shop.data("getSpendReport", {"period": "all"}))["total"]["leads"] == 40


async def test_all_time_is_what_facebook_still_has(shop: Shop) -> None:
    assert (await shop.data("getSpendReport", {"period": "all"}))["period"]["date_from"] == "2023-10-21"
    body = await shop.call("getSpendReport", {"date_to": "2020-01-01"})
    assert body["error_code"] == "failed" and "37 months" in body["message"]


@pytest.mark.parametrize("name", ["getCampaignDetails", "pauseCampaign", "resumeCampaign"])
@pytest.mark.parametrize("campaign_id", ["901", "77777", "не id", "00000000-0000-0000-0000-000000000001"])
async def test_a_campaign_of_another_account_is_unknown(
    shop: Shop, facebook: Running, name: str, campaign_id: str
) -> None:
    """901 is in an account that the same token may see."""
    body = await shop.call(name, {"campaign_id": campaign_id})
    assert (body["error_code"], body["message"]) == (
        "failed",
        "there is no such campaign: take an id or a name from getCampaigns",
    )
    assert facebook.journal("POST") == []


@pytest.mark.parametrize("adset_id", ["911", "77777"])
async def test_an_ad_set_of_another_account_is_unknown(shop: Shop, facebook: Running, adset_id: str) -> None:
    for name in ("pauseAdSet", "resumeAdSet"):
        body = await shop.call(name, {"adset_id": adset_id})
        assert body["message"] == "there is no such ad set: take an id or a name from getAdSets"
    body = await shop.call("updateBudget", {"adset_id": adset_id, "daily_budget": 10})
    assert body["message"] == "there is no such ad set: take an id or a name from getAdSets"
    assert facebook.journal("POST") == []


async def test_rows_of_another_user_are_unknown(
    shop: Shop, shop_connection: Connection, facebook: Running, crm: Running
) -> None:
    other = Shop(shop_connection, shop.deps, shop.vendors, crm)
    other.connect()
    other.connect_crm()
    shop.lead()
    await other.data("getCampaigns")
    campaign = other.rows("select id from campaigns where user_id = %s and fb_id = '101'", other.user)[0]["id"]
    direction, lead = other.direction(), other.lead(crm_lead_id="5001")
    unknown = str(uuid4())
    for name, field, foreign in (
        ("getCampaignDetails", "campaign_id", campaign),
        ("getDirectionDetails", "direction_id", direction),
        ("getDirectionMetrics", "direction_id", direction),
        ("pauseDirection", "direction_id", direction),
        ("getLeadDetails", "lead_id", lead),
    ):
        bodies = [await shop.call(name, {field: str(one)}) for one in (foreign, unknown)]
        assert bodies[0]["error_code"] == bodies[1]["error_code"] == "failed"
        assert bodies[0]["message"] == bodies[1]["message"]
    moved = [await shop.call("updateLeadStage", {"lead_id": one, "stage_id": "12"}) for one in (str(lead), "5001")]
    assert {one["message"] for one in moved} == {"there is no such lead: take an id from getLeads"}
    assert facebook.journal("POST") == [] and crm.journal("PATCH") == []
    body = await shop.call("getCampaigns", account=str(other.account))
    assert not body["success"] and "there is no such account" in body["message"]


@pytest.mark.parametrize("mode", ["auto", "plan", "ask"])
async def test_dangerous_tools_wait_for_approval(shop: Shop, facebook: Running, mode: Mode) -> None:
    direction = str(shop.direction())
    for name, arguments in (
        ("pauseCampaign", {"campaign_id": "101"}),
        ("pauseAdSet", {"adset_id": "111"}),
        ("updateBudget", {"adset_id": "111", "daily_budget": 70}),
        ("pauseDirection", {"direction_id": direction}),
        ("updateDirectionBudget", {"direction_id": direction, "daily_budget": 70}),
    ):
        body = await shop.call(name, arguments, approved=False, mode=mode)
        assert body["error_code"] == "approval_required", body
    assert facebook.journal("POST") == []


async def test_a_name_is_as_good_as_an_id(shop: Shop, facebook: Running) -> None:
    direction = str(shop.direction("Кухни"))
    facebook.merge({"campaigns": {"102": {"status": "ACTIVE"}}})
    body = await shop.call("pauseCampaign", {"campaign_id": " охват "}, approved=False)
    assert body["error_code"] == "approval_required" and body["arguments"] == {"campaign_id": "102"}
    body = await shop.call("updateBudget", {"adset_id": "алматы", "daily_budget": 70}, approved=False)
    assert body["arguments"] == {"adset_id": "111", "daily_budget": 70.0}
    body = await shop.call("updateDirectionBudget", {"direction_id": "кухни", "daily_budget": 70}, approved=False)
    assert body["arguments"] == {"direction_id": direction, "daily_budget": 70.0}
    assert (await shop.data("getDirectionDetails", {"direction_id": "Кухни"}))["direction"]["id"] == direction
    facebook.merge({"adsets": {"112": {"status": "PAUSED"}}})
    assert (await shop.data("resumeAdSet", {"adset_id": "Астана"}))["id"] == "112"
    assert len(facebook.journal("POST")) == 1


async def test_a_name_that_several_have_is_asked_for(shop: Shop, facebook: Running) -> None:
    body = await shop.call("pauseCampaign", {"campaign_id": "Заявки"}, approved=False)
    assert body["error_code"] == "failed" and "101" in body["message"] and "103" in body["message"]
    facebook.merge({"campaigns": {"102": {"name": "101"}}})
    body = await shop.call("pauseCampaign", {"campaign_id": "101"}, approved=False)
    assert body["arguments"] == {"campaign_id": "101"}, "an id goes before a name"
    assert facebook.journal("POST") == []


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("pauseCampaign", {"campaign_id": "999999"}, "no such campaign"),
        ("pauseCampaign", {"campaign_id": "Чужой"}, "no such campaign"),
        ("pauseAdSet", {"adset_id": "911"}, "no such ad set"),
        ("updateBudget", {"adset_id": "Нет", "daily_budget": 70}, "no such ad set"),
        ("updateBudget", {"adset_id": "111", "daily_budget": 0.001}, "smallest unit"),
        ("updateDirectionBudget", {"direction_id": "Кухни", "daily_budget": 70}, "no such direction"),
        ("updateDirectionBudget", {"direction_id": "Без группы", "daily_budget": 70}, "no ad set"),
        ("pauseDirection", {"direction_id": "Стоит"}, "paused already"),
    ],
)
async def test_what_cannot_work_is_refused_before_anybody_is_asked(
    shop: Shop, facebook: Running, name: str, arguments: dict[str, Any], message: str
) -> None:
    shop.direction("Без группы", None)
    shop.direction("Стоит", "112", status="PAUSED")
    body = await shop.call(name, arguments, approved=False)
    assert body["error_code"] != "approval_required" and message in body["message"], body
    assert facebook.journal("POST") == []


@pytest.mark.parametrize("status", ["ARCHIVED", "DELETED"])
@pytest.mark.parametrize(
    ("name", "arguments", "table", "fb_id"),
    [
        ("resumeCampaign", {"campaign_id": "101"}, "campaigns", "101"),
        ("resumeAdSet", {"adset_id": "112"}, "adsets", "112"),
        ("resumeDirection", {"direction_id": "Окна"}, "adsets", "111"),
    ],
)
async def test_what_runs_no_longer_is_not_started_again(
    shop: Shop, facebook: Running, name: str, arguments: dict[str, Any], table: str, fb_id: str, status: str
) -> None:
    """A name may be that of an archived campaign alone; nobody is asked before something is resumed."""
    shop.direction()
    await shop.data("getAdSets")
    facebook.merge({table: {fb_id: {"status": status}}})
    body = await shop.call(name, arguments)
    assert body["error_code"] == "failed" and f"{status.lower()} at Facebook" in body["message"], body
    assert facebook.journal("POST") == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("resumeCampaign", {"campaign_id": "101"}),
        ("resumeAdSet", {"adset_id": "111"}),
        ("resumeDirection", {"direction_id": "Окна"}),
    ],
)
async def test_what_runs_is_not_started_again(
    shop: Shop, facebook: Running, name: str, arguments: dict[str, Any]
) -> None:
    """Nothing is written; a direction whose ad set somebody has paused at Facebook is started."""
    shop.direction()
    body = await shop.call(name, arguments)
    assert body["error_code"] == "failed" and "it runs already" in body["message"], body
    assert facebook.journal("POST") == []
    facebook.merge({"adsets": {"111": {"status": "PAUSED"}}})
    if name == "resumeDirection":
        assert (await shop.data(name, arguments))["changed_adset_ids"] == ["111"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("resumeAdSet", {"adset_id": "111"}), ("resumeDirection", {"direction_id": "Окна"})],
)
async def test_an_ad_set_of_a_paused_campaign_is_not_said_to_run(
    shop: Shop, facebook: Running, name: str, arguments: dict[str, Any]
) -> None:
    """One that is not paused itself is refused, in words that name the campaign; one that is starts with a note."""
    shop.direction()
    facebook.merge({"campaigns": {"101": {"status": "PAUSED"}}})
    body = await shop.call(name, arguments)
    assert body["error_code"] == "failed" and "its campaign 'Заявки' is" in body["message"], body
    assert "кампания «Заявки»" in body["say"] and facebook.journal("POST") == []
    facebook.merge({"adsets": {"111": {"status": "PAUSED"}}})
    body = await shop.call(name, arguments)
    assert body["success"] and "its campaign 'Заявки' is paused" in body["data"]["note"]
    facebook.merge({"campaigns": {"101": {"status": "ARCHIVED"}}, "adsets": {"111": {"status": "PAUSED"}}})
    assert "archived at Facebook" in (await shop.call(name, arguments))["message"]


@pytest.mark.parametrize("status", ["PAUSED", "ARCHIVED", "DELETED"])
@pytest.mark.parametrize(
    ("name", "arguments", "table"),
    [
        ("pauseCampaign", {"campaign_id": "101"}, "campaigns"),
        ("pauseAdSet", {"adset_id": "112"}, "adsets"),
        ("updateBudget", {"adset_id": "112", "daily_budget": 70}, "adsets"),
    ],
)
async def test_what_runs_no_longer_is_refused_before_anybody_is_asked(
    shop: Shop, facebook: Running, name: str, arguments: dict[str, Any], table: str, status: str
) -> None:
    """As Facebook has it now, whatever was stored an hour ago; a paused ad set may get another budget."""
    await shop.data("getAdSets")
    facebook.merge({table: {next(iter(arguments.values())): {"status": status}}})
    body = await shop.call(name, arguments, approved=False)
    if name == "updateBudget" and status == "PAUSED":
        assert body["error_code"] == "approval_required", body
        return
    words = "paused already" if status == "PAUSED" else f"{status.lower()} at Facebook"
    assert body["error_code"] == "failed" and words in body["message"], body
    assert facebook.journal("POST") == []


async def test_the_budget_of_a_campaign_is_not_one_of_its_ad_sets(shop: Shop, facebook: Running) -> None:
    facebook.merge(
        {
            "campaigns": {"101": {"daily_budget": 9000}},
            "adsets": {"111": {"daily_budget": None}, "112": {"daily_budget": None}},
        }
    )
    shop.direction("Кухни")
    for name, arguments in (
        ("updateBudget", {"adset_id": "111", "daily_budget": 70}),
        ("updateDirectionBudget", {"direction_id": "Кухни", "daily_budget": 70}),
    ):
        body = await shop.call(name, arguments, approved=False)
        assert body["error_code"] == "failed", body
        assert "'Заявки' spends 90.0 USD a day" in body["message"]


@pytest.mark.parametrize(
    ("name", "field", "fb_id", "status"),
    [
        ("pauseCampaign", "campaign_id", "101", "PAUSED"),
        ("resumeCampaign", "campaign_id", "102", "ACTIVE"),
        ("pauseAdSet", "adset_id", "111", "PAUSED"),
        ("resumeAdSet", "adset_id", "112", "ACTIVE"),
    ],
)
async def test_a_pause_is_seen_at_facebook(
    shop: Shop, facebook: Running, name: str, field: str, fb_id: str, status: str
) -> None:
    kind = "campaigns" if field == "campaign_id" else "adsets"
    facebook.merge({kind: {fb_id: {"status": "PAUSED" if status == "ACTIVE" else "ACTIVE"}}})
    body = await shop.call(name, {field: fb_id})
    assert body["success"] and body["verification"] == {"verified": True, "status": status}
    assert facebook.state()[kind][fb_id]["status"] == status
    (write,) = facebook.journal("POST")
    assert (write["path"], write["body"]) == (f"/v24.0/{fb_id}", {"status": status})
    stored = shop.rows(f"select status from {kind} where user_id = %s and fb_id = %s", shop.user, fb_id)
    assert stored == [{"status": status}]


async def test_what_did_not_take_effect_is_said(shop: Shop, facebook: Running) -> None:
    await shop.data("getCampaigns")
    facebook.fault("status", method="GET", path="/101", code=100, times=1)
    body = await shop.call("pauseCampaign", {"campaign_id": "101"})
    assert body["success"] and body["verification"]["verified"] is False


@pytest.mark.parametrize(
    ("number", "currency", "adset_id", "budget", "minor"),
    [
        (1, "USD", "111", 70, "7000"),
        (1, "USD", "111", "12.5", "1250"),
        (2, "JPY", "211", 7000, "7000"),
        (3, "KZT", "311", 7000, "700000"),
    ],
)
async def test_budgets_go_out_in_minor_units(
    bare: Shop, facebook: Running, number: int, currency: str, adset_id: str, budget: Any, minor: str
) -> None:
    bare.connect(number, currency)
    body = await bare.call("updateBudget", {"adset_id": adset_id, "daily_budget": budget})
    assert body["success"], body
    assert body["verification"] == {"verified": True, "daily_budget": float(budget)}
    (write,) = facebook.journal("POST")
    assert write["body"] == {"daily_budget": minor}
    stored = bare.rows("select daily_budget_minor from adsets where user_id = %s and fb_id = %s", bare.user, adset_id)
    assert stored == [{"daily_budget_minor": int(minor)}]


@pytest.mark.parametrize(
    "budget", [0, -5, 10**12, "пять тысяч", "NaN", "Infinity", True, None, [5], "1e400", "5\u00a0000"]
)
@pytest.mark.parametrize("name", ["updateBudget", "updateDirectionBudget", "updateDirectionTargetCPL"])
async def test_what_is_no_amount_is_refused(shop: Shop, facebook: Running, name: str, budget: Any) -> None:
    direction = shop.direction()
    field = "target_cpl" if name == "updateDirectionTargetCPL" else "daily_budget"
    target = {"adset_id": "111"} if name == "updateBudget" else {"direction_id": str(direction)}
    body = await shop.call(name, target | {field: budget}, approved=False)
    assert body["error_code"] == "validation_error" and body["message"].startswith(f"{field}: "), body
    assert body["message"].count("daily_budget") + body["message"].count("target_cpl") <= 2
    assert facebook.journal() == []


@pytest.mark.parametrize(
    ("number", "currency", "adset_id", "budget"), [(2, "JPY", "211", 70.5), (1, "USD", "111", 0.001)]
)
async def test_parts_of_the_smallest_unit_are_refused(
    bare: Shop, facebook: Running, number: int, currency: str, adset_id: str, budget: float
) -> None:
    bare.connect(number, currency)
    body = await bare.call("updateBudget", {"adset_id": adset_id, "daily_budget": budget})
    assert body["error_code"] == "failed" and "the smallest unit of" in body["message"]
    assert facebook.journal("POST") == []


@pytest.mark.parametrize(
    ("code", "subcode", "words"),
    [
        (17, 2446079, "accepts no more requests"),
        (613, 0, "accepts no more requests"),
        (100, 33, "no such object"),
        (100, 0, "refuses the request"),
        (190, 463, "does not accept the access token"),
    ],
)
async def test_faults_of_facebook_do_not_quote_its_token(
    shop: Shop, facebook: Running, code: int, subcode: int, words: str
) -> None:
    facebook.fault("status", code=code, subcode=subcode, times=100, message=f"no, not with {TOKEN}", retry_after=3600)
    body = await shop.call("getCampaigns")
    assert body["error_code"] == "failed" and words in body["message"], body
    assert TOKEN not in json.dumps(body)
    assert shop.rows("select 1 from campaigns where user_id = %s", shop.user) == []


async def test_a_lost_answer_to_a_write_is_in_doubt(shop: Shop, facebook: Running) -> None:
    await shop.data("getCampaigns")
    facebook.fault("cut", method="POST", is_done=True)
    body = await shop.call("pauseCampaign", {"campaign_id": "101"})
    assert body["error_code"] == "in_doubt", body
    assert len(facebook.journal("POST")) == 1
    stored = shop.rows("select status from campaigns where user_id = %s and fb_id = '101'", shop.user)
    assert stored == [{"status": "ACTIVE"}]


async def test_without_a_token_live_tools_are_not_connected(bare: Shop, facebook: Running) -> None:
    bare.connect(token="")
    for name in ("getCampaigns", "getSpendReport"):
        assert (await bare.call(name))["error_code"] == "not_connected"
    body = await bare.call("pauseCampaign", {"campaign_id": "101"})
    assert body["error_code"] == "not_connected" and facebook.journal() == []


async def test_without_an_ad_account_that_is_said(bare: Shop) -> None:
    body = await bare.call("getROIReport")
    assert body["error_code"] == "failed" and "no ad account" in body["message"]
