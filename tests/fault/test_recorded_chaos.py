"""Recorded replies of a real model, the orchestrator killed at each call; `tests.chaos.recorded` has the trial."""

from __future__ import annotations

from tests.chaos.recorded import hold_recorded_trial


def test_a_kill_at_each_call_changes_no_answer() -> None:
    verdict = hold_recorded_trial(names=["letter-after-consent"])
    assert verdict.holds, verdict
    assert verdict.kills["Responder"] >= 2
