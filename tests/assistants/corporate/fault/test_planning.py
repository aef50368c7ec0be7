"""Planning: code counts the steps of a plan, and every step is a call of the run that a crash does not repeat."""

from __future__ import annotations

import json
from datetime import UTC
from typing import Any
from uuid import UUID, uuid4

import pytest

from maas.prompting.now import now_line
from maas.tools.waiting_actions import MARK
from tests.assistants.corporate.office import CLEAN_WORDS, PLANNER, PLANNING, TASK, Office, line
from tests.fault.test_actions import approve, finish
from tests.fault.test_dialogues import lines
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack

THOUGHT = {"title": "Решить", "tool": "", "depends_on": [1], "items": 0}


@pytest.fixture
def office(stack: Stack, models: ModelServer, user: UUID) -> Office:
    return Office(stack, models, user)


def events(stack: Stack, run_id: UUID, *kinds: str) -> list[tuple[str, dict[str, Any]]]:
    query = "select type, payload from run_events where run_id = %s and type = any(%s) order by n"
    return [(row["type"], row["payload"]) for row in stack.rows(query, run_id, list(kinds))]


def test_a_plan_is_executed_and_its_words_are_the_answer(stack: Stack, office: Office) -> None:
    """In the order of its dependencies, byte for byte, each call with an id, a ledger line and a message of its own."""
    office.plan = [line("two", 2), {**THOUGHT, "depends_on": [3]}, line("one")]
    office.open()
    conversation = uuid4()
    run_id = office.delegate(conversation=conversation)
    run = finish(stack, run_id)
    assert run["final_answer"] == CLEAN_WORDS and run["status"] == "COMPLETED"
    assert lines(stack) == ["one", "two"]
    assert [one for one in office.calls(run_id) if one[1] == "write_line"] == [
        ("call-0-0-1", "write_line", "done"),
        ("call-0-0-2", "write_line", "done"),
    ]
    started = [payload["tool"] for _, payload in events(stack, run_id, "tool_start")]
    assert started == [PLANNING, "write_line", "write_line"]
    streamed = "".join(payload["delta"] for _, payload in events(stack, run_id, "text"))
    assert streamed in (CLEAN_WORDS, "")
    said = "select tool_name from chat_messages where conversation_id = %s and role = 'tool' order by created_at"
    assert [row["tool_name"] for row in stack.rows(said, conversation)] == ["write_line", "write_line", PLANNING]
    roles = "select role_name, count(*)::int as calls from llm_calls where run_id = %s and stage = 'final_responder' "
    asked = stack.rows(f"{roles} group by 1 order by 1", run_id)
    assert {row["role_name"]: row["calls"] for row in asked} == {"FinalResponder": 1, "Tool": 5}
    expected = {now_line(run["created_at"], UTC, "ru")}
    assert office.models.last_lines("responder") == office.models.last_lines(PLANNER) == expected


@pytest.mark.parametrize(
    ("calls", "more", "verdict"),
    [
        (0, {}, "direct"),
        (1, {}, "direct"),
        (2, {}, None),
        (7, {}, None),
        (8, {}, "complex"),
        (2, {"items": 10}, "complex"),
    ],
)
def test_code_counts(
    stack: Stack, models: ModelServer, office: Office, calls: int, more: dict[str, Any], verdict: str | None
) -> None:
    """Thoughts do not count; what is not for a planner executes nothing, and the assistant's model goes on."""
    texts = [f"l{number}" for number in range(calls)]
    office.plan = [*(line(text) | more for text in texts), *([THOUGHT] * 3 if calls else [])]
    office.open()
    run = finish(stack, office.delegate())
    if verdict is None:
        assert (lines(stack), run["final_answer"]) == (texts, CLEAN_WORDS)
        return
    assert (lines(stack), run["final_answer"]) == ([], "A model answered.")
    (result,) = office.results()
    assert (result["data"]["verdict"], result["data"]["calls"]) == (verdict, calls)
    assert ("delegateToComplexTaskAgent" in result["data"]["advice"]) == (verdict == "complex")


def test_a_write_that_needs_approval_waits(stack: Stack, office: Office) -> None:
    """The rest goes on but for what depends on it; the user reads what waits, whatever the model says."""
    office.plan = [line("one", tool="wipe"), line("two", 1), line("three")]
    office.open()
    run_id = office.delegate()
    postscript = "\n\nЖдёт вашего подтверждения: «Строка one».\nНе выполнено: «Строка two»."
    said, _, waiting = finish(stack, run_id)["final_answer"].partition(f"\n\n{MARK}")
    assert said == CLEAN_WORDS + postscript and "текст: `one`" in waiting
    assert lines(stack) == ["three"]
    (action,) = office.actions(run_id)
    assert (action["tool"], action["arguments"], action["status"]) == ("wipe", {"text": "one"}, "pending")
    assert [payload["tool"] for _, payload in events(stack, run_id, "approval_required")] == ["wipe"]
    finish(stack, approve(stack, action["id"], office.user))
    assert lines(stack) == ["three", "wiped", "one"]


def test_the_mode_of_the_dialogue_holds(stack: Stack, office: Office) -> None:
    office.plan = [line("one"), line("two")]
    office.open(default_mode="plan")
    run_id = office.delegate()
    finish(stack, run_id)
    assert lines(stack) == [] and len(office.actions(run_id)) == 2


