"""Which messages say the same, and which replace others."""

from __future__ import annotations

import time

import pytest

from maas.memory.statements import Statements, replaces, says_change


def are_same(one: str, other: str, speaker: str = "Ann") -> bool:
    statements = Statements()
    statements.add(7, "Ann", one)
    return statements.find(speaker, other) == 7


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I live in Lisbon.", "I live in Lisbon."),
        ("I live in Lisbon.", "Well, i live in  lisbon!"),
        ("Ну вот, я живу в Лиссабоне", "Я живу в Лиссабоне."),
        ("My sister Alma lives in Lisbon with two cats", "My sister Alma lives in Lisbon happily with two cats"),
        ("🙂", "🙂"),
        ("The, the!", "the the"),
        ("word " * 1000, "word " * 1000),
    ],
)
def test_the_same_in_nearly_the_same_words(one: str, other: str) -> None:
    assert are_same(one, other) and are_same(other, one)
    assert not are_same(one, other, "Ben"), "what another speaker says of himself is another fact"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I live in Lisbon.", "I live in Porto."),
        ("I have 2 cats and a dog at home", "I have 3 cats and a dog at home"),
        ("I really like the dogs of my neighbour", "I really do not like the dogs of my neighbour"),
        ("I really like the dogs of my neighbour", "I really don't like the dogs of my neighbour"),
        ("Мой сосед любит своих больших собак", "Мой сосед не любит своих больших собак"),
        ("We met at the harbour on Monday morning", "We met at the harbour on Monday 5 morning"),
        ("Ben called Ann about the boat and the harbour", "Ann called Ben about the boat and the harbour"),
        ("I like tea", "I like green tea"),
        ("You live in Lisbon with your two cats.", "You live in Lisbon with your two cats?"),
        ("🙂", "🙁"),
        ("word " * 1000, "word " * 1001),
    ],
)
def test_another_value_is_another_statement(one: str, other: str) -> None:
    assert not are_same(one, other) and not are_same(other, one)


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("My sister Alma lives in Porto now.", "My sister Alma lives in Lisbon."),
        ("I now work at the harbour", "I work at a bakery"),
        ("Моя сестра Альма теперь живёт в Порту.", "Моя сестра Альма живёт в Лиссабоне."),
        ("Сейчас я работаю в порту", "Я работаю в пекарне"),
        ("My rent is 950 a month now.", "My rent is 900 a month."),
        ("I no longer live in Lisbon.", "I live in Lisbon."),
        ("Я больше не живу в Лиссабоне.", "Я живу в Лиссабоне."),
    ],
)
def test_a_later_statement_replaces_an_earlier_one(newer: str, older: str) -> None:
    assert says_change(newer) and replaces(newer, older)
    assert not replaces(older, newer)


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("My sister Berta lives in Porto now.", "My sister Alma lives in Lisbon."),
        ("My sister Berta lives in Lisbon now.", "My sister Alma lives in Lisbon."),
        ("My older sister Berta lives in Lisbon now.", "My older sister Alma lives in Lisbon."),
        ("Моя сестра Берта теперь живёт в Порту.", "Моя сестра Альма живёт в Лиссабоне."),
        ("I like painting now.", "I like hiking."),
        ("In my free time I like painting now.", "In my free time I like hiking."),
        ("On Sundays I like to play chess now", "On Sundays I like to play tennis"),
        ("My sister Alma lives in Porto.", "My sister Alma lives in Lisbon."),
        ("Does my sister Alma live in Porto now?", "My sister Alma lives in Lisbon."),
        ("My sister Alma also lives in Porto now.", "My sister Alma lives in Lisbon."),
        ("I would live in Porto now", "I live in Lisbon"),
        ("I do not live in Porto now.", "I do not live in Lisbon."),
        ("My sister is a doctor now.", "My sister is in Lisbon."),
        ("I live in Lisbon now.", "I live in Lisbon."),
        ("I no longer live in Lisbon.", "I live in Porto."),
        ("My sister Alma lives in Porto now. I miss her.", "My sister Alma lives in Lisbon."),
        ("I live in Porto now " + "and the weather is good " * 20, "I live in Lisbon"),
        ("Thanks, see you now", "Thanks, see you tomorrow"),
    ],
)
def test_what_may_be_true_as_well_is_not_replaced(newer: str, older: str) -> None:
    assert not replaces(newer, older)


def test_hostile_statements_are_compared_with_few() -> None:
    statements = Statements()
    begin = time.process_time()
    for number in range(500):
        text = " ".join(["unbelievable"] + [f"word{n}" for n in range(number % 50 + 5)] + [f"end{number}"])
        if statements.find("Ann", text) is None:
            statements.add(number, "Ann", text)
    assert time.process_time() - begin < 2
