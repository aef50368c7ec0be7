"""Words for a day get its date, once."""

from __future__ import annotations

from datetime import date

import pytest

from maas.memory.relative_days import with_dates

TUESDAY = date(2026, 11, 24)


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        ("See you tomorrow.", "See you 2026-11-25 (tomorrow)."),
        (
            "The day after tomorrow or in two weeks.",
            "2026-11-26 (The day after tomorrow) or 2026-12-08 (in two weeks).",
        ),
        ("It broke 3 days ago, not yesterday.", "It broke 2026-11-21 (3 days ago), not 2026-11-23 (yesterday)."),
        (
            "Завтра, послезавтра, через неделю.",
            "2026-11-25 (Завтра), 2026-11-26 (послезавтра), 2026-12-01 (через неделю).",
        ),
        ("Две недели назад и через 5 дней.", "2026-11-10 (Две недели назад) и 2026-11-29 (через 5 дней)."),
        (
            "A week ago, in five days, days ago, some weeks ago.",
            "2026-11-17 (A week ago), 2026-11-29 (in five days), days ago, some weeks ago.",
        ),
        ("Within 3 days, on Friday, days later.", "Within 3 days, on Friday, days later."),
        ("Tomorrow (2026-11-25) at nine.", "Tomorrow (2026-11-25) at nine."),
    ],
)
def test_words_for_a_day_get_its_date(text: str, dated: str) -> None:
    assert with_dates(text, TUESDAY) == dated
    assert with_dates(dated, TUESDAY) == dated


def test_the_calendar_ends() -> None:
    assert with_dates("see you tomorrow", date.max) == "see you tomorrow"
