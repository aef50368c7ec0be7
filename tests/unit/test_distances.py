"""Distances at the dates of memory: in few words, only where a date stands, and never beyond the payload's limit."""

from __future__ import annotations

from datetime import date

import pytest

from maas.prompting.distances import line_with_distances
from maas.prompting.now import Language
from shared.marks import numbers_in

TODAY = date(2026, 11, 24)


@pytest.mark.parametrize(
    ("line", "language", "shown"),
    [
        ("- [2026-11-03] Ann: Hello.", "en", "- [2026-11-03 (3 weeks ago)] Ann: Hello."),
        ("- [2026-11-23 10:05] user: Hello.", "ru", "- [2026-11-23 10:05 (вчера)] user: Hello."),
        ("- [4] [2026-11-03] Ann: Hi.", "en", "- [4] [2026-11-03 (3 weeks ago)] Ann: Hi."),
        (
            "- [2026-11-03, 2026-11-04, replaced 2026-11-09] Ann: Hi.",
            "en",
            "- [2026-11-03 (3 weeks ago), 2026-11-04 (3 weeks ago), replaced 2026-11-09] Ann: Hi.",
        ),
        ("Summary: Dentist on 2026-11-27, 9:40.", "en", "Summary: Dentist on 2026-11-27 (in 3 days), 9:40."),
        ("[2] Summary: до 2026-11-27.", "ru", "[2] Summary: до 2026-11-27 (через 3 дня)."),
        ("Period: 2026-Week-46", "en", "Period: 2026-11-09 to 2026-11-15 (9 days ago)"),
        ("Period: 2026-Week-48, replaced 2026-11-25", "ru", "Period: с 2026-11-23 по 2026-11-29, replaced 2026-11-25"),
        ("Period: 2025-Month-11", "en", "Period: 2025-11-01 to 2025-11-30 (12 months ago)"),
    ],
)
def test_a_date_has_its_distance(line: str, language: Language, shown: str) -> None:
    assert line_with_distances(line, TODAY, language) == shown
    assert numbers_in(shown) == numbers_in(line)


@pytest.mark.parametrize(
    "line",
    [
        "Recent messages, oldest first:",
        "Notes: 2026-11-03",
        "- [2026-13-45] Ann: no such day",
        "Period: 2026-Week-60",
        "Period: lately",
        "Summary: see report-2026-11-03.pdf, /2026-11-03/ and 2026-11-03T10:00",
        "",
    ],
)
def test_what_is_no_date_stays(line: str) -> None:
    assert line_with_distances(line, TODAY, "en") == line
