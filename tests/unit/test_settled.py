"""What a stage need not do: runs of other kinds, and requests that were answered by rule."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from maas.pipeline.runs import Outcome, Run
from maas.pipeline.states import Status

WORKING = [Status.ANALYZING, Status.ANALYZED, Status.ASSEMBLING, Status.RESPONDING]


def run_at(status: Status, kind: str = "ask", analysis: dict[str, Any] | None = None) -> Run:
    return Run(uuid4(), 1, 1, kind, status, uuid4(), "q", "mentor", None, datetime.now(UTC), analysis=analysis)


@pytest.mark.parametrize("status", [*WORKING, Status.COMPLETED])
def test_a_question_is_worked_on(status: Status) -> None:
    assert run_at(status).settled() is None
    assert run_at(status, analysis={"needs_context": False}).settled() is None


@pytest.mark.parametrize("kind", ["archive", "task"])
def test_other_kinds_are_for_the_archivist(kind: str) -> None:
    assert [run_at(status, kind).settled() for status in WORKING] == [Outcome()] * 4
    assert run_at(Status.COMPLETED, kind).settled() is None


def test_an_approved_action_is_executed_and_remembered() -> None:
    """[A-30] No model analyses or assembles what was approved."""
    skipped = [run_at(status, "action").settled() for status in (Status.ANALYZING, Status.ANALYZED, Status.ASSEMBLING)]
    assert skipped == [Outcome()] * 3
    assert run_at(Status.RESPONDING, "action").settled() is None
    assert run_at(Status.COMPLETED, "action").settled() is None


def test_an_answer_by_rule_goes_through_from_the_row() -> None:
    """[MEM-1] Whichever process goes on with it after a crash."""
    outcomes = {status: run_at(status, analysis={"answer": "Noted."}).settled() for status in Status}
    assert outcomes[Status.ANALYZED] == outcomes[Status.ASSEMBLING] == Outcome()
    assert outcomes[Status.RESPONDING] == Outcome(answer="Noted.")
    record = outcomes[Status.COMPLETED]
    assert record is not None and record.record == {"tags": [], "summary": "", "degraded": False}
