"""What a stage wrote, as text, and what its model calls took."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maas.pipeline.runs import Outcome
from shared.text import sentences

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Work:
    """What a stage wrote and what its model calls took: milliseconds, and millionths of a dollar if known."""

    wrote: str | None
    is_degraded: bool
    error: str | None
    models: tuple[str, ...]
    prompt_version: int | None
    requests: int
    tokens_in: int
    tokens_out: int
    ms: float
    price: int | None


def measure(calls: Sequence[Row], wrote: str | None, is_degraded: bool, error: str | None) -> Work:
    """From rows of llm_calls, or the notes of calls that are not stored. `error`: what no call of them tells."""
    prices = [call["price"] for call in calls]
    return Work(
        wrote=wrote,
        is_degraded=is_degraded,
        error=error or next((str(call["error"]) for call in reversed(calls) if call.get("error")), None),
        models=tuple(
            dict.fromkeys(f"{call['provider']}:{call['model']}" for call in calls if call["finish"] != "skipped")
        ),
        prompt_version=calls[-1]["prompt_version"] if calls else None,
        requests=sum(call["attempts"] for call in calls),
        tokens_in=sum(call["tokens_in"] for call in calls),
        tokens_out=sum(call["tokens_out"] for call in calls),
        ms=round(sum(call["ms"] for call in calls), 2),
        price=None if None in prices else sum(prices),
    )


def written(outcome: Outcome) -> str | None:
    """As text that can be compared; None when there is nothing."""
    if outcome.analysis is not None:
        return analysis_text(outcome.analysis)
    if outcome.record is not None:
        return record_text(outcome.record["tags"], outcome.record["summary"])
    return outcome.wrote


def analysis_text(analysis: Row) -> str:
    """A field a line, in one order."""
    return json.dumps(analysis, ensure_ascii=False, indent=1, sort_keys=True, default=str)


def record_text(tags: Sequence[str], summary: str) -> str:
    """A sentence a line, so that a diff shows which one is another."""
    return "\n".join([f"tags: {', '.join(tags)}", *sentences(summary)]) if summary else "(small talk: no record)"
