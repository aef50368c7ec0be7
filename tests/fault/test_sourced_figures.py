"""Figures of an assistant come from its tools: what a small model made up, or wrote instead of a call, is not sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from maas.agents.sourced_answer import NOT_SAID
from tests import sse
from tests.agency import ADVISER, Agency

AGENTS = [{name: ADVISER[name] for name in ("name", "role_prompt", "about")}]
Messages = list[dict[str, Any]]
Said = tuple[str, list[tuple[str, str]]]
DONE: Said = ("Готово.", [])
CHOICE: Said = ('{"tool": "get_spend"}', [])
LOOK: Said = ("", [("executeTools", json.dumps({"tools": [{"name": "get_spend"}], "user_question": "How much?"}))])
INVENTED = (  # what Qwen2.5-Coder 1.5B said before any call
    "В прошлом месяце потратили 2000$ и получили 1000$ ROI.",
    'Вот результат запроса:\n\n```json\n{"domain": "ads", "result": {"spend": 1500.0, "lead_count": 50}}\n```',
    'getDomainTools with {"domain": "adverts"}\nexecuteTools with {"tools": [{"name": "get_spend"}]}',
    "В памяти этого нет.",
    "In this case, no specific tool was called. I'm ready to assist you.",
)


@pytest.fixture
def script(agency: Agency) -> Callable[..., list[Messages]]:
    """Have the model say one thing after the other; returns the messages of each of its calls."""
    (agency.stack.folder / "leads").touch()

    def write(*said: Said) -> list[Messages]:
        asked: list[Messages] = []

        def say(messages: Messages) -> Said:
            asked.append(messages)
            return said[min(len(asked), len(said)) - 1]

        agency.models.scripts["responder"] = say
        return asked

    return write


def systems(asked: list[Messages]) -> list[str]:
    """What each call of the assistant's model was: an answer, or a choice of a tool."""
    return ["choice" if "get_spend: Spend of today" in one[0]["content"] else "answer" for one in asked]


@pytest.mark.parametrize("text", INVENTED)
def test_what_is_said_without_a_look_is_looked_up(agency: Agency, script: Callable[..., Any], text: str) -> None:
    """A call is chosen for the question within a schema and made; the answer is that of the tool."""
    asked = script((text, []), CHOICE)
    agency.open("meta_tools", AGENTS, toolset=["adverts"], sourced_figures=True)
    run_id = agency.ask("Сколько потратили?")
    assert agency.answer(run_id) == "Ads say seventy."
    assert systems(asked) == ["answer", "choice"]
    enum = [one["response_format"] for one in agency.models.said_to("responder") if "response_format" in one]
    assert "get_spend" in json.dumps(enum) and "pause_campaign" not in json.dumps(enum)
    assert len(agency.stack.rows("select from tool_executions where run_id = %s and tool = 'get_spend'", run_id)) == 1


WRITTEN = '{"name": "get_spend", "arguments": {}}'


@pytest.mark.parametrize("text", [WRITTEN, f"```json\n{WRITTEN}\n```", '{"tool": "get_spend", "args": {}}'])
def test_a_call_of_a_domain_that_is_written_is_made(agency: Agency, script: Callable[..., Any], text: str) -> None:
    """The model had only the meta tools; nobody chooses a call in its place."""
    asked = script((text, []), DONE)
    agency.open("meta_tools", AGENTS, toolset=["adverts"], sourced_figures=True)
    run_id = agency.ask("Сколько потратили?")
    assert agency.answer(run_id) == "Ads say seventy."
    assert systems(asked) == ["answer", "answer"]
    assert len(agency.stack.rows("select from tool_executions where run_id = %s and tool = 'get_spend'", run_id)) == 1


