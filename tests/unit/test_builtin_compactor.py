"""The Compactor by rules: what is said most, of as many summaries as possible."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.builtin_model.day_texts import count_words, join_days
from maas.builtin_model.language import PHRASES
from maas.builtin_model.summaries import compact, merge_days


def record(day: int, text: str) -> dict[str, str]:
    return {"day": f"2025-11-{day:02}", "text": text}


def merge(records: list[dict[str, str]], limit: int) -> str:
    return join_days(merge_days(records, limit))


def test_every_record_has_its_best_sentence() -> None:
    """A talkative day does not push a quiet one out."""
    chatty = " ".join(f"My boat number {n} was painted by Anna in Lisbon." for n in range(40))
    merged = merge([record(1, chatty), record(2, "I sold the piano. Fine.")], 40)
    assert "piano" in merged and "boat" in merged
    assert 30 < count_words(merged) <= 40 + 2, "two dates"


def test_dates_stand_where_there_are_several() -> None:
    assert merge([record(1, "I sold the piano."), record(1, "We bought a boat.")], 500) == (
        "I sold the piano. We bought a boat."
    )
    week = merge([record(1, "I sold the piano. We bought a boat."), record(2, "The boat leaks.")], 500)
    assert week == "2025-11-01: I sold the piano. We bought a boat. 2025-11-02: The boat leaks."


def test_dates_of_a_week_stay_in_its_month() -> None:
    week = record(9, "2025-11-03: I sold the piano. Anna cried. 2025-11-09: We bought a boat.")
    month = merge([week, record(16, "2025-11-12: The boat leaks.")], 500)
    assert month == (
        "2025-11-03: I sold the piano. Anna cried. 2025-11-09: We bought a boat. 2025-11-12: The boat leaks."
    )


def test_what_the_built_in_model_says_of_itself_is_left_out() -> None:
    for voice in PHRASES.values():
        merged = merge([record(1, f"Мы купили лодку. {voice.unanswered}"), record(2, f"A boat. {voice.quoted}")], 500)
        assert voice.unanswered not in merged and voice.quoted not in merged


def test_nothing_is_repeated() -> None:
    assert merge([record(1, "I sold the piano."), record(1, "I sold the piano.")], 500) == "I sold the piano."


@pytest.mark.parametrize("text", ["...", "и", "a", "   "])
def test_there_is_always_something(text: str) -> None:
    """A record that says nothing must not keep its day from being merged."""
    assert all(json.loads(compact({"records": [record(1, text), record(2, text)], "limit": 100})).values())


@given(st.lists(st.text(max_size=400), min_size=1, max_size=12), st.integers(20, 200))
def test_any_text_comes_out_within_the_limit(texts: list[str], limit: int) -> None:
    days = merge_days([record(n + 1, text) for n, text in enumerate(texts)], limit)
    assert days and all(days.values())
    assert sum(map(count_words, days.values())) <= limit + len(days), "a mark of what is cut may stand alone"
    merged = merge([record(n + 1, text) for n, text in enumerate(texts)], limit)
    assert merged == merge([record(n + 1, text) for n, text in enumerate(texts)], limit)


def test_a_month_names_each_of_its_days() -> None:
    """However little room there is, and however much was said last."""
    month = [record(day, f"Anna painted boat number {day} in Lisbon, and it took long. " * day) for day in range(1, 31)]
    days = merge_days(month, 150)
    assert list(days) == [one["day"] for one in month] and sum(map(count_words, days.values())) <= 150
