"""Every figure of the reading tools over the year of an untidy agency is what SQL by hand says of its raw facts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest
from psycopg.rows import dict_row

from maas.assistants.ads.vendors import Vendors
from maas.builtin_model import BuiltinModel
from maas.engine.stages import Deps, RoleModels
from shared.db import open_database
from tests.assistants.ads.shop import NOW
from tests.assistants.ads.truth import Rows, Truth, Window
from tests.assistants.ads.year import DOLLARS, Year, YearShop, as_worker, loaded_year
from tests.demo.agency import ACCOUNTS, CAMPAIGNS, DAYS

FIGURES = ("spend", "impressions", "clicks", "leads", "cpl", "cpm", "ctr")
VIDEO = ("video_views", "retention_25", "retention_50", "retention_75", "retention_95")
RESULTS = {
    "local_leads": "leads",
    "qualified_leads_engaged": "engaged",
    "qualified_leads_crm": "qualified",
}
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


def window_of(account: str, period: str) -> Window:
    """The days of a period, counted here by hand."""
    zone = next(one.zone for one in ACCOUNTS if one.id == account)
    today = NOW.astimezone(ZoneInfo(zone)).date()
    first, last = {
        "last_7d": (today - timedelta(days=6), today),
        "last_30d": (today - timedelta(days=29), today),
        "this_month": (date(2026, 11, 1), today),
        "last_month": (date(2026, 10, 1), date(2026, 10, 31)),
        "last_12m": (date(2025, 11, 21), today),
        "all": (today - timedelta(days=DAYS), today),
    }[period]
    return Window(account, zone, first, last)


class Case:
    """The tools of one ad account in one period against the truth; `wrong` are the figures that differ."""

    def __init__(self, shop: YearShop, truth: Truth, account: str, period: str) -> None:
        self.shop, self.truth, self.account, self.period = shop, truth, account, period
        self.window = window_of(account, period)
        self.currency = next(one.currency for one in ACCOUNTS if one.id == account)
        self.is_rated = self.currency == "USD"
        self.wrong: list[str] = []
        self.checked = 0

    async def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The data of a call, which names its period and its currency."""
        data = await self.shop.data(tool, {"period": self.period} | arguments, account=self.account)
        if self.period != "all":
            days = {"date_from": str(self.window.first), "date_to": str(self.window.last)}
            self.same(f"{tool} period", days, data["period"], *days)
        return data

    def same(self, what: str, true: dict[str, Any], given: dict[str, Any], *names: str) -> None:
        for name in names:
            self.checked += 1
            if given.get(name) != true.get(name):
                self.wrong.append(f"{what} {name}: {given.get(name)} for {true.get(name)}")

    def list(self, what: str, true: Rows, items: list[dict[str, Any]], names: tuple[str, ...], key: str = "id") -> None:
        """Every object that has figures is in the list, with them; others have none."""
        found = {one[key]: one for one in items}
        if missing := set(true) - set(found):
            self.wrong.append(f"{what}: {sorted(map(str, missing))} are missing")
        for one, given in found.items():
            nothing = dict.fromkeys((*FIGURES[:4], *RESULTS.values()), 0)
            self.same(f"{what} {one}", true.get(one, nothing), given, *names)

    def results(self, what: str, true: dict[str, Any], spend: float, given: dict[str, Any]) -> None:
        """What leads brought, and the costs of it; a return in a currency without a rate is refused."""
        revenue = round(true["revenue"] * float(DOLLARS), 2) if self.is_rated else None
        roi = round((true["revenue"] * float(DOLLARS) - spend) / spend * 100, 2) if self.is_rated and spend else None
        costs = {
            "revenue": revenue,
            "roi": roi,
            "qcpl": round(spend / true["engaged"] + 1e-9, 2) if true["engaged"] and spend else None,
        }
        known = {name: true[source] for name, source in RESULTS.items()} | costs
        self.same(what, known, given, *(set(known) & set(given)))


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
    data = await case.ask("getSpendReport", group_by="campaign", limit=100)
    case.same("getSpendReport", total, data["total"], *FIGURES)
    case.list("getSpendReport", campaigns, data["items"], FIGURES)
    names = {one.id: one.name for one in CAMPAIGNS}
    for item in data["items"]:
        case.same("getSpendReport", {"name": names[item["id"]]}, item, "name")
    data = await case.ask("getAdSets", limit=100)
    case.list("getAdSets", case.truth.figures("adset", case.window), data["adsets"], FIGURES)
    ads = case.truth.figures("ad", case.window)
    shown = [
        ad for one in campaigns for ad in (await case.ask("getCampaignDetails", campaign_id=one, limit=100))["ads"]
    ]
    case.list("getCampaignDetails", ads, shown, FIGURES)


async def test_days(case: Case) -> None:
    days = case.truth.days("account", case.account, case.window)
    data = await case.ask("getSpendReport", limit=100)
    case.same("getSpendReport", {"count": len(days)}, data, "count")
    newest = dict(sorted(days.items())[-100:])
    case.list("getSpendReport", newest, data["items"], FIGURES, key="day")


