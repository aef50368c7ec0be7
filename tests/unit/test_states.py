"""The state machine as a machine: every walk that it allows is a legal life of a run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from maas.engine.states import NEXT, STAGE_OF, STAGES, TERMINAL, Status, is_legal, statuses_of

PATH = [*NEXT, Status.COMPLETED]


def test_the_normal_path() -> None:
    walk = [Status.NEW]
    while walk[-1] in NEXT:
        walk.append(NEXT[walk[-1]])
    assert walk == PATH
    assert [status.value for status in walk] == [
        "NEW",
        "ANALYZING",
        "ANALYZED",
        "ASSEMBLING",
        "READY",
        "RESPONDING",
        "COMPLETED",
    ]


@given(st.sampled_from(Status), st.sampled_from(Status))
def test_only_forward_or_failed(before: Status, after: Status) -> None:
    """Never back, never a jump, never out of COMPLETED; FAILED only back to NEW."""
    if is_legal(before, after):
        assert before is not Status.COMPLETED
        if after is Status.FAILED:
            assert before not in TERMINAL
        elif before is Status.FAILED:
            assert after is Status.NEW
        else:
            assert PATH.index(after) == PATH.index(before) + 1


@given(st.lists(st.sampled_from(Status), max_size=30))
def test_every_walk_ends_or_can_end(steps: list[Status]) -> None:
    """From wherever a run stands, a terminal status is one legal step or a normal path away."""
    now = Status.NEW
    for step in steps:
        if is_legal(now, step):
            now = step
    assert now in TERMINAL or is_legal(now, Status.FAILED)


def test_routing() -> None:
    """status -> stage"""
    assert STAGES == ("analyzer", "draft_builder", "assembler", "final_responder", "archivist")
    assert STAGE_OF[Status.NEW] == "analyzer"
    assert STAGE_OF[Status.ANALYZED] == "draft_builder"
    assert STAGE_OF[Status.ASSEMBLING] == "assembler"
    assert STAGE_OF[Status.READY] == "final_responder"
    assert STAGE_OF[Status.COMPLETED] == "archivist"
    assert Status.FAILED not in STAGE_OF
    assert statuses_of(frozenset({"analyzer", "archivist"})) == [Status.NEW, Status.ANALYZING, Status.COMPLETED]
