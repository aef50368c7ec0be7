"""The times of cron expressions: through changes of the clock, and those that nobody looked for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.runs.schedules import MAX_CAUGHT_UP, Cron
from shared.errors import MaasError

BERLIN = "Europe/Berlin"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def following(expression: str, zone: str, after: str, count: int) -> list[str]:
    cron, at, found = Cron.parse(expression, zone), utc(after), []
    for _ in range(count):
        following_at = cron.next_after(at)
        assert following_at is not None
        at = following_at
        found.append(f"{at:%m-%d %H:%M}")
    return found


def test_a_time_of_the_day_stays_at_its_time_of_the_wall_clock() -> None:
    assert following("30 8 * * *", BERLIN, "2026-03-28T00:00", 3) == ["03-28 07:30", "03-29 06:30", "03-30 06:30"]
    assert following("30 8 * * *", BERLIN, "2026-10-24T00:00", 3) == ["10-24 06:30", "10-25 07:30", "10-26 07:30"]
    assert following("0 9 * * 1-5", "Asia/Tokyo", "2026-11-27T12:00", 2) == ["11-30 00:00", "12-01 00:00"]


def test_a_time_that_the_clock_leaves_out_is_the_first_after_it() -> None:
    """In Berlin there is no 2:30 on 29 March; the day has its request all the same."""
    assert following("30 2 * * *", BERLIN, "2026-03-28T00:00", 3) == ["03-28 01:30", "03-29 01:00", "03-30 00:30"]


@pytest.mark.parametrize("minute", ["00:00", "00:30", "00:30:01", "01:10", "01:30", "01:59"])
def test_a_time_that_comes_twice_counts_once(minute: str) -> None:
    """2:30 of 25 October is 0:30 and 1:30 of UTC, whenever somebody looks."""
    first = utc(f"2026-10-25T{minute}") < utc("2026-10-25T00:30")
    assert following("30 2 * * *", BERLIN, f"2026-10-25T{minute}", 2) == (
        ["10-25 00:30", "10-26 01:30"] if first else ["10-26 01:30", "10-27 01:30"]
    )


def test_each_hour_comes_through_both_changes() -> None:
    assert following("0 * * * *", BERLIN, "2026-10-24T22:30", 5) == [
        "10-24 23:00",
        "10-25 00:00",
        "10-25 01:00",
        "10-25 02:00",
        "10-25 03:00",
    ]
    assert following("*/30 * * * *", BERLIN, "2026-03-29T00:15", 3) == ["03-29 00:30", "03-29 01:00", "03-29 01:30"]


def test_what_passed_is_caught_up_as_the_schedule_says() -> None:
    cron = Cron.parse("0 * * * *", "UTC")
    first, now = utc("2026-11-27T03:00"), utc("2026-11-27T05:40")
    assert cron.due(first, now, "all") == [utc(f"2026-11-27T0{hour}:00") for hour in (3, 4, 5)]
    assert cron.due(first, now, "last") == [utc("2026-11-27T05:00")]
    assert cron.due(first, now, "none") == []
    assert cron.due(first, utc("2026-11-27T05:00:30"), "none") == [utc("2026-11-27T05:00")]
    assert cron.due(first, utc("2026-11-27T05:00"), "all")[-1] == utc("2026-11-27T05:00")


def test_of_many_times_the_latest_are_caught_up() -> None:
    times = Cron.parse("* * * * *", "UTC").due(utc("2020-01-01T00:00"), utc("2026-11-27T05:40"), "all")
    assert len(times) == MAX_CAUGHT_UP and times[-1] == utc("2026-11-27T05:40")


EXPRESSIONS = ("* * * * *", "*/20 * * * *", "30 2 * * *", "15,45 1-3 * * *", "0 3 * * 0", "59 23 L * *", "5 2 29 2 *")


@given(
    st.sampled_from(EXPRESSIONS),
    st.sampled_from((BERLIN, "UTC", "America/St_Johns", "Australia/Lord_Howe", "Africa/Cairo")),
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31)),
    st.integers(0, 4000),
)
def test_what_is_due_are_the_times_since(expression: str, zone: str, since: datetime, minutes: int) -> None:
    """Looked for backwards or forwards, they are the same; none twice, none left out."""
    cron, now = Cron.parse(expression, zone), since.replace(tzinfo=UTC) + timedelta(minutes=minutes)
    first = cron.next_after(since.replace(tzinfo=UTC))
    assert first is not None
    expected, at = [], first
    while at <= now:
        expected.append(at)
        following_at = cron.next_after(at)
        assert following_at is not None
        at = following_at
    assert all(one < other for one, other in pairwise(expected))
    if expected:
        assert cron.due(first, now, "all") == expected[-MAX_CAUGHT_UP:]


@pytest.mark.parametrize(
    "expression",
    ["", "* * * *", "* * * * * *", "60 * * * *", "a b c d e", "0 0 30 2 *", "@daily", "*/0 * * * *", "1 " * 60],
)
def test_what_cron_does_not_know_is_refused(expression: str) -> None:
    with pytest.raises(MaasError, match="cron: ") as caught:
        Cron.parse(expression, "UTC")
    assert caught.value.code == "invalid_request"


@pytest.mark.parametrize("zone", ["Nowhere/Town", "../../etc/passwd", "", "America", "x\0y"])
def test_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(MaasError, match="timezone: unknown"):
        Cron.parse("* * * * *", zone)
