"""The arithmetic of recall: which turns of one user answer a question, from one bit mask a turn."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import NamedTuple
from uuid import UUID

from maas.memory.dates import fit
from maas.memory.question import Question
from maas.memory.reach import EVERYTHING, Reach


@dataclass(frozen=True, slots=True)
class Weights:
    """What a turn is worth: the worth of each signal at full strength, in shares of the question."""

    coverage: float = 1.0  # terms that it holds
    window: float = 0.9  # terms that it and the turns beside it hold together
    asked: float = 0.5  # terms of the turn before, if that one asks
    two_before: float = 0.3
    conversation: float = 0.5  # how well its conversation fits
    speaker: float = 0.5  # said by somebody whom the question names
    hint: float = 0.6  # when and how many: it holds a time or a number
    date: float = 1.3  # said at the date that the question names
    meaning: float = 0.8  # close to the question in meaning, where there are vectors
    question: float = -0.2  # it ends with a question mark
    assistant: float = -1.0  # said by a machine, unless its own words are asked for
    opening: float = 0.3  # the first turn of a conversation
    preferred: float = 0.3  # of the preferred time


WEIGHTS = Weights()
SCALE = 3.5  # the score of a turn that has nearly everything
ASSISTANT_COVERAGE = 0.35
CONFLICT = 0.7  # turns that hold the same terms, and so much of the question, speak of the same: the newest counts
NAMED = 0.25  # what a named speaker adds to coverage: the name stands in the question and not in the words


class Turn(NamedTuple):
    """One turn that holds a term of the question, or stands near one that does. Bit i of a mask is term i.

    A tuple, because a row of the database becomes one in an instant, and a question looks at hundreds.
    """

    id: UUID
    conversation: str
    speaker: str | None
    is_assistant: bool
    occurred_at: datetime
    record_id: UUID | None
    mask: int
    before: int
    before_that: int
    after: int
    length: int
    answers: bool = False
    is_question: bool = False
    has_hint: bool = False
    is_first: bool = False
    is_eligible: bool = True


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a question is ranked by: turns, the weight of each of its terms, and in how many turns that one stands."""

    question: Question
    turns: Sequence[Turn]
    weight: Sequence[float]
    frequency: Sequence[int]
    meaning: Mapping[UUID, float] = field(default_factory=dict)
    reach: Reach = EVERYTHING


class Ranked(NamedTuple):
    """A turn with its score, and the share (0 to 1) of the question's weight that stands in it and beside it."""

    turn: Turn
    score: float
    coverage: float


def weigh(frequency: Sequence[int], total: int) -> list[float]:
    """The inverse document frequency of each term among the user's own turns."""
    return [math.log(1 + (max(total, df) - df + 0.5) / (df + 0.5)) for df in frequency]


def rank(evidence: Evidence, weights: Weights = WEIGHTS) -> list[Ranked]:
    """The eligible turns, best first."""
    question, turns, weight = evidence.question, evidence.turns, evidence.weight
    whole = sum(weight) or 1.0
    known = sum(w for w, df in zip(weight, evidence.frequency, strict=True) if df) or 1.0

    @cache
    def held(mask: int) -> float:
        return sum(weight[bit] for bit in _bits(mask)) / known

    conversations = _conversation_scores(turns, weight)
    speakers = {speaker: question.names(speaker) for speaker in {turn.speaker for turn in turns}}
    dates, meaning, reach = question.dates, evidence.meaning, evidence.reach
    ranked = []
    for turn in turns:
        if not turn.is_eligible:
            continue
        coverage, around = held(turn.mask), held(turn.mask | turn.before | turn.after)
        is_named = speakers[turn.speaker]
        score = (
            weights.coverage * coverage
            + weights.window * around
            + weights.two_before * held(turn.before_that)
            + weights.conversation * conversations[turn.conversation]
            + weights.speaker * is_named
            + weights.hint * turn.has_hint
            + weights.question * turn.is_question
            + weights.opening * turn.is_first
        )
        if turn.answers:
            score += weights.asked * held(turn.before)
        if turn.is_assistant and not question.wants_own_words:
            score += weights.assistant - weights.coverage * coverage * (1 - ASSISTANT_COVERAGE)
        if dates:
            score += weights.date * fit(dates, turn.occurred_at)
        if meaning:
            score += weights.meaning * meaning.get(turn.id, 0.0)
        if reach.scope:
            score += weights.preferred * reach.prefers(turn.occurred_at)
        ranked.append(Ranked(turn, score, min(around * known / whole + NAMED * is_named, 1.0)))
    ranked.sort(key=lambda one: (one.score, one.turn.occurred_at), reverse=True)
    return _newest_first(ranked, held)


def _newest_first(ranked: list[Ranked], held: Callable[[int], float]) -> list[Ranked]:
    """Turns of one speaker that hold the same two terms or more, and most of the question, change places by time."""
    alike: dict[tuple[int, str | None], list[int]] = defaultdict(list)
    for place, one in enumerate(ranked):
        turn = one.turn
        if turn.mask.bit_count() > 1 and held(turn.mask) >= CONFLICT and not (turn.is_question or turn.is_assistant):
            alike[turn.mask, turn.speaker].append(place)
    result = list(ranked)
    for places in alike.values():
        by_time = sorted((ranked[place] for place in places), key=lambda one: one.turn.occurred_at, reverse=True)
        for place, one in zip(places, by_time, strict=True):
            result[place] = Ranked(one.turn, ranked[place].score, one.coverage)
    return result


def _conversation_scores(turns: Sequence[Turn], weight: Sequence[float]) -> dict[str, float]:
    """BM25 of each conversation, a term counted once a turn, as a share of the best one."""
    lengths = {turn.conversation: turn.length for turn in turns}
    counts = {name: [0] * len(weight) for name in lengths}
    for (name, mask), number in Counter((turn.conversation, turn.mask) for turn in turns).items():
        for bit in _bits(mask):
            counts[name][bit] += number
    mean = sum(lengths.values()) / len(lengths) if lengths else 1.0
    scores = {
        name: sum(
            w * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * lengths[name] / mean)) for w, tf in zip(weight, row, strict=True)
        )
        for name, row in counts.items()
    }
    best = max(scores.values(), default=0.0) or 1.0
    return {name: score / best for name, score in scores.items()}


@cache
def _bits(mask: int) -> tuple[int, ...]:
    """The places of the bits that are set; masks are 16 bits wide."""
    return tuple(bit for bit in range(mask.bit_length()) if mask >> bit & 1)
