"""The ledger of model calls: made once, priced, limited, and by whom they were answered."""

from __future__ import annotations

import signal
from uuid import UUID

import pytest

from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack

Rows = list[dict[str, object]]


def calls_of(stack: Stack, run_id: UUID, stage: str) -> Rows:
    query = "select * from llm_calls where run_id = %s and stage = %s order by round"
    return [dict(row) for row in stack.rows(query, run_id, stage)]


def test_a_pinned_round_is_not_asked_again(stack: Stack, models: ModelServer, user: UUID) -> None:
    """kill -9 in the second round of a stage: the first one was pinned and costs no second call."""
    models.replies["analyzer"] = "I would rather not."
    first = stack.start_orchestrator(**models.settings())
    models.hold_after("analyzer", 1)
    run_id = UUID(
        str(
            stack.rows(
                "insert into pipeline_runs (user_id, user_query) values (%s, 'What is a quark?') returning id", user
            )[0]["id"]
        )
    )
    poll(lambda: models.calls["analyzer"] == 2)
    (pinned,) = calls_of(stack, run_id, "analyzer")
    assert (pinned["round"], pinned["attempt"], pinned["reply"]) == (0, 1, "I would rather not.")
    stack.stop(first, signal.SIGKILL)
    models.release("analyzer")
    stack.start_orchestrator(**models.settings())
    stack.wait_archived(run_id)
    assert models.calls["analyzer"] == 3  # the first round once, the repair twice
    rounds = [(call["round"], call["attempt"], call["provider"]) for call in calls_of(stack, run_id, "analyzer")]
    assert rounds == [(0, 1, "openai"), (1, 2, "openai"), (2, 2, "extractive")]
    assert stack.rows("select degraded from pipeline_runs where id = %s", run_id)[0]["degraded"] == ["Analyzer"]


def test_stages_that_are_done_are_not_asked_again(stack: Stack, models: ModelServer, user: UUID) -> None:
    """kill -9 of each stage in turn: whatever was stored before it is called once."""
    roles = ("analyzer", "assembler", "responder", "archivist")
    process = stack.start_orchestrator(**models.settings())
    run_id = None
    for number, role in enumerate(roles):
        models.hold(role)
        if run_id is None:
            query = "insert into pipeline_runs (user_id, user_query) values (%s, 'What is a quark?') returning id"
            run_id = UUID(str(stack.rows(query, user)[0]["id"]))
        poll(lambda role=role: models.calls[role] == 1)  # type: ignore[misc]
        assert [models.calls[done] for done in roles[:number]] == [2] * number  # once killed, once made
        following = roles[number + 1] if number + 1 < len(roles) else None
        if following:
            models.hold(following)
        stack.stop(process, signal.SIGKILL)
        models.release(role)
        process = stack.start_orchestrator(**models.settings())
    assert run_id is not None
    stack.wait_archived(run_id)
    assert models.calls == dict.fromkeys(roles, 2)
    for stage, attempt in (("analyzer", 2), ("assembler", 3), ("final_responder", 4), ("archivist", 5)):
        assert [call["attempt"] for call in calls_of(stack, run_id, stage)] == [attempt]  # the lost call shows as a gap


def test_the_fallback_answers_when_the_first_fails(stack: Stack, models: ModelServer, user: UUID) -> None:
    models.statuses["responder"] = 500
    stack.start_server()
    stack.start_orchestrator(**models.settings(), MAAS_RESPONDER_FALLBACK="openai:archivist", MAAS_ATTEMPT_TIMEOUT="5")
    run_id = stack.ask(user, "Are you there?")
    state = stack.answer(run_id)
    assert state["status"] == "COMPLETED" and "A model was asked" in state["final_answer"]
    first, second = calls_of(stack, run_id, "final_responder")
    assert (first["model"], first["finish"], first["attempts"]) == ("responder", "error", 4)
    assert (second["model"], second["finish"], second["attempts"]) == ("archivist", "stop", 1)


def test_a_fallback_that_fails_too_fails_the_run(stack: Stack, models: ModelServer, user: UUID) -> None:
    models.statuses |= {"responder": 500, "archivist": 401}
    stack.start_server()
    stack.start_orchestrator(**models.settings(), MAAS_RESPONDER_FALLBACK="openai:archivist")
    state = stack.answer(stack.ask(user, "Are you there?"))
    assert (state["status"], state["error_code"]) == ("FAILED", "unauthorized")


