"""What handlers share in one server process: the database, settings, limits, metrics and the watcher of runs."""

from __future__ import annotations

import math
import time
from asyncio import Semaphore
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from functools import partial

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector
from prometheus_client import Counter as MetricCounter
from starlette.requests import Request

from maas.accounts.sign_in import SignIn
from maas.http.auth import Authenticator, Principal
from maas.memory.transfer.import_ import MAX_CONCURRENT_IMPORTS as MAX_CONCURRENT_IMPORTS
from maas.runs.event_stream import EventStream
from maas.runs.run_watcher import RunWatcher
from maas.runs.submit import Submitter
from maas.runs.user_events import UserEventStream
from shared.db import Database
from shared.errors import MaasError
from shared.models.calls import QueryEmbedder
from shared.settings import Settings

MAX_CONCURRENT_IMPORT_UPLOADS = 8  # each may take 64 MiB of disk until its import has ended
MAX_CONCURRENT_IMAGE_UPLOADS = 1
MAX_CONCURRENT_DOCUMENT_UPLOADS = 2
MAX_RATE_BUCKETS = 100_000
FOLLOWER_SHARE = 10  # a bound principal may hold one in so many of the followers of a process
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

    def take(self, name: str, per_minute: int, subject: str) -> None:
        """Take one request out of the bucket `name`. Raises MaasError('rate_limited') with `retry_after` in seconds."""
        now = self._clock()
        full_at = max(self._full_at.pop(name, now), now) + 60 / per_minute
        wait_s = full_at - 60 - now
        if wait_s > 1e-6:
            self._full_at[name] = full_at - 60 / per_minute
            retry_after = math.ceil(wait_s)
            raise MaasError(
                "rate_limited",
                f"{subject} may send {per_minute} requests a minute; try again in {retry_after} s",
                {"retry_after": retry_after, "per_minute": per_minute},
            )
        self._full_at[name] = full_at
        if len(self._full_at) > MAX_RATE_BUCKETS:
            del self._full_at[next(iter(self._full_at))]


class FollowerLimit:
    """Limits how many event streams and waiting requests one bound principal holds in this process.

    Principals are counted by user, or by key when they are bound to a prefix. An unbound principal serves many users
    and has no limit of its own.
    """

    def __init__(self, max_followers: int) -> None:
        self._max_of_one = max(1, max_followers // FOLLOWER_SHARE)
        self._counts: Counter[str] = Counter()

    def check(self, principal: Principal) -> None:
        """Raise MaasError('too_many_followers') when the principal may not follow or wait once more."""
        if principal.is_bound and self._counts[_name(principal)] >= self._max_of_one:
            raise MaasError(
                "too_many_followers",
                f"you follow or wait for {self._max_of_one} runs in this process, as many as you may; "
                "end one and try again",
                {"retry_after": 1},
            )

    @contextmanager
    def counting(self, principal: Principal) -> Iterator[None]:
        """Count the principal as a follower while the context is open."""
        name = _name(principal)
        self._counts[name] += 1
        try:
            yield
        finally:
            self._counts[name] -= 1
            if not self._counts[name]:
                del self._counts[name]

    async def counting_stream(
        self, principal: Principal, lines: AsyncGenerator[str, None]
    ) -> AsyncGenerator[str, None]:
        """Yield `lines` and count the principal as a follower until they end."""
        with self.counting(principal):
            async with aclosing(lines):
                async for line in lines:
                    yield line


def _name(principal: Principal) -> str:
    return principal.name if principal.user_id is None else f"user {principal.user_id}"


class RequestMetrics:
    """Prometheus counters of the requests that this process has served."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        labels = ("method", "path", "status")
        self._requests = MetricCounter("maas_http_requests", "Requests answered", labels, registry=self.registry)
        self._seconds = Histogram(
            "maas_http_request_seconds", "Time from the request to the end of the response, `wait` included",
            labels[:2], registry=self.registry, buckets=LATENCY_BUCKETS_S,
        )  # fmt: skip
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


@dataclass(frozen=True, slots=True)
class AppState:
    """The parts of the application; `sign_in` is None unless MAAS_AUTH=local.

    The semaphores bound what uploads occupy: `import_uploads` the temporary files of imports, `imports` the imports
    that run, `image_uploads` the images in memory, `document_uploads` the
    documents.
    """

    db: Database
    settings: Settings
    authenticator: Authenticator
    submissions: Submitter
    run_watcher: RunWatcher
    event_stream: EventStream
    user_event_stream: UserEventStream
    request_metrics: RequestMetrics
    rate_limiter: RateLimiter
    follower_limit: FollowerLimit
    query_embedder: QueryEmbedder | None = None
    sign_in: SignIn | None = None
    import_uploads: Semaphore = field(default_factory=partial(Semaphore, MAX_CONCURRENT_IMPORT_UPLOADS))
    imports: Semaphore = field(default_factory=partial(Semaphore, MAX_CONCURRENT_IMPORTS))
    image_uploads: Semaphore = field(default_factory=partial(Semaphore, MAX_CONCURRENT_IMAGE_UPLOADS))
    document_uploads: Semaphore = field(default_factory=partial(Semaphore, MAX_CONCURRENT_DOCUMENT_UPLOADS))

    def check_followers(self, principal: Principal) -> None:
        """Raise when this process cannot serve the principal one more event stream: busy, too_many_followers."""
        if self.run_watcher.subscribers >= self.settings.followers:
            raise MaasError(
                "busy", "this process serves as many event streams as it may; try again", {"retry_after": 1}
            )
        self.follower_limit.check(principal)


def app_state(request: Request) -> AppState:
    """Return the state of the application that serves this request."""
    state = request.app.state.maas
    assert isinstance(state, AppState)
    return state
