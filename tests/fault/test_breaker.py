"""A model that hangs costs one timeout a while, not one a run; and it is asked again when it is back."""

from __future__ import annotations

import time
from uuid import UUID, uuid4

from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack

TIMEOUT = 1.0
RUNS = 20


def degraded(stack: Stack, runs: list[UUID]) -> list[list[str]]:
    rows = stack.rows("select degraded from pipeline_runs where id = any(%s)", runs)
    return [row["degraded"] for row in rows]


def asks(stack: Stack, run_id: UUID) -> list[dict[str, object]]:
    """The Analyzer's calls of a run, the rules' apart."""
    return stack.rows(
        """select finish, attempts, ms, error from llm_calls
           where run_id = %s and stage = 'analyzer' and provider = 'openai'""",
        run_id,
    )


def start(stack: Stack, models: ModelServer, **settings: str) -> None:
    stack.start_server()
    stack.start_orchestrator(**(models.settings() | {"MAAS_ANALYZER_TIMEOUT": str(TIMEOUT)} | settings))


def test_a_hanging_analyzer_costs_one_timeout_for_all(stack: Stack, models: ModelServer) -> None:
    models.hold("analyzer")
    start(stack, models)
    first = stack.ask(uuid4(), "Who finds out?")
    stack.wait_archived(first)
    (asked,) = asks(stack, first)
    assert (asked["finish"], asked["attempts"]) == ("error", 1)
    began = time.monotonic()
    runs = [stack.ask(uuid4(), f"Question {n}?") for n in range(RUNS - 1)]
    stack.wait_archived(*runs)
    assert models.calls["analyzer"] <= 1 + (time.monotonic() - began) / 5
    refused = [call for run in runs for call in asks(stack, run) if call["attempts"] == 0]
    assert len(refused) >= RUNS - 2
    for call in refused:
        assert call["finish"] == "error" and float(str(call["ms"])) < TIMEOUT * 500
        assert "timeout: openai:analyzer has been paused since" in str(call["error"])
    assert degraded(stack, [first, *runs]) == [["Analyzer"]] * RUNS
    statuses = stack.rows("select distinct status, final_answer from pipeline_runs")
    assert statuses == [{"status": "COMPLETED", "final_answer": "A model answered."}]
    assert stack.log().count('"event": "model_unavailable"') == 1

    models.release("analyzer")
    again: list[UUID] = []

    def is_back() -> bool:
        again.append(stack.ask(uuid4(), "Are you back?"))
        stack.wait_archived(again[-1])
        return degraded(stack, again[-1:]) == [[]]

    poll(is_back, 30)
    assert [call["finish"] for call in asks(stack, again[-1])] == ["stop"]
    assert stack.log().count('"event": "model_recovered"') == 1


def test_many_at_once_wait_for_one_timeout_together(stack: Stack, models: ModelServer) -> None:
    """Those in flight when it dies share the wait; those that come while it is left alone do not wait at all."""
    models.hold("analyzer")
    start(stack, models)
    together = [stack.ask(uuid4(), f"Question {n}?") for n in range(RUNS)]
    stack.wait_archived(*together)
    assert degraded(stack, together) == [["Analyzer"]] * RUNS
    spent = stack.rows(
        """select max(analyzed_at) - min(analyzing_at) < make_interval(secs => %s) as is_short from pipeline_runs""",
        TIMEOUT * 2.5,
    )
    assert spent == [{"is_short": True}]


def test_a_hiccup_fails_nobody(stack: Stack, models: ModelServer, user: UUID) -> None:
    """500, 500, 500, 200: the Responder answers, although the Analyzer has given up on the same model."""
    models.statuses["responder"] = 500
    start(stack, models, MAAS_MODEL="openai:responder", MAAS_ANALYZER_MODEL="", MAAS_RETRY_DELAY="0.3")
    run_id = stack.ask(user, "Are you there?")
    poll(lambda: [r["messages"][-1]["content"] for r in models.requests].count("Are you there?") >= 3)
    del models.statuses["responder"]
    state = stack.answer(run_id)
    assert (state["status"], state["final_answer"]) == ("COMPLETED", "A model answered.")
    assert degraded(stack, [run_id]) == [["Analyzer"]]
    (call,) = stack.rows("select attempts from llm_calls where run_id = %s and stage = 'final_responder'", run_id)
    assert call["attempts"] >= 3


def test_what_a_model_may_be_asked_is_shared_by_all_processes(stack: Stack, models: ModelServer, user: UUID) -> None:
    """A pause that its provider demands, and the calls of a minute: who has to wait longer is put off, not failed."""

    def put_off(run_id: UUID) -> bool:
        query = "select from pipeline_runs where id = %s and not_before > now() + interval '20 s'"
        return bool(stack.rows(query, run_id))

    def let_go(run_id: UUID, column: str) -> dict[str, object]:
        stack.rows(f"update model_limits set {column} = '-infinity'")
        stack.rows("update engine_settings set value = value::bigint + 1 where key = 'assistants_version'")
        stack.rows("update pipeline_runs set not_before = now() where id = %s", run_id)
        return dict(stack.answer(run_id))

    models.statuses["responder"], models.retry_after["responder"] = 429, "60"
    stack.start_server()
    settings = models.settings() | {"MAAS_MODELS": '[{"role": "responder", "requests_per_minute": 1}]'}
    refused = stack.start_orchestrator(**settings)
    assert stack.answer(stack.ask(user, "Are you there?"))["error_code"] == "rate_limited"
    stack.stop(refused)
    del models.statuses["responder"]
    for _ in range(2):
        stack.start_orchestrator(**settings)
    for asked, column in ((2, "blocked_until"), (3, "requests_until")):
        run_id = stack.ask(uuid4(), "Who is next?")
        poll(lambda run_id=run_id: put_off(run_id))  # type: ignore[misc]
        stack.rows("update model_limits set requests_until = '-infinity' where blocked_until > now()")
        assert models.calls["responder"] == asked - 1
        assert let_go(run_id, column)["status"] == "COMPLETED"
        assert models.calls["responder"] == asked
