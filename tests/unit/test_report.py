"""What benchmarks are held to: a gate that was missed fails them, by name."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from bench.report import TIMINGS, Figure, hold_gates
from shared.errors import MaasError

SLOW = Figure("claim p99", "ms", 40.0, limit=30)
FEW = Figure("facts found", "", 9, floor=10)


@pytest.mark.parametrize("figure", [SLOW, FEW, replace(SLOW, value=math.nan), replace(FEW, limit=9, floor=None)])
def test_a_missed_gate_is_an_error_that_names_it(figure: Figure) -> None:
    with pytest.raises(MaasError) as caught:
        hold_gates({"a case": [Figure("fine", "ms", 1.0, limit=2)], "another": [figure]})
    assert "fine" not in caught.value.message
    assert f"another: {figure.name} is " in caught.value.message and figure.gate in caught.value.message
    assert figure.bound() == f"{figure.gate} MISSED"


def test_every_gate_that_was_missed_is_named() -> None:
    with pytest.raises(MaasError) as caught:
        hold_gates({"a": [SLOW], "b": [FEW]})
    assert caught.value.message == "a: claim p99 is 40.0 ms, the gate is < 30; b: facts found is 9, the gate is >= 10"


def test_quick_holds_counts_and_no_times() -> None:
    for unit in TIMINGS:
        hold_gates({"a case": [replace(SLOW, unit=unit)]}, quick=True)
    assert SLOW.bound(quick=True) == "< 30 (in full)"
    with pytest.raises(MaasError, match="facts found"):
        hold_gates({"a case": [SLOW, FEW]}, quick=True)


def test_what_holds_is_no_error() -> None:
    hold_gates({"a case": [replace(SLOW, value=29.9), replace(FEW, value=10), Figure("free", "ms", 1e9)]})
    assert Figure("free", "ms", 1e9).bound() is None
