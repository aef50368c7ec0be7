"""The Analyzer by rules: every marker phrase, every scope, every threshold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from maas.builtin_model import BuiltinModel
from maas.builtin_model.analyzer import classify, keywords, refers_back, time_scope
from shared.models import Request

RECALL = [
    "мы обсуждали это", "Мы с тобой обсуждали базу", "мы это уже обсуждали", "О чём мы говорили вчера?",
    "обсудили ли мы план?", "Помнишь, как я болел?", "Помните меня?", "Вспомни название", "Напомни адрес",
    "сделай как тогда", "Как в прошлый раз", "сделай как раньше.", "Продолжи", "продолжим?",
    "Давай продолжать разговор", "вернёмся к плану", "Что мы решили по базе?", "мы договорились на пять",
    "Ты мне советовал книгу", "Что ты предлагал?", "как я уже говорил", "я тебе рассказывал", "прошлый разговор",
    "На чём мы остановились?", "Кто я?", "Как меня зовут?", "Что ты знаешь обо мне?", "Do you remember me?",
    "Remind me of it", "What did we discuss?",
    "Which paint did we use?", "what we talked about", "last time", "the previous conversation",
    "You told me", "What did you recommend?", "You've already suggested it", "as I said", "I told you",
    "did I mention it?", "We agreed on Postgres", "like before", "Continue", "please continue the story",
    "let's continue", "continue our plan", "where were we?", "pick up where it ended", "Let's go back to the plan",
    "as you recall", "Who am I?", "what do you know about me?",
]  # fmt: skip
OWN = [
    "мой кот", "Моя собака", "моё дело", "мои планы", "моего брата", "моей сестре", "моему сыну", "с моим другом",
    "моих детей", "моими словами", "мою машину", "о моём проекте", "наш план", "наша команда", "наше дело",
    "наши цели", "нашего отдела", "нашей семье", "нашему врачу", "с нашим другом", "наших детей", "нашими силами",
    "нашу базу", "о нашем доме", "тот проект", "та идея", "ту книгу", "того проекта", "тому человеку", "те документы",
    "тех людей", "этот проект", "этой задачи", "my dog", "Our plan", "a friend of mine", "it is ours", "that project",
    "those files", "That meeting",
]  # fmt: skip
GENERAL = [
    "Столица Франции?", "Сколько будет 2+2?", "Как работает TCP?", "Кто написал «Войну и мир»?",
    "Что такое машинное обучение?", "Когда в последний раз Италия выиграла чемпионат?",
    "Как раньше люди жили без интернета?", "Посоветуй книгу", "Я хочу знать, что сказал Ленин",
    "Как продолжить цикл в Python?", "тем более", "в том числе", "Моцарт", "Нашествие монголов",
    "Я начал изучать Python, с чего начать?", "Та же ошибка", "тот, кто ищет", "мойка", "Переведи: кот", "",
    "What is the capital of France?", "Can you recommend a good book?", "How do I install Python?",
    "What is recall in ML?", "How to write a resume?", "Do you know who said that?",
    "What does the continue statement do?", "Who was the first president?", "How do you talk to customers?",
    "When was the first time humans flew?", "myth", "hours", "What is a mine?",
    "I wrote a function, why does it fail?",
]  # fmt: skip


@pytest.mark.parametrize("query", RECALL + OWN)
def test_phrases_that_refer_back(query: str) -> None:
    assert refers_back(query)
    assert refers_back(query.upper())
    assert refers_back(f"Послушай, {query.lower()}!".replace("ё", "е"))


@pytest.mark.parametrize("query", GENERAL)
def test_self_contained_queries(query: str) -> None:
    assert not refers_back(query)


@pytest.mark.parametrize(
    ("scope", "queries"),
    [
        (
            "hot",
            "вчера|Недавно|позавчера|сегодня утром|на днях|только что|три дня назад|2 дня назад|yesterday|recently|"
            "last night|today|the other day|2 days ago|a couple of days ago|just now",
        ),
        (
            "warm",
            "на неделе|на этой неделе|на прошлой неделе|неделю назад|5 дней назад|две недели назад|last week|"
            "this week|a week ago|two weeks ago|10 days ago|last Monday",
        ),
        (
            "cold",
            "в прошлом месяце|месяц назад|полгода назад|в прошлом году|год назад|давно|прошлым летом|"
            "3 недели назад|8 мая|в январе|12.05.2023|2023-05-08|в 2021 году|несколько лет назад|"
            "last month|last year|a year ago|long ago|three weeks ago|on May 8|8 May 2023|in January|"
            "last summer|a few months ago",
        ),
        (None, "Мой кот|May I ask?|что мы решили|we talked|march on|"),
    ],
)
def test_time_scopes(scope: str | None, queries: str) -> None:
    for query in queries.split("|"):
        assert time_scope(query) == scope, query
        assert time_scope(query.upper()) == scope, query


def test_the_farthest_time_wins() -> None:
    assert time_scope("Вчера ты сказал, что в прошлом месяце было жарко") == "cold"


def candidate(number: int, score: float) -> dict[str, Any]:
    return {"label": f"#label-{number}", "score": score}


def test_no_need() -> None:
    assert classify("Столица Франции вчера?", [candidate(1, 0.9)], 0.49) == {
        "about": "world",
        "record": "none",
        "keywords": [],
    }


@pytest.mark.parametrize(("memory_score", "about"), [(0.0, "world"), (0.49, "world"), (0.5, "person"), (1.0, "person")])
def test_memory_that_knows_the_words_is_needed(memory_score: float, about: str) -> None:
    assert classify("Где ключи от гаража?", [], memory_score)["about"] == about


@pytest.mark.parametrize(("score", "record"), [(0.29, "none"), (0.3, "#label-1"), (1.7, "#label-1")])
def test_a_candidate_must_be_good_enough(score: float, record: str) -> None:
    assert classify("Мой кот?", [candidate(1, score)], 0)["record"] == record


def test_a_question_in_the_first_person_needs_memory() -> None:
    assert classify("Can I go running?", [], 0.0)["about"] == "world"
    assert classify("Can I go running?", [], 0.0, asks_of_user=True)["about"] == "person"


def test_the_first_candidate_that_fits_is_found() -> None:
    candidates = [candidate(1, 0.29), candidate(2, 0.5), candidate(3, 0.5)]
    assert classify("Как зовут мою собаку?", candidates, 0)["record"] == "#label-2"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Помнишь, как зовут мою собаку Рекс?", ["зовут", "собаку", "рекс"]),
        ("What did we decide about the database last week?", ["database"]),
        ("Наш кот, коты и котов", ["кот"]),
        ("О чём мы говорили вчера?", []),
        ("один два три четыре пять шесть семь восемь девять десять", None),
    ],
)
def test_keywords(query: str, expected: list[str] | None) -> None:
    found = keywords(query)
    assert len(found) <= 4
    assert expected is None or found == expected


async def test_the_model_answers_in_json() -> None:
    model = BuiltinModel()
    inputs = {"user_query": "Мой кот?", "candidates": [candidate(1, 0.5)], "memory_score": 0.2}
    reply = await model.complete(Request("Analyzer", (), inputs=inputs), 1.0)
    assert json.loads(reply.text) == classify("Мой кот?", [candidate(1, 0.5)], 0.2)
