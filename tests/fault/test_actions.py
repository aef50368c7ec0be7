"""Approved actions: executed once whatever dies, and reported to the user whatever the model does."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.fault.test_dialogues import executions, lines, settings
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack

WRITE = ("write_line", '{"text": "one"}')
SLOWLY = ("write_slowly", '{"text": "one"}')
Begin = Callable[..., None]
Propose = Callable[..., list[UUID]]


@pytest.fixture
def stack(emptied_stack: Stack) -> Stack:
    return emptied_stack


@pytest.fixture
def models(lasting_models: ModelServer) -> ModelServer:
    return lasting_models


@pytest.fixture
def begin(stack: Stack, models: ModelServer) -> Begin:
    """Start an orchestrator with a toolset; again after a kill."""

    def start(toolset: str = "TOOLS") -> None:
        stack.keep_orchestrator(**settings(stack, models) | {"MAAS_TOOLS": f"tests.toolbox:{toolset}"})

    return start


@pytest.fixture
def propose(stack: Stack, models: ModelServer, user: UUID, begin: Begin) -> Propose:
    """The actions that one answer of an assistant in `plan` mode proposes; an orchestrator runs then."""

    def have(
        *calls: tuple[str, str],
        query: str = "Write it down.",
        conversation: UUID | None = None,
        mode: str = "plan",
    ) -> list[UUID]:
        definition = {"toolset": ["box"], "default_mode": mode}
        add = (
            "insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s) on conflict do nothing"
        )
        stack.rows(add, json.dumps(definition))
        models.rounds["responder"] = [list(calls)]
        begin()
        run_id = ask(stack, user, query, conversation)
        finish(stack, run_id)
        models.rounds.clear()
        rows = stack.rows("select id from v_actions where run_id = %s order by place", run_id)
        assert len(rows) == len(calls) and lines(stack) == []
        return [row["id"] for row in rows]

    return have


def ask(stack: Stack, user: UUID, query: str, conversation: UUID | None) -> UUID:
    insert = (
        "insert into pipeline_runs (user_id, user_query, assistant, conversation_id) "
        "values (%s, %s, 'clerk', %s) returning id"
    )
    return UUID(str(stack.rows(insert, user, query, conversation)[0]["id"]))


def finish(stack: Stack, run_id: UUID) -> dict[str, Any]:
    poll(
        lambda: stack.rows("select from pipeline_runs where id = %s and queue_state = 2", run_id), 30, "it is finished"
    )
    return dict(stack.rows("select * from pipeline_runs where id = %s", run_id)[0])


def approve(stack: Stack, action: UUID, user: UUID) -> UUID:
    """By hand, as an operator does; the run that executes it."""
    row = stack.rows("select * from maas_decide_action(%s, %s, 'approve', 'sql')", action, user)[0]
    assert (row["verdict"], row["status"]) == ("decided", "approved")
    return UUID(str(row["run_id"]))


def state(stack: Stack, action: UUID) -> tuple[str, Any]:
    row = stack.rows("select status, result from v_actions where id = %s", action)[0]
    return row["status"], (row["result"] or {}).get("data", (row["result"] or {}).get("error_code"))


def last_prompt(models: ModelServer) -> str:
    """What the model was asked to tell last."""
    return models.prompts("responder")[-1]


def test_an_approved_action_is_an_exchange(stack: Stack, models: ModelServer, user: UUID, propose: Propose) -> None:
    """Executed once with the stored arguments, reported in words, remembered, and part of the dialogue."""
    conversation = uuid4()
    (action,) = propose(("wipe", '{"text": "one"}'), conversation=conversation)
    models.replies["responder"] = "The line is wiped."
    run_id = approve(stack, action, user)
    run = finish(stack, run_id)
    assert (run["kind"], run["status"], run["archive_status"]) == ("action", "COMPLETED", "ARCHIVED")
    assert (run["user_query"], run["final_answer"]) == ('wipe {"text": "one"}', "The line is wiped.")
    assert run["metadata"] == {"action_id": str(action)}
    assert lines(stack) == ["wiped", "one"]
    assert state(stack, action) == ("done", {"written": "wiped one"})
    assert executions(stack, run_id) == [("wipe", "done", 1)]
    assert "wiped one" in last_prompt(models) and "Write it down." in last_prompt(models)
    words = [("user_query", 'wipe {"text": "one"}'), ("assistant_response", "The line is wiped.")]
    logs = stack.rows("select message_type, content, archived_at from raw_logs where run_id = %s order by seq", run_id)
    assert [(log["message_type"], log["content"]) for log in logs] == words and all(log["archived_at"] for log in logs)
    records = stack.rows("select is_provisional from lsm_storage where run_id = %s", run_id)
    assert records == [{"is_provisional": False}]
    messages = stack.rows(
        "select role, content from chat_messages where conversation_id = %s and role <> 'tool' order by created_at",
        conversation,
    )
    assert [(one["role"], one["content"]) for one in messages[2:]] == [
        ("user", words[0][1]),
        ("assistant", words[1][1]),
    ]
    events = stack.rows("select type from run_events where run_id = %s order by n", run_id)
    assert [event["type"] for event in events][:2] == ["tool_start", "tool_result"]
    calls = stack.rows("select stage from llm_calls where run_id = %s order by stage desc", run_id)
    assert [call["stage"] for call in calls] == ["final_responder", "archivist"]


def test_killed_before_it_is_claimed(stack: Stack, user: UUID, begin: Begin, propose: Propose) -> None:
    (action,) = propose(WRITE)
    stack.kill()
    run_id = approve(stack, action, user)
    assert state(stack, action)[0] == "approved"
    begin()
    assert finish(stack, run_id)["status"] == "COMPLETED"
    assert (lines(stack), state(stack, action)) == (["one"], ("done", {"written": "one"}))


def test_killed_between_claim_and_execution(stack: Stack, user: UUID, begin: Begin, propose: Propose) -> None:
    """It is executing and its ledger is empty: the next owner executes it, once."""
    (action,) = propose(WRITE)
    with psycopg.connect(stack.dsn) as holder:
        holder.execute("lock table tool_counts in exclusive mode")
        run_id = approve(stack, action, user)
        waits = "select from pg_locks where relation = 'tool_counts'::regclass and not granted"
        poll(lambda: stack.rows(waits), what="the call waits")
        stack.kill()
    assert (lines(stack), state(stack, action)[0]) == ([], "executing")
    begin()
    finish(stack, run_id)
    assert (lines(stack), state(stack, action)) == (["one"], ("done", {"written": "one"}))


@pytest.mark.parametrize(
    ("toolset", "ending", "written", "ledger"),
    [
        ("TOOLS", ("in_doubt", "in_doubt"), ["one"], "in_doubt"),
        ("REPEATABLE", ("done", {"written": "one"}), ["one", "one"], "done"),
        ("SMALL", ("in_doubt", "unknown_tool"), ["one"], "in_doubt"),
        ("CHANGED", ("in_doubt", "tool_changed"), ["one"], "in_doubt"),
    ],
)
def test_killed_within_the_execution(
    stack: Stack,
    models: ModelServer,
    user: UUID,
    begin: Begin,
    propose: Propose,
    toolset: str,
    ending: tuple[str, Any],
    written: list[str],
    ledger: str,
) -> None:
    """Repeated only by a tool that says it may be; a tool that is gone leaves a doubt, too. The user is informed."""
    (action,) = propose(SLOWLY)
    run_id = approve(stack, action, user)
    poll(lambda: lines(stack) == ["one"])
    stack.kill()
    (stack.folder / "go").touch()
    begin(toolset)
    assert finish(stack, run_id)["status"] == "COMPLETED"
    assert (state(stack, action), lines(stack)) == (ending, written)
    assert [status for _, status, _ in executions(stack, run_id)] == [ledger]
    assert f'"status": "{ending[0]}"' in last_prompt(models)


def test_killed_before_the_answer(
    stack: Stack, models: ModelServer, user: UUID, begin: Begin, propose: Propose
) -> None:
    """The stored result is reported, and nothing is done again."""
    (action,) = propose(WRITE)
    models.hold_after("responder", models.calls["responder"])
    run_id = approve(stack, action, user)
    calls = models.calls["responder"]
    poll(lambda: models.calls["responder"] > calls)
    stack.kill()
    assert state(stack, action) == ("done", {"written": "one"})
    models.release("responder")
    begin("SMALL")
    assert finish(stack, run_id)["final_answer"] == "A model answered."
    assert (lines(stack), executions(stack, run_id)) == (["one"], [("write_line", "done", 1)])
    assert '"written": "one"' in last_prompt(models)


@pytest.mark.parametrize(
    ("toolset", "code", "words"),
    [("SMALL", "unknown_tool", "no longer exists"), ("CHANGED", "tool_changed", "has changed since")],
)
def test_another_tool_is_not_what_was_approved(
    stack: Stack, models: ModelServer, user: UUID, begin: Begin, propose: Propose, toolset: str, code: str, words: str
) -> None:
    """Never executed, and the user reads why even if the model is dead."""
    (action,) = propose(SLOWLY)
    stack.kill()
    models.statuses["responder"] = 400
    run_id = approve(stack, action, user)
    begin(toolset)
    run = finish(stack, run_id)
    assert (run["status"], run["degraded"]) == ("COMPLETED", ["FinalResponder"])
    assert words in run["final_answer"] and "`write_slowly` (text `one`)" in run["final_answer"]
    assert (lines(stack), state(stack, action), executions(stack, run_id)) == ([], ("failed", code), [])


def test_a_read_that_was_approved(stack: Stack, user: UUID, begin: Begin, propose: Propose) -> None:
    """It changes nothing, so it is made again after a crash."""
    (action,) = propose(("read_slowly", "{}"), mode="ask")
    run_id = approve(stack, action, user)
    poll(lambda: lines(stack) == ["read"])
    stack.kill()
    (stack.folder / "go").touch()
    begin()
    finish(stack, run_id)
    assert (lines(stack), state(stack, action)) == (["read", "read"], ("done", {"is_open": True}))


def test_arguments_that_the_tool_itself_refuses(stack: Stack, user: UUID, propose: Propose) -> None:
    """An edit that no schema stood in the way of: nothing is done, and the user reads why."""
    (action,) = propose(WRITE)
    stack.rows("select maas_edit_action(%s, %s, '{\"lines\": 1}')", action, user)
    finish(stack, approve(stack, action, user))
    assert (lines(stack), state(stack, action)) == ([], ("failed", "validation_error"))


def test_arguments_changed_behind_the_decision(stack: Stack, user: UUID, begin: Begin, propose: Propose) -> None:
    (action,) = propose(WRITE)
    stack.kill()
    run_id = approve(stack, action, user)
    stack.rows('update chat_pending_actions set tool_args = \'{"text": "two"}\' where id = %s', action)
    begin()
    finish(stack, run_id)
    assert (lines(stack), state(stack, action)) == ([], ("failed", "arguments_changed"))


@pytest.mark.parametrize(
    ("query", "words"), [("Write it down.", "Done, as you approved"), ("Запиши это.", "Сделано, как вы одобрили")]
)
@pytest.mark.parametrize("silence", ["dead", "mute"])
def test_the_outcome_is_reported_without_a_model(
    stack: Stack, models: ModelServer, user: UUID, propose: Propose, query: str, words: str, silence: str
) -> None:
    (action,) = propose(WRITE, query=query)
    if silence == "dead":
        models.statuses["responder"] = 400
    models.replies["responder"] = ""
    run = finish(stack, approve(stack, action, user))
    assert run["status"] == "COMPLETED" and words in run["final_answer"] and "`written` `one`" in run["final_answer"]
    assert (lines(stack), run["archive_status"]) == (["one"], "ARCHIVED")


def test_the_model_of_the_assistant_reports_in_words(
    stack: Stack, models: ModelServer, user: UUID, begin: Begin
) -> None:
    """No other provider reads the call; what is told is in the language of the dialogue, and JSON is not told."""
    definition = json.dumps({"toolset": ["box"], "default_mode": "plan", "memory": "light", "model": "openai:analyzer"})
    stack.rows("insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)", definition)
    models.rounds["analyzer"] = [[WRITE]]
    models.replies["analyzer"] = "Что записать?"
    begin()
    conversation = uuid4()
    finish(stack, ask(stack, user, "Запиши строчку.", conversation))
    models.rounds["analyzer"] = [[("write_line", '{"text": "two"}')]]
    finish(stack, ask(stack, user, "Ok, one", conversation))
    first, second = (row["id"] for row in stack.rows("select id from v_actions order by created_at"))
    models.requests.clear()
    models.rounds.clear()
    models.replies["analyzer"] = "Записано."
    assert finish(stack, approve(stack, first, user))["final_answer"] == "Записано."
    models.replies["analyzer"] = '{"status": "done", "result": {"written": "two"}}'
    said = finish(stack, approve(stack, second, user))["final_answer"]
    assert said == "Сделано, как вы одобрили: `write_line` (текст `two`). Результат: `written` `two`."
    assert models.said_to("responder") == [] and len(models.said_to("analyzer")) == 2
    assert all("in Russian" in prompt for prompt in models.prompts("analyzer"))


def test_the_mode_of_a_request_goes_before(stack: Stack, models: ModelServer, user: UUID, propose: Propose) -> None:
    """Its own, then that of its conversation; one that there is not is refused."""
    conversation = uuid4()
    propose(WRITE, conversation=conversation)
    models.rounds["responder"] = [[WRITE]]
    stack.start_server()
    body = {"assistant": "clerk", "conversation_id": str(conversation)}
    for mode, written in (("ask", 0), (None, 0), ("auto", 1), ("plan", 1)):
        finish(stack, stack.ask(user, "Again.", mode=mode, **body))
        assert len(lines(stack)) == written
    refused = stack.client.post("/v1/runs", json={"user_id": str(user), "query": "Again.", "mode": "wild"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid_request")


def test_a_plan_is_carried_out_step_by_step(stack: Stack, user: UUID, propose: Propose) -> None:
    """Approving the first leaves the second; the places are those of the calls."""
    first, second = propose(WRITE, ("write_line", '{"text": "two"}'))
    finish(stack, approve(stack, first, user))
    assert (lines(stack), state(stack, second)) == (["one"], ("pending", None))
    finish(stack, approve(stack, second, user))
    assert lines(stack) == ["one", "two"]


def test_a_rejected_one_never_happens_and_the_next_answer_knows(
    stack: Stack, models: ModelServer, user: UUID, propose: Propose
) -> None:
    conversation = uuid4()
    first, _ = propose(WRITE, ("write_line", '{"text": "two"}'), conversation=conversation)
    stack.rows("select maas_decide_action(%s, %s, 'reject', 'sql')", first, user)
    run_id = ask(stack, user, "What did you do?", conversation)
    line = 'Actions: write_line {"text": "one"}: rejected; write_line {"text": "two"}: pending'
    assert line in finish(stack, run_id)["draft_context"]
    assert (lines(stack), state(stack, first)[0]) == ([], "rejected")
    assert stack.rows("select from pipeline_runs where kind = 'action'") == []


def test_cancelled_before_it_was_executed(stack: Stack, user: UUID, begin: Begin, propose: Propose) -> None:
    """It stands as failed, and executes when its run is tried again."""
    (action,) = propose(WRITE)
    stack.kill()
    run_id = approve(stack, action, user)
    stack.rows("select maas_cancel_run(%s)", run_id)
    begin()
    assert finish(stack, run_id)["error_code"] == "cancelled"
    assert (lines(stack), state(stack, action)) == ([], ("failed", None))
    assert stack.rows("select maas_retry_run(%s) as verdict", run_id)[0]["verdict"] == "retrying"
    poll(lambda: state(stack, action)[0] == "done")
    assert finish(stack, run_id)["status"] == "COMPLETED"
    assert lines(stack) == ["one"]


def test_a_run_of_this_kind_without_an_action_fails(stack: Stack, user: UUID, begin: Begin) -> None:
    """Nobody executes what was not decided, whatever a client inserts."""
    query = "insert into pipeline_runs (user_id, user_query, kind) values (%s, 'wipe', 'action') returning id"
    run_id = stack.rows(query, user)[0]["id"]
    begin()
    assert (finish(stack, run_id)["status"], finish(stack, run_id)["error_code"]) == ("FAILED", "no_action")


def test_of_many_approvals_one_counts(stack: Stack, user: UUID, propose: Propose) -> None:
    """20 at once over HTTP: one 200, one run, one execution; the others get its state."""
    (action,) = propose(WRITE)
    stack.start_server()
    ready = Barrier(20)

    def post(_: int) -> tuple[int, dict[str, Any]]:
        ready.wait(20)
        reply = stack.client.post(f"/v1/actions/{action}/approve", json={"user_id": str(user)})
        return reply.status_code, reply.json()

    with ThreadPoolExecutor(20) as pool:
        replies = list(pool.map(post, range(20)))
    (accepted,) = [body for status, body in replies if status == 200]
    refused = [body["error"] for status, body in replies if status == 409]
    assert len(refused) == 19 and {error["code"] for error in refused} == {"already_decided"}
    assert {error["details"]["status"] for error in refused} <= {"approved", "executing", "done"}
    finish(stack, UUID(accepted["action_run_id"]))
    trace = stack.client.get(f"/v1/runs/{accepted['action_run_id']}/trace")
    assert trace.status_code == 200, trace.text
    assert len(stack.rows("select from pipeline_runs where kind = 'action'")) == 1
    assert (lines(stack), state(stack, action)[0]) == (["one"], "done")
