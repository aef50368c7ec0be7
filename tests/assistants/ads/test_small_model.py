"""A small model that calls no tool by itself: what Qwen2.5-Coder 1.5B replied, call by call, over an account."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maas.agents.chosen_call import WHICH
from maas.agents.domain_request import WORDS
from maas.agents.sourced_answer import NOT_DONE, NOT_SAID
from tests.assistants.ads.marketer import SPEAKERS, Marketer, execute, marketer

QUESTION = "Сколько потратили за последние 7 дней?"
WITHOUT_PERIOD = "Сколько потратили на рекламу?"
ORDER = "Подними бюджет группы «Алматы» до 60 долларов"
CLAIMED = "Ваша группа «Алматы» имеет бюджет 60 долларов."  # and no call
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
        one.stack.start_orchestrator(**one.settings() | {"MAAS_MODEL_PROFILE": "small"})
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


def test_a_call_of_nothing_is_no_look(small: Marketer) -> None:
    """A tool that is not there, and an answer without a figure to a question that only its period tells."""
    unknown = json.dumps({"name": "executeTools", "arguments": {"tools": [{"name": "getReport", "args": {}}]}})
    replies = iter((unknown, "В памяти этого нет.", '{"tool": "getSpendReport"}'))
    small.models.scripts["responder"] = lambda messages: (next(replies), [])
    small.models.replies[SPEAKERS["ads"]] = "За 30 дней реклама обошлась в 20 USD."
    assert small.ask("Во что обошлась реклама за 30 дней?")["final_answer"] == "За 30 дней реклама обошлась в 20 USD."


def test_sums_stand_before_what_they_are_of(small: Marketer) -> None:
    """The model took the first figure that it read, that of a day, for the whole."""
    replies = iter(REPLIES)
    small.models.scripts["responder"] = lambda messages: (next(replies), [])
    small.ask(QUESTION)
    (asked,) = small.models.said_to(SPEAKERS["ads"])
    assert 0 < asked["messages"][-1]["content"].index('"total"') < asked["messages"][-1]["content"].index('"items"')


@pytest.mark.parametrize(
    ("question", "arguments", "chosen"),
    [
        (QUESTION, {"period": "last_week"}, {"period": "last_7d"}),
        ("Сколько потратила кампания «Нет такой» за 7 дней?", {"period": "last_7d"}, {"campaign_id": "Нет такой"}),
    ],
)
def test_data_of_something_else_are_no_look(
    small: Marketer, question: str, arguments: dict[str, str], chosen: dict[str, str]
) -> None:
    """What it called by itself was of other days, or of the whole account in place of the campaign."""
    name = "getCampaignDetails" if "campaign_id" in chosen else "getSpendReport"
    calls = [execute(("getSpendReport", arguments))]

    def say(messages: list[dict[str, Any]]) -> tuple[str, list[tuple[str, str]]]:
        if messages[0]["content"].startswith(WHICH["ru"].partition("{")[0]):
            return json.dumps({"tool": name}), []
        return "", [calls.pop()] if calls else []

    small.models.scripts["responder"] = say
    small.models.replies[SPEAKERS["ads"]] = "Потратили 20 USD."
    run = small.ask(question)
    query = "select tool, arguments, status from tool_executions where run_id = %s order by id"
    made = [one for one in small.stack.rows(query, run["id"]) if one["tool"].startswith("get")]
    assert [one["tool"] for one in made] == ["getSpendReport", name]
    assert chosen.items() <= made[1]["arguments"].items()


def test_what_it_was_asked_is_no_answer(small: Marketer) -> None:
    replies = iter((*REPLIES[:2], "За 7 дней потратили 20 USD."))
    small.models.scripts["responder"] = lambda messages: (next(replies), [])
    small.models.scripts[SPEAKERS["ads"]] = lambda messages: (messages[-1]["content"], [])
    assert small.ask(QUESTION)["final_answer"] == "За 7 дней потратили 20 USD."


def test_the_words_of_results_know_no_rules_of_memory(small: Marketer) -> None:
    """With "say that it is not in memory" before it, the model said so of figures that stood in its message."""
    replies = iter(REPLIES)
    small.models.scripts["responder"] = lambda messages: (next(replies), [])
    small.ask(QUESTION)
    (asked,) = small.models.said_to(SPEAKERS["ads"])
    assert "В памяти этого нет" not in asked["messages"][0]["content"]
    assert asked["messages"][-1]["content"].endswith(WORDS["ru"]["brief"])
    assert "getSpendReport" in asked["messages"][-1]["content"]


def test_what_it_makes_up_is_not_said(small: Marketer) -> None:
    small.models.scripts["responder"] = lambda messages: (INVENTED, [])
    assert small.ask(QUESTION)["final_answer"] == NOT_SAID["ru"]


def test_what_it_says_to_have_done_waits_for_consent(small: Marketer) -> None:
    """The words name the act and quote the object; the amount is the model's, and a person sees it before it holds."""
    replies = iter((CLAIMED, '{"daily_budget": 60}', "Нужно ваше согласие."))
    small.models.scripts["responder"] = lambda messages: (next(replies), [])
    run = small.ask(ORDER)
    (waiting,) = small.pending()
    assert (waiting["tool"], small.writes()) == ("updateBudget", [])
    assert (waiting["arguments"]["daily_budget"], waiting["arguments"]["adset_id"]) == (60, "111")
    assert CLAIMED not in run["final_answer"]


def test_what_it_has_not_done_is_not_said(small: Marketer) -> None:
    small.models.scripts["responder"] = lambda messages: (CLAIMED, [])
    assert small.ask("Подними бюджет до 60 долларов")["final_answer"] == NOT_DONE["ru"]
    assert small.pending() == small.writes() == []


def test_an_amount_that_nobody_named_is_not_asked_for_consent(small: Marketer) -> None:
    replies = iter((CLAIMED, '{"daily_budget": 60}'))
    small.models.scripts["responder"] = lambda messages: (next(replies), [])
    assert small.ask("Подними бюджет группы «Алматы»")["final_answer"] == NOT_DONE["ru"]
    assert small.pending() == small.writes() == []


@pytest.mark.parametrize(
    ("answer", "is_sent"),
    [
        ("До какой суммы?", True),
        ("Уточните, до какой суммы.", True),
        ("Не могу: группа в архиве. Включить её нельзя.", True),
        ("Готово. Что ещё?", False),
        ("Бюджет поднят. Если нужно ещё, напишите.", False),
    ],
)
def test_an_order_is_answered_by_asking_back_or_saying_that_it_is_not_done(
    small: Marketer, answer: str, is_sent: bool
) -> None:
    small.models.scripts["responder"] = lambda messages: (answer, [])
    said = small.ask("Подними бюджет группы «Алматы»")["final_answer"]
    assert said == (answer if is_sent else NOT_DONE["ru"])


def test_the_name_in_quotes_is_the_object(small: Marketer) -> None:
    """Translated by the model, it was none of the account's."""
    replies = iter(("В памяти этого нет.", '{"tool": "getCampaignDetails"}'))
    small.models.scripts["responder"] = lambda messages: (next(replies), [])
    small.models.replies[SPEAKERS["ads"]] = "По кампании «Заявки» данных за вчера нет."
    run = small.ask("Какой расход у кампании «Заявки» вчера?")
    calls = small.stack.rows("select tool, arguments, status from tool_executions where run_id = %s", run["id"])
    (made,) = [one for one in calls if one["tool"] == "getCampaignDetails"]
    assert (made["arguments"]["campaign_id"], made["arguments"]["period"]) == ("Заявки", "yesterday")
    assert next(replies, None) is None
