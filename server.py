"""The HTTP process. Composition root: settings -> pool -> maas.http -> uvicorn."""

from __future__ import annotations

import gc
import ipaddress
import os
import resource
import socket
import sys
from contextlib import AsyncExitStack
from functools import partial

import structlog
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.routing import Route

from maas.http.app import create_app
from maas.http.connection import limited
from maas.http.gates import open_gate
from maas.http.mounted import Answer, Mounted
from maas.memory.vectors import open_questions
from shared import log
from shared.db import open_database, when_there
from shared.dsn import Addresses, find_postgres
from shared.errors import MaasError
from shared.models.embedders import open_embedder
from shared.parent import end_with_parent
from shared.process import close_to_others
from shared.setting_names import unknown_settings
from shared.settings import Settings, load_settings, unneeded_by_server, variable_of
from shared.visible import visible

FILES_BESIDE = 300  # the database, logs, temporary files


def refuse_open_door(settings: Settings) -> None:
    """Without access control only this machine may call. Raises MaasError('open_door')."""
    if settings.auth != "none":
        return
    try:
        addresses = {info[4][0] for info in socket.getaddrinfo(settings.host, settings.port)}
    except socket.gaierror as error:
        raise MaasError("bad_setting", f"MAAS_HOST: {settings.host!r} is no address of this machine") from error
    if not all(ipaddress.ip_address(str(address).partition("%")[0]).is_loopback for address in addresses):
        raise MaasError(
            "open_door", f"MAAS_HOST={settings.host} is open to others and MAAS_AUTH=none lets everybody in; "
            "use 127.0.0.1, or MAAS_AUTH=keys and `maas keys create NAME`",
        )  # fmt: skip


def bind(settings: Settings) -> socket.socket:
    """The listening socket; with MAAS_SHARE_PORT one of several, among which connections are spread.

    Raises MaasError('port_in_use').
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server(
            (settings.host, settings.port), family=family, backlog=2048, reuse_port=settings.share_port
        )
    except OSError as error:
        raise MaasError(
            "port_in_use",
            f"cannot listen on {settings.host}:{settings.port} ({error.strerror}); set MAAS_PORT to a free one",
        ) from error


def allow_connections(settings: Settings) -> None:
    """Let this process open as many files as it may have connections, as far as the machine allows."""
    needed = settings.connections + FILES_BESIDE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < needed:
        structlog.get_logger().warning("few_files", allowed=hard, needed=needed, hint="ulimit -Hn, MAAS_CONNECTIONS")


class Server(uvicorn.Server):
    """Lets go of those who wait before it waits for them: they come back to another process, or to the next."""

    def __init__(self, config: uvicorn.Config, app: Starlette) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.rooms.changes.leave()
        await super().shutdown(sockets)


def load_mcp() -> Answer:
    """What answers at /mcp; it takes most of a second."""
    from maas.mcp_server.http import handle_request

    return handle_request


async def serve(settings: Settings, postgres: Addresses) -> None:
    """Serve until SIGTERM or SIGINT; waits for Postgres. Raises MaasError for what is wrong at the start."""
    app, stack = await when_there(partial(open_app, settings, postgres))
    async with stack:
        with bind(settings) as listener:
            gc.freeze()  # what is loaded by now stays; to look for cycles in it, and often, costs a tenth of the time
            gc.set_threshold(10_000)
            config = uvicorn.Config(
                app, http=limited(settings), ws="none", log_config=None, access_log=False, server_header=False,
                timeout_graceful_shutdown=5,
            )  # fmt: skip
            await Server(config, app).serve(sockets=[listener])


def drop_keys(settings: Settings) -> Settings:
    """The same without the secrets that only orchestrators need, which go from the environment, too."""
    unneeded = unneeded_by_server(settings)
    for name in unneeded:
        os.environ.pop(variable_of(name), None)
    return settings.model_copy(update=dict.fromkeys(unneeded))


async def open_app(settings: Settings, postgres: Addresses) -> tuple[Starlette, AsyncExitStack]:
    """The application over an open database, and what must be closed after it. Raises MaasError."""
    async with AsyncExitStack() as stack:
        db = await stack.enter_async_context(
            open_database(
                postgres.query, settings.pool_size, "maas server", statement_timeout=settings.statement_timeout
            )
        )
        await db.check_pooler()
        embedder = open_embedder(settings)
        questions = await stack.enter_async_context(open_questions(db, embedder, settings.embedding_timeout))
        gate = await stack.enter_async_context(open_gate(db, settings))
        app = create_app(db, postgres.listen, settings, gate, questions)
        app.router.routes.append(Route("/mcp", Mounted(load_mcp), methods=["POST"]))
        return app, stack.pop_all()


def main() -> None:
    try:
        settings = drop_keys(load_settings())
        close_to_others()
        log.configure(settings.log_level, settings.log_format)
        refuse_open_door(settings)
        allow_connections(settings)
        end_with_parent()
        logger = structlog.get_logger()
        for text in unknown_settings():
            logger.warning("unknown_setting", hint=text)
        with find_postgres(settings, lambda note: logger.info("postgres", note=note)) as postgres:
            uvloop.run(serve(settings, postgres))
    except MaasError as error:
        sys.exit(f"maas: {visible(error.message)}")


if __name__ == "__main__":
    main()
