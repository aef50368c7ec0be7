"""Counters of an orchestrator: kept in memory and added to engine_metrics each second, so no run waits for them."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import asyncpg
import structlog

from maas import queries
from maas.engine.run import Run, ToolUse
from shared.db import CONNECTION_LOST, Database

# Upper limits in seconds.
BUCKETS = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
    90.0, 150.0, 300.0, 1800.0,
)  # fmt: skip
LIMITS = (*BUCKETS, None)
LABELS = {
    "stage": ("stage",),
    "runs_finished": ("kind", "status", "code"),
    "archives_failed": ("kind",),
    "runs_reclaimed": (),
    "runs_adopted": (),
    "background_failures": ("task",),
    "words_swept": (),
    "runs_swept": (),
    "model_calls": ("provider", "model", "finish"),
    "model_tokens": ("provider", "model", "kind"),
    "tool_calls": ("tool", "outcome"),
    "answers": ("assistant", "length"),
    "answer_words": ("assistant",),
    "variant_answers": ("assistant", "variant", "outcome"),
    "webhook_deliveries": ("outcome",),
}
FLUSH_INTERVAL_S = 1.0
FLUSH_TIMEOUT_S = 5.0
Cell = tuple[str | float | None, ...]  # name, values of the labels, limit of the bucket: a flat tuple is fast
log = structlog.get_logger()


class Metrics:
    """Counters and durations since the last `take` or `flush`."""

    def __init__(self) -> None:
        self._cells: dict[Cell, list[float]] = {}

    def count(self, name: str, *labels: str, events: int = 1, seconds: float = 0.0) -> None:
        """Add `events` to a counter, which took `seconds` in all."""
        if events:
            self._add((name, *labels, None), events, seconds)

    def observe(self, stage: str, seconds: float) -> None:
        """Add the duration of a stage. `claim` lasts from insert to first claim, `answer` from insert to the answer."""
        self._add(("stage", stage, LIMITS[bisect_left(BUCKETS, seconds)]), 1, seconds)

    def count_claim(self, run: Run) -> None:
        """Add the time that a run waited for its first claim."""
        if run.attempt == 1 and run.kind == "ask" and run.waited is not None:
            self.observe("claim", run.waited)

    def count_answer(self, run: Run, answer: str | None, max_words: int | None) -> None:
        """Add a run whose answer has become visible; `max_words`: the length that its assistant should keep to."""
        self.count("runs_finished", run.kind, "COMPLETED", "")
        if run.kind == "ask" and answer is not None:
            words = len(answer.split())
            length = "unlimited" if max_words is None else "over" if words > max_words else "within"
            self.count("answers", run.assistant, length)
            self.count("answer_words", run.assistant, events=words)
        if run.kind == "ask" and (age := run.age()) is not None:
            self.observe("answer", age)

    def count_variant(self, run: Run, outcome: str) -> None:
        """Add an answer of an assistant that has variants; `outcome` is `answered` or `failed`."""
        if run.log.variant is not None:
            self.count("variant_answers", run.assistant, run.log.variant, outcome)

    def count_model_calls(self, calls: Iterable[Mapping[str, Any]]) -> None:
        """Add model calls and their tokens, as `maas.prompting.model_calls` records them."""
        for call in calls:
            model = call["provider"], call["model"]
            self._add(("model_calls", *model, call["finish"], None), 1, call["ms"] / 1000)
            for kind, tokens in (
                ("in", call["tokens_in"]),
                ("cached", call.get("cached", 0)),
                ("out", call["tokens_out"]),
            ):
                self.count("model_tokens", *model, kind, events=tokens)

    def count_tool_calls(self, tools: Iterable[ToolUse]) -> None:
        """Add tool calls."""
        for tool in tools:
            self.count("tool_calls", tool.name, tool.outcome, seconds=tool.seconds)

    def take(self) -> list[dict[str, Any]]:
        """Remove and return the counters, as JSON."""
        cells, self._cells = self._cells, {}
        return _to_json(cells)

    async def flush(self, db: Database) -> None:
        """Add the counters to the table; what cannot be stored now is kept for the next time."""
        cells, self._cells = self._cells, {}
        if not cells:
            return
        try:
            async with asyncio.timeout(FLUSH_TIMEOUT_S):
                await db.value(queries.add_metrics, _to_json(cells))
        except BaseException as error:
            for cell, (events, seconds) in cells.items():
                self._add(cell, events, seconds)
            if not isinstance(error, (asyncpg.PostgresError, *CONNECTION_LOST)):
                raise
            log.warning("metrics_write_failed", cause=repr(error))

    def _add(self, cell: Cell, events: float, seconds: float) -> None:
        sums = self._cells.get(cell)
        if sums is None:
            self._cells[cell] = [events, seconds]
        else:
            sums[0] += events
            sums[1] += seconds


def _to_json(cells: Mapping[Cell, Sequence[float]]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "labels": dict(zip(LABELS[str(name)], labels, strict=True)),
            "le": le,
            "events": events,
            "seconds": round(seconds, 6),
        }
        for (name, *labels, le), (events, seconds) in cells.items()
    ]
