"""What an orchestrator counts: kept in memory and added to engine_metrics each second; no run waits for a counter."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import asyncpg
import structlog

from maas.pipeline.runs import Run, ToolUse
from shared.db import CONNECTION_LOST, Database

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
}
EVERY = 1.0
PATIENCE = 5.0
Cell = tuple[str | float | None, ...]  # the name, the values of its labels, the limit of the bucket: flat is fast
log = structlog.get_logger()


class Metrics:
    """Counters and times since the last `take`."""

    def __init__(self) -> None:
        self._cells: dict[Cell, list[float]] = {}

    def count(self, name: str, *labels: str, events: int = 1, seconds: float = 0.0) -> None:
        """So many events, which took `seconds` together."""
        if events:
            self._add((name, *labels, None), events, seconds)

    def observe(self, stage: str, seconds: float) -> None:
        """How long a stage took, `claim` (from insert to first claim) and `answer` (to the answer) among them."""
        self._add(("stage", stage, LIMITS[bisect_left(BUCKETS, seconds)]), 1, seconds)

    def claimed(self, run: Run) -> None:
        """A run came into these hands."""
        if run.attempt == 1 and run.kind == "ask" and run.waited is not None:
            self.observe("claim", run.waited)

    def completed(self, run: Run) -> None:
        """Its answer is visible."""
        self.count("runs_finished", run.kind, "COMPLETED", "")
        if run.kind == "ask" and (age := run.age()) is not None:
            self.observe("answer", age)

    def called(self, calls: Iterable[Mapping[str, Any]]) -> None:
        """Model calls as the ledger notes them."""
        for call in calls:
            model = call["provider"], call["model"]
            self._add(("model_calls", *model, call["finish"], None), 1, call["ms"] / 1000)
            for kind, tokens in (
                ("in", call["tokens_in"]), ("cached", call.get("cached", 0)), ("out", call["tokens_out"])
            ):  # fmt: skip
                self.count("model_tokens", *model, kind, events=tokens)

    def used(self, tools: Iterable[ToolUse]) -> None:
        """Calls of tools that were made."""
        for tool in tools:
            self.count("tool_calls", tool.name, tool.outcome, seconds=tool.seconds)

    def take(self) -> list[dict[str, Any]]:
        """What was counted since the last time, ready for JSON."""
        cells, self._cells = self._cells, {}
        return _to_json(cells)

    async def flush(self, db: Database) -> None:
        """Store what was counted; what cannot be stored now is kept for the next time."""
        cells, self._cells = self._cells, {}
        if not cells:
            return
        try:
            async with asyncio.timeout(PATIENCE):
                await db.value("add_metrics", _to_json(cells))
        except BaseException as error:
            for cell, (events, seconds) in cells.items():
                self._add(cell, events, seconds)
            if not isinstance(error, (asyncpg.PostgresError, *CONNECTION_LOST)):
                raise
            log.warning("metrics_kept_back", cause=repr(error))

    def _add(self, cell: Cell, events: float, seconds: float) -> None:
        sums = self._cells.get(cell)
        if sums is None:
            self._cells[cell] = [events, seconds]
        else:
            sums[0] += events
            sums[1] += seconds


def _to_json(cells: Mapping[Cell, Sequence[float]]) -> list[dict[str, Any]]:
    return [
        {"name": name, "labels": dict(zip(LABELS[str(name)], labels, strict=True)), "le": le, "events": events,
         "seconds": round(seconds, 6)}
        for (name, *labels, le), (events, seconds) in cells.items()
    ]  # fmt: skip
