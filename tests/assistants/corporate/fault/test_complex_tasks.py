"""Complex tasks: their steps are shown before anything begins, and a consent begins exactly these, once."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from typing import Any
from uuid import UUID, uuid4

import pytest

from maas.prompting.now import now_line
from tests.assistants.corporate.office import DECOMPOSER, TASK, TASK_ARGUMENTS, Office, line
from tests.fault.test_actions import approve, finish
from tests.fault.test_dialogues import lines
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack

NINE = [f"l{number}" for number in range(1, 10)]


@pytest.fixture
def office(stack: Stack, models: ModelServer, user: UUID) -> Office:
    return Office(stack, models, user)


def step(text: str, *needs: int, tool: str = "write_line") -> dict[str, Any]:
    """A step as the decomposer states it."""
    return line(text, *needs, tool=tool, arguments=json.dumps({"text": text}), prompt="")


def nine(**tools: str) -> list[dict[str, Any]]:
    return [step(text, tool=tools.get(text, "write_line")) for text in NINE]


def tasks(stack: Stack) -> list[UUID]:
    return [row["id"] for row in stack.rows("select id from pipeline_runs where kind = 'task' order by seq")]


def states(stack: Stack, task: UUID) -> list[str]:
    query = "select status from task_steps where run_id = %s order by number"
    return [row["status"] for row in stack.rows(query, task)]


def propose(stack: Stack, office: Office, conversation: UUID | None = None, **arguments: Any) -> dict[str, Any]:
    """The action that waits after the assistant's model has handed a task on."""
    begun, run_id = tasks(stack), office.delegate(TASK, conversation, **arguments)
    assert finish(stack, run_id)["status"] == "COMPLETED"
    (action,) = office.actions(run_id)
    assert (action["tool"], action["status"], tasks(stack)) == (TASK, "pending", begun)
    return action


def test_without_consent_nothing_begins(stack: Stack, office: Office) -> None:
    """The action shows all steps with their arguments and the warning; rejected, it leaves nothing."""
    office.plan = nine(l9="wipe")
    office.open()
    action = propose(stack, office)
    shown = action["arguments"]
    assert {name: shown[name] for name in TASK_ARGUMENTS} == TASK_ARGUMENTS
    assert [(one["tool"], one["arguments"]["text"]) for one in shown["steps"]] == [
        ("wipe" if text == "l9" else "write_line", text) for text in NINE
    ]
    warned = stack.rows("select payload from run_events where type = 'approval_required'")[0]["payload"]
    assert "несколько минут" in warned["reason"] and len(warned["arguments"]["steps"]) == 9
    decided = stack.rows("select * from maas_decide_action(%s, %s, 'reject', 'sql')", action["id"], office.user)
    assert decided[0]["status"] == "rejected" and (tasks(stack), lines(stack)) == ([], [])


def test_a_consent_begins_one_task(stack: Stack, models: ModelServer, office: Office) -> None:
    """However often it is pressed. It says "started" at once, and the user's next question does not wait."""
    stack.start_server()
    office.plan = [*nine(l1="wipe"), step("l10", 1, tool="read_slowly")]
    office.open()
    conversation = uuid4()
    action = propose(stack, office, conversation)
    path = f"/v1/actions/{action['id']}/approve"

    def press(_: int) -> int:
        return stack.client.post(path, json={"user_id": str(office.user)}).status_code

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(press, range(6))) == [200, 409, 409, 409, 409, 409]
    (row,) = stack.rows("select action_run_id from v_actions where id = %s", action["id"])
    begun = finish(stack, row["action_run_id"])
    assert begun["final_answer"] == "Задача начата, шагов: 10. Когда всё будет сделано, пришлю отчёт."
    assert (begun["completed_at"] - begun["created_at"]).total_seconds() < 2
    (task,) = tasks(stack)
    poll(lambda: "read" in lines(stack), what="the last step is begun")
    models.rounds.clear()
    assert finish(stack, office.ask("Как дела?", conversation))["final_answer"] == "A model answered."
    assert states(stack, task) == ["done"] * 9 + ["running"]
    (stack.folder / "go").touch()
    report = finish(stack, task)
    assert (report["kind"], report["conversation_id"]) == ("task", conversation)
    assert report["final_answer"].splitlines()[0] == "Write nine lines for Ann: сделано шагов: 10 из 10."
    assert lines(stack)[:2] == ["wiped", "l1"] and office.actions() == office.actions(action["run_id"])


