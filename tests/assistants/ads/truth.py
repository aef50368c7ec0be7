"""The truth about the invented agency: its raw facts in tables of their own, and what SQL by hand says of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from psycopg import sql

from tests.assistants.ads.shop import Connection
from tests.demo.agency import ADSETS, OF_ADSET, Agency, account_of

SCHEMA = Path(__file__).with_name("truth.sql")
_FIGURES = """
  sum(spend) as spend, sum(impressions)::bigint as impressions, sum(clicks)::bigint as clicks,
  sum(leads)::bigint as leads, sum(purchases)::bigint as purchases, round(sum(spend) / nullif(sum(leads), 0), 2) as cpl,
  round(sum(spend) / nullif(sum(impressions), 0) * 1000, 2) as cpm,
  round(sum(clicks) / nullif(sum(impressions), 0) * 100.0, 2) as ctr
"""
_VIDEO = ", ".join(
    ["sum(video_views)::bigint as video_views"]
    + [f"round(sum(p{n}) / nullif(sum(video_views), 0) * 100, 2) as retention_{n}" for n in (25, 50, 75, 95)]
)
_RESULTS = """
  count(*) as leads, count(*) filter (where is_engaged) as engaged, count(*) filter (where is_qualified) as qualified,
  count(*) filter (where stage = 142) as sales, coalesce(sum(revenue), 0) as revenue
"""
Rows = dict[Any, dict[str, Any]]


class Window(NamedTuple):
    """The days of a question, both included, in the zone of an ad account."""

    account: str
    zone: str
    first: date
    last: date


class Truth:
    """What is true; `connection` sees the tables of the agency and none of the product's is read."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def fill(self, agency: Agency) -> None:
        """Copy the facts into tables of their own."""
        self._connection.execute(SCHEMA.read_text().encode())
        ads = [
            (
                *(ad.id, ad.name, adset.id, adset.campaign, account_of(ad), ad.creative, ad.title, adset.direction),
                adset.event or adset.goal,
            )
            for ad in agency.ads
            for adset in (OF_ADSET[ad.adset],)
        ]
        tables: dict[str, Iterable[Sequence[Any]]] = {
            "ads": ads,
            "days": agency.days,
            "forms": agency.forms,
            "crm": [
                (one.id, one.person if one.phones else None, *one[2:7], one.early_stage)
                for one in agency.crm
                if not one.is_deleted
            ],
            "chats": agency.chats,
            "messages": agency.messages,
        }
        for name, rows in tables.items():
            query = sql.SQL("copy agency.{} from stdin").format(sql.Identifier(name))
            with self._connection.cursor().copy(query) as copy:
                for row in rows:
                    copy.write_row(row)
        for name in ("asked", "dialogues", "leads"):
            self._connection.execute(f"analyze; refresh materialized view agency.{name}".encode())

    def figures(self, level: str, window: Window) -> Rows:
        """What ads cost and brought, by the id of the object; a direction has a name."""
        query = f"""
            select {level} as key, {_FIGURES}, {_VIDEO} from agency.ad_days
            where account = %s and day between %s and %s and {level} is not null group by 1"""
        return self._by_key(query, window.account, window.first, window.last)

    def days(self, level: str, key: str, window: Window) -> Rows:
        query = f"""
            select day::text as key, {_FIGURES} from agency.ad_days
            where account = %s and day between %s and %s and {level} = %s group by 1"""
        return self._by_key(query, window.account, window.first, window.last, key)

    def results(self, level: str, window: Window) -> Rows:
        """What became of the leads of those days; None: of no ad at all. Of this account or of none."""
        query = f"""
            select {level} as key, {_RESULTS} from agency.leads
            where (account = %s or account is null)
              and (created_at at time zone %s)::date between %s and %s group by 1"""
        return self._by_key(query, window.account, window.zone, window.first, window.last)

    def goals(
        self, level: str, window: Window, by_day: bool = False, only: str | None = None
    ) -> dict[Any, list[dict[str, Any]]]:
        """What ad sets are for and how often that was reached, goal by goal, the most expensive one first.

        By the key of `level`, or by day of the whole account or of `only`, a key of the level.
        """
        key = "day::text" if by_day else level
        query = f"""
            select {key} as key, goal, case when count(reached) = count(*) then sum(reached)::bigint end as results,
              case when count(reached) = count(*) then round(sum(spend) / nullif(sum(reached), 0), 2) end
                as cost_per_result, sum(spend) as spend
            from agency.ad_days where account = %s and day between %s and %s and (%s::text is null or {level} = %s)
            group by 1, goal order by sum(spend) desc, goal"""
        found: dict[Any, list[dict[str, Any]]] = {}
        for row in self.rows(query, window.account, window.first, window.last, only, only):
            found.setdefault(row.pop("key"), []).append(row)
        return found

    def lead_cpl(self, level: str, key: str, window: Window) -> dict[str, Any]:
        """The cost of a lead by the ad sets that are for leads, where others have another goal; {} where none has."""
        query = f"""
            select round(sum(spend) filter (where is_for_leads)
              / nullif(sum(leads) filter (where is_for_leads), 0), 2) as lead_goal_cpl
            from (select *, goal in ('LEAD_GENERATION', 'CONVERSATIONS') as is_for_leads from agency.ad_days) d
            where account = %s and day between %s and %s and {level} = %s
            having not bool_and(is_for_leads)"""
        return next(iter(self.rows(query, window.account, window.first, window.last, key)), {})

    def business(self, window: Window) -> dict[str, Any]:
        """All leads of those days, of whatever ad."""
        (row,) = self.rows(
            f"""select {_RESULTS}, count(*) filter (where is_engaged or is_qualified) as engaged_or_further,
                  count(*) filter (where revenue > 0) as paid, count(*) filter (where messages >= 2) as wrote,
                  round(count(*) filter (where is_qualified) * 100.0 / nullif(count(*), 0), 2) as rate
                from agency.leads where (created_at at time zone %s)::date between %s and %s""",
            window.zone,
            window.first,
            window.last,
        )
        return row

    def stages(self, window: Window) -> Rows:
        """What became of the leads of those days that are in each stage of the CRM."""
        query = f"""
            select stage::text as key, {_RESULTS} from agency.leads
            where stage is not null and (created_at at time zone %s)::date between %s and %s group by 1"""
        return self._by_key(query, window.zone, window.first, window.last)

    def leads(self, window: Window, condition: str) -> int:
        """How many leads of those days meet a condition in SQL."""
        query = f"""select count(*) as leads from agency.leads
            where (created_at at time zone %s)::date between %s and %s and {condition}"""
        return int(self.rows(query, window.zone, window.first, window.last)[0]["leads"])

    def dialogues(self, window: Window) -> Rows:
        """The dialogues whose last message is of those days."""
        query = """
            select jid as key, jid, messages, answers, last_at, lead from agency.dialogues
            where (last_at at time zone %s)::date between %s and %s"""
        return self._by_key(query, window.zone, window.first, window.last)

    def rows(self, query: str, *values: Any, **named: Any) -> list[dict[str, Any]]:
        return [_plain(row) for row in self._connection.execute(query.encode(), named or values).fetchall()]

    def _by_key(self, query: str, *values: Any) -> Rows:
        found = self.rows(query, *values)
        return {row.pop("key"): row for row in found}


def adsets_of(direction: str) -> list[str]:
    return [one.id for one in ADSETS if one.direction == direction]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: float(one) if isinstance(one, Decimal) else one for name, one in row.items()}