def test_a_dangerous_call_that_is_written_waits(agency: Agency, script: Callable[..., Any]) -> None:
    script(('{"name": "pause_campaign", "arguments": {"text": "Spring"}}', []), ("Ждёт вас.", []))
    agency.open("meta_tools", AGENTS, toolset=["adverts"])
    run_id = agency.ask("Останови Spring")
    agency.answer(run_id)
    (row,) = agency.stack.rows("select status, arguments from v_actions where user_id = %s", agency.user)
    assert (row["status"], row["arguments"]) == ("pending", {"text": "Spring"})


@pytest.mark.parametrize(
    "text",
    [
        f"Я вызвал {WRITTEN} и жду.",
        '{"name": "pause_campaign", "arguments": {}}',
        '{"name": "pause_campaign", "arguments": {"text": "Spring", "sure": true}}',
        '{"name": "drop_lead", "arguments": {"text": "Ann"}}',
    ],
    ids=["in a sentence", "wrong", "unknown argument", "closed domain"],
)
def test_what_is_no_call_of_an_open_tool_is_none(agency: Agency, script: Callable[..., Any], text: str) -> None:
    script((text, []), ("Что сделать?", []))
    agency.open("meta_tools", AGENTS, toolset=["adverts"])
    run_id = agency.ask("Привет")
    assert agency.answer(run_id) == ("Что сделать?" if text.startswith("{") else text)
    assert agency.stack.rows("select from tool_executions where run_id = %s", run_id) == []
    assert agency.stack.rows("select from chat_pending_actions where run_id = %s", run_id) == []


@pytest.mark.parametrize("routing", ["meta_tools", "classifier"])
def test_one_round_leaves_room_for_a_chosen_call(agency: Agency, script: Callable[..., Any], routing: str) -> None:
    said = iter((INVENTED[0], "Потратили 70."))
    script(*(((INVENTED[0], []), CHOICE) if routing == "meta_tools" else (CHOICE,)))
    agents = AGENTS if routing == "meta_tools" else [ADVISER | {"toolset": ["adverts"]}]
    if routing == "classifier":
        agency.models.scripts["Adviser"] = lambda messages: (next(said), [])
    agency.open(routing, agents, toolset=["adverts"], sourced_figures=True, limits={"rounds": 1})
    answer = agency.answer(agency.ask("Какие расходы?"))
    assert answer == ("Ads say seventy." if routing == "meta_tools" else "Потратили 70.")


@pytest.mark.parametrize(
    ("text", "is_looked_up"),
    [
        ("На счёте 4 321 рублей.", False),
        ("На счёте 4 321 рублей, за 7 дней ушло 900.", True),
        ("За 7 дней данных нет.", True),
        ("Данных нет.", True),
    ],
)
def test_what_stands_in_the_context_is_not_looked_up(
    agency: Agency, script: Callable[..., Any], text: str, is_looked_up: bool
) -> None:
    """All figures do, and they are not those of the question alone."""
    asked = script((text, []), CHOICE)
    agency.open("meta_tools", AGENTS, toolset=["adverts"], sourced_figures=True, context_providers=["know_balance"])
    answer = agency.answer(agency.ask("Сколько на счёте за 7 дней?"))
    assert systems(asked) == (["answer", "choice"] if is_looked_up else ["answer"])
    assert answer == ("Ads say seventy." if is_looked_up else text)


def test_an_agent_that_looks_nowhere_has_its_call_made(agency: Agency, script: Callable[..., Any]) -> None:
    """Under `classifier` the agent's own loop gets the result."""
    script(CHOICE)
    said = iter((INVENTED[0], "Потратили 70."))
    agency.models.scripts["Adviser"] = lambda messages: (next(said), [])
    agency.open("classifier", [ADVISER | {"toolset": ["adverts"]}], sourced_figures=True)
    assert agency.answer(agency.ask("Какие расходы?")) == "Потратили 70."


def test_figures_made_up_without_a_tool_are_not_passed_on(agency: Agency, script: Callable[..., Any]) -> None:
    """A model that names no tool either."""
    asked = script((INVENTED[0], []), ("Не знаю.", []))
    agency.open("meta_tools", AGENTS, toolset=["adverts"], sourced_figures=True, language="ru")
    assert agency.answer(agency.ask("Какие были расходы?")) == NOT_SAID["ru"]
    assert systems(asked) == ["answer", "choice"]


