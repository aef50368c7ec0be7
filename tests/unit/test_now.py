"""The line that names the days around now, and the distances of dates, in both languages."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from maas.prompting.now import Language, distance, now_line
from shared import tokens

AT = datetime(2026, 11, 24, 19, 40, tzinfo=UTC)
TODAY = AT.date()


def test_the_line_names_three_days_the_time_and_the_zone() -> None:
    assert now_line(AT, UTC, "en") == (
        "Now: yesterday = Monday 2026-11-23, today = Tuesday 2026-11-24, tomorrow = Wednesday 2026-11-25; "
        "the time is 19:40 (UTC)."
    )
    assert now_line(AT, ZoneInfo("Asia/Vladivostok"), "ru") == (
        "Сейчас: вчера = вторник 2026-11-24, сегодня = среда 2026-11-25, завтра = четверг 2026-11-26; "
        "время 05:40 (Asia/Vladivostok)."
    )


@pytest.mark.parametrize("language", ["ru", "en"])
@pytest.mark.parametrize("at", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_the_ends_of_the_calendar_have_a_line(at: datetime, language: Language) -> None:
    for zone in (ZoneInfo("Pacific/Kiritimati"), ZoneInfo("Etc/GMT+12")):
        assert now_line(at, zone, language)


@pytest.mark.parametrize(
    ("days", "en", "ru"),
    [
        (0, "today", "сегодня"),
        (-1, "yesterday", "вчера"),
        (1, "tomorrow", "завтра"),
        (-2, "2 days ago", "2 дня назад"),
        (-5, "5 days ago", "5 дней назад"),
        (3, "in 3 days", "через 3 дня"),
        (-13, "13 days ago", "13 дней назад"),
        (-14, "2 weeks ago", "2 недели назад"),
        (-21, "3 weeks ago", "3 недели назад"),
        (7 * 5, "in 5 weeks", "через 5 недель"),
        (-61, "2 months ago", "2 месяца назад"),
        (-21 * 30, "21 months ago", "21 месяц назад"),
        (-731, "2 years ago", "2 года назад"),
        (-365 * 11, "11 years ago", "11 лет назад"),
        (365 * 21, "in 21 years", "через 21 год"),
    ],
)
def test_a_distance_is_short(days: int, en: str, ru: str) -> None:
    assert (distance(TODAY + timedelta(days), TODAY, "en"), distance(TODAY + timedelta(days), TODAY, "ru")) == (en, ru)


@pytest.mark.parametrize("language", ["ru", "en"])
def test_every_distance_has_at_most_three_words(language: Language) -> None:
    for days in (*range(-800, 800), -36_000, 36_000):
        day = date.fromordinal(TODAY.toordinal() + days)
        text = distance(day, TODAY, language)
        assert len(text.split()) <= 3, text
        assert tokens.count(text) <= (5 if language == "en" else 12), text
