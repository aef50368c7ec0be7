"""What an Assembler's model is offered of a draft, and what stays whatever it chooses."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.prompting.trimming import FOUND, RECENT
from shared import tokens
from workers.assembler import KEPT_FOUND, KEPT_RECENT, MAX_OFFERED_TOKENS, Offer

OLD = [f"- [2026-11-{day:02} 10:00] user: Small talk number {day} of nothing much." for day in range(1, 11)]
RESULTS = [f"- [{n}] [2025-03-{n:02}] user: The {word} was green." for n, word in enumerate(("kiln " * 29).split(), 1)]
LINES = [
    RECENT,
    "Earlier in this conversation: Soup &lt;3.",
    *OLD,
    FOUND,
    "Notes of the user:",
    "- no meat",
    "Period: 2025-Week-10",
    "Summary: All was green.",
    *RESULTS,
    "- [2025-04-01] user: The ferry leaves at nine from the old harbour.",
]
FERRY = LINES[-1]
QUERY = "What is left?"


def test_lines_are_offered_by_labels() -> None:
    """Each dated line without its number of characters and its dash; lines of another form are no choice."""
    offer = Offer.of(LINES, QUERY)
    assert len(offer.labels) == len(OLD) + len(RESULTS) + 1
    shown = offer.text.splitlines()
    assert (shown[0], shown[1]) == (
        RECENT,
        "#small-talk: [2026-11-01 10:00] user: Small talk number 1 of nothing much.",
    )
    label = next(label for label, at in offer.labels.items() if LINES[at] == FERRY)
    assert shown[-1] == f"{label}: {FERRY.removeprefix('- ')}" and label.startswith("#ferry")
    assert not any("Summary" in line or "no meat" in line for line in shown)


def test_what_stays_if_nothing_is_chosen() -> None:
    """The newest messages, the best search results, and what is no message."""
    kept = Offer.of(LINES, QUERY).kept(frozenset())
    assert kept == [*LINES[:2], *OLD[-KEPT_RECENT:], *LINES[12:17], *RESULTS[:KEPT_FOUND]]
    assert FERRY in Offer.of(LINES, "When does the ferry leave?").kept(frozenset()), "it has the words of the question"


def test_what_is_chosen_stays_in_its_place() -> None:
    offer = Offer.of(LINES, QUERY)
    names = [label for label, at in offer.labels.items() if LINES[at] in (FERRY, OLD[0])]
    chosen = offer.parse(json.dumps({"keep": names[::-1]}))
    assert chosen is not None
    kept = offer.kept(chosen)
    assert kept[2] == OLD[0] and kept[-1] == FERRY and len(kept) == len(offer.kept(frozenset())) + 2
    everything = offer.parse(json.dumps({"keep": list(offer.labels)}))
    assert everything is not None and offer.kept(everything) == LINES


@pytest.mark.parametrize("reply", ["", "No.", "[]", "{}", '{"keep": 5}', '{"keep": ["#kiln', '{"keep": ["#stranger"]}'])
def test_a_reply_of_no_use_chooses_nothing(reply: str) -> None:
    """Code ranks all lines then."""
    assert Offer.of(LINES, QUERY).parse(reply) is None
    assert Offer.of(LINES, QUERY).parse('{"keep": []}') == frozenset()


@given(
    st.text()
    | st.lists(st.text() | st.integers() | st.sampled_from(["#kiln", "#small-talk-2", "#ferry"])).map(
        lambda one: json.dumps({"keep": one})
    )
)
def test_no_reply_removes_what_stays(reply: str) -> None:
    offer = Offer.of(LINES, QUERY)
    chosen = offer.parse(reply)
    if chosen is not None:
        kept = offer.kept(chosen)
        assert [line for line in LINES if line in kept] == list(kept)
        assert set(offer.kept(frozenset())) <= set(kept)


@pytest.mark.parametrize("lines", [[], [RECENT, *OLD], [FOUND, *RESULTS], [FOUND, "Notes of the user:", "- x"]])
def test_any_draft_can_be_offered(lines: list[str]) -> None:
    offer = Offer.of(lines, QUERY)
    assert set(offer.kept(frozenset())) <= set(lines)
    assert offer.kept(frozenset(offer.labels.values())) == lines


def test_an_offer_is_short() -> None:
    """Whatever the draft holds; what is not offered is cut by code."""
    long = [FOUND, *(f"- [2025-03-01] user: {'слово ' * 300}{n}" for n in range(100))]
    offer = Offer.of(long, QUERY)
    assert tokens.count(offer.text) < MAX_OFFERED_TOKENS * 1.1
    assert max(map(len, offer.text.splitlines())) < 300
    assert 0 < len(offer.labels) < 100 and list(offer.labels.values()) == list(range(1, len(offer.labels) + 1))