@pytest.mark.parametrize(
    ("tool", "state", "written"),
    [
        ("read_slowly", "done", ["one", "read", "read", "three"]),
        ("write_slowly", "in_doubt", ["one", "two"]),
    ],
)
def test_killed_within_a_step(
    stack: Stack, models: ModelServer, office: Office, tool: str, state: str, written: list[str]
) -> None:
    """Replies are stored and writes are in the ledger: nothing is written and no model is asked a second time."""
    office.plan = [line("one"), line("two", 1, tool=tool), line("three", 2)]
    office.open()
    run_id = office.delegate()
    poll(lambda: len(lines(stack)) == 2, what="the second step is begun")
    stack.kill()
    asked = models.calls[PLANNER]
    (stack.folder / "go").touch()
    office.start()
    run = finish(stack, run_id)
    assert (run["status"], run["attempt"], lines(stack)) == ("COMPLETED", 2, written)
    assert (asked, models.calls[PLANNER]) == (3, 5 if state == "done" else 4)
    writes = [one for one in office.calls(run_id) if one[1] != "read_slowly" and one[1] != PLANNING]
    assert writes[0] == ("call-0-0-1", "write_line", "done") and len({call_id for call_id, _, _ in writes}) == 2
    assert ("Неизвестно, выполнено ли, проверьте: «Строка two»." in run["final_answer"]) == (state == "in_doubt")
    assert stack.rows("select from tool_executions where run_id = %s and status = 'started'", run_id) == []


CIRCLE = json.dumps({"steps": [line("one", 2), line("two", 1)]})
ITSELF = json.dumps({"steps": [line("one"), line("two", tool=TASK)]})


@pytest.mark.parametrize("stated", ["Сначала подумаю.", CIRCLE, ITSELF])
def test_a_plan_that_cannot_be_executed(stack: Stack, models: ModelServer, office: Office, stated: str) -> None:
    """It is corrected once; then the assistant is told that nothing was executed."""
    office.stated = [stated]
    office.open()
    run = finish(stack, office.delegate())
    assert (lines(stack), run["final_answer"], models.calls[PLANNER]) == ([], "A model answered.", 2)
    (result,) = office.results()
    assert result["error_code"] == "failed" and "Nothing was executed" in result["message"] and result["say"]


def test_a_plan_that_is_corrected(stack: Stack, office: Office) -> None:
    good = json.dumps({"steps": [line("one"), line("two")]})
    office.stated, office.plan = [CIRCLE, good], [line("one"), line("two")]
    office.open()
    assert finish(stack, office.delegate())["final_answer"] == CLEAN_WORDS
    assert lines(stack) == ["one", "two"]


def test_a_planner_that_does_as_it_likes(stack: Stack, office: Office) -> None:
    """Another tool, several calls, a mass operation, a step that it does not need."""
    write = [(name, json.dumps({"text": text})) for name, text in (("write_line", "one"), ("wipe", "all"))]
    office.plan = [line("a", tool="read_nothing"), line("b"), line("c"), line("d"), line("e", 3)]
    office.arguments = {1: write, 2: write, 3: {"text": ["x"] * 10}, 4: None}
    office.open()
    run_id = office.delegate()
    answer = finish(stack, run_id)["final_answer"]
    assert lines(stack) == ["one"] and office.actions(run_id) == []
    assert answer.endswith("Не удалось: «Строка a»; «Строка c».\nНе выполнено: «Строка e».")


def test_a_planner_that_fails_again_and_again(stack: Stack, office: Office) -> None:
    """A read is tried twice, and all tries together are seven calls."""
    office.plan = [line(str(number), tool="read_nothing") for number in range(7)]
    office.open()
    run_id = office.delegate()
    answer = finish(stack, run_id)["final_answer"]
    assert len([one for one in office.calls(run_id) if one[1] == "read_nothing"]) == 7
    assert "Не удалось: «Строка 0»" in answer and "Не выполнено: «Строка 4»; «Строка 5»; «Строка 6»." in answer


def test_a_planner_that_dies(stack: Stack, models: ModelServer, office: Office) -> None:
    """What is done stays done, and the code says so."""
    office.plan = [line("one"), line("two")]
    models.hold_after(PLANNER, 2)
    office.open()
    run_id = office.delegate()
    poll(lambda: models.calls[PLANNER] == 3, what="the second step is asked for")
    models.statuses[PLANNER] = 401
    models.release(PLANNER)
    assert finish(stack, run_id)["final_answer"] == "Сделано: «Строка one».\n\nНе выполнено: «Строка two»."
    assert lines(stack) == ["one"]


def test_wrong_arguments_ask_for_others(stack: Stack, models: ModelServer, office: Office) -> None:
    office.open()
    finish(stack, office.delegate(complexity="extreme"))
    (result,) = office.results()
    assert result["error_code"] == "validation_error" and "complexity" in result["message"]
    assert models.calls[PLANNER] == 0


def test_a_plan_uses_what_is_open_to_its_run(stack: Stack, office: Office) -> None:
    office.plan = [line("one"), line("two", tool="read_nothing")]
    office.open()
    assert finish(stack, office.delegate())["final_answer"].startswith(CLEAN_WORDS)
    insert = (
        "insert into pipeline_runs (user_id, user_query, assistant, metadata) values (%s, 'Ещё раз.', 'office', "
        """'{"domains": ["box", "delegation"]}') returning id"""
    )
    finish(stack, UUID(str(stack.rows(insert, office.user)[0]["id"])))
    assert "there is no tool 'read_nothing'" in office.results()[-1]["message"] and lines(stack) == ["one"]
