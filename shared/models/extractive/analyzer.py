"""The Analyzer's answer by rules: marker words, the share of the question found in memory, the best candidate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from shared.models.extractive import markers
from shared.models.extractive.words import content, stem

ENOUGH_MEMORY = 0.5
ENOUGH_SCORE = 0.3
_KEYWORDS = 8


def answer(inputs: Mapping[str, Any]) -> str:
    """Classify `user_query`, given `candidates` (id, period, summary, score, scope), best first, and `memory_score`."""
    return json.dumps(
        classify(str(inputs["user_query"]), inputs.get("candidates", ()), float(inputs.get("memory_score", 0.0))),
        ensure_ascii=False,
    )


def classify(query: str, candidates: Sequence[Mapping[str, Any]], memory_score: float) -> dict[str, Any]:
    """The analysis of a query as plain data; also the fall-back of the stage when its model gives none."""
    needed = markers.refers_back(query) or memory_score >= ENOUGH_MEMORY
    best = next((one for one in candidates if float(one["score"]) >= ENOUGH_SCORE), None) if needed else None
    scope = (markers.time_scope(query) or (best["scope"] if best else None) or "hot") if needed else "hot"
    return {
        "needs_context": needed,
        "context_type": "SPECIFIC_HISTORY" if needed else "GENERAL",
        "time_scope": scope,
        "search_keywords": keywords(query) if needed else [],
        "context_found": {
            "period": best["period"] if best else None,
            "summary": best["summary"] if best else None,
            "relevance_score": round(min(max(float(best["score"]), 0.0), 1.0), 3) if best else 0.0,
            "lsm_record_id": best["id"] if best else None,
        },
    }


def keywords(query: str) -> list[str]:
    """Up to eight content words of the query, each stem once, without the words that only refer to time or talk."""
    found: dict[str, str] = {}
    for word in content(markers.without_markers(query)):
        found.setdefault(stem(word), word)
    return list(found.values())[:_KEYWORDS]
