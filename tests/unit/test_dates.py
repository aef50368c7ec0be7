"""Dates in questions."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.memory.dates import fit, microseconds, named_moment, read_dates, to_utc

NOW = datetime(2025, 11, 20, 12, tzinfo=UTC)  # a Thursday


def worth(question: str, day: str) -> float:
    at = microseconds(datetime.fromisoformat(f"{day}T15:00:00+00:00"))
    return float(fit(read_dates(question, NOW), np.array([at]))[0])


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("what did I do yesterday?", "2025-11-19"), ("что я говорил вчера", "2025-11-19"),
        ("позавчера", "2025-11-18"), ("last week", "2025-11-12"), ("на прошлой неделе", "2025-11-16"),
        ("on this week", "2025-11-18"), ("in March", "2025-03-31"), ("что было в марте?", "2025-03-01"),
        ("who came in December", "2024-12-24"), ("on 8 May 2023", "2023-05-08"), ("May 8th, 2023", "2023-05-08"),
        ("the 3rd of June", "2025-06-03"), ("8 мая 2023 года", "2023-05-08"), ("2023-05-08?", "2023-05-08"),
        ("8.05.2023", "2023-05-08"), ("08.05", "2025-05-08"), ("two weeks ago", "2025-11-06"),
        ("3 дня назад", "2025-11-17"), ("пару недель назад", "2025-11-06"), ("last Friday", "2025-11-14"),
        ("в пятницу", "2025-11-14"), ("в прошлом месяце", "2025-10-02"), ("last year", "2024-07-01"),
        ("last weekend", "2025-11-16"), ("месяц назад", "2025-10-20"),
    ],
)  # fmt: skip
def test_the_day_is_meant(question: str, day: str) -> None:
    assert worth(question, day) == 1.0
    far = date.fromisoformat(day) - timedelta(days=800)
    assert worth(question, far.isoformat()) == 0.0


@pytest.mark.parametrize(
    "question", ["may I come?", "march on", "маем мама", "5.5 km", "19 people", "сколько лет", "one day", "a second"]
)
def test_no_date_is_meant(question: str) -> None:
    assert read_dates(question, NOW) == ()


@pytest.mark.parametrize(
    ("question", "day", "expected"),
    [
        ("the 3rd of June", "2025-06-06", 1.0),
        ("the 3rd of June", "2025-06-07", 0.5),
        ("the 3rd of June", "2025-06-13", 0.5),
        ("the 3rd of June", "2025-06-14", 0.0),
        ("June 3rd", "2025-06-20", 0.0),
        ("8 мая 2023 года", "2023-05-20", 0.0),
        ("on 25 November", "2024-11-25", 1.0),
        ("on 25 November", "2025-11-25", 0.0),
        ("in November", "2025-11-02", 1.0),
        ("in March", "2025-04-15", 0.4),
        ("in March", "2025-04-16", 0.0),
        ("two weeks ago", "2025-11-09", 1.0),
        ("two weeks ago", "2025-11-10", 0.5),
        ("two weeks ago", "2025-11-12", 0.5),
        ("two weeks ago", "2025-11-13", 0.0),
        ("last weekend", "2025-11-15", 1.0),
        ("last weekend", "2025-11-17", 0.4),
        ("last weekend", "2025-11-19", 0.0),
        ("sep 4", "2025-09-04", 1.0),
        ("sept 4", "2025-09-04", 1.0),
        ("last year", "2024-12-31", 1.0),
    ],
)
def test_how_far_a_date_reaches(question: str, day: str, expected: float) -> None:
    assert worth(question, day) == expected


def test_on_a_sunday_the_weekend_is_this_one() -> None:
    sunday = datetime(2025, 11, 23, 12, tzinfo=UTC)
    first = min(band.start for band in read_dates("this weekend", sunday))
    assert first == datetime(2025, 11, 22, tzinfo=UTC)


def test_moments() -> None:
    assert microseconds(datetime(2000, 1, 1, tzinfo=UTC)) == 0
    assert microseconds(datetime(2000, 1, 1, 0, 0, 1, 5, tzinfo=UTC)) == 1_000_005
    assert named_moment(read_dates("on 8 May 2023", NOW), NOW) == datetime(2023, 5, 8, 12, tzinfo=UTC)
    assert named_moment(read_dates("30.11.2025", NOW), NOW) == NOW and named_moment((), NOW) is None


@pytest.mark.parametrize(("year", "is_in"), [(1, False), (2, True), (9998, True), (9999, False)])
def test_years_that_every_zone_has(year: int, is_in: bool) -> None:
    at = datetime(year, 6, 1, tzinfo=UTC)
    if is_in:
        assert to_utc(at) == at == to_utc(at.replace(tzinfo=None))
        return
    with pytest.raises(ValueError, match="2 to 9998"):
        to_utc(at)


def test_a_year_alone_says_little() -> None:
    assert 0 < worth("how was 2019?", "2019-07-01") < worth("how was May 2019?", "2019-05-01")


@pytest.mark.parametrize("zone", ["Asia/Vladivostok", "America/Los_Angeles", "Asia/Kathmandu"])
@pytest.mark.parametrize(
    "question", ["yesterday", "last week", "в прошлом месяце", "8 May 2023", "last Friday", "2019"]
)
@pytest.mark.parametrize("minutes", [-1, 0])
def test_days_begin_at_midnight_of_the_zone(zone: str, question: str, minutes: int) -> None:
    """A minute before and at local midnight, the bands are those of UTC at that time of the clock, as local days."""
    there = ZoneInfo(zone)
    clock = datetime(2025, 11, 20) + timedelta(minutes=minutes)
    here = read_dates(question, clock.replace(tzinfo=UTC))
    found = read_dates(question, clock.replace(tzinfo=there), there)
    assert here and [one.worth for one in found] == [one.worth for one in here]
    for one, same in zip(found, here, strict=True):
        assert one.start.astimezone(there).replace(tzinfo=UTC) == same.start
        assert one.end.astimezone(there).replace(tzinfo=UTC) == same.end


@pytest.mark.parametrize("zone", ["Asia/Vladivostok", "America/Los_Angeles"])
@pytest.mark.parametrize(
    "question", ["yesterday", "this year, last year", "this week, last week", "10 years ago", "in May"]
)
@pytest.mark.parametrize("now", [datetime.min, datetime(2, 1, 1), datetime(9998, 12, 31, 23), datetime.max])
def test_the_ends_of_the_calendar_break_nothing(zone: str, question: str, now: datetime) -> None:
    for band in read_dates(question, now.replace(tzinfo=UTC), ZoneInfo(zone)):
        assert band.start < band.end


@given(
    st.text() | st.from_regex(r"\d{1,4}[.-]\d{1,2}[.-]\d{1,4} (years|дней) (ago|назад)"),
    st.datetimes(timezones=st.just(UTC)),
)
def test_no_question_breaks_it(question: str, now: datetime) -> None:
    for band in read_dates(question, now):
        assert band.start < band.end and 0 < band.worth <= 1
