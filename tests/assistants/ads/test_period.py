"""Periods of questions: names and dates, zones, clock changes, months of unequal length."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from maas.assistants.ads.days import months_before
from maas.assistants.ads.period import Period, PeriodArguments, resolve
from maas.tools.arguments import WrongArguments, read_arguments
from maas.tools.calls import ToolFailure
from maas.tools.tool import ToolContext, tool

ALMATY, NEW_YORK = ZoneInfo("Asia/Almaty"), ZoneInfo("America/New_York")
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def period(now: datetime = NOON, zone: ZoneInfo = ALMATY, **arguments: object) -> Period:
    return resolve(PeriodArguments.model_validate(arguments), zone, now, "last_7d")


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("today", "2026-11-23", "2026-11-23"),
        ("yesterday", "2026-11-22", "2026-11-22"),
        ("this_week", "2026-11-23", "2026-11-23"),
        ("last_week", "2026-11-16", "2026-11-22"),
        ("this_month", "2026-11-01", "2026-11-23"),
        ("last_month", "2026-10-01", "2026-10-31"),
        ("this_quarter", "2026-10-01", "2026-11-23"),
        ("last_quarter", "2026-07-01", "2026-09-30"),
        ("this_year", "2026-01-01", "2026-11-23"),
        ("last_year", "2025-01-01", "2025-12-31"),
        ("last_7d", "2026-11-17", "2026-11-23"),
        ("last_14d", "2026-11-10", "2026-11-23"),
        ("last_30d", "2026-10-25", "2026-11-23"),
        ("last_90d", "2026-08-26", "2026-11-23"),
        ("last_6m", "2026-05-24", "2026-11-23"),
        ("last_12m", "2025-11-24", "2026-11-23"),
        ("all", None, None),
    ],
)
def test_each_name_stands_for_its_days(name: str, first: str | None, last: str | None) -> None:
    found = period(period=name)
    assert found.shown() == {"name": name, "date_from": first, "date_to": last, "timezone": "Asia/Almaty"}


@pytest.mark.parametrize(
    ("today", "name", "first", "last"),
    [
        ("2026-01-01", "last_month", "2025-12-01", "2025-12-31"),
        ("2026-01-01", "last_quarter", "2025-10-01", "2025-12-31"),
        ("2024-03-31", "last_month", "2024-02-01", "2024-02-29"),
        ("2026-11-29", "this_week", "2026-11-23", "2026-11-29"),
        ("2026-01-01", "last_week", "2025-12-22", "2025-12-28"),
    ],
)
def test_calendars_end_and_begin(today: str, name: str, first: str, last: str) -> None:
    noon = datetime.fromisoformat(f"{today}T06:00:00+00:00")
    found = period(noon, period=name)
    assert (str(found.first), str(found.last)) == (first, last)


def test_without_arguments_it_is_the_default_of_the_tool() -> None:
    assert period() == period(period="last_7d")
    assert resolve(PeriodArguments(), ALMATY, NOON, "all").name == "all"


@pytest.mark.parametrize(
    ("zone", "now", "today"),
    [
        ("Asia/Almaty", "2026-11-22T18:59:59+00:00", "2026-11-22"),
        ("Asia/Almaty", "2026-11-22T19:00:00+00:00", "2026-11-23"),
        ("America/New_York", "2026-11-23T04:59:59+00:00", "2026-11-22"),
        ("Pacific/Kiritimati", "2026-12-31T10:00:00+00:00", "2027-01-01"),
        ("Asia/Kathmandu", "2026-02-28T18:15:00+00:00", "2026-03-01"),
    ],
)
def test_today_is_that_of_the_account(zone: str, now: str, today: str) -> None:
    found = period(datetime.fromisoformat(now), ZoneInfo(zone), period="today")
    assert found.first == found.last == date.fromisoformat(today)


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("America/New_York", "2026-03-08", 23),  # the clocks go forward
        ("America/New_York", "2026-11-01", 25),
        ("Asia/Beirut", "2026-03-29", 23),  # midnight itself is skipped
        ("America/Havana", "2026-11-01", 25),  # midnight comes twice
        ("Asia/Almaty", "2026-03-08", 24),
    ],
)
def test_a_day_is_as_long_as_the_clocks_make_it(zone: str, day: str, hours: int) -> None:
    found = period(zone=ZoneInfo(zone), date_from=day, date_to=day)
    assert found.start is not None and found.end is not None
    assert (found.end - found.start).total_seconds() == hours * 3600


def test_days_begin_at_midnight_of_the_account() -> None:
    found = period(zone=NEW_YORK, date_from="2026-07-01", date_to="2026-07-31")
    assert found.start == datetime(2026, 7, 1, 4, tzinfo=UTC)
    assert found.end == datetime(2026, 8, 1, 4, tzinfo=UTC)


def test_everything_has_no_ends() -> None:
    assert period(period="all").start is None
    assert period(period="all").end is None


@pytest.mark.parametrize(
    ("today", "months", "expected"),
    [
        ("2026-08-31", 6, "2026-02-28"),
        ("2028-08-31", 6, "2028-02-29"),
        ("2028-02-29", 12, "2027-02-28"),
        ("2026-01-15", 1, "2025-12-15"),
        ("2026-03-31", 1, "2026-02-28"),
        ("2026-12-31", 6, "2026-06-30"),
    ],
)
def test_months_are_of_unequal_length(today: str, months: int, expected: str) -> None:
    assert months_before(date.fromisoformat(today), months) == date.fromisoformat(expected)


def test_the_half_year_before_a_leap_day() -> None:
    found = period(datetime(2028, 2, 29, 12, tzinfo=UTC), period="last_12m")
    assert (found.first, found.last) == (date(2027, 3, 1), date(2028, 2, 29))


def test_dates_may_stand_alone() -> None:
    since, until = period(date_from="2026-11-01"), period(date_to="2026-11-01")
    assert (since.name, since.first, since.last) == ("custom", date(2026, 11, 1), date(2026, 11, 23))
    assert (until.first, until.last) == (None, date(2026, 11, 1))


def test_days_to_come_are_left_out() -> None:
    assert period(date_from="2026-11-20", date_to="2099-01-01").last == date(2026, 11, 23)
    with pytest.raises(ToolFailure, match="2026-11-24 is after today, 2026-11-23"):
        period(date_from="2026-11-24")
    assert period(date_from="2026-11-24", now=datetime(2026, 11, 23, 20, tzinfo=UTC)).first == date(2026, 11, 24)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"date_from": "2026-11-02", "date_to": "2026-11-01"}, "date_from 2026-11-02 is after date_to 2026-11-01"),
        ({"period": "today", "date_from": "2026-11-02"}, "not both"),
        ({"date_from": "0001-01-01"}, "dates are from 2000-01-01 to 2100-12-31"),
        ({"date_to": "9999-12-31"}, "dates are from 2000-01-01 to 2100-12-31"),
        ({"date_from": "2026-02-29"}, "date_from"),
        ({"date_from": "вчера"}, "date_from"),
        ({"period": "last_8d"}, "period"),
    ],
)
def test_a_period_that_makes_no_sense_is_refused(arguments: dict[str, str], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        PeriodArguments.model_validate(arguments)


async def test_a_model_reads_what_is_wrong() -> None:
    @tool(domain="ads", effect="read")
    async def count(arguments: PeriodArguments, context: ToolContext) -> None:
        """Count."""

    with pytest.raises(WrongArguments, match=r"^.*date_from 2026-11-02 is after date_to 2026-11-01$"):
        read_arguments(count, '{"date_from": "2026-11-02", "date_to": "2026-11-01"}')
    assert read_arguments(count, '{"period": "last_6m"}').values["period"] == "last_6m"


def test_facebook_keeps_the_figures_of_37_months() -> None:
    assert period(period="all").facebook_days == (date(2023, 10, 24), date(2026, 11, 23))
    assert period(date_from="2020-01-01").shown_of_facebook()["date_from"] == "2023-10-24"
    assert period(period="today").facebook_days == (date(2026, 11, 23), date(2026, 11, 23))
    with pytest.raises(ToolFailure, match="ask for days since 2023-10-24"):
        _ = period(date_to="2023-10-23").facebook_days


@given(st.datetimes(datetime(2001, 1, 1), datetime(2099, 12, 31), timezones=st.just(UTC)))
def test_longer_names_hold_the_shorter_ones(now: datetime) -> None:
    names = ("today", "last_7d", "last_14d", "last_30d", "last_90d", "last_6m", "last_12m")
    firsts = [period(now, period=name).first for name in names]
    assert firsts == sorted(firsts, key=lambda one: one or date.max, reverse=True)