def test_prices_are_fixed_when_a_call_is_made(stack: Stack, models: ModelServer, user: UUID) -> None:
    """Micro-dollars by the table of that moment; the views add up; an unknown price is unknown, not nothing."""
    stack.rows("insert into model_prices (provider, model, input, output) values ('openai', 'respond%%', 2, 10)")
    stack.start_server()
    stack.start_orchestrator(**models.settings())
    first = stack.ask(user, "How much is it?")
    stack.wait_archived(first)
    stack.rows("update model_prices set input = 1000 where model = 'respond%%'")
    assert [call["price"] for call in calls_of(stack, first, "final_responder")] == [11 * 2 + 7 * 10]
    (cost,) = stack.rows("select * from v_run_cost where run_id = %s", first)
    assert (cost["calls"], cost["tokens_in"], cost["tokens_out"], cost["price"], cost["unpriced"]) == (4, 44, 28, 92, 3)
    second = stack.ask(user, "And now?")
    stack.wait_archived(second)
    (mine,) = stack.rows("select * from v_cost_user where user_id = %s", user)
    assert (mine["tokens"], mine["tokens_today"], mine["price"]) == (144, 144, 92 + 11_000 + 70)
    daily = stack.rows("select model, calls, price, unpriced from v_cost_daily order by model")
    assert [row["model"] for row in daily] == ["analyzer", "archivist", "assembler", "responder"]
    assert (daily[3]["calls"], daily[3]["price"], daily[3]["unpriced"]) == (2, 92 + 11_070, 0)
    hashes = {call["request_hash"] for run in (first, second) for call in calls_of(stack, run, "final_responder")}
    assert len(hashes) == 2 and all(len(str(one)) == 64 for one in hashes)


def test_a_run_that_has_spent_enough_keeps_its_memory(stack: Stack, models: ModelServer, user: UUID) -> None:
    """Past the limit before the answer it is FAILED; after it the record is made by rule."""
    stack.start_server()
    orchestrator = stack.start_orchestrator(**models.settings(), MAAS_RUN_MAX_TOKENS="20")
    state = stack.answer(stack.ask(user, "What is a quark?"))
    assert (state["status"], state["error_code"]) == ("FAILED", "over_budget")
    assert "final_responder" in state["error_message"] and "36 of 20 tokens" in state["error_message"]
    stack.stop(orchestrator)
    stack.start_orchestrator(**models.settings(), MAAS_RUN_MAX_TOKENS="40")
    run_id = stack.ask(user, "My heron is called Gustav.")
    assert stack.answer(run_id)["status"] == "COMPLETED"
    stack.wait_archived(run_id)
    run = stack.rows("select degraded, archive_status from pipeline_runs where id = %s", run_id)[0]
    assert (run["degraded"], run["archive_status"]) == (["Archivist"], "ARCHIVED")
    assert "Gustav" in stack.rows("select summary from lsm_storage where run_id = %s", run_id)[0]["summary"]


@pytest.mark.parametrize("switch", ["on", "off"])
def test_the_fast_path_leaves_out_what_changes_nothing(
    stack: Stack, models: ModelServer, user: UUID, switch: str
) -> None:
    """Who has no memory needs no Analyzer, and a short draft no Assembler: skipped calls stand in the ledger."""
    stack.start_server()
    stack.start_orchestrator(**models.settings(), MAAS_FAST_PATH=switch)
    first = stack.ask(user, "My heron is called Gustav.")
    stack.wait_archived(first)
    second = stack.ask(user, "What is my heron called?")
    stack.wait_archived(second)
    saved = {"analyzer": 1, "assembler": 2} if switch == "on" else {"analyzer": 0, "assembler": 0}
    assert (models.calls["analyzer"], models.calls["assembler"]) == (2 - saved["analyzer"], 2 - saved["assembler"])
    costs = stack.rows("select skipped, calls, requests from v_run_cost order by created_at")
    skipped = [2, 1] if switch == "on" else [0, 0]
    assert [(cost["skipped"], cost["calls"], cost["requests"]) for cost in costs] == [
        (count, 4, 4 - count) for count in skipped
    ]
    if switch == "on":
        assert "Gustav" in models.prompts("responder")[1]
