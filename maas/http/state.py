"""What handlers share in one server process: the database, settings, limits, metrics and the watcher of runs."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from uuid import UUID

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector
from prometheus_client import Counter as MetricCounter
from starlette.requests import Request

from maas.accounts.sign_in import SignIn
from maas.engine.limits import Limits
from maas.http.auth import Authenticator
from maas.http.auth.access_audit import AccessAudit
from maas.http.client_documents import ClientDocuments
from maas.http.shares import Shares
from maas.passthrough.calls import ProviderCalls
from maas.passthrough.models import PassthroughModels
from maas.runs.event_stream import Cursor, Event, EventStream, Page
from maas.runs.run_watcher import KEEP_ALIVE_S, RunWatcher, watch
from maas.runs.submit import Submitter
from maas.runs.user_events import UserEventStream
from maas.settings import Settings
from shared.db import Database
from shared.errors import MaasError
from shared.models.calls import QueryEmbedder

MAX_RATE_BUCKETS = 100_000
MAX_SENT_ANSWERS = 10_000
COUNTED_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
LATENCY_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class RateLimiter:
    """Token buckets of one server process: each holds the requests of a minute and refills steadily.

    A bucket is stored as the time at which it will be full again. Beyond MAX_RATE_BUCKETS the least recently used
    bucket is dropped.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._full_at: dict[str, float] = {}

    def take(self, name: str, per_minute: int, subject: str, what: str = "requests") -> None:
        """Take one request out of the bucket `name`. Raises MaasError('rate_limited') with `retry_after` in seconds."""
        now = self._clock()
        full_at = max(self._full_at.pop(name, now), now) + 60 / per_minute
        wait_s = full_at - 60 - now
        if wait_s > 1e-6:
            self._full_at[name] = full_at - 60 / per_minute
            retry_after = math.ceil(wait_s)
            raise MaasError(
                "rate_limited",
                f"{subject} may send {per_minute} {what} a minute; try again in {retry_after} s",
                {"retry_after": retry_after, "per_minute": per_minute},
            )
        self._full_at[name] = full_at
        if len(self._full_at) > MAX_RATE_BUCKETS:
            del self._full_at[next(iter(self._full_at))]

    def give_back(self, name: str, per_minute: int) -> None:
        """Put one request back into the bucket `name`."""
        if name in self._full_at:
            self._full_at[name] -= 60 / per_minute


class RequestMetrics:
    """Prometheus counters of the requests that this process has served."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        labels = ("method", "path", "status")
        self._requests = MetricCounter("maas_http_requests", "Requests answered", labels, registry=self.registry)
        self._seconds = Histogram(
            "maas_http_request_seconds",
            "Time from the request to the end of the response, `wait` included",
            labels[:2],
            registry=self.registry,
            buckets=LATENCY_BUCKETS_S,
        )
        self._unauthenticated = MetricCounter(
            "maas_http_unauthenticated", "Requests without a valid key or token", ("cause",), registry=self.registry
        )

    def count_unauthenticated(self, cause: str) -> None:
        """Count a request without a valid credential."""
        self._unauthenticated.labels(cause).inc()

    def observe(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a response; `path` is the path of its route, with placeholders instead of ids."""
        method = method if method in COUNTED_METHODS else "other"
        self._requests.labels(method, path, str(status)).inc()
        self._seconds.labels(method, path).observe(seconds)


class SentAnswers:
    """The last runs whose answer a client of this process has read to its end."""

    def __init__(self) -> None:
        self._runs: dict[UUID, None] = {}

    def add(self, run_id: UUID) -> None:
        """Remember a run; beyond MAX_SENT_ANSWERS the oldest one is dropped."""
        self._runs[run_id] = None
        if len(self._runs) > MAX_SENT_ANSWERS:
            del self._runs[next(iter(self._runs))]

    def __contains__(self, run_id: UUID) -> bool:
        return run_id in self._runs


@dataclass(frozen=True, slots=True)
class AppState:
    """The parts of the application; `sign_in` is None unless MAAS_AUTH=local.

    `reads` is for what changes nothing: the same pool, or that of a standby. `long_db` has connections of its own for
    work on all data of a user, so that it takes none from other requests; `long_reads` is for its reads.
    """

    db: Database
    reads: Database
    long_db: Database
    long_reads: Database
    settings: Settings
    authenticator: Authenticator
    submissions: Submitter
    limits: Limits
    run_watcher: RunWatcher
    event_stream: EventStream
    user_event_stream: UserEventStream
    request_metrics: RequestMetrics
    rate_limiter: RateLimiter
    shares: Shares
    access_audit: AccessAudit
    passthrough: PassthroughModels
    provider_calls: ProviderCalls
    query_embedder: QueryEmbedder | None = None
    sent_answers: SentAnswers = field(default_factory=SentAnswers)
    sign_in: SignIn | None = None
    client_documents: ClientDocuments = field(default_factory=ClientDocuments)

    def follow_run(
        self, run_id: UUID, keep_alive_s: float = KEEP_ALIVE_S
    ) -> aclosing[AsyncGenerator[Sequence[Event], None]]:
        """Return the events of a run from its first one on, as `watch` yields them, to be used with `async with`."""
        first = Page(Cursor(), ())
        return aclosing(watch(self.event_stream, self.run_watcher, run_id, first, keep_alive_s))


def app_state(request: Request) -> AppState:
    """Return the state of the application that serves this request."""
    state = request.app.state.maas
    assert isinstance(state, AppState)
    return state


def until_sent(request: Request) -> AsyncExitStack:
    """Return the stack whose contexts end when the response of the request was sent completely, or was cut."""
    stack = request.state.until_sent
    assert isinstance(stack, AsyncExitStack)
    return stack
