"""A small model that calls no tool by itself: what Qwen2.5-Coder 1.5B replied, call by call, over an account."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from maas.agents.sourced_answer import NOT_SAID
from tests.assistants.ads.marketer import SPEAKERS, Marketer, marketer

QUESTION = "Сколько потратили за последние 7 дней?"
WITHOUT_PERIOD = "Сколько потратили на рекламу?"
INVENTED = "За последние 7 дней потратили 1500 рублей."
REPLIES = (
    "В памяти этого нет.",
    '{"tool": "getSpendReport"}',
    '{\n  "parameter": "period"\n}',
    '{\n  "period": "last_7d"\n}',
)


@pytest.fixture
def small(fresh_database: str, tmp_path: Path) -> Iterator[Marketer]:
    with marketer(fresh_database, tmp_path) as one:
        one.stack.start_orchestrator(**one.settings())
        yield one


@pytest.mark.parametrize(("question", "asked"), [(QUESTION, 2), (WITHOUT_PERIOD, 4)])
def test_its_question_is_looked_up(small: Marketer, question: str, asked: int) -> None:
    """A period that the question names is read by code; what only a schema would have made it fill in is left out."""
    replies = iter(REPLIES[:asked])
    small.models.scripts["responder"] = lambda messages: (next(replies), [])
    small.models.replies[SPEAKERS["ads"]] = "За последние 7 дней потратили 20 USD."
    run = small.ask(question)
    assert next(replies, None) is None
    assert run["final_answer"] == "За последние 7 дней потратили 20 USD."
    calls = small.stack.rows(
        "select tool, arguments from tool_executions where run_id = %s and effect = 'read'", run["id"]
    )
    (given,) = [one["arguments"] for one in calls if one["tool"] == "getSpendReport"]
    assert (given["period"], given["date_from"], given["group_by"]) == ("last_7d", None, "day")


def test_the_words_of_results_know_no_rules_of_memory(small: Marketer) -> None:
    """With "say that it is not in memory" before it, the model said so of figures that stood in its message."""
    replies = iter(REPLIES)
    small.models.scripts["responder"] = lambda messages: (next(replies), [])
    small.ask(QUESTION)
    (asked,) = small.models.said_to(SPEAKERS["ads"])
    assert "В памяти этого нет" not in asked["messages"][0]["content"]
    assert "getSpendReport" in asked["messages"][-1]["content"]


def test_what_it_makes_up_is_not_said(small: Marketer) -> None:
    small.models.scripts["responder"] = lambda messages: (INVENTED, [])
    assert small.ask(QUESTION)["final_answer"] == NOT_SAID["ru"]
