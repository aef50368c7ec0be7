"""The ASGI application: routes over a database. The only model that this process calls is the embedder of queries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib.metadata import version
from typing import Any

from starlette import routing
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from maas.http.auth.authenticators import Authenticator, Principal
from maas.http.auth.authorize import authenticate, authorize
from maas.http.errors import HANDLERS
from maas.http.middleware import BodyTimeout, MeasureRequests, RequestMetrics, ResponseHeaders
from maas.http.openapi import describe
from maas.http.operations import home, swagger_ui_files
from maas.http.routes import METHODS, ROUTES, Route
from maas.http.run_watcher import RunWatcher
from maas.http.state import AppState, FollowerLimit, RateLimiter
from maas.runs.event_stream import EventStream
from maas.runs.submit import Submitter
from shared.db import Database
from shared.models.query_embedder import QueryEmbedder
from shared.settings import Settings

MountedApp = Callable[[Request, Principal, Send], Awaitable[None]]


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
        await authorize(request, route.scope, route.resource)
        response = await route.handler(request)
        await response(scope, receive, send)


class LazyMount:
    """Another protocol as an ASGI application; it is loaded in a thread at the first authenticated request."""

    def __init__(self, load: Callable[[], MountedApp]) -> None:
        self._load = load
        self._loading: asyncio.Task[MountedApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        principal = await authenticate(request)
        if self._loading is None:
            self._loading = asyncio.create_task(asyncio.to_thread(self._load))
        app = await asyncio.shield(self._loading)
        await app(request, principal, send)


class Application(Starlette):
    """Starlette with CORS and response headers around its error handling, so that 500 responses have them, too."""

    def __init__(self, origins: Sequence[str], **options: Any) -> None:
        super().__init__(**options)
        self._origins = origins

    def build_middleware_stack(self) -> ASGIApp:
        app = super().build_middleware_stack()
        if self._origins:
            app = CORSMiddleware(
                app, allow_origins=self._origins, allow_methods=METHODS, allow_headers=["*"],
                expose_headers=["X-Request-Id", "Retry-After", "X-MaaS-Ignored"],
            )  # fmt: skip
        return ResponseHeaders(app)


def create_app(
    db: Database, listen_dsn: str, settings: Settings, authenticator: Authenticator,
    query_embedder: QueryEmbedder | None = None,
) -> Starlette:  # fmt: skip
    """Build the ASGI application over an open database; its lifespan listens on `listen_dsn`."""

    metrics = RequestMetrics()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        watcher = RunWatcher(db, listen_dsn)
        submissions = Submitter(db, settings.user_queue_limit)
        app.state.maas = AppState(
            db, settings, authenticator, submissions, watcher, EventStream(db), metrics, RateLimiter(),
            FollowerLimit(settings.followers), query_embedder,
        )  # fmt: skip
        async with watcher.listening():
            yield

    paths = dict.fromkeys(route.path for route in ROUTES)
    routes = [
        *(routing.Route(path, Endpoint(route for route in ROUTES if route.path == path)) for path in paths),
        routing.Mount("/docs/static", StaticFiles(directory=swagger_ui_files())),
        routing.Route("/", home),
    ]
    middleware = [
        Middleware(MeasureRequests, metrics=metrics),
        Middleware(BodyTimeout, total_s=settings.body_timeout, pause_s=settings.body_pause),
    ]
    app = Application(
        settings.cors_origins, routes=routes, middleware=middleware, exception_handlers=HANDLERS, lifespan=lifespan
    )
    app.state.openapi_document = cache(partial(describe, ROUTES, version("maas"), settings.auth != "none"))
    return app
