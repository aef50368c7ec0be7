"""Marks of an answer: only numbers that were given stay, in code and links nothing is touched, however it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.marks import MarkFilter, number_line, numbers_in, numbers_of_lines


@pytest.mark.parametrize(
    ("text", "shown", "used"),
    [
        ("She lives in Porto [2].", "She lives in Porto [2].", {2}),
        ("She lives in Porto [9].", "She lives in Porto.", set()),
        ("One [1][9], two [2, 9]; three [1, 2].", "One [1], two [2]; three [1][2].", {1, 2}),
        ("Both [ 1 ; 2 ]", "Both [1][2]", {1, 2}),
        ("In `list[9]` and\n```\nx[9]\n``` but not [9] here", "In `list[9]` and\n```\nx[9]\n``` but not here", set()),
        ("An open ` tick [9]\nand [9] more", "An open ` tick [9]\nand more", set()),
        ("A [9](https://example.org) link [1]", "A [9](https://example.org) link [1]", {1}),
        ("[a] [1a] [] [ ] [9", "[a] [1a] [] [ ] [9", set()),
        ("One, [1]\n\n[9]\n- [2] x", "One, [1]\n\n\n- [2] x", {1, 2}),
        ("[99999999999] stays", "[99999999999] stays", set()),
    ],
)
def test_a_whole_text(text: str, shown: str, used: set[int]) -> None:
    marks = MarkFilter({1, 2})
    assert (marks.apply(text), marks.used) == (shown, used)


@given(st.lists(st.text("[]12 9,;`(a\n", max_size=6)))
def test_pieces_are_the_whole(pieces: list[str]) -> None:
    marks = MarkFilter({1, 2})
    sent = "".join(map(marks.feed, pieces)) + marks.finish()
    whole = MarkFilter({1, 2})
    assert (sent, marks.used) == (whole.apply("".join(pieces)), whole.used)


def test_what_may_become_a_mark_is_held_back() -> None:
    marks = MarkFilter({1})
    assert [marks.feed(piece) for piece in ("Porto", " ", "[", "9", "]", ".", " [1", "]", " ok")] == [
        "Porto",
        "",
        "",
        "",
        "",
        ".",
        "",
        "",
        " [1] ok",
    ]
    marks.feed(" [1")
    marks.reset()
    assert marks.finish() == "" and marks.used == set()


def test_numbers_of_lines() -> None:
    lines = [number_line("- [2024-05-01] Ann: I have [7] cats", 3), number_line("Summary: cats", 12), "- Note: x"]
    assert lines[:2] == ["- [3] [2024-05-01] Ann: I have [7] cats", "[12] Summary: cats"]
    assert numbers_of_lines(lines) == {3, 12}
    assert numbers_in("\n".join(lines)) == {3, 7, 12}
