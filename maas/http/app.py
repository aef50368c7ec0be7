"""The application: doors over a database. Handlers insert and read; no model is called from here but an embedder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib.metadata import version
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from maas.http.access import admit
from maas.http.callers import Gate
from maas.http.changes import Changes
from maas.http.doors import DOORS, METHODS, Door
from maas.http.errors import HANDLERS
from maas.http.followers import Followers
from maas.http.openapi import describe
from maas.http.operations import docs_files, home
from maas.http.patience import Patience
from maas.http.rates import Rates
from maas.http.replies import Replies
from maas.http.rooms import Rooms
from maas.http.traffic import Metered, Traffic
from maas.pipeline.following import Following
from maas.pipeline.submissions import Submissions
from shared.db import Database
from shared.models.questions import Questions
from shared.settings import Settings


class Endpoint:
    """The doors of one path as an ASGI application; what it raises goes to HANDLERS, which a function would pass twice.

    It answers every method, so that Allow names those of the whole path, and no wider path takes one of its own.
    """

    def __init__(self, doors: Iterable[Door]) -> None:
        self._doors = {door.method: door for door in doors}
        if "GET" in self._doors:
            self._doors["HEAD"] = self._doors["GET"]
        self.scope = {method: door.scope for method, door in self._doors.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        door = self._doors.get(scope["method"])
        if door is None:
            raise HTTPException(405, headers={"Allow": ", ".join(self._doors)})
        await admit(request, door.scope, door.owned)
        response = await door.handler(request)
        await response(scope, receive, send)


class Application(Starlette):
    """Doors within what stands around every reply, those to bugs included."""

    def __init__(self, origins: Sequence[str], **parts: Any) -> None:
        super().__init__(**parts)
        self._origins = origins

    def build_middleware_stack(self) -> ASGIApp:
        doors = super().build_middleware_stack()
        if self._origins:
            doors = CORSMiddleware(
                doors, allow_origins=self._origins, allow_methods=METHODS, allow_headers=["*"],
                expose_headers=["X-Request-Id", "Retry-After", "X-MaaS-Ignored"],
            )  # fmt: skip
        return Replies(doors)


def create_app(
    db: Database, listen_dsn: str, settings: Settings, gate: Gate, questions: Questions | None = None
) -> Starlette:
    """The ASGI application over an open database; it listens by itself on `listen_dsn`, and `gate` says who calls."""

    traffic = Traffic()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        changes = Changes(db, listen_dsn)
        submissions = Submissions(db, settings.user_queue_limit)
        app.state.rooms = Rooms(
            db, settings, gate, submissions, changes, Following(db), traffic, Rates(), Followers(settings.followers),
            questions,
        )  # fmt: skip
        async with changes.listening():
            yield

    paths = dict.fromkeys(door.path for door in DOORS)
    routes = [
        *(Route(path, Endpoint(door for door in DOORS if door.path == path)) for path in paths),
        Mount("/docs/static", StaticFiles(directory=docs_files())),
        Route("/", home),
    ]
    around = [
        Middleware(Metered, traffic=traffic),
        Middleware(Patience, whole=settings.body_timeout, pause=settings.body_pause),
    ]
    app = Application(
        settings.cors_origins, routes=routes, middleware=around, exception_handlers=HANDLERS, lifespan=lifespan
    )  # fmt: skip
    app.state.describe = cache(partial(describe, DOORS, version("maas"), settings.auth != "none"))
    return app
