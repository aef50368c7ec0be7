"""Every combination of effect, mode and permission."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from maas.tools.tool import Decision, Effect, Mode, decide

ALLOWED: list[tuple[Effect, Mode, Decision]] = [
    ("read", "auto", "run"),
    ("read", "plan", "run"),
    ("read", "ask", "ask"),
    ("write", "auto", "run"),
    ("write", "plan", "ask"),
    ("write", "ask", "ask"),
    ("dangerous", "auto", "ask"),
    ("dangerous", "plan", "ask"),
    ("dangerous", "ask", "ask"),
]


@pytest.mark.parametrize(("effect", "mode", "decision"), ALLOWED)
def test_allowed(effect: Effect, mode: Mode, decision: Decision) -> None:
    assert decide(effect, mode, True) == decision


@pytest.mark.parametrize(("effect", "mode", "_"), ALLOWED)
def test_not_allowed_is_refused(effect: Effect, mode: Mode, _: Decision) -> None:
    """Permission comes first: nobody is asked to approve what is closed anyway."""
    assert decide(effect, mode, False) == "refuse"


def test_the_table_is_whole() -> None:
    assert {(effect, mode) for effect, mode, _ in ALLOWED} == set(product(get_args(Effect), get_args(Mode)))
