"""A model that is away: runs wait for it without a slot, whatever happens meanwhile, and not for ever."""

from __future__ import annotations

import json
import signal
import socket
from typing import Any
from uuid import UUID, uuid4

from tests.cable import Cable
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack, free_port


def row(stack: Stack, run_id: UUID) -> dict[str, Any]:
    return stack.rows("select * from pipeline_runs where id = %s", run_id)[0]


def fail_one(stack: Stack, models: ModelServer) -> None:
    """A run that finds out that the model is away."""
    models.statuses["responder"] = 503
    state = stack.answer(stack.ask(uuid4(), "Are you there?"))
    assert (state["status"], models.calls["responder"]) == ("FAILED", 4)


def wait_deferred(stack: Stack, run_id: UUID) -> None:
    poll(lambda: row(stack, run_id)["not_before"] is not None, what="the run waits for its model")


def attempts(stack: Stack, run_id: UUID) -> int:
    (made,) = stack.rows(
        """select coalesce(sum(attempts), 0)::int as made from llm_calls
           where run_id = %s and stage = 'final_responder'""",
        run_id,
    )
    return int(made["made"])


def test_a_run_waits_for_its_model(stack: Stack, models: ModelServer, user: UUID) -> None:
    """It keeps its user's turn and no slot, can be cancelled at once, and counts its attempts beyond a kill -9."""
    stack.start_server()
    settings = models.settings() | {"MAAS_CONCURRENCY": "1"}
    first = stack.start_orchestrator(**settings)
    fail_one(stack, models)
    waiting, behind, cancelled = (
        stack.ask(user, "And now?"),
        stack.ask(user, "And after that?"),
        stack.ask(uuid4(), "Are you back?"),
    )
    wait_deferred(stack, waiting)
    wait_deferred(stack, cancelled)
    run = row(stack, waiting)
    assert (run["status"], run["queue_state"], run["owner"], run["error_code"]) == ("RESPONDING", 0, None, None)
    assert row(stack, behind)["queue_state"] == -1
    (stuck,) = stack.rows("select why from v_runs_stuck where id = %s", waiting)
    assert "its model is unavailable" in stuck["why"]
    assert stack.rows("select deferred, runnable from v_queue") == [{"deferred": 2, "runnable": 0}]
    events = stack.rows("select payload from run_events where run_id = %s and type = 'deferred'", waiting)
    assert "openai:responder has been paused since" in events[0]["payload"]["cause"]
    assert '"event": "run_deferred"' in stack.log()

    kept = stack.client.post("/v1/memories", json={"user_id": str(uuid4()), "memory": "My bicycle is blue."})
    stack.wait_archived(UUID(kept.json()["request_id"]))  # the one slot is free
    assert stack.client.post(f"/v1/runs/{cancelled}/cancel").status_code == 202
    assert stack.answer(cancelled, 5)["error_code"] == "cancelled"

    def failures() -> list[tuple[str, str]]:
        lines = (line for line in stack.log().splitlines() if str(cancelled) in line and line.startswith("{"))
        logged = [json.loads(line) for line in lines]
        return [(one["status"], one["code"]) for one in logged if one["event"] == "run_failed"]

    poll(failures, what="it is logged")
    assert failures() == [("FAILED", "cancelled")]

    poll(
        lambda: models.calls["responder"] == 5 and row(stack, waiting)["not_before"] is not None, what="a probe failed"
    )
    assert attempts(stack, waiting) == 1
    stack.stop(first, signal.SIGKILL)
    stack.start_orchestrator(**settings)
    state = stack.answer(waiting, 30)
    assert (state["status"], state["error_code"]) == ("FAILED", "provider_error")
    assert attempts(stack, waiting) == 4
    wait_deferred(stack, behind)
    del models.statuses["responder"]
    assert stack.answer(behind)["final_answer"] == "A model answered."


def test_a_run_does_not_wait_beyond_its_time(stack: Stack, models: ModelServer, user: UUID) -> None:
    stack.start_server()
    stack.start_orchestrator(**(models.settings() | {"MAAS_RESPONDER_TIMEOUT": "2"}))
    fail_one(stack, models)
    waiting = stack.ask(user, "And now?")
    state = stack.answer(waiting)
    assert (state["status"], state["error_code"]) == ("FAILED", "provider_error")
    trace = stack.client.get(f"/v1/runs/{waiting}/trace").json()
    assert "openai:responder has been paused since" in trace["stages"][-1]["why"]
    assert models.calls["responder"] == 4
    assert row(stack, waiting)["failed_at"] >= row(stack, waiting)["answer_by"]


def test_a_start_without_a_database_waits_for_it(stack: Stack, models: ModelServer, user: UUID) -> None:
    """First nobody listens there, then somebody who hangs up at once, then Postgres."""
    port = free_port()
    target = stack.dsn.rpartition("@")[2].partition("/")[0].rpartition(":")
    dsn = stack.dsn.replace(f"{target[0]}:{target[2]}", f"127.0.0.1:{port}")
    settings = models.settings() | {"DATABASE_URL": dsn}
    started = [stack.launch("main.py", **settings), stack.launch("server.py", **settings)]
    poll(lambda: stack.log().count('"event": "database_unavailable"') >= 4, 30, "both have noticed")
    with socket.create_server(("127.0.0.1", port)) as listener:
        for _ in range(4):
            listener.accept()[0].close()
    stopped = stack.launch("main.py", **settings)
    poll(lambda: "database_unavailable" in stack.last_words(stopped))
    stopped.terminate()
    assert stopped.wait(10) == 0
    assert "Traceback" not in stack.log() and [one.poll() for one in started] == [None, None]
    cable = Cable(stack.dsn, port)
    try:
        poll(stack.is_ready, what="the server has found its database")
        assert stack.answer(stack.ask(user, "Are you there?"))["status"] == "COMPLETED"
    finally:
        for one in started:
            stack.stop(one)
        cable.close()


def test_a_run_waits_while_its_model_is_paused(stack: Stack, models: ModelServer, user: UUID) -> None:
    """The model gets no request meanwhile; what rules can do without it is done."""
    stack.start_server()
    stack.start_orchestrator(**models.settings())
    assert stack.answer(stack.ask(user, "Hello?"))["status"] == "COMPLETED"
    stack.rows("select maas_pause('model', 'openai:responder', 'too dear')")
    calls = models.calls["responder"]
    waiting = stack.ask(user, "Are you there?")
    wait_deferred(stack, waiting)
    (event,) = stack.rows("select payload from run_events where run_id = %s and type = 'deferred'", waiting)
    assert "openai:responder is paused by an operator" in event["payload"]["cause"]
    assert models.calls["responder"] == calls
    stack.rows("select maas_resume('model', 'openai:responder')")
    assert stack.answer(waiting, 20)["status"] == "COMPLETED"
    assert models.calls["responder"] == calls + 1
