"""The tools of an ad account in a period beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.assistants.ads.shop import NOW
from tests.assistants.ads.truth import Rows, Truth, Window
from tests.assistants.ads.year import DOLLARS, YearShop
from tests.demo.agency import ACCOUNTS, DAYS

FIGURES = ("spend", "impressions", "clicks", "leads", "cpl", "cpm", "ctr")
VIDEO = ("video_views", "retention_25", "retention_50", "retention_75", "retention_95")
RESULTS = {
    "local_leads": "leads",
    "qualified_leads_engaged": "engaged",
    "qualified_leads_crm": "qualified",
    "sales": "sales",
}
NOTHING = dict.fromkeys((*FIGURES[:4], "purchases", *RESULTS.values()), 0)


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


def temperature_of(dialogue: dict[str, Any]) -> str:
    """By what the client wrote, and how long ago the last message was."""
    written, ago = dialogue["messages"], NOW - dialogue["last_at"]
    if written >= 4 and ago < timedelta(hours=24):
        return "hot"
    return "warm" if written >= 2 or ago < timedelta(days=7) else "cold"


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
            self.same(f"{what} {one}", true.get(one, NOTHING), given, *names)

    def goals(self, what: str, true: Sequence[dict[str, Any]], given: dict[str, Any]) -> None:
        """The results of an object: of its one goal, or goal by goal where its ad sets have several."""
        one = true[0] if len(true) == 1 else {}
        self.same(what, one, given, "goal", "results", "cost_per_result")
        self.same(what, {"by_goal": true} if len(true) > 1 else {}, given, "by_goal")

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
