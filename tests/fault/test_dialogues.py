"""Models that call tools: what dies in between is neither asked nor done a second time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import ROOT, Stack, maas

WRITE = ("write_line", '{"text": "one"}')
Clerk = Callable[..., None]


@pytest.fixture
def stack(emptied_stack: Stack) -> Stack:
    return emptied_stack


@pytest.fixture
def models(lasting_models: ModelServer) -> ModelServer:
    return lasting_models


@pytest.fixture
def clerk(stack: Stack, models: ModelServer) -> Clerk:
    """Start everything around an assistant with tools; again after a kill."""

    def start(**definition: object) -> None:
        stack.rows(
            "insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s) "
            "on conflict do nothing",
            json.dumps({"toolset": ["box"]} | definition),
        )
        stack.keep_orchestrator(**settings(stack, models))

    return start


def settings(stack: Stack, models: ModelServer) -> dict[str, str]:
    return {**models.settings(), "MAAS_TOOLS": "tests.toolbox:TOOLS", "TOOLBOX": str(stack.folder)}


def ask(stack: Stack, user: UUID, query: str = "Write it down.") -> UUID:
    insert = "insert into pipeline_runs (user_id, user_query, assistant) values (%s, %s, 'clerk') returning id"
    return UUID(str(stack.rows(insert, user, query)[0]["id"]))


def answer(stack: Stack, run_id: UUID) -> dict[str, Any]:
    poll(
        lambda: stack.rows("select from pipeline_runs where id = %s and queue_state = 2", run_id), 30, "it is finished"
    )
    return dict(
        stack.rows("select status, final_answer, error_code, error_message from pipeline_runs where id = %s", run_id)[0]
    )


def lines(stack: Stack) -> list[str]:
    path = stack.folder / "lines"
    return path.read_text().split() if path.exists() else []


def tool_results(models: ModelServer) -> list[dict[str, Any]]:
    """The results that the model was sent last."""
    last = [one for one in models.requests if one["model"] == "responder"][-1]
    return [json.loads(turn["content"]) for turn in last["messages"] if turn["role"] == "tool"]


def executions(stack: Stack, run_id: UUID) -> list[tuple[str, str, int]]:
    rows = stack.rows("select tool, status, attempt from tool_executions where run_id = %s order by id", run_id)
    return [(row["tool"], row["status"], row["attempt"]) for row in rows]


def test_results_go_back_in_order(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    """What is wrong with a call comes back to the model, beside what the others gave."""
    (stack.folder / "go").touch()
    models.rounds["responder"] = [
        [("read_slowly", ""), ("write_line", '{"text": '), ("fly", "{}"), WRITE],
        [WRITE, ("write_line", '{"text": "two"}')],
    ]
    clerk()
    run_id = ask(stack, user)
    assert answer(stack, run_id)["final_answer"] == "A model answered."
    assert lines(stack) == ["read", "one", "two"]
    codes = [result.get("error_code") for result in tool_results(models)]
    assert codes == [None, "validation_error", "unknown_tool", None, None, None]
    assert [result.get("data") for result in tool_results(models)][3:] == [{"written": "one"}] * 2 + [
        {"written": "two"}
    ]
    assert executions(stack, run_id) == [
        ("read_slowly", "done", 1),
        ("write_line", "done", 1),
        ("write_line", "done", 1),
    ]
    page = maas(stack, "trace", str(run_id)).stdout
    assert re.findall(r"(write_line|read_slowly) +(write|read) +done", page) == [
        ("read_slowly", "read"),
        ("write_line", "write"),
        ("write_line", "write"),
    ]
    events = stack.rows("select type, payload from run_events where run_id = %s order by n", run_id)
    assert [event["type"] for event in events if event["type"].startswith("tool")].count("tool_result") == 6


def test_killed_before_its_first_reply(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    models.rounds["responder"] = [[WRITE]]
    models.hold("responder")
    clerk()
    run_id = ask(stack, user)
    poll(lambda: models.calls["responder"] == 1)
    stack.kill()
    models.release("responder")
    clerk()
    assert answer(stack, run_id)["status"] == "COMPLETED"
    assert (lines(stack), models.calls["responder"]) == (["one"], 3)  # the lost one, and both rounds


def test_killed_between_reply_and_call(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    """The reply is pinned: its call is made by the next owner, and the model is not asked for it again."""
    models.rounds["responder"] = [[WRITE]]
    with psycopg.connect(stack.dsn) as holder:
        holder.execute("lock table tool_executions in exclusive mode")
        clerk()
        run_id = ask(stack, user)
        waits = "select from pg_locks where relation = 'tool_executions'::regclass and not granted"
        poll(lambda: stack.rows(waits), what="the call waits")
        stack.kill()
        # Without its client it would still begin the write.
        stack.rows(waits.replace("select", "select pg_terminate_backend(pid)"))
    assert lines(stack) == []
    clerk()
    assert answer(stack, run_id)["status"] == "COMPLETED"
    assert (lines(stack), models.calls["responder"]) == (["one"], 2)


def test_killed_within_a_write(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    """Nobody knows whether it took effect: the model gets that result at every call, and it is not done again."""
    models.rounds["responder"] = [[("write_slowly", '{"text": "one"}')], [("write_slowly", '{"text": "one"}')]]
    clerk()
    run_id = ask(stack, user)
    poll(lambda: lines(stack) == ["one"])
    stack.kill()
    (stack.folder / "go").touch()
    clerk()
    assert answer(stack, run_id)["status"] == "COMPLETED"
    assert (lines(stack), models.calls["responder"]) == (["one"], 3)
    assert [result["error_code"] for result in tool_results(models)] == ["in_doubt", "in_doubt"]
    assert executions(stack, run_id) == [("write_slowly", "in_doubt", 1)]


def test_killed_within_a_read(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    models.rounds["responder"] = [[WRITE, ("read_slowly", "{}")]]
    clerk()
    run_id = ask(stack, user)
    poll(lambda: lines(stack) == ["one", "read"])
    stack.kill()
    (stack.folder / "go").touch()
    clerk()
    assert answer(stack, run_id)["status"] == "COMPLETED"
    assert (lines(stack), models.calls["responder"]) == (["one", "read", "read"], 2)
    assert executions(stack, run_id) == [("write_line", "done", 1), ("read_slowly", "done", 2)]


def test_killed_before_its_second_reply(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    models.rounds["responder"] = [[WRITE]]
    models.hold_after("responder", 1)
    clerk()
    run_id = ask(stack, user)
    poll(lambda: models.calls["responder"] == 2)
    stack.kill()
    models.release("responder")
    clerk()
    assert answer(stack, run_id)["status"] == "COMPLETED"
    assert (lines(stack), models.calls["responder"]) == (["one"], 3)
    assert tool_results(models)[0]["data"] == {"written": "one"}


def test_every_round_but_the_last_is_asked_once(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    """kill -9 in the third round: what reads gave is the same again, so pinned rounds stay."""
    (stack.folder / "go").touch()
    models.rounds["responder"] = [[("read_slowly", "{}")], [WRITE]]
    models.hold_after("responder", 2)
    clerk()
    run_id = ask(stack, user)
    poll(lambda: models.calls["responder"] == 3)
    stack.kill()
    models.release("responder")
    clerk()
    assert answer(stack, run_id)["status"] == "COMPLETED"
    assert (lines(stack), models.calls["responder"]) == (["read", "one", "read"], 4)


@pytest.mark.parametrize(("query", "words"), [("Write it down.", "found no words"), ("Запиши это.", "Спросите меня")])
def test_silence_after_tools(
    stack: Stack, models: ModelServer, user: UUID, clerk: Clerk, query: str, words: str
) -> None:
    """One more question, then a sentence of ours; without tools silence stays an error."""
    models.rounds["responder"] = [[WRITE]]
    models.replies["responder"] = ""
    clerk()
    assert words in answer(stack, ask(stack, user, query))["final_answer"]
    assert models.calls["responder"] == 3
    models.rounds.clear()
    assert answer(stack, ask(stack, user, query))["error_code"] == "malformed"


def test_rounds_end(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    """In the last round the model may only speak; one that calls all the same has said nothing."""
    models.rounds["responder"] = [[("write_line", json.dumps({"text": str(number)}))] for number in range(9)]
    clerk(limits={"rounds": 3})
    assert "found no words" in answer(stack, ask(stack, user))["final_answer"]
    assert (lines(stack), models.calls["responder"]) == (["0", "1"], 3)
    choices = [one.get("tool_choice") for one in models.requests if one["model"] == "responder"]
    assert choices[2:] == ["none"] and "none" not in choices[:2]


def test_calls_end(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    models.rounds["responder"] = [[WRITE, ("write_line", '{"text": "two"}'), ("write_line", '{"text": "three"}')]]
    clerk(limits={"calls": 2})
    assert answer(stack, ask(stack, user))["status"] == "COMPLETED"
    assert lines(stack) == ["one", "two"]
    assert tool_results(models)[2]["error_code"] == "TOOL_CALL_LIMIT"


def test_time_ends(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    models.rounds["responder"] = [[("read_slowly", "{}")]]
    clerk(limits={"seconds": 1})
    state = answer(stack, ask(stack, user))
    assert (state["status"], state["error_code"]) == ("FAILED", "timeout")
    assert state["error_message"] == "final_responder: no answer within 1 s, tools included"


def test_context_is_there_before_the_first_question(
    stack: Stack, models: ModelServer, user: UUID, clerk: Clerk
) -> None:
    """What providers give is in the first request, in every mode; they are no tools of the model."""
    (stack.folder / "go").touch()
    clerk(toolset=[], context_providers=["read_slowly"], default_mode="ask")
    run_id = ask(stack, user)
    assert answer(stack, run_id)["final_answer"] == "A model answered."
    (asked,) = [one for one in models.requests if one["model"] == "responder"]
    assert '"data": {"is_open": true}' in asked["messages"][0]["content"] and "tools" not in asked
    assert executions(stack, run_id) == [("read_slowly", "done", 1)]


def test_an_assistant_answers_its_channels_only(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    clerk(channels=["cli"])
    refused = answer(stack, ask(stack, user))
    assert (refused["status"], refused["error_code"]) == ("FAILED", "wrong_channel")
    columns = "(user_id, user_query, assistant, source)"
    insert = f"insert into pipeline_runs {columns} values (%s, 'Hi', 'clerk', 'cli') returning id"
    assert answer(stack, stack.rows(insert, user)[0]["id"])["final_answer"] == "A model answered."
    assert models.calls["responder"] == 1


def test_a_context_that_fails_is_left_out(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    clerk(toolset=[], context_providers=["read_nothing"])
    run_id = ask(stack, user)
    assert answer(stack, run_id)["final_answer"] == "A model answered."
    (asked,) = [one for one in models.requests if one["model"] == "responder"]
    assert "<context>\n" not in asked["messages"][0]["content"]
    assert executions(stack, run_id) == [("read_nothing", "failed", 1)]


def test_a_dangerous_call_waits(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    """The action stands in its table before the answer, and nothing was done."""
    models.rounds["responder"] = [[("wipe", '{"text": "one"}')]]
    clerk()
    run_id = ask(stack, user)
    assert answer(stack, run_id)["status"] == "COMPLETED"
    assert lines(stack) == [] and tool_results(models)[0]["error_code"] == "approval_required"
    (action,) = stack.rows(
        "select id, tool_name, tool_args, status from chat_pending_actions where run_id = %s", run_id
    )
    assert (action["tool_name"], action["tool_args"], action["status"]) == ("wipe", {"text": "one"}, "pending")
    (event,) = stack.rows("select payload from run_events where run_id = %s and type = 'approval_required'", run_id)
    assert event["payload"]["action_id"] == str(action["id"])
    assert event["payload"]["reason"] == "A line is gone for good"


def test_plan_mode_asks_for_writes(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    models.rounds["responder"] = [[WRITE]]
    clerk(default_mode="plan")
    run_id = ask(stack, user)
    assert answer(stack, run_id)["status"] == "COMPLETED"
    assert lines(stack) == [] and tool_results(models)[0]["error_code"] == "approval_required"


def test_a_replay_lets_no_tool_act(stack: Stack, models: ModelServer, user: UUID, clerk: Clerk) -> None:
    models.rounds["responder"] = [[WRITE]]
    clerk()
    run_id = ask(stack, user)
    assert answer(stack, run_id)["status"] == "COMPLETED"
    stack.kill()
    done = maas(
        stack, "replay", str(run_id), "--stage", "final_responder", PYTHONPATH=str(ROOT), **settings(stack, models)
    )
    printed = " ".join((done.stdout + done.stderr).split())
    assert "clerk has tools, which must not act in a replay: it cannot be replayed" in printed
    assert (done.returncode, lines(stack), models.calls["responder"]) == (1, ["one"], 2)
