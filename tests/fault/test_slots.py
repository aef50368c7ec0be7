"""What a dialogue has collected when its process dies: the next owner asks the same and comes to the same state."""

from __future__ import annotations

import json
import signal
from typing import Any
from uuid import UUID

from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack

UPDATE = "update_sticker_params"


def ask(stack: Stack, user: UUID, query: str) -> UUID:
    insert = "insert into pipeline_runs (user_id, user_query, assistant) values (%s, %s, 'stickers') returning id"
    return UUID(str(stack.rows(insert, user, query)[0]["id"]))


def answer(stack: Stack, run_id: UUID) -> dict[str, Any]:
    poll(
        lambda: stack.rows("select from pipeline_runs where id = %s and queue_state = 2", run_id), 30, "it is finished"
    )
    return dict(stack.rows("select status, final_answer, attempt, try from pipeline_runs where id = %s", run_id)[0])


def slots(stack: Stack, user: UUID) -> dict[str, str]:
    (row,) = stack.rows("select slots from assistant_sessions where user_id = %s", user)
    return dict(row["slots"])


def systems(models: ModelServer) -> list[str]:
    return [one["messages"][0]["content"] for one in models.requests if one["model"] == "responder"]


def test_killed_after_its_values_were_kept(stack: Stack, models: ModelServer, user: UUID) -> None:
    """The session has changed by then; the pinned reply is known again all the same."""
    models.rounds["responder"] = [[(UPDATE, '{"style": "anime"}')]]
    stack.start_orchestrator(**models.settings())
    assert answer(stack, ask(stack, user, "anime"))["status"] == "COMPLETED"
    before = models.calls["responder"]
    models.rounds["responder"] = [[(UPDATE, '{"style": "3D", "emotion": "happy"}')]]
    models.hold_after("responder", before + 1)
    run_id = ask(stack, user, "3D and happy")
    poll(lambda: models.calls["responder"] == before + 2, what="it asks for words")
    assert slots(stack, user) == {"style": "3D", "emotion": "happy"}
    for process in list(stack._processes):
        stack.stop(process, signal.SIGKILL)
    models.release("responder")
    stack.start_orchestrator(**models.settings())
    state = answer(stack, run_id)
    assert (state["status"], state["attempt"]) == ("COMPLETED", 2)
    assert models.calls["responder"] == before + 3  # the first reply of this run was asked for once
    first, lost, again = systems(models)[before:]
    assert 'Collected: {"style": "anime"}' in first and lost == again
    assert 'Collected: {"style": "3D", "emotion": "happy"}' in again
    assert slots(stack, user) == {"style": "3D", "emotion": "happy"}


def test_a_failed_run_keeps_what_it_collected(stack: Stack, models: ModelServer, user: UUID) -> None:
    """The words fail after the values: nothing is lost, and a retry begins from there."""
    models.rounds["responder"] = [[(UPDATE, '{"style": "anime"}')]]
    models.hold_after("responder", 1)
    stack.start_orchestrator(**models.settings())
    run_id = ask(stack, user, "anime")
    poll(lambda: models.calls["responder"] == 2, what="it asks for words")
    models.statuses["responder"] = 401
    models.release("responder")
    assert answer(stack, run_id)["status"] == "FAILED"
    assert slots(stack, user) == {"style": "anime"}
    del models.statuses["responder"]
    stack.rows("select maas_retry_run(%s)", run_id)
    poll(lambda: stack.rows("select from pipeline_runs where id = %s and try = 2 and queue_state = 2", run_id), 30)
    assert answer(stack, run_id)["status"] == "COMPLETED"
    assert 'Collected: {"style": "anime"}' in systems(models)[-2]
    assert slots(stack, user) == {"style": "anime"}


def test_broken_arguments_are_corrected_once(stack: Stack, models: ModelServer, user: UUID) -> None:
    """Then words are enough, whatever else the model sends."""
    broken = (UPDATE, '{"style": "ani')
    stack.start_orchestrator(**models.settings())
    for rounds, kept in (
        ([[broken], [(UPDATE, '{"style": "anime"}')]], {"style": "anime"}),
        ([[broken], [broken]], {}),
    ):
        models.rounds["responder"] = list(rounds)
        other = UUID(int=user.int ^ len(kept))
        asked = models.calls["responder"]
        state = answer(stack, ask(stack, other, "anime"))
        assert (state["status"], models.calls["responder"] - asked) == ("COMPLETED", 2)
        assert state["final_answer"].startswith("Which ") and slots(stack, other) == kept
    results = [turn for turn in models.requests[-1]["messages"] if turn["role"] == "tool"]
    assert json.loads(results[0]["content"])["error_code"] == "validation_error"
