"""The application: doors over a database. Handlers insert and read; no model is called from here but an embedder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from maas.http.access import admit
from maas.http.callers import Gate
from maas.http.changes import Changes
from maas.http.doors import DOORS, Door
from maas.http.errors import HANDLERS
from maas.http.openapi import describe
from maas.http.operations import docs_files, home
from maas.http.rates import Rates
from maas.http.rooms import Rooms
from maas.http.traffic import Metered, Traffic
from maas.pipeline.following import Following
from maas.pipeline.submissions import Submissions
from shared.db import Database
from shared.models.questions import Questions
from shared.settings import Settings


class Endpoint:
    """A door as an ASGI application; what it raises goes to HANDLERS, which a function would pass through twice."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self.scope = door.scope

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        await admit(request, self._door.scope, self._door.owned)
        response = await self._door.handler(request)
        await response(scope, receive, send)


def create_app(
    db: Database, listen_dsn: str, settings: Settings, gate: Gate, questions: Questions | None = None
) -> Starlette:
    """The ASGI application over an open database; it listens by itself on `listen_dsn`, and `gate` says who calls."""

    traffic = Traffic()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        changes = Changes(db, listen_dsn)
        submissions = Submissions(db, settings.user_queue_limit)
        app.state.rooms = Rooms(db, settings, gate, submissions, changes, Following(db), traffic, Rates(), questions)
        async with changes.listening():
            yield

    routes = [
        *(Route(door.path, Endpoint(door), methods=[door.method]) for door in DOORS),
        Mount("/docs/static", StaticFiles(directory=docs_files())),
        Route("/", home),
    ]
    metered = [Middleware(Metered, traffic=traffic)]
    app = Starlette(routes=routes, middleware=metered, exception_handlers=HANDLERS, lifespan=lifespan)
    app.state.openapi = describe(DOORS, version("maas"))
    return app
