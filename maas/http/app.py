"""The ASGI application: middleware and routes over a database.

This process calls the embedder of queries, and pass-through models for clients that name them; no stage runs here.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache, partial
from importlib.metadata import version
from typing import Any
from uuid import uuid4

import structlog
from starlette import routing
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from maas.accounts.passwords import PasswordHasher
from maas.accounts.sign_in import SignIn
from maas.engine.limits import Limits
from maas.http.auth import Authenticator, Principal
from maas.http.auth.access_audit import AccessAudit
from maas.http.authorize import authenticate, authorize, route_path
from maas.http.client_documents import ClientDocuments
from maas.http.errors import HANDLERS, error_response
from maas.http.openapi import describe
from maas.http.operations import home, swagger_ui_files
from maas.http.protected_resource import challenge
from maas.http.route import Route
from maas.http.routes import METHODS, all_routes
from maas.http.shares import Shares
from maas.http.state import COUNTED_METHODS, AppState, RateLimiter, RequestMetrics
from maas.http.web_interface import WebInterface
from maas.passthrough.calls import ProviderCalls
from maas.passthrough.models import PassthroughModels
from maas.runs.event_stream import EventStream
from maas.runs.run_watcher import RunWatcher
from maas.runs.submit import Submitter
from maas.runs.user_events import UserEventStream
from maas.settings import Settings
from shared import tracing
from shared.db import Database
from shared.errors import MaasError
from shared.models.calls import QueryEmbedder

MountedApp = Callable[[Request, Principal, Send], Awaitable[None]]
REQUEST_ID_PATTERN = re.compile(r"[\w.:+/=@-]{1,100}", re.ASCII)
SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
SLASHED_PATHS = ("/v1/a2a/{model}",)  # clients of A2A end an address with a slash, and follow no redirect
UNLOGGED_PATHS = ("/healthz", "/readyz")  # which are polled, by `maas up` too; unless they fail
log = structlog.get_logger()


class Endpoint:
    """The routes of one path as an ASGI application.

    It accepts every method, so that `Allow` lists those of the whole path and no wider path matches another method.
    It is a class because Starlette would pass exceptions of a function to HANDLERS twice.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = {route.method: route for route in routes}
        if "GET" in self._routes:
            self._routes["HEAD"] = self._routes["GET"]
        self.scope = {method: route.scope for method, route in self._routes.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        route = self._routes.get(scope["method"])
        if route is None:
            raise HTTPException(405, headers={"Allow": ", ".join(self._routes)})
        async with AsyncExitStack() as stack:
            request.state.until_sent = stack
            await authorize(request, route.scope, route.resource, names_users=route.names_users)
            response = await route.handler(request)
            await response(scope, receive, send)


class LazyMount:
    """Another protocol as an ASGI application; it is loaded in a thread at the first authenticated request."""

    def __init__(self, load: Callable[[], MountedApp]) -> None:
        self._load = load
        self._loading: asyncio.Task[MountedApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        async with AsyncExitStack() as stack:
            request.state.until_sent = stack
            try:
                principal = await authenticate(request)
            except MaasError as error:
                where = challenge(request)
                if error.code != "unauthenticated" or where is None:
                    raise
                await error_response(error, {"WWW-Authenticate": where})(scope, receive, send)
                return
            if self._loading is None:
                self._loading = asyncio.create_task(asyncio.to_thread(self._load))
            app = await asyncio.shield(self._loading)
            await app(request, principal, send)


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
                if scope["path"].startswith(("/v1/", "/api/", "/auth/", "/oauth/", "/mem0/")):
                    headers.setdefault("cache-control", "no-store")
                headers["x-request-id"] = request_id
            await send(message)

        with bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, send_with_headers)
            finally:
                path = route_path(scope)
                if path not in UNLOGGED_PATHS or status >= 400:
                    log.info(
                        "request",
                        method=scope["method"],
                        path=path,
                        status=status,
                        ms=round((time.perf_counter() - started_at) * 1000, 1),
                        caller=getattr(scope.get("state", {}).get("principal"), "name", None),
                    )


def choose_request_id(from_client: str | None) -> str:
    """Return the client's request id if it is short and plain, else a random one."""
    return from_client if from_client is not None and REQUEST_ID_PATTERN.fullmatch(from_client) else uuid4().hex


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
            self._metrics.observe(scope["method"], route_path(scope), status, time.perf_counter() - started_at)


class TraceRequests:
    """Records every request as a span, whose parent is the one that the header `traceparent` names."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in UNLOGGED_PATHS:
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in COUNTED_METHODS else "_OTHER"
        parent = Headers(scope=scope).get("traceparent")
        with tracing.span(method, {"http.request.method": method}, "server", parent) as span:

            async def send_and_note_status(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.note({"http.response.status_code": message["status"]})
                    if message["status"] >= 500:
                        span.fail(str(message["status"]))
                await send(message)

            try:
                await self._app(scope, receive, send_and_note_status)
            finally:
                path = route_path(scope)
                span.rename(f"{method} {path}")
                span.note({"http.route": path})


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


class Application(Starlette):
    """Starlette with CORS and response headers around its error handling, so that 500 responses have them, too."""

    def __init__(self, origins: Sequence[str], **options: Any) -> None:
        super().__init__(**options)
        self._origins = origins

    def build_middleware_stack(self) -> ASGIApp:
        app = super().build_middleware_stack()
        if self._origins:
            app = CORSMiddleware(
                app,
                allow_origins=self._origins,
                allow_methods=METHODS,
                allow_headers=["*"],
                expose_headers=["X-Request-Id", "Retry-After", "X-MaaS-Ignored", "X-MaaS-Memory", "X-MaaS-Request"],
            )
        return ResponseHeaders(app)


def create_app(
    db: Database,
    listen_dsn: str,
    settings: Settings,
    authenticator: Authenticator,
    query_embedder: QueryEmbedder | None = None,
    long_db: Database | None = None,
    reads: Database | None = None,
    long_reads: Database | None = None,
    client_documents: ClientDocuments | None = None,
) -> Starlette:
    """Build the ASGI application over an open database; its lifespan listens on `listen_dsn`.

    `long_db` is another pool of the same database, for work on all data of a user; without it that is done in `db`.
    `reads` and `long_reads` are for what changes nothing; without them it is done in `db` and `long_db`.
    `client_documents` reads what clients of OAuth say of themselves; without it from public addresses only.
    """

    metrics = RequestMetrics()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        watcher = RunWatcher(db, listen_dsn)
        limits, hasher, provider_calls = Limits(settings), PasswordHasher(), ProviderCalls()
        app.state.maas = AppState(
            db,
            reads or db,
            long_db or db,
            long_reads or long_db or db,
            settings,
            authenticator,
            Submitter(db, limits),
            limits,
            watcher,
            EventStream(db),
            UserEventStream(db),
            metrics,
            RateLimiter(),
            Shares.of(settings),
            AccessAudit(db),
            PassthroughModels(settings),
            provider_calls,
            query_embedder,
            sign_in=SignIn(db, settings.access, hasher) if settings.access.auth == "local" else None,
            client_documents=client_documents or ClientDocuments(),
        )
        with tracing.exporting(settings.diagnostics.export("maas-server")):
            async with watcher.listening(), limits.reading(db):
                yield
        await provider_calls.close()
        hasher.close()

    served = all_routes()
    paths = dict.fromkeys(route.path for route in served)
    routes = [
        *(
            # The name of a chat or a user is any text, also one with slashes.
            routing.Route(
                address.replace("{chat}", "{chat:path}").replace("{entity}", "{entity:path}"),
                Endpoint(one for one in served if one.path == path),
            )
            for path in paths
            for address in ([path, f"{path}/"] if path in SLASHED_PATHS else [path])
        ),
        routing.Mount("/docs/static", StaticFiles(directory=swagger_ui_files())),
        *([routing.Route("/ui/{path:path}", WebInterface(settings))] if settings.page.ui else []),
        routing.Route("/", home),
    ]
    middleware = [
        *([Middleware(TraceRequests)] if settings.diagnostics.otlp_endpoint else []),
        Middleware(MeasureRequests, metrics=metrics),
        Middleware(BodyTimeout, total_s=settings.http.body_timeout, pause_s=settings.http.body_pause),
    ]
    app = Application(
        settings.http.cors_origins, routes=routes, middleware=middleware, exception_handlers=HANDLERS, lifespan=lifespan
    )
    app.state.openapi_document = cache(partial(describe, served, version("maas"), settings.access.auth != "none"))
    return app
