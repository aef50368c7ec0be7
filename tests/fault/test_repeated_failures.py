"""A tool that fails again and again: the model is told so, within a run and over the runs of a conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from uuid import UUID, uuid4

import pytest

from tests.fault.test_actions import ask, finish
from tests.fault.test_dialogues import settings
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack

FAIL, WRITE = ("read_nothing", "{}"), ("write_line", '{"text": "one"}')
Fail = Callable[..., list[int]]


@pytest.fixture
def fail(stack: Stack, models: ModelServer, user: UUID) -> Fail:
    """Make these rounds of calls in a conversation; the numbers of failures that the model was told last."""
    definition = json.dumps({"toolset": ["box", "shelf"]})
    stack.rows("insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)", definition)
    stack.start_orchestrator(**settings(stack, models))

    def make(conversation: UUID | None, *rounds: tuple[str, str]) -> list[int]:
        models.rounds["responder"] = [[call] for call in rounds]
        finish(stack, ask(stack, user, "Look.", conversation))
        return counted(models)

    return make


def counted(models: ModelServer) -> list[int]:
    return [int(one) for one in re.findall(r"failures_in_a_row\W+(\d+)", models.prompts("responder")[-1])]


def test_within_a_run(fail: Fail, models: ModelServer) -> None:
    assert fail(None, FAIL) == []
    assert fail(None, FAIL, FAIL, FAIL, WRITE) == [2, 3]
    assert "It failed twice" in models.prompts("responder")[-1] and "keeps failing" in models.prompts("responder")[-1]


def test_over_the_runs_of_a_conversation(fail: Fail, stack: Stack) -> None:
    conversation = uuid4()
    assert fail(conversation, FAIL, FAIL) == [2]
    assert fail(uuid4(), FAIL) == []
    assert fail(conversation, FAIL) == [3]
    stack.rows("update tool_executions set status = 'done' where id = (select max(id) from tool_executions)")
    assert fail(conversation, FAIL) == []


def test_what_is_in_doubt_does_not_count(fail: Fail, stack: Stack) -> None:
    conversation = uuid4()
    fail(conversation, FAIL, FAIL)
    stack.rows("update tool_executions set status = 'in_doubt'")
    assert fail(conversation, FAIL) == []


def test_after_a_crash_the_model_reads_the_same(fail: Fail, stack: Stack, models: ModelServer, user: UUID) -> None:
    conversation = uuid4()
    fail(conversation, FAIL)
    models.rounds["responder"] = [[FAIL], [FAIL]]
    before = models.calls["responder"]
    models.hold_after("responder", before + 2)
    run_id = ask(stack, user, "Look.", conversation)
    poll(lambda: models.calls["responder"] == before + 3, what="two calls have failed")
    stack.kill()
    models.release("responder")
    stack.start_orchestrator(**settings(stack, models))
    assert finish(stack, run_id)["status"] == "COMPLETED"
    assert counted(models) == [2, 3]
    assert models.calls["responder"] == before + 4
