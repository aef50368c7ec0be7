"""Candidates: the messages that a search ranks, as columns of numbers, read from one row of the query `candidates`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Any, Self, cast
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from maas import queries

ASSISTANT_NAMES = frozenset(("assistant", "ai", "bot"))
Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]
MAX_WORDS = 15  # what four bits hold
_NO_ID = bytes(16)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Messages as columns, sorted by conversation and time.

    Bit i of a mask is term i: `mask` is that of the message, `before`, `before_that` and `after` are those of its
    neighbours in the conversation. `conversation` and `speaker` are numbers, the latter an index of `speakers`.
    `length` is the number of messages in the conversation, and 1 in a large memory, which is not read whole.
    `occurred_at` is in microseconds since 2000. `answers` means that the message before asks a question. Only an
    eligible candidate may be returned; the others count in the score of their conversation. `words` is the number of
    different lexemes, `MAX_WORDS` for that many or more. `is_foreign`: made from the text of a tool or a document.
    `says_i`: it says I or my.
    """

    speakers: tuple[str | None, ...]
    ids: NDArray[np.void]
    record_ids: NDArray[np.void]
    conversation: Numbers
    speaker: Numbers
    occurred_at: Numbers
    mask: Numbers
    before: Numbers
    before_that: Numbers
    after: Numbers
    length: Numbers
    answers: Flags
    is_question: Flags
    is_assistant: Flags
    has_hint: Flags
    is_first: Flags
    is_eligible: Flags
    words: Numbers
    is_foreign: Flags
    says_i: Flags

    @classmethod
    def from_row(cls, row: queries.CandidatesRow, *, is_whole: bool) -> Self:
        """Read the columns; `is_whole` says that the row has all messages of the memory."""
        times, seqs = np.frombuffer(row["times"] or b"", ">i8"), np.frombuffer(row["seqs"] or b"", ">i8")
        hashes = np.frombuffer(row["conversations"] or b"", ">i8")
        order = np.lexsort((seqs, times, hashes))
        hashes = hashes[order]
        bits = np.frombuffer(row["bits"] or b"", ">i8")[order].astype(np.int64)
        index: dict[str | None, int] = {}
        if (names := row["speakers"]) is not None:
            speaker = np.array([index.setdefault(name, len(index)) for name in names], np.int64)[order]
        else:
            index, speaker = {None: 0}, np.zeros_like(order)
        is_assistant = np.array([name is None or name.lower() in ASSISTANT_NAMES for name in index], np.bool_)

        is_first = differs_from_previous(hashes)
        mask = bits & 0xFFFF_FFFF
        flags = bits >> 32 & 3
        before = _previous(mask, is_first)
        after = np.zeros_like(mask)
        after[:-1] = np.where(is_first[1:], 0, mask[1:])
        conversation = is_first.cumsum() - 1
        lengths = np.bincount(conversation)
        return cls(
            speakers=tuple(index),
            ids=np.frombuffer(row["ids"] or b"", "V16")[order],
            record_ids=np.frombuffer(row["record_ids"] or b"", "V16")[order],
            conversation=conversation,
            speaker=speaker,
            occurred_at=times[order].astype(np.int64),
            mask=mask,
            before=before,
            before_that=_previous(before, is_first),
            after=after,
            length=lengths[conversation] if is_whole else np.ones_like(mask),
            answers=_previous(flags, is_first) > 0,
            is_question=flags > 1,
            is_assistant=is_assistant[speaker] & (bits >> 34 & 1 > 0),
            has_hint=bits >> 35 & 1 > 0,
            is_first=is_first if is_whole else np.zeros_like(is_first),
            is_eligible=bits >> 36 & 1 > 0,
            words=bits >> 37 & MAX_WORDS,
            is_foreign=bits >> 41 & 1 > 0,
            says_i=bits >> 42 & 1 > 0,
        )

    @classmethod
    def none(cls) -> Self:
        """Return no messages."""
        columns = ("times", "seqs", "conversations", "bits", "speakers", "ids", "record_ids")
        return cls.from_row(cast("queries.CandidatesRow", dict.fromkeys(columns)), is_whole=False)

    def __len__(self) -> int:
        return len(self.mask)

    @property
    def reach(self) -> Numbers:
        """The terms of each message and its two neighbours together."""
        return self.mask | self.before | self.after

    def take(self, chosen: Flags) -> Self:
        """Return the chosen messages; what is known of their neighbours stays."""
        if chosen.all():
            return self
        columns = {one.name: getattr(self, one.name)[chosen] for one in fields(self) if one.name != "speakers"}
        return type(self)(self.speakers, **columns)

    def with_terms(self, mask: int) -> Self:
        """Return the messages as if the query had only the terms of this mask, and asked for no time or number."""
        masks = {name: getattr(self, name) & mask for name in ("mask", "before", "before_that", "after")}
        return replace(self, **masks, has_hint=np.zeros_like(self.has_hint))

    def near(self, ignored_mask: int, *, in_any_conversation: bool) -> Flags:
        """Return which messages contain a term or are close to one that does.

        Terms of `ignored_mask` alone are no reason to look at a message, unless it holds a hint and its conversation
        contains another term; with `in_any_conversation` the hint is enough.
        """
        reach: Any = self.reach
        is_near: Flags = reach != 0
        if not ignored_mask or not len(self):
            return is_near
        is_hint_enough = np.ones_like(self.has_hint)
        if not in_any_conversation:
            has_other = np.zeros(int(self.conversation[-1]) + 1, np.bool_)
            has_other[self.conversation[(self.mask & ~ignored_mask) != 0]] = True
            is_hint_enough = has_other[self.conversation]
        has_reason: Flags = (reach & ~ignored_mask) != 0
        return has_reason | (is_near & self.has_hint & is_hint_enough)

    def positions(self, ids: Collection[UUID]) -> dict[UUID, int]:
        """Return the positions of those of the ids that are candidates."""
        if not ids:
            return {}
        known = {one: position for position, one in enumerate(self.ids.tolist())}
        return {one: known[one.bytes] for one in ids if one.bytes in known}

    def ids_at(self, positions: NDArray[np.intp]) -> list[tuple[UUID, UUID | None]]:
        """Return for each position the ids of the message and of its summary, None until there is one."""
        pairs = zip(self.ids[positions].tolist(), self.record_ids[positions].tolist(), strict=True)
        return [(UUID(bytes=one), UUID(bytes=record) if record != _NO_ID else None) for one, record in pairs]

    def frequency(self, terms: int) -> list[int]:
        """Return in how many of the messages each of so many terms occurs."""
        counts: list[int] = term_bits(self.mask, terms).sum(axis=0).tolist()
        return counts


def differs_from_previous(column: Any) -> Flags:
    """Return for each value whether the one before is another, and true for the first."""
    differs = np.ones(len(column), np.bool_)
    differs[1:] = column[1:] != column[:-1]
    return differs


def term_bits(masks: Numbers, terms: int) -> Numbers:
    """Return a row of zeros and ones for each mask, one for each of so many terms."""
    return masks[:, None] >> np.arange(terms) & 1


def _previous(column: Any, is_first: Flags) -> Any:
    """Return for each message the value of the one before in its conversation, and 0 for the first."""
    shifted = np.zeros_like(column)
    shifted[1:] = column[:-1]
    shifted[is_first] = 0
    return shifted
