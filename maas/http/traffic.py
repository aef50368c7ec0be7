"""What this process serves: requests and their times, by door and status, around the whole application."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Traffic:
    """Counters of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        labels = ("method", "path", "status")
        self._requests = Counter("maas_http_requests", "Requests answered", labels, registry=self.registry)
        self._seconds = Histogram(
            "maas_http_request_seconds", "From request to the end of the reply; waits asked for included",
            labels[:2], registry=self.registry, buckets=BUCKETS,
        )  # fmt: skip
        self._refused = Counter(
            "maas_http_unauthenticated", "Requests without a valid key or token", ("cause",), registry=self.registry
        )

    def refuse(self, cause: str) -> None:
        """A request came from nobody that we know."""
        self._refused.labels(cause).inc()

    def note(self, method: str, path: str, status: int, seconds: float) -> None:
        """One request is answered; `path` is the door's, ids left out."""
        method = method if method in METHODS else "other"
        self._requests.labels(method, path, str(status)).inc()
        self._seconds.labels(method, path).observe(seconds)


class Metered:
    """ASGI middleware that tells `traffic` of each request."""

    def __init__(self, app: ASGIApp, traffic: Traffic) -> None:
        self._app = app
        self._traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500
        began = time.perf_counter()

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, note_status)
        finally:
            path = getattr(scope.get("route"), "path", "unknown")
            self._traffic.note(scope["method"], path, status, time.perf_counter() - began)