async def test_directions(case: Case) -> None:
    figures = case.truth.figures("direction", case.window)
    results = case.truth.results("direction", case.window)
    data = await case.ask("getDirections", limit=100)
    case.list("getDirections", figures, data["directions"], FIGURES, key="name")
    nothing = {"leads": 0, "engaged": 0, "qualified": 0, "revenue": 0.0}
    for one in data["directions"]:
        spend = figures.get(one["name"], {}).get("spend", 0)
        case.results(f"getDirections {one['name']}", results.get(one["name"], nothing), spend, one)
        detail = await case.ask("getDirectionDetails", direction_id=one["name"])
        case.same("getDirectionDetails", one, detail["direction"], *one)
        days = await case.ask("getDirectionMetrics", direction_id=one["name"], limit=100)
        true = dict(sorted(case.truth.days("direction", one["name"], case.window).items())[-100:])
        case.list("getDirectionMetrics", true, days["days"], FIGURES, key="day")
        case.same("getDirectionMetrics", figures.get(one["name"], days["total"]), days["total"], *FIGURES)
    assert case.is_rated or "rate" in data["revenue_note"]


async def test_creatives(case: Case, year: Year) -> None:
    figures = case.truth.figures("creative", case.window)
    results = case.truth.results("creative", case.window)
    titles = {ad.title: ad.creative for ad in year.agency.ads}
    nothing = {"leads": 0, "engaged": 0, "qualified": 0, "revenue": 0.0}
    for tool in ("getCreatives", "getTopCreatives", "getWorstCreatives"):
        data = await case.ask(tool, limit=50)
        shown = [one | {"key": titles[one["title"]]} for one in data["creatives"]]
        case.list(tool, figures, shown, FIGURES, key="key")
        for one in shown:
            true = results.get(one["key"], nothing)
            spend = figures.get(one["key"], {}).get("spend", 0)
            case.results(f"{tool} {one['title']}", true, spend, one | {"local_leads": one["leads_here"]})
            if "video" in one and one["key"] in figures:
                case.same(f"{tool} {one['title']}", figures[one["key"]], one["video"], *VIDEO)
    for title, creative in list(titles.items())[:: 20 if case.period == "all" else 39]:
        if creative not in figures or all(one["title"] != title for one in shown):
            continue
        days = await case.ask("getCreativeMetrics", creative_id=title, limit=100)
        true_days = dict(sorted(case.truth.days("creative", creative, case.window).items())[-100:])
        case.list("getCreativeMetrics", true_days, days["days"], FIGURES, key="day")
        case.same("getCreativeMetrics", figures[creative], days["total"], *FIGURES)


async def test_return(case: Case, year: Year) -> None:
    figures = case.truth.figures("creative", case.window)
    results = case.truth.results("creative", case.window)
    total = case.truth.figures("account", case.window).get(case.account, {"spend": 0, "leads": 0, "cpl": None})
    nothing = {"leads": 0, "engaged": 0, "qualified": 0, "revenue": 0.0}
    titles = {ad.title: ad.creative for ad in year.agency.ads}
    data = await case.ask("getROIReport", limit=100)
    shown = [one | {"key": titles[one["name"]]} for one in data["creatives"]]
    case.list("getROIReport", figures, shown, ("spend", "cpl"), key="key")
    for one in shown:
        spend = figures.get(one["key"], {}).get("spend", 0)
        case.results(f"getROIReport {one['name']}", results.get(one["key"], nothing), spend, one)
    advertised = [one for key, one in results.items() if key is not None]
    brought = {name: sum(one[name] for one in advertised) for name in nothing}
    case.same("getROIReport total", total, data["total"], "spend", "cpl")
    case.results("getROIReport total", brought, total["spend"], data["total"])
    other = results.get(None, nothing)
    case.results("getROIReport without_creative", other, 0, data["without_creative"])
    case.same("getROIReport without_creative", {"spend": 0.0}, data["without_creative"], "spend")


async def test_leads_and_sales(case: Case) -> None:
    true = case.truth.business(case.window)
    data = await case.ask("getSalesQuality")
    known = {
        "leads": true["leads"],
        "qualified_leads_crm": true["qualified"],
        "qualified_leads_engaged": true["engaged"],
        "crm_qualification_rate": true["rate"],
        "revenue": true["revenue"],
        "currency": "KZT",
    }
    case.same("getSalesQuality", known, data, *known)
    data = await case.ask("getFunnelStats")
    steps = {one["step"]: one["count"] for one in data["steps"]}
    counted = {"leads": true["leads"], "engaged": true["engaged_or_further"], "paid": true["paid"]}
    case.same("getFunnelStats", counted, steps, *counted)
    data = await case.ask("getLeads")
    case.same("getLeads", {"count": true["leads"]}, data, "count")
