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

from maas.http.changes import Changes
from maas.http.doors import DOORS, Handler
from maas.http.errors import HANDLERS
from maas.http.openapi import describe
from maas.http.operations import docs_files, home
from maas.http.rooms import Rooms
from maas.http.traffic import Metered, Traffic
from maas.pipeline.following import Following
from maas.pipeline.submissions import Submissions
from shared.db import Database
from shared.models.questions import Questions
from shared.settings import ATTACHMENT_BYTES


class Endpoint:
    """A handler as an ASGI application; what it raises goes to HANDLERS, which a function would pass through twice."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._handler(Request(scope, receive, send))
        await response(scope, receive, send)


def create_app(
    db: Database,
    listen_dsn: str,
    queue_limit: int | None = None,
    questions: Questions | None = None,
    attachment_bytes: int = ATTACHMENT_BYTES,
) -> Starlette:
    """The ASGI application over an open database; it listens by itself on `listen_dsn`."""

    traffic = Traffic()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        changes = Changes(db, listen_dsn)
        submissions = Submissions(db, queue_limit)
        app.state.rooms = Rooms(db, submissions, changes, Following(db), traffic, questions, attachment_bytes)
        async with changes.listening():
            yield

    routes = [
        *(Route(door.path, Endpoint(door.handler), methods=[door.method]) for door in DOORS),
        Mount("/docs/static", StaticFiles(directory=docs_files())),
        Route("/", home),
    ]
    metered = [Middleware(Metered, traffic=traffic)]
    app = Starlette(routes=routes, middleware=metered, exception_handlers=HANDLERS, lifespan=lifespan)
    app.state.openapi = describe(DOORS, version("maas"))
    return app
