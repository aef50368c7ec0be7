"""Ranking: scores the candidate messages of a query by a weighted sum of signals, without any input or output."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from maas.memory.candidates import MAX_WORDS, Candidates, Flags, Numbers, differs_from_previous, term_bits
from maas.memory.dates import fit, microseconds
from maas.memory.query import HOT_AGE, NO_FILTER, WARM_AGE, ParsedQuery, Scope, SearchFilter
from maas.memory.similarity import Similarity

Shares = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each signal at full strength; 1.0 is as much as holding every term of the query."""

    coverage: float = 1.0  # terms in the message itself
    window: float = 0.9  # terms in the message and its two neighbours together
    asked: float = 0.5  # terms of the message before, if that one asks and this is no answer of the assistant
    two_before: float = 0.3  # terms of the message two places before
    conversation: float = 0.5  # BM25 of its conversation
    speaker: float = 0.4  # its speaker is named in the query
    own: float = 0.2  # such a speaker says I or my
    hint: float = 0.6  # it contains a time or a number, and the query asks when or how many
    date: float = 1.3  # written on a date that the query names
    meaning: float = 0.3  # nearness in meaning, for each standard deviation; less for a message of few words
    meaning_nearby: float = 0.05  # that of its two neighbours together
    meaning_conversation: float = 0.2  # that of the three nearest messages of its conversation
    question: float = -0.2  # it ends with a question mark
    repeated: float = -1.5  # of such a message, the share of its words that are the query's, if it is most of them
    foreign: float = -1.5  # made from the text of a tool or a document, whatever the query asks for
    assistant: float = -1.0  # any other that the assistant wrote, unless the query asks for what that said
    opening: float = 0.3  # the first message of its conversation
    long_conversation: float = 0.4  # BM25 of its conversation once more, if the query is long: talk that goes on
    long_recent: float = 0.2  # newness, from 0 for the oldest message to 1, if the query is long
    preferred: float = 0.3  # in the preferred scope


WEIGHTS = Weights()
SCALE, MEANING_SCALE = 3.5, 5.0  # raw score that counts as 1.0: nearly every signal is present; with meaning
LONG_QUERY_TERMS = 8  # more are not a question but talk that goes on
MEANINGFUL_WORDS = 8  # the meaning of a shorter message counts in proportion
ASSISTANT_COVERAGE = 0.35  # the share of `coverage` that counts for a message of the assistant
SAME_FACT_COVERAGE = 0.7  # messages with the same terms and this share of the query state the same fact
MIN_REPEATED = 0.75  # a question that shares less with the query may say something
NAMED_SPEAKER_COVERAGE = 0.25  # coverage that a named speaker adds: the name is in the query, not in the content
SCORE_DIGITS = 9  # scores that differ by less are equal


@dataclass(frozen=True, slots=True)
class Evidence:
    """The input of `rank`: a query, its candidates, and for each of its terms the weight and the document frequency.

    `similarity` is that of each candidate; None without embeddings. `is_memory_empty`: there is no message at all.
    `words_gone`: there are summaries whose messages retention has removed. `has_corrections`: some memory of the user
    is corrected. `reasons`: why memory was incomplete. `size`: how many messages were looked through.
    """

    query: ParsedQuery
    candidates: Candidates
    terms: Sequence[str]
    term_weights: Sequence[float]
    frequency: Sequence[int]
    similarity: Similarity | None = None
    filters: SearchFilter = NO_FILTER
    is_memory_empty: bool = False
    words_gone: bool = False
    reasons: frozenset[str] = frozenset()
    has_corrections: bool = False
    size: int = 0


class RankedMessage(NamedTuple):
    """A message with its score, and the share of the query's weight that it and its neighbours contain; both 0 to 1.

    `record_id` is that of the summary that covers it, None until there is one. `own_coverage` is the share without its
    neighbours, less for what the assistant wrote; `mask` holds its terms, bit i for term i of the evidence.
    """

    id: UUID
    record_id: UUID | None
    score: float
    coverage: float
    own_coverage: float = 0.0
    mask: int = 0


def weigh(frequency: Sequence[int], total: int) -> list[float]:
    """Return the inverse document frequency of each term among the user's own messages."""
    return [math.log(1 + (max(total, df) - df + 0.5) / (df + 0.5)) for df in frequency]


def rank(evidence: Evidence, weights: Weights = WEIGHTS, limit: int | None = None) -> list[RankedMessage]:
    """Return the eligible candidates, best first, at most `limit`."""
    messages, term_weights = evidence.candidates, evidence.term_weights
    if not len(messages):
        return []
    known = sum(w for w, df in zip(term_weights, evidence.frequency, strict=True) if df) or 1.0
    share = _MaskShares([weight / known for weight in term_weights])
    window = share.of(messages.reach)
    signals = _signals(evidence, share, window)
    score: Any = sum(getattr(weights, name) * column for name, column in signals.items())
    order = np.lexsort((~messages.occurred_at, -score.round(SCORE_DIGITS)))  # ~ turns the order without an overflow
    order = order[messages.is_eligible[order]]
    positions = _newest_first(order, messages, signals["coverage"])[:limit]
    known_share = known / (sum(term_weights) or 1.0)
    coverage = np.minimum(window * known_share + NAMED_SPEAKER_COVERAGE * signals["speaker"], 1.0)
    score = np.clip(score / (SCALE if evidence.similarity is None else MEANING_SCALE), 0.0, 1.0)
    scores = score[order[: len(positions)]].tolist()  # a place in the order has its score, whichever message is there
    own = (signals["coverage"] * known_share)[positions].tolist()
    masks = messages.mask[positions].tolist()
    columns = zip(messages.ids_at(positions), scores, coverage[positions].tolist(), own, masks, strict=True)
    return [RankedMessage(*ids, score, share, own, mask) for ids, score, share, own, mask in columns]


