"""/metrics in the text form of Prometheus: the engine's numbers from the database, the traffic of this process."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from maas.http.rooms import rooms
from maas.http.stock import Process, Stock
from maas.pipeline.metrics import BUCKETS, LABELS
from shared.db import CONNECTION_LOST, Database

PATIENCE = 5.0
LANES = ("inbox", "waiting", "runnable", "deferred", "in_flight")
COUNTERS = {
    "runs_finished": "Runs that were answered or failed",
    "archives_failed": "Exchanges that could not be recorded",
    "runs_reclaimed": "Runs taken over from dead or silent orchestrators",
    "runs_adopted": "Lost batons that were found again",
    "background_failures": "Failures of background tasks, by task",
    "words_swept": "Turns that retention removed",
    "runs_swept": "Runs that retention removed",
    "model_calls": "Calls of models",
    "model_tokens": "Tokens of model calls; cached ones are counted among those that went in, too",
    "tool_calls": "Calls of tools by how they ended",
}
log = structlog.get_logger()


async def metrics(request: Request) -> Response:
    """Numbers for Prometheus."""
    parts = rooms(request)
    known = await _read(parts.db)
    told = [*known, Process(parts.db, parts.changes), parts.traffic.registry]
    return Response(b"".join(map(generate_latest, told)), headers={"Content-Type": CONTENT_TYPE_LATEST})


async def _read(db: Database) -> list[Collector]:
    try:
        async with asyncio.timeout(PATIENCE):
            stock = await db.row("stock")
            assert stock is not None
            engine = Engine(await db.row("queue"), await db.rows("metrics"))
            return [engine, Stock(stock, await db.rows("fills"))]
    except CONNECTION_LOST as error:
        log.warning("metrics_without_database", cause=repr(error))
        return [Engine(None, ())]


class Engine(Collector):
    """What the database knows, as Prometheus families; the same from each server process."""

    def __init__(self, queue: Mapping[str, Any] | None, cells: Iterable[Mapping[str, Any]]) -> None:
        self._queue = queue
        self._cells: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for cell in cells:
            self._cells[cell["name"]].append(cell)

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("maas_database_up", "Whether Postgres answered", int(self._queue is not None))
        if self._queue is None:
            return
        lanes = GaugeMetricFamily("maas_queue_runs", "Unfinished runs by lane", labels=("lane",))
        for lane in LANES:
            lanes.add_metric((lane,), self._queue[lane])
        yield lanes
        for name, column, words in (
            ("maas_queue_oldest_seconds", "oldest_seconds", "Age of the run that waits longest; 0 when none waits"),
            ("maas_orchestrators", "orchestrators", "Orchestrators that are alive"),
            ("maas_notify_queue_ratio", "notify_queue_usage", "How full the notification queue of Postgres is, 0 to 1"),
        ):
            yield GaugeMetricFamily(name, words, float(self._queue[column]))
        for name, words in COUNTERS.items():
            labels = LABELS[name]
            counter = CounterMetricFamily(f"maas_{name}", words, labels=labels)
            for cell in self._cells[name]:
                counter.add_metric([cell["labels"].get(label, "") for label in labels], cell["events"])
            yield counter
        for name, words, of, labels in (
            ("maas_model_seconds", "Time spent in models", "model_calls", ("provider", "model")),
            ("maas_tool_seconds", "Time spent in tools", "tool_calls", ("tool",)),
        ):
            seconds = CounterMetricFamily(name, words, labels=labels)
            for which, spent in _sum_seconds(self._cells[of], labels).items():
                seconds.add_metric(which, spent)
            yield seconds
        cost = CounterMetricFamily("maas_model_cost_dollars", "What models cost", labels=("provider", "model"))
        for cell in self._cells["model_cost"]:
            cost.add_metric((cell["labels"]["provider"], cell["labels"]["model"]), cell["events"] / 1e6)
        yield cost
        yield self._stages()

    def _stages(self) -> Metric:
        family = HistogramMetricFamily(
            "maas_stage_seconds", "Time in each stage; claim: insert to first claim; answer: insert to answer",
            labels=("stage",),
        )  # fmt: skip
        stages: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for cell in self._cells["stage"]:
            stages[cell["labels"]["stage"]].append(cell)
        limits = sorted({*BUCKETS, *(cell["le"] for cell in self._cells["stage"]), inf})
        for stage, cells in stages.items():
            runs = {cell["le"]: cell["events"] for cell in cells}
            total, buckets = 0, []
            for le in limits:
                total += runs.get(le, 0)
                buckets.append(("+Inf" if le == inf else repr(le), total))
            family.add_metric((stage,), buckets, sum(cell["seconds"] for cell in cells))
        return family


def _sum_seconds(cells: Iterable[Mapping[str, Any]], labels: Sequence[str]) -> dict[tuple[str, ...], float]:
    sums: dict[tuple[str, ...], float] = defaultdict(float)
    for cell in cells:
        sums[tuple(cell["labels"][label] for label in labels)] += cell["seconds"]
    return sums
