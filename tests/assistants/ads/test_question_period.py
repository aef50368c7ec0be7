"""The period that a question names: by name, counted or from date to date, in both languages, or none at all."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.assistants.ads.period import PeriodArguments
from maas.assistants.ads.question_period import question_period
from tests.assistants.ads.questions import QUESTIONS, Order

TODAY = date(2026, 11, 29)
ELLIPTIC = "Сколько дней за последние 7 «Кухни» вообще шли?"  # of what the seven are, words before it tell


@pytest.mark.parametrize(
    ("question", "period"),
    [
        ("Сколько потратили сегодня?", "today"),
        ("What did we spend yesterday?", "yesterday"),
        ("Что было на этой неделе?", "this_week"),
        ("Лиды за прошлую неделю", "last_week"),
        ("Лиды за неделю", "last_7d"),
        ("Расход с начала месяца", "this_month"),
        ("Spend of the last month", "last_month"),
        ("Расход за последний месяц", "last_30d"),
        ("Spend in the past month", "last_30d"),
        ("CPL в прошлом квартале", "last_quarter"),
        ("CPL this quarter", "this_quarter"),
        ("Выручка этого года", "this_year"),
        ("Выручка прошлого года", "last_year"),
        ("Выручка за год, за последние 12 месяцев", "last_12m"),
        ("Spend over the last 2 weeks", "last_14d"),
        ("За полгода", "last_6m"),
        ("Сколько лидов за всё время?", "all"),
    ],
)
def test_named(question: str, period: str) -> None:
    assert question_period(question, TODAY) == {"period": period}


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("Клики с 1 по 15 ноября", "2026-11-01", "2026-11-15"),
        ("Clicks from October 1 to October 15", "2026-10-01", "2026-10-15"),
        ("Clicks between 1 and 15 November", "2026-11-01", "2026-11-15"),
        ("С 28 декабря 2025 по 3 января 2026", "2025-12-28", "2026-01-03"),
        ("Расход с 01.10.2026 по 15.10.2026", "2026-10-01", "2026-10-15"),
        ("Расход за 2026-10-05", "2026-10-05", "2026-10-05"),
        ("Что было 5 октября?", "2026-10-05", "2026-10-05"),
        ("Что было 5 декабря?", "2025-12-05", "2025-12-05"),
        ("October 5th, 2025", "2025-10-05", "2025-10-05"),
        ("Расход в октябре", "2026-10-01", "2026-10-31"),
        ("May I see the spend in May?", "2026-05-01", "2026-05-31"),
        ("За последние 10 дней", "2026-11-20", "2026-11-29"),
        ("За 3 месяца", "2026-08-30", "2026-11-29"),
        ("За 500 лет", "2000-01-01", "2026-11-29"),
        ("Лиды с 5 октября", "2026-10-05", None),
    ],
)
def test_dates(question: str, first: str, last: str | None) -> None:
    named = {"date_from": first} | ({"date_to": last} if last else {})
    assert question_period(question, TODAY) == named


@pytest.mark.parametrize(
    "question",
    [
        "Какой CPL?",
        "Сравни вчера и сегодня",  # of two, a model has to choose
        "Октябрь против ноября",
        "Покажи последние 5 лидов",
        "Что было до 5 октября?",
        "31 февраля",
        "С 20 по 10 ноября",
        "May I see the spend?",
        "Подними бюджет до 5.05",
        "1" * 5_000,
        "за " * 5_000,
    ],
)
def test_nothing_is_guessed(question: str) -> None:
    assert question_period(question, TODAY) == {}


def test_the_same_days_are_said_in_two_ways() -> None:
    week = {"date_from": "2026-11-23", "date_to": "2026-11-29"}
    assert PeriodArguments.is_same(week, {"period": "last_7d"}, TODAY)
    assert PeriodArguments.is_same({"date_from": "2026-11-23"}, {"period": "last_7d"}, TODAY)
    assert not PeriodArguments.is_same({"period": "last_week"}, {"period": "last_7d"}, TODAY)
    assert not PeriodArguments.is_same({}, {"period": "last_7d"}, TODAY)


def test_forty_questions() -> None:
    for one in QUESTIONS:
        named = question_period(one.text, TODAY)
        if isinstance(one, Order) or one.text == ELLIPTIC:
            assert named == {}, one.text
        else:
            assert named == {key: one.call[1][key] for key in PeriodArguments.model_fields if key in one.call[1]}


@given(
    st.text() | st.from_regex(r"(с|по|за|from|to|in|of|last) [0-9]{1,4}[. -][0-9а-яa-z]{1,9} (октября|may|20[0-9]{2})")
)
def test_whatever_it_returns_is_taken(question: str) -> None:
    PeriodArguments.model_validate(question_period(question, TODAY))
