"""Candidates as Postgres sends them: columns in any order become messages with their neighbours."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple, cast
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.memory.candidates import Candidates

HINT, ELIGIBLE, RESPONSE = 1 << 35, 1 << 36, 1 << 34


class Sent(NamedTuple):
    """A message as a row of columns has it; `flags` are 2 where it ends with a question, 1 where it contains one."""

    conversation: int
    at: int
    seq: int
    mask: int
    flags: int
    speaker: str | None


def row(messages: Sequence[Sent], ids: Sequence[UUID] | None = None, extra: int = ELIGIBLE) -> Any:
    def numbers(values: Iterator[int]) -> bytes:
        return b"".join(struct.pack(">q", value) for value in values)

    ids = ids or [uuid4() for _ in messages]
    return {
        "ids": b"".join(one.bytes for one in ids) or None,
        "record_ids": bytes(16 * len(messages)),
        "seqs": numbers(one.seq for one in messages),
        "times": numbers(one.at for one in messages),
        "conversations": numbers(one.conversation for one in messages),
        "bits": numbers(one.mask | one.flags << 32 | extra for one in messages),
        "speakers": [one.speaker for one in messages],
    }


messages_sent = st.lists(
    st.builds(
        Sent,
        st.sampled_from([-(2**63), -5, 7, 2**63 - 1]),
        st.integers(-(2**40), 2**40),
        st.integers(1, 10**6),
        st.integers(0, 0xFFFF_FFFF),
        st.integers(0, 2),
        st.sampled_from([None, "Ann", "Assistant"]),
    ),
    max_size=30,
    unique_by=lambda one: one.seq,
)


@given(messages_sent)
def test_neighbours_are_those_of_the_conversation(sent: list[Sent]) -> None:
    found = Candidates.from_row(row(sent), is_whole=True)
    at = 0
    for _, group in groupby(sorted(sent), key=lambda one: one.conversation):
        group_messages = list(group)
        masks = [0, 0, *(one.mask for one in group_messages), 0]
        for place, one in enumerate(group_messages):
            assert (found.mask[at], found.occurred_at[at], found.length[at]) == (one.mask, one.at, len(group_messages))
            assert (found.before_that[at], found.before[at]) == (masks[place], masks[place + 1])
            assert found.after[at] == masks[place + 3]
            assert found.answers[at] == (place > 0 and group_messages[place - 1].flags > 0)
            assert found.is_first[at] == (place == 0) and found.is_question[at] == (one.flags > 1)
            assert found.speakers[found.speaker[at]] == one.speaker
            at += 1
    assert at == len(found) == len(sent)


def test_nothing_was_sent() -> None:
    names = ("ids", "record_ids", "seqs", "times", "conversations", "bits", "speakers")
    found = Candidates.from_row(cast(Any, dict.fromkeys(names)), is_whole=True)
    assert len(found) == 0 and found.frequency(3) == [0, 0, 0] and not found.near(1, in_any_conversation=False).any()


def test_ids_stay_with_their_messages() -> None:
    ids = [UUID(int=0x1000), uuid4(), UUID(int=2**128 - 1)]
    sent = [Sent(1, 30, 3, 1, 0, None), Sent(1, 10, 1, 2, 0, None), Sent(0, 20, 2, 4, 0, None)]
    found = Candidates.from_row(row(sent, ids), is_whole=True)
    pairs = found.ids_at(np.arange(3))
    assert {one: mask for (one, _), mask in zip(pairs, found.mask.tolist(), strict=True)} == dict(
        zip(ids, (1, 2, 4), strict=True)
    )
    assert [record for _, record in pairs] == [None, None, None]
    assert found.mask[found.positions([ids[2], uuid4()])[ids[2]]] == 4


@pytest.mark.parametrize(
    ("speaker", "is_response", "is_assistant"),
    [(None, True, True), ("AI", True, True), ("Ann", True, False), (None, False, False), ("assistant", False, False)],
)
def test_an_assistant_has_no_name_of_a_person(speaker: str | None, is_response: bool, is_assistant: bool) -> None:
    extra = ELIGIBLE | RESPONSE * is_response
    found = Candidates.from_row(row([Sent(0, 0, 1, 1, 0, speaker)], extra=extra), is_whole=True)
    assert bool(found.is_assistant[0]) == is_assistant


def test_a_name_alone_is_no_reason_to_look_at_a_message() -> None:
    """Unless it holds a hint, and its conversation another term of the query."""
    sent = [Sent(0, 1, 1, 1, 0, None), Sent(1, 1, 2, 1, 0, None), *(Sent(1, at, at, 0, 0, None) for at in range(3, 6))]
    sent.append(Sent(1, 9, 9, 2, 0, None))
    found = Candidates.from_row(row(sent, extra=ELIGIBLE | HINT), is_whole=True)
    assert found.near(1, in_any_conversation=False).tolist() == [False, True, True, False, True, True]
    assert found.near(1, in_any_conversation=True).tolist() == [True, True, True, False, True, True]
    plain = Candidates.from_row(row(sent), is_whole=True)
    assert plain.near(1, in_any_conversation=False).tolist() == [False, False, False, False, True, True]