def test_nobody_reads_along_what_is_made_up(
    agency: Agency, script: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower of the stream sees the sentence in place of the figures, and never these."""
    script((INVENTED[0], []), ("Не знаю.", []))
    agency.open("meta_tools", AGENTS, toolset=["adverts"], sourced_figures=True, language="ru")
    agency.stack.start_server()
    agency.models.hold("responder")
    monkeypatch.setattr(agency.models, "delay", 0.2)  # so that pieces are sent before the whole
    with sse.followed(agency.stack, agency.ask("Какие были расходы?")) as events:
        first = next(events)
        agency.models.release("responder")
        shown = str([one.data for one in (first, *events)])
    assert NOT_SAID["ru"] in shown and "2000" not in shown


def test_an_answer_without_figures_is_kept(agency: Agency, script: Callable[..., Any]) -> None:
    script(("Я помогу с расходами.", []))
    agency.open("meta_tools", AGENTS, toolset=["adverts"], sourced_figures=True)
    assert agency.answer(agency.ask("Что ты умеешь?")) == "Я помогу с расходами."


def test_figures_of_results_are_passed_on(agency: Agency, script: Callable[..., Any]) -> None:
    """Of the question as well, and a count of what is said."""
    agency.models.replies["Adviser"] = "За 7 дней — 70 USD из 500, это 2 кампании."
    asked = script(LOOK, DONE)
    agency.open("meta_tools", AGENTS, toolset=["adverts"], sourced_figures=True)
    run_id = agency.ask("Сколько из 500 потратили за 7 дней?")
    assert agency.answer(run_id) == "За 7 дней — 70 USD из 500, это 2 кампании."
    assert len(asked) == 2


def test_what_a_model_reckons_after_a_look_is_marked(agency: Agency, script: Callable[..., Any]) -> None:
    agency.models.replies["Adviser"] = "Потратили 70, в месяц выйдет 2 100."
    asked = script(LOOK, DONE, LOOK, DONE)
    agency.open("meta_tools", AGENTS, toolset=["adverts"], sourced_figures=True)
    run_id = agency.ask("Сколько потратили?")
    assert agency.answer(run_id) == "Потратили 70, в месяц выйдет 2 100."
    assert "2 100" in asked[2][-1]["content"]
    (row,) = agency.stack.rows("select degraded from pipeline_runs where id = %s", run_id)
    assert "figures" in row["degraded"]


def test_what_waits_is_not_proposed_twice(agency: Agency, script: Callable[..., Any]) -> None:
    """A figure that the model added to a change is marked; nothing is asked again."""
    pause = json.dumps({"tools": [{"name": "pause_campaign", "args": {"text": "Spring"}}]})
    asked = script(("", [("executeTools", pause)]), ("Сэкономим 4 321 в месяц.", []))
    agency.open("meta_tools", AGENTS, toolset=["adverts"], sourced_figures=True)
    run_id = agency.ask("Останови Spring")
    agency.answer(run_id)
    assert len(agency.stack.rows("select from chat_pending_actions where run_id = %s", run_id)) == 1
    assert len(asked) == 2


def test_other_assistants_say_what_they_like(agency: Agency, script: Callable[..., Any]) -> None:
    script((INVENTED[0], []))
    agency.open("meta_tools", AGENTS, toolset=["adverts"])
    assert agency.answer(agency.ask("Какие были расходы?")) == INVENTED[0]


def test_a_greeting_needs_no_look(agency: Agency, script: Callable[..., Any]) -> None:
    script(("Здравствуйте! Спросите о расходах.", []))
    agency.open("meta_tools", AGENTS, toolset=["adverts"], sourced_figures=True)
    assert agency.answer(agency.ask("Привет")) == "Здравствуйте! Спросите о расходах."
