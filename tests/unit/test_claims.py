"""Which stages are skipped: those of runs of other kinds, and of requests that a note command has answered."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from maas.engine.drafts import Draft
from maas.engine.run import Outcome, Run
from maas.engine.states import Status

WORKING = [Status.ANALYZING, Status.ANALYZED, Status.ASSEMBLING, Status.RESPONDING]


def run_at(status: Status, kind: str = "ask", analysis: dict[str, Any] | None = None) -> Run:
    return Run(uuid4(), 1, 1, kind, status, uuid4(), "q", "mentor", None, datetime.now(UTC), analysis=analysis)


@pytest.mark.parametrize("status", [*WORKING, Status.COMPLETED])
def test_no_stage_of_a_question_is_skipped(status: Status) -> None:
    assert run_at(status).skip_outcome() is None
    assert run_at(status, analysis={"needs_context": False}).skip_outcome() is None


def test_an_import_is_for_the_archivist() -> None:
    assert [run_at(status, "archive").skip_outcome() for status in WORKING] == [Outcome()] * 4
    assert run_at(Status.COMPLETED, "archive").skip_outcome() is None


@pytest.mark.parametrize("kind", ["action", "task"])
def test_an_approved_action_and_a_task_are_executed_and_remembered(kind: str) -> None:
    """No model analyses or assembles them."""
    skipped = [run_at(status, kind).skip_outcome() for status in (Status.ANALYZING, Status.ANALYZED, Status.ASSEMBLING)]
    assert skipped == [Outcome()] * 3
    assert run_at(Status.RESPONDING, kind).skip_outcome() is None
    assert run_at(Status.COMPLETED, kind).skip_outcome() is None


def test_the_answer_of_a_note_command_skips_the_later_stages() -> None:
    """The answer is read from the row, so any process can continue after a crash."""
    outcomes = {status: run_at(status, analysis={"answer": "Noted."}).skip_outcome() for status in Status}
    assert outcomes[Status.ANALYZED] == outcomes[Status.ASSEMBLING] == Outcome()
    assert outcomes[Status.RESPONDING] == Outcome(answer="Noted.")
    record = outcomes[Status.COMPLETED]
    assert record is not None and record.record == {"tags": [], "summary": "", "degraded": False}


def test_a_run_keeps_everything_but_its_status_when_it_advances() -> None:
    before = Run(
        uuid4(),
        2,
        3,
        "ask",
        Status.ANALYZING,
        uuid4(),
        "q",
        "mentor",
        uuid4(),
        datetime.now(UTC),
        {"a": 1},
        "draft",
        "payload",
        waited=1.0,
        as_of=datetime.now(UTC),
        time_left=2.0,
        claimed_at=4.0,
    )
    before.log.calls.append({"round": 0})
    after = before.advanced(Status.ANALYZED, Outcome())
    assert after == replace(before, status=Status.ANALYZED) and after.claimed_at == before.claimed_at
    assert (before.status, after.log.calls) == (Status.ANALYZING, [])
    draft = Draft("q", (), (), "a role", "an instruction")
    assert before.advanced(Status.ANALYZED, Outcome(draft=draft)).draft is draft
