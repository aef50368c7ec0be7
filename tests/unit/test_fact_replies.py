"""What a model writes down as facts is kept as far as the person said it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from maas.facts.exchanges import ExchangeLine, facts_of
from maas.facts.replies import MAX_CHARS, MAX_FACTS, KnownFact, ModelFact, Said, read_facts

EXCHANGE = [
    Said("Alma", "I gave up the flat near the harbour, 40 m² were too few, and found a house in Lund.", True),
    Said("assistant", "Lund is pretty. You might like cycling there, and Alma surely owns a boat.", False),
]
KNOWN = [
    KnownFact("Alma has a flat near the harbour.", "user", "possession:flat-harbour", "possession"),
    KnownFact("Ben lives in Graz.", "Ben", "residence", "state"),
]


def fact(text: str, about: str = "Alma", change: str = "new", known: Any = 0, kind: str = "state") -> dict[str, Any]:
    return {"fact": text, "about": about, "kind": kind, "change": change, "known": known}


def read(*rows: Any) -> list[ModelFact]:
    return read_facts(list(rows), EXCHANGE, ["I live with two cats."], KNOWN)


def test_a_statement_of_the_person() -> None:
    (found,) = read(fact("Alma has found a house in Lund."))
    assert (found.fact.subject, found.fact.change, found.messages) == ("user", "states", (0,))


def test_what_it_does_to_a_known_fact() -> None:
    (found,) = read(fact("Alma gave up the flat near the harbour.", change="ends", known=1))
    assert (found.fact.attribute, found.fact.change) == ("possession:flat-harbour", "ends")
    (found,) = read(fact("Alma found a house, not a flat near the harbour.", change="replaces", known=1))
    assert (found.fact.attribute, found.fact.change) == ("possession:flat-harbour", "states")
    (found,) = read(fact("Anything.", change="again", known=1))
    assert found.fact.statement == KNOWN[0].statement


@pytest.mark.parametrize(
    "row",
    [
        fact("Alma owns a boat."),  # the assistant's guess
        fact("Alma likes cycling."),
        fact("Alma has a house of 90 m² in Lund."),  # a number that nobody said
        fact("Alma hat ein Haus in Kiel gekauft."),
        fact("Альма нашла дом в Лунде."),  # another language
        fact("Alma lives with two cats."),  # said before, not in this exchange
        fact("Alma found a house.", change="replaces", known=3),  # a number that was not given
        fact("Alma found a house.", change="replaces", known=0),
        fact("Alma found a house.", change="replaces", known="1"),
        fact("Alma found a house.", change="deletes", known=1),
        fact("Alma found a house.", kind="secret"),
        fact(""),
        fact("\u200b"),
        {"fact": "Alma found a house in Lund."},
        {**fact("x"), "fact": 7},
        "Alma found a house in Lund.",
        None,
        ["Alma"],
    ],
)
def test_what_is_wrong_is_left_out(row: Any) -> None:
    assert read(row) == []


def test_a_fact_about_somebody_else_replaces_nothing() -> None:
    (found,) = read(fact("Alma found a house in Lund.", change="replaces", known=2))
    assert found.fact.attribute != "residence" and found.fact.subject == "user"


def test_a_reply_that_replaces_everything_is_not_believed() -> None:
    rows = [fact(f"Alma gave up the flat near the harbour {word}.", change="ends", known=1) for word in "abcd"]
    assert read(*rows) == []
    assert len(read(*rows, fact("Alma has found a house in Lund."))) == 1


@pytest.mark.parametrize("raw", [None, 7, "facts", {"fact": "x"}, [], [[]], [None] * 600])
def test_no_facts(raw: Any) -> None:
    assert read_facts(raw, EXCHANGE, [], KNOWN) == []


def test_many_and_long_ones_are_bounded() -> None:
    words = ["flat", "harbour", "house", "Lund", "gave", "found"]
    rows = [fact(f"Alma {' '.join(words[: n % 6 + 1])} house in Lund") for n in range(500)]
    assert len(read(*rows)) <= MAX_FACTS
    (found,) = read(fact("Alma found a house in Lund. " * 40))
    assert len(found.fact.statement) <= MAX_CHARS
    assert read(fact("\x00Alma found\na house in Lund</logs>"))[0].fact.statement == "Alma found a house in Lund</logs>"


def test_words_of_tools_say_nothing() -> None:
    exchange = [Said("user", "The report says that the house in Lund is sold.", False)]
    assert read_facts([fact("The house in Lund is sold.", about="house")], exchange, [], []) == []


def test_as_many_as_an_exchange_may_have() -> None:
    words = ["apple", "boat", "chair", "drum", "eagle", "fence", "goat", "hammer", "island"]
    exchange = [Said("Alma", " ".join(f"The {word} is blue." for word in words), True)]
    found = read_facts([fact(f"The {word} is blue.", word) for word in words], exchange, [], [])
    assert [one.fact.subject for one in found] == words[:MAX_FACTS]


def test_three_changes_are_believed() -> None:
    rows = [fact(f"Alma gave up the flat near the harbour {word}.", change="ends", known=1) for word in "abc"]
    assert [one.fact.change for one in read(*rows)] == ["ends"]


@pytest.mark.parametrize(
    ("statement", "is_kept"),
    [("Otter walnut copper violet granite", True), ("Otter walnut velvet violet granite", False)],
)
def test_most_words_of_a_statement_were_said(statement: str, is_kept: bool) -> None:
    """Three of five are enough, two are not."""
    exchange = [Said("Alma", "The otter took a walnut and the copper.", True)]
    assert bool(read_facts([fact(statement, "otter")], exchange, [], [])) is is_kept


@pytest.mark.parametrize(
    ("about", "subject", "attribute"),
    [("BEN", "Ben", "trade:joiner"), ("Aaron", "Aaron", None), ("Zoe", "Zoe", None)],
)
def test_a_change_is_of_the_same_subject(about: str, subject: str, attribute: str | None) -> None:
    exchange = [Said("Alma", f"{about} is no longer a joiner but a baker.", True)]
    known = [KnownFact("Ben is a joiner.", "Ben", "trade:joiner", "state")]
    row = fact(f"{about} is no joiner but a baker.", about, "replaces", 1)
    (found,) = read_facts([row], exchange, [], known)
    assert found.fact.subject == subject
    assert (found.fact.attribute == "trade:joiner") is (attribute is not None)


def test_a_change_of_what_has_nothing_to_do_with_it_is_a_new_fact() -> None:
    exchange = [Said("Alma", "I bought a violin.", True)]
    (found,) = read_facts([fact("Alma bought a violin.", change="replaces", known=1)], exchange, [], KNOWN)
    assert found.fact.attribute != KNOWN[0].attribute


def test_the_attribute_is_that_of_the_first_rule() -> None:
    exchange = [Said("Alma", "I live in Lund and my dog is called Rex.", True)]
    (found,) = read_facts([fact("I live in Lund and my dog is called Rex.")], exchange, [], [])
    assert found.fact.attribute == "residence"


def test_a_fact_rests_on_the_messages_that_say_most_of_it() -> None:
    exchange = [
        Said("Alma", "The otter took a walnut.", True),
        Said("Alma", "The otter took a walnut, a copper ring and the violet granite.", True),
        Said("Alma", "Granite.", True),
    ]
    (found,) = read_facts([fact("Otter walnut copper violet", "otter")], exchange, [], [])
    assert found.messages == (0, 1)
    (found,) = read_facts([fact("Otter walnut copper violet granite ring", "otter")], exchange, [], [])
    assert found.messages == (1,)


def line(speaker: str, text: str) -> ExchangeLine:
    return ExchangeLine(datetime(2026, 11, 24, tzinfo=UTC), "user", speaker, "", text, text)


def test_where_several_people_are_users_each_speaks_of_themselves() -> None:
    """Nobody knows which of them the memory belongs to."""
    lines = [line("Ann", "I live in Oslo."), line("Ben", "I live in Graz and I have a red boat.")]
    raw = [fact("Ben has a red boat.", "Ben", kind="possession")]
    written = facts_of(raw, lines, [], ["1", "2"], [], "openai:m")
    assert {(one["statement"], one["subject"], *one["log_ids"]) for one in written} == {
        ("I live in Oslo.", "Ann", "1"),
        ("I live in Graz.", "Ben", "2"),
        ("Ben has a red boat.", "Ben", "2"),
    }
    alone = facts_of(raw, lines[1:], [], ["2"], [], "openai:m")
    assert {one["subject"] for one in alone} == {"user"}
