"""Trimming: the most important lines stay, in their order, within the limit."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from maas.prompting.trimming import condense
from shared import tokens
from shared.text import escape


def test_what_fits_is_kept_in_order() -> None:
    lines = [f"- [2024-01-0{day} 10:00] user: line number {day} of the memory" for day in range(1, 8)]
    cost = tokens.count(lines[0]) + 1
    assert condense(lines, 10_000) == "\n".join(lines)
    assert condense(lines, 3 * cost).split("\n") == lines[:3]
    assert condense([], 100) == ""


def test_search_results_are_kept_before_the_newest_messages() -> None:
    recent = [f"- [2024-01-0{day} 10:00] user: line number {day} of the memory" for day in range(1, 8)]
    found = [f"- [2023-01-0{day}] user: evidence number {day} of the memory" for day in range(1, 4)]
    memory = ["Recent messages:", *recent, "Remembered:", *found]
    cost = tokens.count(recent[0]) + 1
    assert condense(memory, 6 * cost).split("\n") == ["Recent messages:", *recent[4:], "Remembered:", *found]
    assert condense(memory, 3 * cost).split("\n") == ["Remembered:", *found]
    *whole, cut = condense(["Remembered:", *found, found[0] * 9], 6 * cost).split("\n")
    assert whole == ["Remembered:", *found] and (found[0] * 9).startswith(cut) and cut


def test_a_line_that_is_too_long_is_left_out() -> None:
    lines = ["first of all", "long " * 500, "last of all"]
    assert condense(lines, 60) == "first of all\nlast of all"


def test_only_the_first_line_is_cut() -> None:
    text = "Он сказал &lt;b&gt; и ушёл домой. " * 100
    cut = condense([text, "short"], 40)
    assert text.startswith(cut)
    assert 20 <= tokens.count(cut) <= 40
    assert not cut.rpartition("&")[2].isalpha()


def test_to_the_token() -> None:
    """What fits exactly is whole; a heading and its first line take their own tokens, and not one more."""
    lines = ["первая строка памяти", "вторая строка памяти, и она длиннее"]
    whole = "\n".join(lines)
    assert condense(lines, tokens.count(whole)) == whole
    assert condense(lines, tokens.count(whole) - 1) != whole
    memory = ["Remembered:", *lines, "ещё одна строка, которой нет места " * 9]
    needed = sum(tokens.count(line) + 1 for line in memory[:3])
    assert condense(memory, needed).split("\n") == memory[:3]
    assert memory[2] not in condense(memory, needed - 1).split("\n")
    long = "слово за словом, и так далее, " * 40
    for limit in (60, 61, 62, 63):
        cut = condense(["Remembered:", long], limit)
        assert tokens.count(cut) <= limit and len(cut) > 60


@given(st.lists(st.text(max_size=80).map(escape), max_size=12), st.integers(0, 120))
@example([*"÷÷÷÷", "0\x81\U00010f28𐀀"], 23)
def test_the_limit_is_kept(lines: list[str], limit: int) -> None:
    lines = [line.replace("\n", " ") for line in lines]
    kept = condense(lines, limit)
    assert tokens.count(kept) <= limit + 1
    if kept and len(kept.split("\n")) > 1:
        remaining = iter(lines)
        assert all(line in remaining for line in kept.split("\n"))
