"""The arithmetic of recall: which turns of one user answer a question, from one bit mask a turn."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from uuid import UUID

COVERAGE = 1.0
WINDOW = 0.9
SESSION = 0.5
SPEAKER = 0.6
ASSISTANT = -1.0
ASSISTANT_COVERAGE = 0.35
PERIOD = 0.3
NAMED = 0.25  # what a named speaker adds to coverage: the name stands in the question and not in the words
SCALE = COVERAGE + WINDOW + SESSION + SPEAKER + PERIOD


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn that holds a term of the question, or stands beside one that does. Bit i of a mask is term i."""

    id: UUID
    conversation: str
    speaker: str | None
    is_assistant: bool
    occurred_at: datetime
    record_id: UUID | None
    mask: int
    mask_before: int
    mask_after: int
    length: int
    is_eligible: bool
    is_preferred: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """A turn with its score, and the share (0 to 1) of the question's weight that stands in it and beside it."""

    turn: Turn
    score: float
    coverage: float


def rank(turns: Sequence[Turn], terms: int, total: int, question: str) -> list[Ranked]:
    """The eligible turns, best first. `total` counts all turns of the user, `terms` the question's.

    A term counts by its inverse document frequency among the user's own turns. A turn is worth what it holds, what it
    and its neighbours hold together, how well its conversation fits, whether its speaker is named, and whether it is
    of the preferred time.
    """
    frequency = [sum(turn.mask >> bit & 1 for turn in turns) for bit in range(terms)]
    weight = [math.log(1 + (total - df + 0.5) / (df + 0.5)) for df in frequency]
    whole = sum(weight) or 1.0
    known = sum(w for w, df in zip(weight, frequency, strict=True) if df) or 1.0

    @cache
    def held(mask: int) -> float:
        return sum(weight[bit] for bit in range(terms) if mask >> bit & 1)

    sessions = _session_scores(turns, weight)
    words = set(re.findall(r"\w+", question.casefold()))
    ranked = []
    for turn in turns:
        if not turn.is_eligible:
            continue
        own = held(turn.mask)
        around = held(turn.mask | turn.mask_before | turn.mask_after)
        speaks = turn.speaker is not None and not words.isdisjoint(turn.speaker.casefold().split())
        score = (
            COVERAGE * own / known * (ASSISTANT_COVERAGE if turn.is_assistant else 1.0)
            + WINDOW * around / known
            + SESSION * sessions[turn.conversation]
            + SPEAKER * speaks
            + PERIOD * turn.is_preferred
            + ASSISTANT * turn.is_assistant
        )
        ranked.append(Ranked(turn, score, min(around / whole + NAMED * speaks, 1.0)))
    ranked.sort(key=lambda one: (-one.score, -one.turn.occurred_at.timestamp()))
    return ranked


def _session_scores(turns: Sequence[Turn], weight: Sequence[float]) -> dict[str, float]:
    """BM25 of each conversation, a term counted once a turn, as a share of the best one."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * len(weight))
    lengths: dict[str, int] = {}
    for turn in turns:
        lengths[turn.conversation] = turn.length
        row = counts[turn.conversation]
        for bit in range(len(weight)):
            row[bit] += turn.mask >> bit & 1
    mean = sum(lengths.values()) / len(lengths) if lengths else 1.0
    scores = {
        name: sum(
            w * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * lengths[name] / mean)) for w, tf in zip(weight, row, strict=True)
        )
        for name, row in counts.items()
    }
    best = max(scores.values(), default=0.0) or 1.0
    return {name: score / best for name, score in scores.items()}
