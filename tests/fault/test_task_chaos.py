"""A short trial of tasks under kill -9; `make chaos-tasks` is the long one."""

from __future__ import annotations

from tests.chaos.tasks import hold_task_trial
from tests.stack import Stack


def test_every_step_is_done_once_or_is_in_doubt(stack: Stack) -> None:
    verdict = hold_task_trial(stack, 60)
    assert {check: found for check, found in verdict.offences.items() if found} == {}
    assert verdict.kills > 0 and verdict.figures["reclaimed"] > 0
    assert verdict.figures["steps"] == 600 and verdict.figures["done"] > 300
