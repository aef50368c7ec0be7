"""Every figure of the reading tools over the year of an untidy agency is what SQL by hand says of its raw facts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import psycopg
import pytest
from psycopg.rows import dict_row

from maas.assistants.ads.goals import MAX_GOAL_DAYS
from maas.assistants.ads.vendors import Vendors
from maas.builtin_model import BuiltinModel
from maas.engine.stages import Deps, RoleModels
from shared.db import open_database
from tests.assistants.ads.asked import assistant, numbers, shown, sources, window
from tests.assistants.ads.cases import FIGURES, NOTHING, VIDEO, Case, temperature_of, window_of
from tests.assistants.ads.questions import QUESTIONS, Order, Question, Refusal
from tests.assistants.ads.truth import Truth
from tests.assistants.ads.year import Year, YearShop, as_worker, loaded_year
from tests.demo.agency import ACCOUNTS, CAMPAIGNS, OF_ADSET
from tests.demo.services import TOKEN

PERIODS = ("last_7d", "last_30d", "this_month", "last_month", "last_12m", "all")


@pytest.fixture(scope="module")
def year(shop_database: str) -> Iterator[Year]:
    with loaded_year(shop_database) as one:
        yield one


@pytest.fixture
async def shop(year: Year) -> AsyncIterator[YearShop]:
    async with open_database(as_worker(year.dsn), 4, "test") as db:
        deps = Deps(db, year.settings, RoleModels({}, BuiltinModel()))
        vendors = Vendors(year.settings)
        with psycopg.connect(year.dsn, autocommit=True, row_factory=dict_row) as connection:
            yield YearShop(year, connection, deps, vendors)
        await vendors.close()


@pytest.fixture
def truth(year: Year) -> Truth:
    return year.truth


CASES = [(one.id, period) for one in ACCOUNTS for period in PERIODS]


@pytest.fixture(params=CASES, ids=lambda one: f"{one[0]}-{one[1]}")
def case(request: pytest.FixtureRequest, shop: YearShop, truth: Truth) -> Iterator[Case]:
    one = Case(shop, truth, *request.param)
    yield one
    assert one.checked > 0
    assert not one.wrong, "\n".join(one.wrong[:40])


async def test_campaigns_ad_sets_and_ads(case: Case) -> None:
    total = case.truth.figures("account", case.window).get(case.account, {})
    campaigns = case.truth.figures("campaign", case.window)
    data = await case.ask("getCampaigns", limit=100)
    case.same("getCampaigns", total, data["total"], *FIGURES)
    case.list("getCampaigns", campaigns, data["campaigns"], FIGURES)
    goals = case.truth.goals("campaign", case.window)
    for item in data["campaigns"]:
        case.goals(f"getCampaigns {item['id']}", goals.get(item["id"], []), item)
    case.goals("getCampaigns total", case.truth.goals("account", case.window).get(case.account, []), data["total"])
    data = await case.ask("getSpendReport", group_by="campaign", limit=100)
    case.same("getSpendReport", total, data["total"], *FIGURES)
    case.list("getSpendReport", campaigns, data["items"], FIGURES)
    names = {one.id: one.name for one in CAMPAIGNS}
    for item in data["items"]:
        case.same("getSpendReport", {"name": names[item["id"]]}, item, "name")
        case.goals(f"getSpendReport {item['id']}", goals.get(item["id"], []), item)
    case.goals("getSpendReport total", case.truth.goals("account", case.window).get(case.account, []), data["total"])
    data = await case.ask("getAdSets", limit=100)
    case.list("getAdSets", case.truth.figures("adset", case.window), data["adsets"], FIGURES)
    of_adsets, of_ads = case.truth.goals("adset", case.window), case.truth.goals("ad", case.window)
    adsets, shown = case.truth.figures("adset", case.window), []
    for one in campaigns:
        details = await case.ask("getCampaignDetails", campaign_id=one, limit=100)
        own = {key: of for key, of in adsets.items() if OF_ADSET[key].campaign == one}
        case.same(f"getCampaignDetails {one}", campaigns[one], details["campaign"], *FIGURES)
        case.list(f"getCampaignDetails {one}", own, details["adsets"], FIGURES)
        data = await case.ask("getAdSets", campaign_id=names[one], limit=100) if _is_only(names[one]) else details
        case.list(f"getAdSets {one}", own, data["adsets"], FIGURES)
        case.goals(f"getCampaignDetails {one}", goals.get(one, []), details["campaign"])
        for adset in (row for row in [*data["adsets"], *details["adsets"]] if row["id"] in of_adsets):
            case.goals(f"getAdSets {adset['id']}", of_adsets[adset["id"]], adset)
        for ad in (row for row in details["ads"] if row["id"] in of_ads):
            case.goals(f"getCampaignDetails {ad['id']}", of_ads[ad["id"]], ad)
        shown += details["ads"]
    case.list("getCampaignDetails", case.truth.figures("ad", case.window), shown, FIGURES)


def _is_only(campaign: str) -> bool:
    return sum(one.name == campaign for one in CAMPAIGNS) == 1


async def test_days(case: Case) -> None:
    days = case.truth.days("account", case.account, case.window)
    data = await case.ask("getSpendReport", limit=100)
    case.same("getSpendReport", {"count": len(days)}, data, "count")
    newest = dict(sorted(days.items())[-100:])
    case.list("getSpendReport", newest, data["items"], FIGURES, key="day")
    case.goals("getSpendReport", case.truth.goals("account", case.window).get(case.account, []), data["total"])
    reached = case.truth.goals("account", case.window, by_day=True)
    is_short = (case.window.last - case.window.first).days < MAX_GOAL_DAYS
    for item in data["items"]:
        case.goals(f"getSpendReport {item['day']}", reached[item["day"]] if is_short else [], item)
    assert ("results_note" in data) is not is_short


async def test_directions(case: Case) -> None:
    figures = case.truth.figures("direction", case.window)
    results = case.truth.results("direction", case.window)
    data = await case.ask("getDirections", limit=100)
    case.list("getDirections", figures, data["directions"], FIGURES, key="name")
    nothing = {"leads": 0, "engaged": 0, "qualified": 0, "sales": 0, "revenue": 0.0}
    goals = case.truth.goals("direction", case.window)
    for one in data["directions"]:
        case.goals(f"getDirections {one['name']}", goals.get(one["name"], []), one)
        lead_cpl = case.truth.lead_cpl("direction", one["name"], case.window)
        case.same(f"getDirections {one['name']}", lead_cpl, one, "lead_goal_cpl")
        assert ("lead_goal_cpl" in one) is bool(lead_cpl)
        spend = figures.get(one["name"], {}).get("spend", 0)
        case.results(f"getDirections {one['name']}", results.get(one["name"], nothing), spend, one)
        detail = await case.ask("getDirectionDetails", direction_id=one["name"])
        case.same("getDirectionDetails", one, detail["direction"], *one)
        days = await case.ask("getDirectionMetrics", direction_id=one["name"], limit=100)
        true = dict(sorted(case.truth.days("direction", one["name"], case.window).items())[-100:])
        case.list("getDirectionMetrics", true, days["days"], FIGURES, key="day")
        case.same("getDirectionMetrics", figures.get(one["name"], days["total"]), days["total"], *FIGURES)
        case.goals("getDirectionMetrics", goals.get(one["name"], []), days["total"])
        reached = case.truth.goals("direction", case.window, by_day=True, only=one["name"])
        is_short = len(days["days"]) <= MAX_GOAL_DAYS
        for day in days["days"]:
            known = reached.get(day["day"], []) if is_short else []
            case.goals(f"getDirectionMetrics {one['name']} {day['day']}", known, day)
        assert ("results_note" in days) is not is_short
    assert case.is_rated or "rate" in data["revenue_note"]


async def test_creatives(case: Case, year: Year) -> None:
    figures = case.truth.figures("creative", case.window)
    results = case.truth.results("creative", case.window)
    titles = {ad.title: ad.creative for ad in year.agency.ads}
    nothing = {"leads": 0, "engaged": 0, "qualified": 0, "sales": 0, "revenue": 0.0}
    for tool in ("getCreatives", "getTopCreatives", "getWorstCreatives"):
        data = await case.ask(tool, limit=50)
        shown = [one | {"key": titles[one["title"]]} for one in data["creatives"]]
        case.list(tool, figures, shown, (*FIGURES, "purchases"), key="key")
        for one in shown:
            true = results.get(one["key"], nothing)
            spend = figures.get(one["key"], {}).get("spend", 0)
            assert "sales" in one
            case.results(f"{tool} {one['title']}", true, spend, one | {"local_leads": one["leads_here"]})
            if "video" in one and one["key"] in figures:
                case.same(f"{tool} {one['title']}", figures[one["key"]], one["video"], *VIDEO)
    for one in shown[::7]:
        detail = await case.ask("getCreativeDetails", creative_id=one["id"])
        case.same(f"getCreativeDetails {one['title']}", one, detail["creative"], *(one.keys() - {"key"}))
    for metric, best in (("spend", max), ("purchases", max), ("cpl", min), ("ctr", max)):
        values = [of[metric] for of in figures.values() if of[metric] is not None]
        for tool, is_best in (("getTopCreatives", True), ("getWorstCreatives", False)):
            data = await case.ask(tool, metric=metric, limit=50)
            given = [one[metric] for one in data["creatives"] if one[metric] is not None and one["impressions"]]
            is_down = is_best == (best is max)
            case.same(f"{tool} {metric}", {"order": sorted(values, reverse=is_down)}, {"order": given}, "order")
    sold = sorted((one["sales"] for key, one in results.items() if key in titles.values()), reverse=True)
    data = await case.ask("getTopCreatives", metric="sales", limit=50)
    given = [one["sales"] for one in data["creatives"] if one["sales"]]
    case.same("getTopCreatives sales", {"order": [one for one in sold if one]}, {"order": given}, "order")
    for title, creative in list(titles.items())[:: 20 if case.period == "all" else 39]:
        if creative not in figures or all(one["title"] != title for one in shown):
            continue
        days = await case.ask("getCreativeMetrics", creative_id=title, limit=100)
        true_days = dict(sorted(case.truth.days("creative", creative, case.window).items())[-100:])
        case.list("getCreativeMetrics", true_days, days["days"], (*FIGURES, "purchases"), key="day")
        case.same("getCreativeMetrics", figures[creative], days["total"], *FIGURES)


async def test_return(case: Case, year: Year) -> None:
    figures = case.truth.figures("creative", case.window)
    results = case.truth.results("creative", case.window)
    total = case.truth.figures("account", case.window).get(case.account, {"spend": 0, "leads": 0, "cpl": None})
    nothing = {"leads": 0, "engaged": 0, "qualified": 0, "sales": 0, "revenue": 0.0}
    titles = {ad.title: ad.creative for ad in year.agency.ads}
    goals = case.truth.goals("creative", case.window)
    data = await case.ask("getROIReport", limit=100)
    shown = [one | {"key": titles[one["name"]]} for one in data["creatives"]]
    case.list("getROIReport", figures, shown, ("spend", "cpl"), key="key")
    for one in shown:
        spend = figures.get(one["key"], {}).get("spend", 0)
        assert "sales" in one
        case.results(f"getROIReport {one['name']}", results.get(one["key"], nothing), spend, one)
        case.goals(f"getROIReport {one['name']}", goals.get(one["key"], []), one)
        lead_cpl = case.truth.lead_cpl("creative", one["key"], case.window)
        case.same(f"getROIReport {one['name']}", lead_cpl, one, "lead_goal_cpl")
    advertised = [one for key, one in results.items() if key is not None]
    brought = {name: sum(one[name] for one in advertised) for name in nothing}
    case.same("getROIReport total", total, data["total"], "spend", "cpl")
    case.results("getROIReport total", brought, total["spend"], data["total"])
    other = results.get(None, nothing)
    case.results("getROIReport without_creative", other, 0, data["without_creative"])
    case.same("getROIReport without_creative", {"spend": 0.0}, data["without_creative"], "spend")


_QUALIFIED = {"engaged": "engaged", "qualified": "crm"}


async def test_leads_and_sales(case: Case) -> None:
    true = case.truth.business(case.window)
    data = await case.ask("getSalesQuality")
    known = {
        "leads": true["leads"],
        "qualified_leads_crm": true["qualified"],
        "qualified_leads_engaged": true["engaged"],
        "crm_qualification_rate": true["rate"],
        "leads_with_2_messages": true["wrote"],
        "revenue": true["revenue"],
        "currency": "KZT",
    }
    always = case.truth.business(window_of(case.account, "all"))
    named = {"leads": "leads", "qualified_leads_crm": "qualified", "qualified_leads_engaged": "engaged"}
    named |= {"leads_with_2_messages": "wrote", "crm_qualification_rate": "rate"}
    known |= {f"{name}_all_time": always[of] for name, of in named.items()}
    case.same("getSalesQuality", known, data, *known)
    data = await case.ask("getFunnelStats")
    steps = {one["step"]: one["count"] for one in data["steps"]}
    counted = {"leads": true["leads"], "engaged": true["engaged_or_further"], "paid": true["paid"]}
    counted["qualified_crm"] = case.truth.leads(case.window, "(is_qualified or revenue > 0)")
    case.same("getFunnelStats", counted, steps, *counted)
    for one in data["steps"]:
        percent = round(one["count"] * 100 / true["leads"] + 1e-9, 2)
        case.same(f"getFunnelStats {one['step']}", {"percent_of_leads": percent}, one, "percent_of_leads")
    case.same("getFunnelStats", {"revenue": true["revenue"]}, data, "revenue")
    stages = {row["id"]: row for one in data["pipelines"] for row in one["stages"] if row["id"]}
    in_stages = case.truth.stages(case.window)
    case.same("getFunnelStats stages", dict.fromkeys(in_stages, True), dict.fromkeys(stages, True), *in_stages)
    for key, of in in_stages.items():
        row = {"leads": stages[key]["count"]}
        row |= {name: stages[key][f"qualified_leads_{of}"] for name, of in _QUALIFIED.items()}
        case.same(f"getFunnelStats {key}", of, row | {"revenue": stages[key]["revenue"]}, *(of.keys() - {"sales"}))
    for arguments, condition in (
        ({}, "true"),
        ({"is_qualified": True}, "is_qualified"),
        ({"is_qualified": False}, "not is_qualified"),
        ({"is_engaged": True}, "is_engaged"),
        ({"is_engaged": False}, "not is_engaged"),
        ({"stage_id": "12"}, "stage = 12"),
        ({"stage_id": "замер"}, "stage = 12"),
        ({"creative_id": "Видео 2"}, "title = 'Видео 2'"),
    ):
        if "creative_id" in arguments and case.account != "act_20260":
            continue
        data = await case.ask("getLeads", limit=1, **arguments)
        case.same(f"getLeads {arguments}", {"count": case.truth.leads(case.window, condition)}, data, "count")


async def test_dialogues(case: Case) -> None:
    true = case.truth.dialogues(case.window)
    data = await case.ask("getDialogs", limit=100)
    case.same("getDialogs", {"count": len(true)}, data, "count")
    newest = sorted(true.values(), key=lambda one: one["last_at"], reverse=True)[: len(data["dialogs"])]
    for given, one in zip(data["dialogs"], newest, strict=True):
        known = {
            "messages_from_client": one["messages"],
            "messages_to_client": one["answers"],
            "last_message_at": one["last_at"].isoformat(timespec="seconds"),
            "is_lead": one["lead"] is not None,
        }
        at = datetime.fromisoformat(given["last_message_at"]).astimezone(UTC).isoformat()
        shown = given | {"last_message_at": at, "is_lead": given["lead_id"] is not None}
        case.same(f"getDialogs {one['jid']}", known, shown, *known)
    assert "lid" not in str(data["dialogs"])
    for given, one in list(zip(data["dialogs"], newest, strict=True))[::25]:
        body = await case.shop.data("getDialogMessages", {"dialog_id": given["id"], "limit": 100}, account=case.account)
        sent = [message["from"] for message in body["messages"]]
        shown = {"messages": sent.count("client"), "answers": sent.count("business")}
        if body["count"] <= 100:
            case.same(f"getDialogMessages {one['jid']}", one, shown, "messages", "answers")
    for temperature in ("hot", "warm", "cold"):
        data = await case.ask("getDialogs", temperature=temperature, limit=1)
        warm = sum(temperature_of(one) == temperature for one in true.values())
        case.same(f"getDialogs {temperature}", {"count": warm}, data, "count")


async def test_each_lead(shop: YearShop, truth: Truth) -> None:
    """What the CRM has is found by its id there, with the ad that brought it, what it wrote and what it paid."""
    case = Case(shop, truth, "act_20260", "all")
    for one in truth.rows("select * from agency.leads where crm is not null and account = 'act_20260' order by crm"):
        data = await shop.data("getLeadDetails", {"lead_id": str(one["crm"])}, account="act_20260")
        lead = data["lead"]
        known = {
            "stage_id": str(one["stage"]),
            "messages": one["messages"],
            "is_engaged": one["is_engaged"],
            "is_qualified": one["is_qualified"],
            "revenue": one["revenue"],
            "creative": one["title"],
            "direction": one["direction"],
            "created_at": one["created_at"].astimezone(ZoneInfo("Asia/Almaty")).isoformat(timespec="seconds"),
        }
        case.same(f"getLeadDetails {one['crm']}", known, lead, *known)
    assert case.checked > 500 and case.wrong == []


async def test_compared_creatives(shop: YearShop, truth: Truth, year: Year) -> None:
    titles = {ad.title: ad.creative for ad in year.agency.ads if ad.adset.startswith("11")}
    names = sorted(titles)
    for period in PERIODS:
        case = Case(shop, truth, "act_20260", period)
        figures = truth.figures("creative", case.window)
        for first in range(0, len(names) - 1, 5):
            data = await case.ask("compareCreatives", creative_ids=names[first : first + 5])
            true = {titles[name]: figures.get(titles[name], NOTHING) for name in names[first : first + 5]}
            shown = [one | {"key": titles[one["title"]]} for one in data["creatives"]]
            case.list("compareCreatives", true, shown, FIGURES[:4], key="key")
        assert case.wrong == []


@pytest.mark.parametrize("period", PERIODS)
async def test_without_facebook_the_stored_figures_are_the_same(shop: YearShop, truth: Truth, period: str) -> None:
    case = Case(shop, truth, "act_20260", period)
    shop.forget_token("act_20260")
    try:
        data = await case.ask("getDirections", limit=100)
        assert data["source"] == "stored" and "Facebook" in data["results_note"]
        case.list("getDirections", truth.figures("direction", case.window), data["directions"], FIGURES, key="name")
        data = await case.ask("getROIReport", limit=100)
        total = truth.figures("account", case.window)["act_20260"]
        case.same("getROIReport", total, data["total"], "spend", "cpl")
    finally:
        shop.set_token("act_20260", TOKEN)
    assert case.wrong == []


async def test_with_an_expired_token_stored_figures_alone_are_given(shop: YearShop, truth: Truth, year: Year) -> None:
    case = Case(shop, truth, "act_20260", "last_30d")
    year.facebook.fault("status", status=400, code=190, subcode=463, times=20)
    for tool in ("getSpendReport", "getCampaigns", "getAdSets", "getDirections", "getROIReport"):
        body = await shop.call(tool, {"period": "last_30d"}, account="act_20260")
        assert not body["success"] and "data" not in body and "access token" in body["message"]
    titles = {ad.title: ad.creative for ad in year.agency.ads}
    data = await case.ask("getTopCreatives", limit=50)
    year.facebook.clear_faults()
    shown = [one | {"key": titles[one["title"]]} for one in data["creatives"]]
    case.list("getTopCreatives", truth.figures("creative", case.window), shown, FIGURES, key="key")
    assert case.wrong == []


def test_forty_questions(year: Year, truth: Truth, tmp_path: Path) -> None:
    """The right figures of the right days and objects, none without a source, and no write without a yes."""
    assert len(QUESTIONS) == 40
    with assistant(year, tmp_path) as asked:
        runs = asked.ask_all()
        pending = asked.stack.rows("select run_id, tool, status from v_actions where user_id = %s", year.user)
        assert "answer_without_source" not in asked.stack.log()  # who calls what is asked for is asked nothing twice
    wrong = []
    for one in QUESTIONS:
        answer, results = str(runs[one.text]["final_answer"]), asked.given.get(one.text, [])
        waits = [row["tool"] for row in pending if row["run_id"] == runs[one.text]["id"]]
        expected: dict[str, bool] = {"none waits": waits == []}
        if isinstance(one, Order):
            expected = {"it waits": waits == ([one.call[0]] if one.asked else [])}
            expected |= {word: word in answer for word in one.asked or (one.why,)}
        elif isinstance(one, Refusal):
            data = results[0]["result"]["data"]
            expected |= {"why": one.why in answer, "no figure": data["total"].get("roi") is None or one.why in answer}
        if isinstance(one, Question):
            data, days = results[0]["result"]["data"], window(one)
            (true,) = truth.rows(one.true, **days._asdict())
            expected |= {f"{figure}": figure in numbers(answer) or str(figure) in answer for figure in shown(true)}
            given = data["period"]["date_from"], data["period"]["date_to"]
            expected |= {"the days": given == (str(days.first), str(days.last))}
            expected |= {name: name in answer and name in str(data) for name in one.of}
        if not isinstance(one, Order):
            expected |= {"sources": numbers(answer) <= sources(results) | numbers(one.text)}
        wrong += [f"{one.text} {name}: {answer}" for name, is_so in expected.items() if not is_so]
    assert wrong == [] and year.facebook.journal("POST") == []
