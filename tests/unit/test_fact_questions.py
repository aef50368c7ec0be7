"""Which facts a question asks for without a word of theirs."""

from __future__ import annotations

import pytest

from maas.memory.fact_questions import FactQuestion

ASKED = {  # question: subject, attribute and kind of the fact that says it
    "Where do I live now?": ("user", "residence", "state"),
    "Which town is my home in?": ("user", "residence", "state"),
    "Where does Olga live?": ("Olga", "residence", "state"),
    "Who do I work for?": ("user", "work", "state"),
    "When is my birthday?": ("user", "birthday", "identity"),
    "How old am I?": ("user", "age", "identity"),
    "What is my dog called?": ("user", "dog:rex", "possession"),
    "Who is my neighbour?": ("user", "neighbour:tom", "relation"),
    "Где я сейчас живу?": ("user", "residence", "state"),
    "В каком городе теперь живёт Роман?": ("Роман", "residence", "state"),
    "Куда мы переехали?": ("user", "residence", "state"),
    "В какой компании я работаю?": ("user", "work", "state"),
    "Как зовут мою собаку?": ("user", "собак:рекс", "possession"),
    "Кто мой начальник?": ("user", "начальник", "relation"),
}
NOT_ASKED = {
    "Where does Olga live?": ("user", "residence", "state"),
    "Where do I live?": ("Olga", "residence", "state"),
    "What is the name of my grandmother?": ("user", "name", "identity"),
    "What is my grandmother called?": ("user", "neighbour:tom", "relation"),
    "What did I say about the season?": ("user", "son:max", "relation"),
    "Which blood type does my neighbour have?": ("user", "neighbour:tom", "relation"),
    "Where did I leave the key?": ("user", "residence", "state"),
    "Как зовут мою бабушку?": ("user", "собак:рекс", "possession"),
    "": ("user", "residence", "state"),
}


@pytest.mark.parametrize("question", ASKED)
def test_asked(question: str) -> None:
    assert FactQuestion.of(question).asks_for(*ASKED[question])


@pytest.mark.parametrize("question", NOT_ASKED)
def test_not_asked(question: str) -> None:
    assert not FactQuestion.of(question).asks_for(*NOT_ASKED[question])
