"""What there is at the moment, for /metrics: rows, vectors, what waits; connections and followers of this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from maas.http.changes import Changes
from shared.db import Database


class Stock(Collector):
    """What the database holds; the same from each server process."""

    def __init__(self, stock: Mapping[str, Any], fills: Sequence[Mapping[str, Any]]) -> None:
        self._stock = stock
        self._fills = fills

    def collect(self) -> Iterator[Metric]:
        memory = GaugeMetricFamily(
            "maas_memory_rows", "Turns and records in memory, as Postgres estimates them", labels=("kind",)
        )
        memory.add_metric(("turn",), self._stock["turns"])
        memory.add_metric(("record",), self._stock["records"])
        yield memory
        yield GaugeMetricFamily("maas_database_bytes", "Size of the database", self._stock["bytes"])
        yield GaugeMetricFamily(
            "maas_actions_pending", "Actions that wait for the word of their user", self._stock["actions"]
        )
        embedded = GaugeMetricFamily("maas_embedded_turns", "Turns that have a vector", labels=("model",))
        refused = GaugeMetricFamily("maas_embedding_refused_turns", "Turns that a model refused", labels=("model",))
        tokens = CounterMetricFamily("maas_embedding_tokens", "Tokens of turns that were embedded", labels=("model",))
        for fill in self._fills:
            embedded.add_metric((fill["model"],), fill["turns"])
            refused.add_metric((fill["model"],), fill["refused"])
            tokens.add_metric((fill["model"],), fill["tokens"])
        yield from (embedded, refused, tokens)


class Process(Collector):
    """What this process holds."""

    def __init__(self, db: Database, changes: Changes) -> None:
        self._db = db
        self._changes = changes

    def collect(self) -> Iterator[Metric]:
        info = GaugeMetricFamily("maas_info", "The version that runs", labels=("version",))
        info.add_metric((version("maas"),), 1)
        yield info
        is_open, in_use = self._db.connections
        pool = GaugeMetricFamily("maas_pool_connections", "Database connections of this process", labels=("state",))
        pool.add_metric(("idle",), is_open - in_use)
        pool.add_metric(("used",), in_use)
        yield pool
        yield GaugeMetricFamily("maas_runs_followed", "Runs whose events somebody follows here", self._changes.followed)