def _signals(evidence: Evidence, share: _MaskShares, window: Shares) -> dict[str, Any]:
    """Return the signals of the candidates, a column for each: the numbers that the weights of these names multiply."""
    query, messages, filters = evidence.query, evidence.candidates, evidence.filters
    coverage = share.of(messages.mask)
    is_named = np.array([query.names(speaker) for speaker in messages.speakers], np.bool_)[messages.speaker]
    signals: dict[str, Any] = {
        "coverage": coverage,
        "window": window,
        "asked": share.of(messages.before) * messages.answers,
        "two_before": share.of(messages.before_that),
        "conversation": _conversation_scores(messages, evidence.term_weights),
        "speaker": is_named,
        "own": is_named & messages.says_i,
        "hint": messages.has_hint,
        "question": messages.is_question,
        "repeated": _repeated(messages),
        "foreign": messages.is_foreign,
        "opening": messages.is_first,
    }
    if not query.asks_assistant:
        signals["assistant"] = messages.is_assistant & ~messages.is_foreign
        signals["asked"] = signals["asked"] * ~messages.is_assistant
        signals["coverage"] = np.where(messages.is_assistant, ASSISTANT_COVERAGE, 1.0) * coverage
    if query.dates:
        signals["date"] = fit(query.dates, messages.occurred_at)
    if (similarity := evidence.similarity) is not None:
        signals["meaning"] = similarity.own * np.minimum(messages.words / MEANINGFUL_WORDS, 1.0)
        signals["meaning_nearby"] = similarity.nearby
        signals["meaning_conversation"] = similarity.conversation
    if len(evidence.term_weights) > LONG_QUERY_TERMS:
        signals["long_conversation"] = signals["conversation"]
        signals["long_recent"] = _newness(messages.occurred_at)
    if filters.scope:
        signals["preferred"] = _is_in_scope(filters.scope, filters.now, messages.occurred_at)
    return signals


class _MaskShares:
    """The shares of terms, looked up by mask: the sums of all combinations of eight terms are in one table."""

    def __init__(self, shares: Sequence[float]) -> None:
        self._tables = [_sums(shares[start : start + 8]) for start in range(0, max(len(shares), 1), 8)]

    def of(self, masks: Numbers) -> Shares:
        """Return the sum of the shares of the terms of each mask."""
        first, *others = self._tables
        total: Shares = first[masks & 255]
        for table in others:
            masks = masks >> 8
            total += table[masks & 255]
        return total


def _sums(shares: Sequence[float]) -> Shares:
    sums = np.zeros(256)
    for bit, one in enumerate(shares):
        sums[1 << bit : 2 << bit] = sums[: 1 << bit] + one
    return sums


def _newest_first(order: NDArray[np.intp], messages: Candidates, coverage: Shares) -> NDArray[np.intp]:
    """Put the newest first among messages that state the same fact; together they keep their places in the order.

    Messages of one speaker do when they contain the same terms, at least two, and these are most of the query.
    """
    states = ~(messages.is_question | messages.is_assistant) & (coverage >= SAME_FACT_COVERAGE)
    facts = order[(states & (np.bitwise_count(messages.mask) > 1))[order]]
    if len(facts) < 2:
        return order
    same_fact: dict[tuple[int, int], list[int]] = defaultdict(list)
    for at in facts.tolist():
        same_fact[int(messages.mask[at]), int(messages.speaker[at])].append(at)
    result = order.copy()
    place = np.empty(len(messages), np.intp)
    place[order] = np.arange(len(order))
    for positions in same_fact.values():
        if len(positions) > 1:
            times = messages.occurred_at[positions]
            result[place[positions]] = np.array(positions)[np.argsort(~times, kind="stable")]
    return result


def _conversation_scores(messages: Candidates, term_weights: Sequence[float]) -> Any:
    """Return for each message the BM25 score of its conversation as a share of the best one; a term counts once."""
    is_first = differs_from_previous(messages.conversation)
    starts = is_first.nonzero()[0]
    counts = np.add.reduceat(term_bits(messages.mask, len(term_weights)), starts)
    lengths = messages.length[starts]
    damping = 1.2 * (0.25 + 0.75 * lengths * len(lengths) / lengths.sum())
    scores = (counts * 2.2 / (counts + damping[:, None])) @ np.array(term_weights)
    best = scores.max(initial=0.0) or 1.0
    return (scores / best)[is_first.cumsum() - 1]


def _repeated(messages: Candidates) -> Shares:
    """Return for each message that asks the share of its words that are terms of the query, 0 below the least share.

    Of a long message that share is not known, and it says more than it asks.
    """
    shares = np.minimum(np.bitwise_count(messages.mask) / np.maximum(messages.words, 1), 1.0)
    is_repeated = messages.is_question & (messages.words < MAX_WORDS) & (shares >= MIN_REPEATED)
    return np.where(is_repeated, shares, 0.0)


def _newness(times: Numbers) -> Any:
    """Return for each time where it lies between the first (0) and the last (1)."""
    if not len(times):
        return 0.0
    first = times.min()
    return (times - first) / max(int(times.max() - first), 1)


def _is_in_scope(scope: Scope, now: datetime, times: Numbers) -> Flags:
    """Return for each time whether it is in the scope, counted from `now`."""
    is_hot, is_warm = (times >= microseconds(now - age) for age in (HOT_AGE, WARM_AGE))
    return is_hot if scope == "hot" else is_warm & ~is_hot if scope == "warm" else ~is_warm
