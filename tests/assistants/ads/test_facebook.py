"""The client of the Marketing API at its stand-in: shapes, money, paging, refusals, changes that a re-read shows."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from maas.assistants.ads.clients.facebook import FacebookClient, from_minor, minor_units
from maas.assistants.ads.clients.facebook_insights import Level
from maas.assistants.ads.clients.facebook_objects import Ad, AdAccount, AdSet, Campaign
from maas.assistants.ads.clients.facebook_replies import Figures, Page, read_refusal
from shared.bounded_http import MAX_VENDOR_REPLY_BYTES, open_bounded
from shared.vendors import VendorError
from shared.vendors.service import Limits
from tests.standins.running import Running, standin
from tests.vendors import FACEBOOK, LIMITS, SECRET, facebook

FIRST, LAST = date(2026, 11, 18), date(2026, 11, 19)


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with standin("facebook", FACEBOOK) as running:
        yield running


@pytest.fixture
def vendor(running: Running) -> Running:
    running.reset()
    return running


@pytest.fixture
async def client(vendor: Running) -> AsyncIterator[FacebookClient]:
    async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
        yield facebook(http, vendor.url)


async def failure(coroutine: Any) -> VendorError:
    with pytest.raises(VendorError) as caught:
        await coroutine
    return caught.value


async def test_accounts(client: FacebookClient) -> None:
    assert await client.account("act_1") == AdAccount("act_1", "Стройка", "USD", "Europe/Moscow", 1, True)
    assert await client.account("act_2") == AdAccount("act_2", "Йены", "JPY", "Asia/Tokyo", 1, False)


async def test_tree(client: FacebookClient) -> None:
    """Deleted objects are left out; a paused parent shows in the effective status."""
    assert await client.campaigns("act_1") == [
        Campaign("11", "Заявки", "ACTIVE", "ACTIVE", "OUTCOME_LEADS", None),
        Campaign("12", "Охват", "PAUSED", "PAUSED", None, 9000),
    ]
    assert await client.adsets("11") == [AdSet("21", "11", "Москва", "ACTIVE", "ACTIVE", 5000, "LEAD_GENERATION")]
    assert [one.effective_status for one in await client.adsets("act_1")] == ["ACTIVE", "CAMPAIGN_PAUSED"]
    assert [one.fb_id for one in await client.ads("21")] == ["31", "32"]
    assert await client.ads("12") == [Ad("33", "22", "12", "Без креатива", "ACTIVE", "CAMPAIGN_PAUSED", None)]
    assert await client.campaigns("act_2") == [] and await client.insights("act_2", "ad", FIRST, LAST) == []


async def test_a_lead_counts_once(client: FacebookClient) -> None:
    """Facebook names each lead under three types; their sum would be three times as many."""
    (whole,) = await client.insights("act_1", "account", FIRST, LAST)
    assert (whole.object_fb_id, whole.level, whole.day) == ("act_1", "account", None)
    assert (whole.spend, whole.impressions, whole.clicks, whole.leads) == (Decimal("18.15"), 1650, 41, 4)
    assert (whole.video_views, whole.p25, whole.p50, whole.p75, whole.p95) == (400, 200, 100, 50, 20)


async def test_a_period_with_too_many_figures_is_read_in_halves(vendor: Running, client: FacebookClient) -> None:
    """The sums are those of the whole period, and each refusal is made once."""
    periods: list[tuple[Level, bool]] = [("account", False), ("ad", False), ("ad", True)]
    whole = [await client.insights("act_1", level, FIRST, LAST, by_day) for level, by_day in periods]
    vendor.merge({"max_days": 1})
    begin = len(vendor.journal())
    assert [await client.insights("act_1", level, FIRST, LAST, by_day) for level, by_day in periods] == whole
    assert len(vendor.journal()) - begin == 3 * len(periods)
    week = await client.insights("act_1", "account", FIRST - timedelta(days=5), LAST)
    assert week == whole[0]


async def test_a_day_with_too_many_figures_is_read_as_a_report(vendor: Running, client: FacebookClient) -> None:
    """Facebook makes it in the background; its pages are read when it is ready."""
    whole = [await client.insights("act_1", "ad", FIRST, LAST, by_day) for by_day in (False, True)]
    vendor.merge({"max_days": 0, "max_page": 1})
    assert [await client.insights("act_1", "ad", FIRST, LAST, by_day) for by_day in (False, True)] == whole
    begun = vendor.journal("POST", "/insights")
    assert [json.loads(one["params"]["time_range"])["since"] for one in begun] == [str(FIRST), str(LAST)] * 2
    assert SECRET not in json.dumps([one["params"] for one in vendor.journal()])


@pytest.mark.parametrize(
    ("state", "code", "message"),
    [
        ({"report_end": "Job Failed"}, "too_large", "its report ended as Job Failed"),
        ({"report_polls": 1000}, "timeout", "% ready after 4 s"),
    ],
)
async def test_a_report_that_does_not_come_is_an_error(
    vendor: Running, state: dict[str, Any], code: str, message: str
) -> None:
    vendor.merge(state | {"max_days": 0})
    async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
        client = facebook(http, vendor.url, Limits(connect_s=5, read_s=4, total_s=4, first_pause_s=0.01))
        refused = await failure(client.insights("act_1", "ad", FIRST, LAST))
    assert (refused.code, message in refused.message) == (code, True), refused.message


async def test_figures_by_level_and_day(client: FacebookClient) -> None:
    by_campaign = await client.insights("act_1", "campaign", FIRST, LAST)
    assert [(one.object_fb_id, one.spend) for one in by_campaign] == [("11", Decimal("16.15")), ("12", Decimal(2))]
    by_day = await client.insights("21", "ad", FIRST, LAST, by_day=True)
    assert {(one.object_fb_id, one.day, one.leads, one.spend) for one in by_day} == {
        ("31", FIRST, 3, Decimal("10.10")),
        ("31", LAST, 1, Decimal("5.05")),
        ("32", FIRST, 0, Decimal(1)),
    }
    (one_day,) = await client.insights("31", "ad", LAST, LAST)
    assert (one_day.spend, one_day.day, one_day.leads) == (Decimal("5.05"), None, 1)


@pytest.mark.parametrize(("days", "requests"), [(0, 1), (30, 1), (31, 2), (99, 4)])
async def test_figures_of_many_days(vendor: Running, client: FacebookClient, days: int, requests: int) -> None:
    """Each day is read once, whatever the number of requests."""
    wanted = [LAST - timedelta(number) for number in range(days + 1)]
    vendor.merge({"days": {"31": {day.isoformat(): {"spend": "1", "impressions": 9} for day in wanted}}})
    found = await client.insights("31", "ad", wanted[-1], LAST, by_day=True)
    assert sorted(one.day for one in found if one.day) == sorted(wanted)
    assert len(vendor.journal()) == requests


@pytest.mark.parametrize(
    ("actions", "leads"),
    [
        ([], 0),
        ([("onsite_conversion.lead_grouped", "2"), ("lead", "3"), ("offsite_conversion.fb_pixel_lead", "1")], 3),
        ([("offsite_conversion.fb_pixel_lead", "4"), ("onsite_web_lead", "5")], 4),
        ([("link_click", "9"), ("onsite_conversion.messaging_conversation_started_7d", "6")], 6),
        ([("lead", "10"), ("onsite_conversion.messaging_conversation_started_7d", "20"), ("omni_lead", "10")], 30),
        ([("lead", "3"), ("lead", "8")], 3),
        ([("lead", "0"), ("onsite_web_lead", "5")], 0),
    ],
)
def test_preference_of_lead_types(actions: list[tuple[str, str]], leads: int) -> None:
    row = {"date_start": "2026-11-18", "actions": [{"action_type": name, "value": value} for name, value in actions]}
    assert Figures.model_validate(row).leads == leads


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"date_start": "x"},
        {"date_start": "2026-11-18", "spend": "NaN"},
        {"date_start": "2026-11-18", "clicks": "many"},
        {"date_start": "2026-11-18", "clicks": "1" * 30},
        {"date_start": "2026-11-18", "actions": [{"value": "1"}]},
        {"date_start": "2026-11-18", "ad_id": "../me"},
    ],
)
def test_bad_figures(row: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        Figures.model_validate(row)


async def test_pages(vendor: Running, client: FacebookClient) -> None:
    """`paging.next` holds the token: the client counts on by the cursor and never follows it."""
    more = {
        str(number): {"account_id": "act_1", "name": f"№ {number}", "status": "ACTIVE"} for number in range(100, 350)
    }
    vendor.merge({"campaigns": more, "max_page": 100})
    found = await client.campaigns("act_1")
    assert len({one.fb_id for one in found}) == len(found) == 252
    requests, known = vendor.journal(), {"fields", "limit", "effective_status"}
    assert [set(one["params"]) for one in requests] == [known, known | {"after"}, known | {"after"}]
    assert SECRET not in json.dumps([one["params"] for one in requests])


def test_the_url_of_the_next_page_is_dropped() -> None:
    paging = {"cursors": {"after": "b"}, "next": f"https://graph.facebook.com/?access_token={SECRET}"}
    page = Page[Figures].model_validate({"data": [], "paging": paging})
    assert SECRET not in repr(page) and page.paging.has_next


async def test_pages_without_an_end(vendor: Running, client: FacebookClient) -> None:
    vendor.merge({"max_page": 1, "is_stuck": True})
    error = await failure(client.campaigns("act_1"))
    assert (error.code, len(vendor.journal())) == ("bad_reply", 2)


async def test_changes_show_on_a_new_read(vendor: Running, client: FacebookClient) -> None:
    await client.set_status("31", "PAUSED")
    await client.set_daily_budget("21", 7550)
    assert (await client.status("31"), await client.daily_budget("21")) == ("PAUSED", 7550)
    assert await client.daily_budget("11") is None
    assert [one["body"] for one in vendor.journal("POST")] == [{"status": "PAUSED"}, {"daily_budget": "7550"}]


async def test_new_objects(vendor: Running, client: FacebookClient) -> None:
    adset = await client.create_adset("act_1", "11", "Тест", 2000, "21")
    ad = await client.create_ad("act_1", adset, "41", "Новый")
    assert await client.ads(adset) == [Ad(ad, adset, "11", "Новый", "ACTIVE", "ACTIVE", "41", "Дом")]
    copied = ("targeting", "optimization_goal", "billing_event", "promoted_object")
    stored = vendor.state()["adsets"]
    assert [stored[adset][name] for name in copied] == [stored["21"][name] for name in copied]
    assert stored[adset]["daily_budget"] == 2000


async def test_what_deleted_objects_cost_is_in_all_figures(vendor: Running, client: FacebookClient) -> None:
    """By default Facebook has it in those of the account alone; no list has the objects, but their ids lead to them."""
    whole = await client.insights("act_1", "account", FIRST, LAST)
    vendor.merge({"campaigns": {"12": {"status": "DELETED"}}, "ads": {"32": {"status": "DELETED"}}})
    levels: list[Level] = ["account", "campaign", "adset", "ad"]
    for by_day in (False, True):
        for level in levels:
            found = await client.insights("act_1", level, FIRST, LAST, by_day)
            assert sum(one.spend for one in found) == whole[0].spend, level
    assert "32" not in {one.fb_id for one in await client.ads("act_1")}
    ads = await client.ads_by_id(["32", "31"])
    assert {(one.fb_id, one.status, one.adset_fb_id, one.creative_fb_id) for one in ads} == {
        ("31", "ACTIVE", "21", "41"),
        ("32", "DELETED", "21", "41"),
    }
    assert [one.name for one in await client.campaigns_by_id(["12"])] == ["Охват"]
    assert [one.campaign_fb_id for one in await client.adsets_by_id(["22"])] == ["12"]
    assert await client.ads_by_id([]) == [] and (await failure(client.ads_by_id(["31", "999"]))).code == "not_found"


async def test_many_objects_are_read_in_few_requests(vendor: Running, client: FacebookClient) -> None:
    ids = [str(number) for number in range(400, 520)]
    vendor.merge({"ads": {one: {"adset_id": "21", "name": one, "status": "DELETED"} for one in ids}})
    assert [one.fb_id for one in await client.ads_by_id(ids)] == ids and len(vendor.journal()) == 3


def test_money_that_was_given_back() -> None:
    assert Figures.model_validate({"date_start": "2026-11-18", "spend": "-12.34"}).spend == Decimal("-12.34")


@pytest.mark.parametrize("fb_id", ["999", "19", "act_3"])
async def test_unknown_and_foreign_objects_look_alike(client: FacebookClient, fb_id: str) -> None:
    assert (await failure(client.status(fb_id))).code == "not_found"
    error = await failure(client.set_status(fb_id, "PAUSED"))
    assert (error.code, error.is_outcome_unknown) == ("not_found", False)


@pytest.mark.parametrize("fb_id", ["", "..", "31/insights", "31?fields=access_token", "31#", "31\x00", "me ", "м31"])
async def test_an_id_cannot_change_the_path(vendor: Running, client: FacebookClient, fb_id: str) -> None:
    assert (await failure(client.status(fb_id))).code == "invalid"
    assert vendor.journal() == []


@pytest.mark.parametrize("minor", [0, -5, 99, 10**12])
async def test_bad_budget(vendor: Running, client: FacebookClient, minor: int) -> None:
    assert (await failure(client.set_daily_budget("21", minor))).code == "invalid"
    assert vendor.state()["adsets"]["21"]["daily_budget"] == 5000


async def test_refused_changes(vendor: Running, client: FacebookClient) -> None:
    """A budget of an ad set whose campaign has one; creatives and ad sets of another account; an early period."""
    for refused in (
        client.set_daily_budget("22", 5000),
        client.set_daily_budget("11", 5000),
        client.set_daily_budget("31", 5000),
        client.create_ad("act_1", "21", "49", "x"),
        client.create_ad("act_1", "21", "41", ""),
        client.create_adset("act_1", "12", "x", 500, "21"),
        client.insights("act_1", "ad", LAST, FIRST),
        client.insights("act_1", "ad", LAST, FIRST, by_day=True),
        client.insights("act_1", "ad", date(2020, 1, 1), LAST),
    ):
        assert (await failure(refused)).code == "invalid"
    assert set(vendor.state()["ads"]) == {"31", "32", "33"}


@pytest.mark.parametrize("token", [SECRET[:-1], "a b", "a\nb", "ключ", "", "a" * 5000])
async def test_wrong_token(vendor: Running, token: str) -> None:
    async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
        error = await failure(FacebookClient(http, token, vendor.url, "v24.0", LIMITS).account("act_1"))
    assert error.code == "unauthorized" and (not token or token not in error.message)


@pytest.mark.parametrize(
    ("number", "subcode", "code"),
    [
        (4, 0, "rate_limited"), (17, 2446079, "rate_limited"), (32, 0, "rate_limited"), (613, 1487742, "rate_limited"),
        (80000, 0, "rate_limited"), (80004, 2446079, "rate_limited"), (190, 463, "unauthorized"),
        (102, 0, "unauthorized"), (100, 33, "not_found"), (803, 0, "not_found"), (100, 0, "invalid"),
        (100, 1885272, "invalid"), (3018, 0, "invalid"), (2635, 0, "invalid"), (10, 0, "forbidden"),
        (200, 0, "forbidden"), (294, 0, "forbidden"), (368, 0, "forbidden"), (1, 99, "unavailable"),
        (2, 0, "unavailable"),
    ],
)  # fmt: skip
def test_codes(number: int, subcode: int, code: str) -> None:
    refusal = read_refusal(400, {}, {"error": {"code": number, "error_subcode": subcode, "message": "no"}})
    assert (refusal.code, refusal.may_be_done) == (code, code == "unavailable")


@pytest.mark.parametrize("body", [None, [], {}, "x", {"error": "x"}, {"error": {}}, {"error": {"code": "x" * 9}}])
def test_refusals_of_an_unknown_shape(body: Any) -> None:
    assert read_refusal(400, {}, body).code == "invalid"
    assert read_refusal(502, {}, body).code == "unavailable"


async def test_wait_until_access_is_regained(vendor: Running, client: FacebookClient) -> None:
    vendor.fault("status", code=80004, regain_minutes=7)
    error = await failure(client.campaigns("act_1"))
    assert (error.code, error.retry_after, len(vendor.journal())) == ("rate_limited", 420.0, 1)
    assert error.message.endswith("try again in 420 s")


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"x-ad-account-usage": '{"acc_id_util_pct": 100, "reset_time_duration": 90}'}, 90.0),
        ({"x-ad-account-usage": '{"acc_id_util_pct": 9.67}'}, None),
        ({"retry-after": "5", "x-ad-account-usage": '{"reset_time_duration": 90}'}, 5.0),
        ({"x-business-use-case-usage": '{"1": [{"estimated_time_to_regain_access": 2}]}'}, 120.0),
        ({"x-business-use-case-usage": '{"1": [{"estimated_time_to_regain_access": 0}]}'}, None),
        *[({name: bad}, None) for name in ("x-ad-account-usage", "x-business-use-case-usage") for bad in ("[]", "x")],
        ({"x-ad-account-usage": '{"reset_time_duration": 1e99}'}, None),
    ],
)
def test_waits_that_headers_ask_for(headers: dict[str, str], wait_s: float | None) -> None:
    assert read_refusal(400, headers, {"error": {"code": 17, "message": "User request limit reached"}})[2] == wait_s


@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [
        ("50", "USD", 5000),
        ("50.5", "EUR", 5050),
        ("0.015", "RUB", 2),
        ("5000", "JPY", 5000),
        ("5000", "krw", 5000),
        ("5000.4", "CLP", 5000),
        ("12", "KZT", 1200),
    ],
)
def test_minor_units(amount: str, currency: str, minor: int) -> None:
    assert minor_units(Decimal(amount), currency) == minor


@pytest.mark.parametrize(
    ("minor", "currency", "shown"), [(5050, "USD", "50.50"), (5050, "JPY", "5050"), (1, "RUB", "0.01")]
)
def test_money_of_minor_units(minor: int, currency: str, shown: str) -> None:
    assert str(from_minor(minor, currency)) == shown


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "-Infinity"])
def test_no_amount(amount: str) -> None:
    with pytest.raises(ValueError, match="finite"):
        minor_units(Decimal(amount), "USD")