@pytest.mark.parametrize(
    ("plan", "is_task"),
    [([], False), (nine()[:7], False), (nine()[:8], True), ([step("one") | {"items": 10}], True)],
)
def test_code_counts(stack: Stack, office: Office, plan: list[dict[str, Any]], is_task: bool) -> None:
    office.plan = plan
    office.open()
    run_id = office.delegate(TASK)
    run = finish(stack, run_id)
    assert office.models.last_lines(DECOMPOSER) == {now_line(run["created_at"], UTC, "ru")}
    assert len(office.actions(run_id)) == is_task and tasks(stack) == []
    (result,) = office.results(TASK)
    assert result["error_code"] == ("approval_required" if is_task else "failed")
    assert is_task or f"this has {len(plan)} steps" in result["message"]


@pytest.mark.parametrize(
    "wrong",
    [{"tool": TASK}, {"arguments": '{"txet": 1}'}, {"depends_on": [9]}],
)
def test_steps_that_cannot_be(stack: Stack, models: ModelServer, office: Office, wrong: dict[str, Any]) -> None:
    office.plan = [*nine()[:8], step("l9") | wrong]
    office.open()
    run_id = office.delegate(TASK)
    finish(stack, run_id)
    assert (office.actions(run_id), models.calls[DECOMPOSER]) == ([], 2)
    assert "step 9" in office.results(TASK)[0]["message"]


def test_consent_for_one_task_is_of_no_use_for_another(stack: Stack, office: Office) -> None:
    """Two wait; each approval is of its own steps. Steps that were changed after it are not executed."""
    office.open()
    office.plan = nine()
    first = propose(stack, office)
    office.plan = [step(f"m{number}") for number in range(8)]
    second = propose(stack, office, taskDescription="Write other lines.")
    finish(stack, approve(stack, second["id"], office.user))
    (task,) = tasks(stack)
    finish(stack, task)
    assert lines(stack) == [f"m{number}" for number in range(8)]
    stack.kill()
    action_run = approve(stack, first["id"], office.user)
    stack.rows(
        "update chat_pending_actions set tool_args = %s where id = %s",
        json.dumps(second["arguments"] | {"taskDescription": "Write all of it."}),
        first["id"],
    )
    office.start()
    assert "аргументы не те, что были одобрены" in finish(stack, action_run)["final_answer"]
    assert tasks(stack) == [task]


def test_killed_at_the_fifth_step(stack: Stack, office: Office) -> None:
    """It goes on where it was; the report has all nine steps, also the one that failed and what depends on it."""
    office.plan = [
        *nine()[:2],
        step("l3", tool="read_nothing"),
        step("l4", 3),
        step("l5", tool="read_slowly"),
        *nine()[5:],
    ]
    office.open()
    action = propose(stack, office)
    finish(stack, approve(stack, action["id"], office.user))
    (task,) = tasks(stack)
    poll(lambda: "read" in lines(stack), what="the fifth step is begun")
    stack.kill()
    assert states(stack, task) == ["done", "done", "failed", "skipped", "running", *["pending"] * 4]
    (stack.folder / "go").touch()
    office.start()
    report = finish(stack, task)["final_answer"].splitlines()
    assert lines(stack) == ["l1", "l2", "read", "read", "l6", "l7", "l8", "l9"]
    assert report[0].endswith("сделано шагов: 7 из 9.")
    states_in_report = [one.split(": ")[1].partition(".")[0] for one in report[2:]]
    assert states_in_report == ["сделано", "сделано", "не удалось", "не начато", *["сделано"] * 5]


