"""The whole pipeline on OpenAI and on Gemini, through their SDKs, against a server that speaks both protocols."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import uuid4

import pytest

from shared.postgres import EmbeddedPostgres
from tests.aimock import Aimock, missing
from tests.databases import copy_of
from tests.stack import Stack

CHOICE = {"about": "world", "record": "none", "keywords": []}
RECORD = {
    "time_bucket_start": "2025-01-01",
    "time_bucket_end": "2025-01-01",
    "tags": ["Boats"],
    "summary": "The user has a boat called Zephyr. A model took note of it.",
}


@pytest.fixture(params=["openai:gpt-4o", "gemini:gemini-2.5-flash"])
def stack(
    request: pytest.FixtureRequest, postgres: EmbeddedPostgres, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """Server and orchestrator that ask aimock in every role."""
    if reason := missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("provider")
    with copy_of(template, postgres.dsn) as dsn, Aimock(folder) as aimock:
        aimock.say(json.dumps(CHOICE), to="<records>")
        aimock.say(json.dumps(RECORD), to="<logs>")
        aimock.say(json.dumps({"keep": []}), to="<memory>")
        aimock.say("A boat called Zephyr, how nice!", to="My boat")
        with Stack(dsn, folder) as running:
            running.start_server()
            running.start_orchestrator(**aimock.settings(request.param))
            yield running


def test_an_exchange_with_a_real_protocol(stack: Stack) -> None:
    """Four calls, each noted with provider and model; answer and record are the model's words."""
    user = uuid4()
    run_id = stack.ask(user, "My boat is called Zephyr.")
    state = stack.answer(run_id)
    assert state["status"] == "COMPLETED", state["error_message"]
    assert (state["final_answer"], state["degraded"]) == ("A boat called Zephyr, how nice!", [])
    stack.wait_archived(run_id)
    record = stack.rows("select tags, summary from lsm_storage where run_id = %s", run_id)
    assert record == [{"tags": RECORD["tags"], "summary": RECORD["summary"]}]
    calls = stack.rows(
        "select stage, provider || ':' || model as model, finish, attempts from llm_calls order by stage"
    )
    assert {call["stage"] for call in calls} == {"analyzer", "assembler", "final_responder", "archivist"}
    assert len(calls) == 4
    assert {(call["finish"], call["attempts"]) for call in calls} == {("stop", 1)}
    assert {call["model"] for call in calls} <= {"openai:gpt-4o", "gemini:gemini-2.5-flash"}
