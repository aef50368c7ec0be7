"""Boosts that the product does without: for what stands near to hits, and for what is new.

`make bench-ablation` shows what each would change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from maas.memory.dates import microseconds
from maas.memory.ranking import Evidence, RankedMessage, rank

Numbers = NDArray[np.float64]
Boost = Callable[[Evidence, Numbers], Numbers]  # what is added to the scores (0 to 1) of the candidates
NEIGHBOURS = 3  # on each side of a message
DAY_US = 86_400_000_000


def neighbours(evidence: Evidence, scores: Numbers, *, weight: float, decay: float) -> Numbers:
    """Return for each message the scores of its neighbours in its conversation, by `decay` less at every step."""
    conversation = evidence.candidates.conversation
    total = np.zeros(len(scores))
    for step in range(1, min(NEIGHBOURS, len(scores) - 1) + 1):
        together = weight * decay**step * (conversation[step:] == conversation[:-step])
        total[step:] += together * scores[:-step]
        total[:-step] += together * scores[step:]
    return total


def newness(evidence: Evidence, scores: Numbers, *, weight: float, half_life: float) -> Numbers:
    """Return for each message `weight`, halved with every `half_life` days of its age."""
    age = (microseconds(evidence.filters.now) - evidence.candidates.occurred_at) / DAY_US
    return weight * np.exp2(-np.maximum(age, 0.0) / half_life)


BOOSTS: Mapping[str, Boost] = {
    "and neighbours of hits, half of 0.1": partial(neighbours, weight=0.1, decay=0.5),
    "and neighbours of hits, half of 0.2": partial(neighbours, weight=0.2, decay=0.5),
    "and newness, half in 7 days": partial(newness, weight=0.06, half_life=7),
    "and newness, half in 30 days": partial(newness, weight=0.06, half_life=30),
}


def boosted(evidence: Evidence, boost: Boost, limit: int) -> list[RankedMessage]:
    """Return the ranking of the product, at most `limit`, in the order of its scores with the boost added."""
    ranked = rank(evidence)
    positions = evidence.candidates.positions([one.id for one in ranked])
    scores = np.zeros(len(evidence.candidates))
    for one in ranked:
        scores[positions[one.id]] = one.score
    scores += boost(evidence, scores)
    return sorted(ranked, key=lambda one: -scores[positions[one.id]])[:limit]