def test_later_calls_take_their_arguments_from_earlier_results(
    stack: Stack, models: ModelServer, office: Office
) -> None:
    """What nobody has seen yet waits with its exact arguments, and what depends on it begins once that is decided.

    A kill between the waves doubles nothing.
    """
    later = {"arguments": "", "items": 12}
    office.plan = [
        step("l1"),
        step("free", 1, tool="read_slowly") | later | {"prompt": "Look when each is free."},
        step("invite", 1, 2, tool="wipe") | later | {"prompt": "One for each."},
        line("sum", 1, tool="", arguments="", prompt="Sum it up."),
        step("l5", 3),
    ]
    office.open()
    action = propose(stack, office)
    assert [one["arguments"] for one in action["arguments"]["steps"]] == [
        {"text": "l1"},
        {},
        {},
        {},
        {"text": "l5"},
    ]
    calls = {
        "read_slowly": [("read_slowly", "{}")],
        "wipe": [("wipe", f'{{"text": "{one}"}}') for one in ("ann", "bo")],
    }

    def respond(messages: list[dict[str, Any]]) -> tuple[str, list[tuple[str, str]]]:
        asked = str(messages[-1]["content"])
        return "Итог.", next((one for tool, one in calls.items() if f"Call {tool} once" in asked), [])

    models.scripts["responder"] = respond
    finish(stack, approve(stack, action["id"], office.user))
    (task,) = tasks(stack)
    poll(lambda: "read" in lines(stack), what="the second step reads")
    stack.kill()
    assert states(stack, task) == ["done", "running", *["pending"] * 3]
    (stack.folder / "go").touch()
    asked = models.calls["responder"]
    models.hold_after("responder", asked + 1)
    office.start()
    poll(lambda: models.calls["responder"] == asked + 2, what="the last step thinks; the second asked nobody again")
    stack.kill()
    models.release("responder")
    office.start()
    report = finish(stack, task)["final_answer"].splitlines()
    waiting = office.actions(task)
    assert [(one["tool"], one["arguments"]["text"], one["status"]) for one in waiting] == [
        ("wipe", "ann", "pending"),
        ("wipe", "bo", "pending"),
    ]
    assert lines(stack) == ["l1", "read", "read"]
    assert [one.split(": ", 1)[1] for one in report[2:7]] == [
        "сделано. l1",
        "сделано",
        "ждёт вашего подтверждения (2)",
        "сделано. Итог.",
        "начнётся после вашего решения",
    ]
    assert any("`ann`" in one for one in report[7:]) and any("`bo`" in one for one in report[7:])
    asked = models.calls["responder"]
    for one in waiting:
        outcome = finish(stack, approve(stack, one["id"], office.user))["final_answer"]
        assert outcome.startswith("Сделано, как вы одобрили") and f"`{one['arguments']['text']}`" in outcome
    assert models.calls["responder"] == asked  # code tells the outcome of each
    poll(lambda: len(tasks(stack)) == 2, what="the next wave has begun")
    report = finish(stack, tasks(stack)[1])["final_answer"].splitlines()
    assert [one.split(": ", 1)[1] for one in report[2:]] == ["сделано (2)", "сделано. l5"]
    assert lines(stack)[3:] == ["wiped", "ann", "wiped", "bo", "l5"]


def test_killed_while_it_is_begun(stack: Stack, models: ModelServer, office: Office) -> None:
    """The decomposition is stored, and the approved call inserts one task whatever dies."""
    office.plan = nine()
    models.hold_after("responder", 1)
    office.open()
    run_id = office.delegate(TASK)
    poll(lambda: models.calls["responder"] == 2, what="the answer is being worded")
    stack.kill()
    models.release("responder")
    office.start()
    finish(stack, run_id)
    assert models.calls[DECOMPOSER] == 1
    (action,) = office.actions(run_id)
    finish(stack, approve(stack, action["id"], office.user))
    assert len(tasks(stack)) == 1
