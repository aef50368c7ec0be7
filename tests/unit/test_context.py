"""The last rows of a draft: always all of them, cut evenly to the limit."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.memory.context import MIN_RECENT_TOKENS, RecentMessage, cut_evenly, fair_share, sufficiently_shown
from shared import tokens

AT = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
SENTENCE = "The tall ships left the old harbour at dawn, and nobody waved. "


def row(text: str) -> RecentMessage:
    return RecentMessage(uuid4(), uuid4(), AT, "user", text.strip())


@given(st.lists(st.integers(0, 1000), max_size=12), st.integers(0, 5000))
def test_shares_fill_the_limit_and_favour_none(costs: list[int], limit: int) -> None:
    share = fair_share(costs, limit)
    assert sum(min(cost, share) for cost in costs) <= limit
    if any(cost > share for cost in costs):
        assert sum(min(cost, share + 1) for cost in costs) > limit


@pytest.mark.parametrize(
    ("texts", "limit"), [(SENTENCE * 40, 1000), ("Слово за слово. " * 400, 1000), ("<&> " * 900, 2000)]
)
def test_every_row_stays_and_long_ones_are_cut_alike(texts: str, limit: int) -> None:
    rows = [row(texts), row("Short."), *(row(f"{n} {texts}") for n in range(7)), row("The newest.")]
    lines, cut = cut_evenly(rows, limit)
    costs = [tokens.count(line + "\n") for line in lines]
    assert len(lines) == 10
    assert sum(costs) <= limit
    assert lines[1].endswith("user: Short.") and lines[9].endswith("user: The newest.")
    assert [one.text for one in cut] == [one.text for one in rows if len(one.text) > 20]
    long = [cost for cost in costs if cost > 20]
    assert min(long) > 0.7 * (limit - 40) / 8
    assert all(line.endswith("…") for line in lines if len(line) > 60)


def test_rows_that_fit_are_whole() -> None:
    rows = [row(SENTENCE * 60), row("Yes."), row("No.")]
    lines, cut = cut_evenly(rows, 2000)
    assert lines[0].endswith(rows[0].text)
    assert cut == ()


def test_without_room_a_few_words_of_each_row_stay() -> None:
    rows = [row(SENTENCE * 4) for _ in range(10)]
    lines, cut = cut_evenly(rows, -5)
    assert len(lines) == len(cut) == 10
    assert all("The tall" in line and tokens.count(line) <= MIN_RECENT_TOKENS for line in lines)
    assert cut_evenly([], 100) == ((), ())


def test_a_row_that_is_hardly_shown_may_be_found_again() -> None:
    rows = [row(f"{n} {SENTENCE * 20}") for n in range(20)]
    assert sufficiently_shown(rows, 20 * 300) == {one.log_id for one in rows}
    assert sufficiently_shown([*rows, short := row("Short.")], 20 * 60) == {short.log_id}
