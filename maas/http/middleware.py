"""ASGI middleware around every route: response headers and the request log, request metrics, body timeouts."""

from __future__ import annotations

import asyncio
import re
import time
from uuid import uuid4

import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from shared.errors import MaasError

REQUEST_ID_PATTERN = re.compile(r"[\w.:+/=@-]{1,100}", re.ASCII)
SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
UNLOGGED_PATHS = ("/healthz",)
COUNTED_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
LATENCY_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
log = structlog.get_logger()


class ResponseHeaders:
    """Adds the request id and the security headers to every response, and writes one log line a request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = choose_request_id(Headers(scope=scope).get("x-request-id"))
        status = 500
        started_at = time.perf_counter()

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/v1/"):
                    headers.setdefault("cache-control", "no-store")
                headers["x-request-id"] = request_id
            await send(message)

        with bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, send_with_headers)
            finally:
                path = _route_path(scope)
                if path not in UNLOGGED_PATHS:
                    log.info(
                        "request", method=scope["method"], path=path, status=status,
                        ms=round((time.perf_counter() - started_at) * 1000, 1),
                        caller=getattr(scope.get("state", {}).get("principal"), "name", None),
                    )  # fmt: skip


def choose_request_id(from_client: str | None) -> str:
    """Return the client's request id if it is short and plain, else a random one."""
    return from_client if from_client is not None and REQUEST_ID_PATTERN.fullmatch(from_client) else uuid4().hex


class RequestMetrics:
    """Prometheus counters of the requests that this process has served."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        labels = ("method", "path", "status")
        self._requests = Counter("maas_http_requests", "Requests answered", labels, registry=self.registry)
        self._seconds = Histogram(
            "maas_http_request_seconds", "Time from the request to the end of the response, `wait` included",
            labels[:2], registry=self.registry, buckets=LATENCY_BUCKETS_S,
        )  # fmt: skip
        self._unauthenticated = Counter(
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


class MeasureRequests:
    """Reports every request to `metrics`."""

    def __init__(self, app: ASGIApp, metrics: RequestMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500
        started_at = time.perf_counter()

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_note_status)
        finally:
            self._metrics.observe(scope["method"], _route_path(scope), status, time.perf_counter() - started_at)


class BodyTimeout:
    """Makes reading a body raise MaasError('timeout') after `total_s` seconds, or `pause_s` seconds without a byte."""

    def __init__(self, app: ASGIApp, total_s: float, pause_s: float) -> None:
        self._app = app
        self._total_s = total_s
        self._pause_s = pause_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        deadline = time.monotonic() + self._total_s
        is_complete = False

        async def receive_in_time() -> Message:
            nonlocal is_complete
            if is_complete:
                return await receive()
            try:
                async with asyncio.timeout(min(self._pause_s, deadline - time.monotonic())):
                    message = await receive()
            except TimeoutError as error:
                raise MaasError("timeout", "the body came too slowly; send it again") from error
            is_complete = not message.get("more_body", False)
            return message

        await self._app(scope, receive_in_time, send)


def _route_path(scope: Scope) -> str:
    path: str = getattr(scope.get("route"), "path", "unknown")
    return path
