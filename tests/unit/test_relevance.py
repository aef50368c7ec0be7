"""Which messages answer a query whatever a model says of it."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import numpy as np
import pytest

from maas.memory.dates import named_moment, read_dates
from maas.memory.query import scope_of
from maas.memory.ranking import Evidence, RankedMessage
from maas.memory.relevance import FOUND, UNLIKELY, Form, Relevance, confidence, form_of, names_in
from maas.memory.similarity import Similarity
from shared.db import open_database
from tests.unit.test_ranking import evidence

FORMS: dict[Form, str] = {
    "general": "How do I reverse a list in Python?|Explain what an index is.|Translate 'good morning' into French.|"
    "What is inflation?|Why is the sky blue?|Please write a haiku about autumn|What is a prime number?|"
    "Как перевернуть список?|Объясни, что такое индекс|Переведи «доброе утро»|Что такое фотосинтез?|"
    "Почему небо голубое?|Сколько будет 7 умножить на 8?|Напиши хокку",
    "personal": "Can I go running tomorrow?|Where did we park?|Do they expect me?|В какую галерею меня водил отец?|"
    "Когда мне к стоматологу?|Почему я бросила затею?|What should I not forget, and when do I leave?",
    "plain": "What food must Comet never get?|Where does Alma live?|What oil does the car need?|Who has the spare key?|"
    "What is the capital of France?|How does John support Maria?|Где живёт Алма?|Какая столица Франции?|"
    "Tell me who has the key",
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: Form) -> None:
    for query in FORMS[form].split("|"):
        assert form_of(query) == form, query


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("What food must Comet never get?", ["Comet"]),
        ("Where does O'Brien live? Does Alma know? I do.", ["O'Brien", "Alma"]),
        ("Чем нельзя кормить Комету?", ["Комету"]),
        ("Where is the key", []),
        ("", []),
    ],
)
def test_names(query: str, names: list[str]) -> None:
    assert names_in(query) == names


def message(coverage: float, own: float, mask: int = 0) -> RankedMessage:
    return RankedMessage(uuid4(), None, 0.5, coverage, own, mask)


@pytest.mark.parametrize(
    ("form", "coverage", "own", "mask", "is_met"),
    [
        ("personal", 0.15, 0.15, 0, True),
        ("personal", 0.14, 0.14, 0, False),
        ("plain", 0.4, 0.15, 0, True),
        ("plain", 0.39, 0.39, 0, False),
        ("plain", 0.9, 0.1, 0, False),
        ("plain", 0.05, 0.0, 2, True),
        ("plain", 0.04, 0.04, 2, False),
        ("plain", 0.3, 0.3, 1, False),
        ("general", 0.6, 0.3, 0, True),
        ("general", 0.59, 0.59, 0, False),
    ],
)
def test_what_a_message_must_hold(form: Form, coverage: float, own: float, mask: int, is_met: bool) -> None:
    """The share of the query that its form demands, some of it in its own words; or a name."""
    assert Relevance(form, 2).is_met(message(coverage, own, mask)) is is_met


@pytest.mark.parametrize(
    ("query", "days_ago", "scope"),
    [
        ("Что было 8 мая?", 2, "hot"),
        ("What happened on May 8?", 9, "warm"),
        ("Что было 8 мая?", 30, "cold"),
        ("What did we do in May?", 300, "cold"),
        ("2025-05-08", 1, "hot"),
        ("yesterday", 40, "hot"),
    ],
)
def test_a_date_is_as_old_as_it_is(query: str, days_ago: int, scope: str) -> None:
    """By the present date: the same words are hot two days after the date and cold a month after."""
    now = datetime(2025, 5, 8, 18, tzinfo=UTC) + timedelta(days_ago)
    moment = named_moment(read_dates(query, now), now)
    assert moment is not None and moment <= now and scope_of(moment, now) == scope


def test_a_query_without_a_date_names_no_moment() -> None:
    now = datetime.now(UTC)
    assert named_moment(read_dates("What about the dentist?", now), now) is None


def asking(**weights: float) -> Evidence:
    """The evidence for a query of terms with these weights."""
    return replace(evidence([]), terms=tuple(weights), term_weights=tuple(weights.values()))


def test_confidence_grows_with_coverage() -> None:
    asked = asking(grandmoth=4.0, fish=3.0)
    found = [confidence(asked, [message(share, share)]) for share in (0.0, 0.2, 0.38, 0.6, 1.0)]
    assert found == sorted(found) and found[0] == 0.0
    assert found[1] < UNLIKELY < found[2] == pytest.approx(FOUND) and found[4] > 0.99
    assert confidence(asked, []) == 0.0


def test_words_that_only_ask_for_a_name_are_no_answer() -> None:
    """`What is my grandmother called?` is not answered by what the neighbour is called."""
    asked = asking(grandmoth=4.0, call=3.0)
    assert confidence(asked, [message(0.43, 0.43, 2)]) == 0.0
    assert confidence(asked, [message(0.57, 0.57, 1)]) > FOUND
    assert confidence(asking(call=3.0), [message(1.0, 1.0, 1)]) > FOUND, "there is no other word"


def test_confidence_by_meaning() -> None:
    """Fitted to both the coverage and the score of the best messages."""
    similar = replace(asking(grandmoth=4.0), similarity=Similarity(*[np.zeros(0)] * 3))
    low, high = message(0.5, 0.5), message(0.1, 0.1)._replace(score=0.9)
    assert confidence(similar, [low]) == pytest.approx(1 / (1 + math.exp(-(6.4 * 0.5 + 4.4 * 0.5 - 5.3))))
    assert confidence(similar, [low, high]) == pytest.approx(1 / (1 + math.exp(-(6.4 * 0.5 + 4.4 * 0.9 - 5.3))))


def test_any_term_but_the_asking_one_counts() -> None:
    asked = asking(call=3.0, grandmoth=4.0, late=1.0)
    found = [confidence(asked, [message(0.9, 0.9, mask)]) for mask in (1, 2, 4, 6)]
    assert found[0] == 0.0 < found[2] < FOUND < found[1] < found[3]


async def test_names_of_a_query_are_terms(database: str) -> None:
    async with open_database(database, 1, "test") as db:
        for text, terms, form, names in (
            ("Where does Alma live?", ("live", "alma"), "plain", 2),
            ("Where does alma live?", ("live", "alma"), "plain", 0),
            ("Where do I and Alma live?", ("alma", "live"), "personal", 1),
            ("What is an index in Alma?", ("index", "alma"), "general", 0),
            ("Where does Alma live?", (), "plain", 0),
        ):
            asked = replace(evidence([], text), terms=terms, term_weights=(1.0,) * len(terms))
            found = await Relevance.of(db, asked)
            assert (found.form, found.names) == (form, names), text


def test_a_name_is_one_of_the_names() -> None:
    assert not Relevance("plain", 2).is_met(message(0.05, 0.0, 5)), "other terms"
    assert Relevance("personal", 0).min_coverage == 0.15
    assert not Relevance("personal", 0).is_met(message(0.0, 0.0)), "nothing is no answer"
