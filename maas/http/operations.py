"""Endpoints for operators and tools: health, readiness, /metrics, the caller's rights, and the API documentation."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from pydantic import Field
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from maas import queries
from maas.engine.metrics import BUCKETS, LABELS
from maas.http.authorize import principal_of
from maas.http.schemas import Schema, json_response
from maas.http.state import app_state
from maas.plugins import load_parts
from maas.runs.run_watcher import RunWatcher
from shared.db import CONNECTION_LOST, Database
from shared.errors import MaasError
from shared.fair_semaphore import FairSemaphore

METRICS_TIMEOUT_S = 5.0
QUEUE_STATES = ("inbox", "waiting", "runnable", "deferred", "in_flight", "paused", "scheduled")
COUNTERS = {
    "runs_finished": "Runs that were answered or failed",
    "archives_failed": "Runs whose archiving failed",
    "runs_reclaimed": "Runs taken over from crashed or silent orchestrators",
    "runs_adopted": "Runs whose lost per-key lock was recovered",
    "background_failures": "Failures of background tasks, by task",
    "words_swept": "Messages that retention deleted",
    "runs_swept": "Runs that retention deleted",
    "model_calls": "Model calls",
    "model_tokens": "Tokens of model calls; cached tokens are part of the input tokens",
    "tool_calls": "Tool calls by outcome",
    "answers": "Answers by assistant; length: within or over the words that it should keep to, or unlimited",
    "answer_words": "Words of answers by assistant",
    "variant_answers": "Answers of assistants that have variants, by variant and outcome",
    "webhook_deliveries": "Attempts to send an event; outcome: delivered, retried (later), or failed (given up)",
}
WEBHOOK_STATES = ("enabled", "asked", "gone", "failing", "queue_full")
MAX_COUNTED_EVENTS = 100_000  # that wait for webhooks
SWAGGER_START = 'SwaggerUIBundle({url: "/openapi.json", dom_id: "#ui", deepLinking: true, validatorUrl: null})'
SWAGGER_PAGE = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>MaaS</title>
<link rel="stylesheet" href="/docs/static/swagger-ui.css"></head>
<body><div id="ui"></div><script src="/docs/static/swagger-ui-bundle.js"></script>
<script>{SWAGGER_START}</script></body></html>
"""
_START_HASH = b64encode(sha256(SWAGGER_START.encode()).digest()).decode()
SWAGGER_POLICY = (
    f"default-src 'none'; script-src 'self' 'sha256-{_START_HASH}'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
log = structlog.get_logger()


class Health(Schema):
    status: Literal["ok"] = "ok"


class Readiness(Schema):
    status: Literal["ready"] = "ready"
    orchestrators: int = Field(description="Live orchestrators; requests are accepted without any, too.")


class CallerRights(Schema):
    name: str
    scopes: list[str]
    user_id: UUID | None = Field(description="The user that the key is bound to; null when it is not bound to one.")
    prefix: str | None = Field(description="The key is bound to users whose external id begins with this prefix.")


async def healthz(_: Request) -> Response:
    """Return 200 while the process is alive."""
    return json_response(Health())


async def readyz(request: Request) -> Response:
    """Return 200 when the database answers, holds the schema and commits changes."""
    db = app_state(request).db
    if not await db.value(queries.schema_is_there):
        raise MaasError("no_schema", "the database holds no MaaS schema; run `maas migrate`")
    await db.check_commits()
    return json_response(Readiness(orchestrators=len(await db.rows(queries.living_engines))))


async def get_caller(request: Request) -> Response:
    """Return the rights of the key or token that sent this request."""
    principal = principal_of(request)
    rights = CallerRights(
        name=principal.name, scopes=sorted(principal.scopes), user_id=principal.user_id, prefix=principal.prefix
    )
    return json_response(rights)


async def openapi(request: Request) -> Response:
    """Return this API as an OpenAPI 3.1 document."""
    return JSONResponse(request.app.state.openapi_document())


async def docs(_: Request) -> Response:
    """Show this API in Swagger UI."""
    return HTMLResponse(SWAGGER_PAGE, headers={"content-security-policy": SWAGGER_POLICY})


async def home(request: Request) -> Response:
    """Redirect to the web interface, or to the API reference where that is off."""
    return RedirectResponse("/ui/" if app_state(request).settings.page.ui else "/docs")


@cache
def swagger_ui_files() -> Path:
    """Return the folder of Swagger UI's files, so that the page loads nothing from other servers."""
    spec = find_spec("swagger_ui")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "static"


async def metrics(request: Request) -> Response:
    """Return the metrics of the engine, the database and this process in the text format of Prometheus."""
    state = app_state(request)
    shares = {**dict(state.shares.by_name()), "long_requests": state.submissions.large}
    collectors = [
        *await _read_collectors(state.db),
        ProcessGauges(state.db, state.run_watcher),
        ShareMetrics(shares),
        state.request_metrics.registry,
    ]
    return Response(b"".join(map(generate_latest, collectors)), headers={"Content-Type": CONTENT_TYPE_LATEST})


async def _read_collectors(db: Database) -> list[Collector]:
    try:
        async with asyncio.timeout(METRICS_TIMEOUT_S):
            stock = await db.row(queries.stock)
            assert stock is not None
            engine = EngineMetrics(await db.row(queries.queue), await db.rows(queries.metrics))
            database = DatabaseGauges(stock, await db.rows(queries.fills), await db.row(queries.embedding_backlog))
            webhooks = WebhookGauges(
                await db.row(queries.webhook_backlog, MAX_COUNTED_EVENTS), await db.rows(queries.webhook_states)
            )
            of_plugins = [one for read in load_parts("metrics") for one in await read(db)]
            return [engine, database, webhooks, *of_plugins]
    except CONNECTION_LOST as error:
        log.warning("metrics_database_unavailable", cause=repr(error))
        return [EngineMetrics(None, ())]


class EngineMetrics(Collector):
    """Queue gauges and the counters that orchestrators write to the database; equal in every server process.

    `queue` is None when the database did not answer.
    """

    def __init__(self, queue: Mapping[str, Any] | None, cells: Iterable[Mapping[str, Any]]) -> None:
        self._queue = queue
        self._cells: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for cell in cells:
            self._cells[cell["name"]].append(cell)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of the orchestrators, as they were read last."""
        yield GaugeMetricFamily("maas_database_up", "Whether Postgres answered", int(self._queue is not None))
        if self._queue is None:
            return
        runs = GaugeMetricFamily("maas_queue_runs", "Unfinished runs by queue state", labels=("lane",))
        for queue_state in QUEUE_STATES:
            runs.add_metric((queue_state,), self._queue[queue_state])
        yield runs
        for name, column, text in (
            ("maas_queue_oldest_seconds", "oldest_seconds", "Age of the run that waits longest; 0 when none waits"),
            ("maas_orchestrators", "orchestrators", "Live orchestrators"),
            ("maas_notify_queue_ratio", "notify_queue_usage", "Fill level of Postgres' notification queue, 0 to 1"),
        ):
            yield GaugeMetricFamily(name, text, float(self._queue[column]))
        for name, text in COUNTERS.items():
            labels = LABELS[name]
            counter = CounterMetricFamily(f"maas_{name}", text, labels=labels)
            for cell in self._cells[name]:
                counter.add_metric([cell["labels"].get(label, "") for label in labels], cell["events"])
            yield counter
        for name, text, source, labels in (
            ("maas_model_seconds", "Time spent in model calls", "model_calls", ("provider", "model")),
            ("maas_tool_seconds", "Time spent in tool calls", "tool_calls", ("tool",)),
        ):
            seconds = CounterMetricFamily(name, text, labels=labels)
            for values, total in _sum_seconds(self._cells[source], labels).items():
                seconds.add_metric(values, total)
            yield seconds
        cost = CounterMetricFamily("maas_model_cost_dollars", "Cost of model calls", labels=("provider", "model"))
        for cell in self._cells["model_cost"]:
            cost.add_metric((cell["labels"]["provider"], cell["labels"]["model"]), cell["events"] / 1e6)
        yield cost
        yield self._stage_histogram()

    def _stage_histogram(self) -> Metric:
        family = HistogramMetricFamily(
            "maas_stage_seconds",
            "Time in each stage; claim: insert to first claim; answer: insert to answer",
            labels=("stage",),
        )
        cells_of: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for cell in self._cells["stage"]:
            cells_of[cell["labels"]["stage"]].append(cell)
        limits = sorted({*BUCKETS, *(cell["le"] for cell in self._cells["stage"]), inf})
        for stage, cells in cells_of.items():
            events = {cell["le"]: cell["events"] for cell in cells}
            total, buckets = 0, []
            for limit in limits:
                total += events.get(limit, 0)
                buckets.append(("+Inf" if limit == inf else repr(limit), total))
            family.add_metric((stage,), buckets, sum(cell["seconds"] for cell in cells))
        return family


def _sum_seconds(cells: Iterable[Mapping[str, Any]], labels: Sequence[str]) -> dict[tuple[str, ...], float]:
    sums: dict[tuple[str, ...], float] = defaultdict(float)
    for cell in cells:
        sums[tuple(cell["labels"][label] for label in labels)] += cell["seconds"]
    return sums


class DatabaseGauges(Collector):
    """What the database holds: rows, vectors, pending actions; equal in every server process.

    `backlog` is that of the embedding model in use; None if messages were never embedded.
    """

    def __init__(
        self, stock: Mapping[str, Any], fills: Sequence[Mapping[str, Any]], backlog: Mapping[str, Any] | None
    ) -> None:
        self._stock = stock
        self._fills = fills
        self._backlog = backlog

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges of the database, as they were read last."""
        rows = GaugeMetricFamily(
            "maas_memory_rows", "Messages (turn) and summaries (record), as Postgres estimates them", labels=("kind",)
        )
        rows.add_metric(("turn",), self._stock["turns"])
        rows.add_metric(("record",), self._stock["records"])
        yield rows
        yield GaugeMetricFamily("maas_database_bytes", "Size of the database", self._stock["bytes"])
        yield GaugeMetricFamily(
            "maas_actions_pending", "Actions that wait for the decision of their user", self._stock["actions"]
        )
        embedded = GaugeMetricFamily("maas_embedded_turns", "Messages that have a vector", labels=("model",))
        refused = GaugeMetricFamily("maas_embedding_refused_turns", "Messages that a model refused", labels=("model",))
        tokens = CounterMetricFamily("maas_embedding_tokens", "Tokens of embedded messages", labels=("model",))
        for fill in self._fills:
            embedded.add_metric((fill["model"],), fill["turns"])
            refused.add_metric((fill["model"],), fill["refused"])
            tokens.add_metric((fill["model"],), fill["tokens"])
        waiting = GaugeMetricFamily(
            "maas_embedding_waiting_turns",
            "Messages that wait for their vector; above 10,000 an estimate",
            labels=("model",),
        )
        if self._backlog is not None and self._backlog["waiting"] is not None:
            waiting.add_metric((self._backlog["model"],), self._backlog["waiting"])
        yield from (embedded, refused, waiting, tokens)


class WebhookGauges(Collector):
    """The events that wait for enabled webhooks, and all webhooks by state; equal in every server process."""

    def __init__(self, backlog: Mapping[str, Any] | None, states: Sequence[Mapping[str, Any]]) -> None:
        self._backlog = backlog or {"waiting": 0, "oldest_seconds": 0.0}
        self._states = dict.fromkeys(WEBHOOK_STATES, 0) | {one["state"]: one["webhooks"] for one in states}

    def collect(self) -> Iterator[Metric]:
        """Yield how many webhooks are enabled, or disabled for which cause, as read last."""
        waiting = f"Events that wait for enabled webhooks; counted up to {MAX_COUNTED_EVENTS:,}"
        yield GaugeMetricFamily("maas_webhook_events_waiting", waiting, self._backlog["waiting"])
        oldest = "Age of the oldest of these events; 0 when none waits"
        yield GaugeMetricFamily("maas_webhook_oldest_seconds", oldest, self._backlog["oldest_seconds"])
        webhooks = GaugeMetricFamily("maas_webhooks", "Webhooks, enabled or by why they are not", labels=("state",))
        for state, count in self._states.items():
            webhooks.add_metric((state,), count)
        yield webhooks


class ShareMetrics(Collector):
    """The places of each share of this process: how many there are, are used, waited for, and were refused."""

    def __init__(self, shares: Mapping[str, FairSemaphore]) -> None:
        self._shares = shares

    def collect(self) -> Iterator[Metric]:
        """Yield the use of each share of this process."""
        labels = ("share",)
        places = GaugeMetricFamily("maas_share_places", "Slots of a share in this process", labels=labels)
        used = GaugeMetricFamily("maas_share_used", "Slots in use", labels=labels)
        waiting = GaugeMetricFamily("maas_share_waiting", "Requests waiting for a slot", labels=labels)
        refused = CounterMetricFamily("maas_share_refused", "Requests refused for lack of a slot", labels=labels)
        for name, share in self._shares.items():
            places.add_metric((name,), share.places)
            used.add_metric((name,), share.used)
            waiting.add_metric((name,), share.waiting)
            refused.add_metric((name,), share.refused)
        yield from (places, used, waiting, refused)


class ProcessGauges(Collector):
    """The version, the connections and the event streams of this process."""

    def __init__(self, db: Database, watcher: RunWatcher) -> None:
        self._db = db
        self._watcher = watcher

    def collect(self) -> Iterator[Metric]:
        """Yield the version, connections and followed runs of this process."""
        info = GaugeMetricFamily("maas_info", "The version of MaaS", labels=("version",))
        info.add_metric((version("maas"),), 1)
        yield info
        opened, in_use = self._db.connections
        pool = GaugeMetricFamily("maas_pool_connections", "Database connections of this process", labels=("state",))
        pool.add_metric(("idle",), opened - in_use)
        pool.add_metric(("used",), in_use)
        yield pool
        yield GaugeMetricFamily("maas_runs_followed", "Runs that event streams follow", self._watcher.watched_runs)
