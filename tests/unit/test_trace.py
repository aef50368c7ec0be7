"""A trace from rows: spans, who waited for whom, why a stage came to its rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from maas.cli.runs import dollars
from maas.runs.trace import build_trace

START = datetime(2025, 1, 2, 10, tzinfo=UTC)
TIMES = (
    "analyzing_at",
    "analyzed_at",
    "assembling_at",
    "ready_at",
    "responding_at",
    "completed_at",
    "failed_at",
    "archived_at",
)
NOTHING: dict[str, Any] = {
    "history": [],
    "calls": [],
    "tools": [],
    "steps": [],
    "prompts": [],
    "records": [],
    "words": [],
    "before": None,
    "waiting": [],
}


def after(ms: float) -> datetime:
    return START + timedelta(milliseconds=ms)


def row(*ms: float | None, **fields: Any) -> dict[str, Any]:
    """A run whose moments are so many milliseconds after it was inserted."""
    moments = [None if one is None else after(one) for one in ms]
    times = dict(zip(TIMES, [*moments, *[None] * (len(TIMES) - len(moments))], strict=True))
    run = {"status": "COMPLETED", "archive_status": "ARCHIVED", "try": 1, "degraded": [], "sources": None}
    return run | {"created_at": START, "error_code": None, "error_message": None} | times | fields


def call(stage: str, error: str | None = None, **fields: Any) -> dict[str, Any]:
    figures = {"ms": 2.5, "attempts": 1, "tokens_in": 10, "tokens_cached": 4, "tokens_out": 3, "price": 7}
    return {"stage": stage, "try": 1, "finish": "stop", "error": error} | figures | fields


def test_spans_follow_one_another() -> None:
    trace = build_trace(row(5, 15, 18, 30, 31, 90, None, 100), NOTHING | {"calls": [call("assembler")] * 2}, after(500))
    spans = [(one["stage"], one["began_ms"], one["ms"], one["state"]) for one in trace["stages"]]
    assert spans == [
        ("queue", 0, 5, "done"),
        ("analyzer", 5, 10, "done"),
        ("draft_builder", 15, 3, "done"),
        ("assembler", 18, 12, "done"),
        ("final_responder", 31, 59, "done"),
        ("archivist", 90, 10, "done"),
    ]
    assert (trace["took"]["answer_ms"], trace["took"]["archive_ms"]) == (90, 100)
    assert (trace["stages"][3]["calls"], trace["stages"][3]["model_ms"]) == (2, 5.0)


def test_a_stage_that_fails_says_why() -> None:
    run = row(5, 15, 18, 30, 31, None, 60, status="FAILED", archive_status="SKIPPED")
    trace = build_trace(run | {"error_code": "timeout", "error_message": "no answer"}, NOTHING, after(500))
    last = trace["stages"][-1]
    assert (last["stage"], last["state"], last["ms"], last["why"]) == (
        "final_responder",
        "failed",
        29,
        "timeout: no answer",
    )
    assert trace["took"]["answer_ms"] == 60


@pytest.mark.parametrize(("archive_status", "state", "ms"), [("ARCHIVING", "running", 410), ("FAILED", "failed", None)])
def test_a_record_that_is_not_there(archive_status: str, state: str, ms: float | None) -> None:
    trace = build_trace(row(5, 15, 18, 30, 31, 90, archive_status=archive_status), NOTHING, after(500))
    last = trace["stages"][-1]
    assert (last["stage"], last["state"], last["ms"]) == ("archivist", state, ms)


def test_what_has_not_begun_is_left_out() -> None:
    trace = build_trace(row(status="NEW", archive_status="PENDING"), NOTHING, after(40))
    assert [(one["stage"], one["state"], one["ms"]) for one in trace["stages"]] == [("queue", "running", 40)]
    assert trace["took"]["answer_ms"] is None


def test_rules_have_a_cause() -> None:
    calls = [call("analyzer", "openai:x: no answer"), call("analyzer"), call("archivist"), call("archivist")]
    run = row(5, 15, 18, 30, 31, 90, None, 100, degraded=["Analyzer", "Archivist"])
    why = {one["stage"]: one["why"] for one in build_trace(run, NOTHING | {"calls": calls}, after(500))["stages"]}
    assert why["analyzer"] == "openai:x: no answer"
    assert why["archivist"] == "its model's replies could not be used"
    assert why["assembler"] is None


def test_a_retry_is_timed_from_its_own_beginning() -> None:
    history = [{"happened": "retried", "at": after(1000).isoformat(), "details": {}}]
    calls = [call("analyzer", "an old error"), call("analyzer") | {"try": 2}]
    run = row(1010, 1020, 1030, 1040, 1041, 1050, None, 1060, **{"try": 2})
    trace = build_trace(run, NOTHING | {"history": history, "calls": calls}, after(5000))
    assert trace["took"]["answer_ms"] == 50
    assert trace["stages"][0]["ms"] == 10
    assert trace["stages"][1]["calls"] == 1


@pytest.mark.parametrize(("ended", "waited"), [(after(3), True), (None, True), (after(-1), False)])
def test_the_turn_before_is_named_if_it_was_in_flight(ended: datetime | None, waited: bool) -> None:
    before = {"id": "x", "seq": 1, "ended_at": ended and ended.isoformat()}
    trace = build_trace(row(5, status="ANALYZING"), NOTHING | {"before": before}, after(10))
    assert trace["waited_for"] == (before if waited else None)


def test_costs_are_summed_by_try() -> None:
    calls = [call("analyzer"), call("analyzer", price=None), call("assembler", finish="skipped", attempts=0)]
    trace = build_trace(row(5, 15), NOTHING | {"calls": [*calls, call("analyzer") | {"try": 2}]}, after(20))
    first, second = trace["costs"]
    assert (first["try"], first["calls"], first["attempts"], first["price"], first["unpriced"]) == (1, 2, 2, 14, 1)
    assert (first["tokens_in"], first["tokens_cached"], first["tokens_out"], first["ms"]) == (30, 12, 9, 7.5)
    assert (second["try"], second["calls"], second["price"]) == (2, 1, 7)


def test_prices() -> None:
    assert (dollars(1_234_567), dollars(0), dollars(None)) == ("$1.234567", "$0.000000", "?")
