"""How good a ranking is where the evidence is known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import fmean

from bench.conversations import Question


@dataclass(frozen=True, slots=True)
class Score:
    """0 to 1: the shares of the evidence's turns among the first 5 and 10, of its sessions among the first 5; nDCG."""

    turns_5: float
    turns_10: float
    ndcg_10: float
    sessions_5: float


def score(ranked: Sequence[str], question: Question, homes: Mapping[str, str]) -> Score:
    """Of turns in rank order; `homes` is the session of each turn. The question must name its evidence."""
    turns = set(question.evidence)
    sessions = set(question.evidence_sessions) or {homes[turn] for turn in turns if turn in homes}
    visited = list(dict.fromkeys(homes[turn] for turn in ranked))
    gain = sum(_gain(place) for place, turn in enumerate(ranked[:10]) if turn in turns)
    return Score(
        turns_5=share(turns, ranked[:5]),
        turns_10=share(turns, ranked[:10]),
        ndcg_10=gain / sum(map(_gain, range(min(len(turns), 10)))),
        sessions_5=share(sessions, visited[:5]),
    )


def share(wanted: Iterable[str], found: Iterable[str]) -> float:
    """How much of what is wanted was found, 0 to 1."""
    wanted = set(wanted)
    return len(wanted.intersection(found)) / len(wanted) if wanted else 0.0


def mean(scores: Sequence[Score]) -> Score:
    """Each measure's mean; NaN of nothing."""
    return Score(
        *(fmean(getattr(one, field.name) for one in scores) if scores else math.nan for field in fields(Score))
    )


def _gain(place: int) -> float:
    return 1 / math.log2(place + 2)
