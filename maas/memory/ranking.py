"""Ranking: scores the candidate messages of a query by a weighted sum of signals, without any input or output."""

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
from maas.memory.query import NO_FILTER, ParsedQuery, SearchFilter


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each signal at full strength; 1.0 is as much as holding every term of the query."""

    coverage: float = 1.0  # terms in the message itself
    window: float = 0.9  # terms in the message and its two neighbours together
    asked: float = 0.5  # terms of the message before, if that one asks a question
    two_before: float = 0.3  # terms of the message two places before
    conversation: float = 0.5  # BM25 of its conversation
    speaker: float = 0.5  # its speaker is named in the query
    hint: float = 0.6  # it contains a time or a number, and the query asks when or how many
    date: float = 1.3  # written on a date that the query names
    meaning: float = 0.8  # similarity of the embeddings, where there are any
    question: float = -0.2  # it ends with a question mark
    assistant: float = -1.0  # written by the assistant, unless the query asks for what that said
    opening: float = 0.3  # the first message of its conversation
    preferred: float = 0.3  # in the preferred scope


WEIGHTS = Weights()
SCALE = 3.5  # raw score that counts as 1.0: nearly every signal is present
ASSISTANT_COVERAGE = 0.35  # the share of `coverage` that counts for a message of the assistant
SAME_FACT_COVERAGE = 0.7  # messages with the same terms and this share of the query state the same fact
NAMED_SPEAKER_COVERAGE = 0.25  # coverage that a named speaker adds: the name is in the query, not in the content


class Candidate(NamedTuple):
    """A message that contains a term of the query or is close to one that does, as a row of `rank_turns`.

    Bit i of a mask is term i: `mask` is that of the message, `before`, `before_that` and `after` are those of its
    neighbours in the conversation. `length` is the number of messages in the conversation, and 1 in a large memory,
    which is not read whole. `answers` means that the message before asks a question. Only an eligible candidate may be
    returned; the others count in the score of their conversation. A tuple, because a search makes hundreds from rows.
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
    """The input of `rank`: a query, its candidates, and for each of its terms the weight and the document frequency.

    `similarity` (0 to 1) is that of the embeddings, by message; it is empty without embeddings.
    """

    query: ParsedQuery
    candidates: Sequence[Candidate]
    term_weights: Sequence[float]
    frequency: Sequence[int]
    similarity: Mapping[UUID, float] = field(default_factory=dict)
    filters: SearchFilter = NO_FILTER


class RankedMessage(NamedTuple):
    """A candidate with its score, and the share (0 to 1) of the query's weight that it and its neighbours contain."""

    message: Candidate
    score: float
    coverage: float


def weigh(frequency: Sequence[int], total: int) -> list[float]:
    """Return the inverse document frequency of each term among the user's own messages."""
    return [math.log(1 + (max(total, df) - df + 0.5) / (df + 0.5)) for df in frequency]


def rank(evidence: Evidence, weights: Weights = WEIGHTS) -> list[RankedMessage]:
    """Return the eligible candidates, best first."""
    query, candidates, term_weights = evidence.query, evidence.candidates, evidence.term_weights
    total = sum(term_weights) or 1.0
    known = sum(w for w, df in zip(term_weights, evidence.frequency, strict=True) if df) or 1.0

    @cache
    def share(mask: int) -> float:
        """The share of the weight of all known terms that the terms of a mask have."""
        return sum(term_weights[bit] for bit in _bits(mask)) / known

    conversations = _conversation_scores(candidates, term_weights)
    named = {speaker: query.names(speaker) for speaker in {message.speaker for message in candidates}}
    dates, similarity, filters = query.dates, evidence.similarity, evidence.filters
    ranked = []
    for message in candidates:
        if not message.is_eligible:
            continue
        coverage, window = share(message.mask), share(message.mask | message.before | message.after)
        is_named = named[message.speaker]
        score = (
            weights.coverage * coverage
            + weights.window * window
            + weights.two_before * share(message.before_that)
            + weights.conversation * conversations[message.conversation]
            + weights.speaker * is_named
            + weights.hint * message.has_hint
            + weights.question * message.is_question
            + weights.opening * message.is_first
        )
        if message.answers:
            score += weights.asked * share(message.before)
        if message.is_assistant and not query.asks_assistant:
            score += weights.assistant - weights.coverage * coverage * (1 - ASSISTANT_COVERAGE)
        if dates:
            score += weights.date * fit(dates, message.occurred_at)
        if similarity:
            score += weights.meaning * similarity.get(message.id, 0.0)
        if filters.scope:
            score += weights.preferred * filters.prefers(message.occurred_at)
        ranked.append(
            RankedMessage(message, score, min(window * known / total + NAMED_SPEAKER_COVERAGE * is_named, 1.0))
        )
    ranked.sort(key=lambda one: (one.score, one.message.occurred_at), reverse=True)
    return _newest_first(ranked, share)


def _newest_first(ranked: list[RankedMessage], share: Callable[[int], float]) -> list[RankedMessage]:
    """Put the newest first among messages that state the same fact; together they keep their positions.

    Messages of one speaker do when they contain the same terms, at least two, and these are most of the query.
    """
    same_fact: dict[tuple[int, str | None], list[int]] = defaultdict(list)
    for position, one in enumerate(ranked):
        message = one.message
        states = not (message.is_question or message.is_assistant)
        if message.mask.bit_count() > 1 and share(message.mask) >= SAME_FACT_COVERAGE and states:
            same_fact[message.mask, message.speaker].append(position)
    result = list(ranked)
    for positions in same_fact.values():
        by_time = sorted((ranked[at] for at in positions), key=lambda one: one.message.occurred_at, reverse=True)
        for position, one in zip(positions, by_time, strict=True):
            result[position] = RankedMessage(one.message, ranked[position].score, one.coverage)
    return result


def _conversation_scores(candidates: Sequence[Candidate], term_weights: Sequence[float]) -> dict[str, float]:
    """Return the BM25 score of each conversation as a share of the best one; a term counts once a message."""
    lengths = {message.conversation: message.length for message in candidates}
    counts = {name: [0] * len(term_weights) for name in lengths}
    for (name, mask), number in Counter((message.conversation, message.mask) for message in candidates).items():
        for bit in _bits(mask):
            counts[name][bit] += number
    mean = sum(lengths.values()) / len(lengths) if lengths else 1.0
    scores = {
        name: sum(
            weight * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * lengths[name] / mean))
            for weight, tf in zip(term_weights, row, strict=True)
        )
        for name, row in counts.items()
    }
    best = max(scores.values(), default=0.0) or 1.0
    return {name: score / best for name, score in scores.items()}


@cache
def _bits(mask: int) -> tuple[int, ...]:
    """Return the positions of the bits that are set; masks are 16 bits wide."""
    return tuple(bit for bit in range(mask.bit_length()) if mask >> bit & 1)
