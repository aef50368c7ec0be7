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

from maas.accounts import LINK_HOURS, offer_admin_code
from maas.http.app import LazyMount, MountedApp, create_app
from maas.http.auth.selection import open_authenticator
from maas.http.connection import limited_protocol
from maas.http.shares import LONG_POOL_SIZE, MAX_EXPORTS
from maas.memory.embeddings import open_query_embedder
from maas.model_registry import open_embedder
from maas.settings import Settings, load_settings
from maas.settings.http import HttpSettings
from maas.settings.variables import unknown_settings, unneeded_by_server, variables
from shared import log
from shared.db import UNDEFINED_IN_SCHEMA, Database, open_database, wait_for_postgres
from shared.errors import MaasError
from shared.postgres import PostgresUrls, find_postgres
from shared.process import close_to_others, end_with_parent
from shared.replica import open_replica
from shared.text import visible

KEEP_ALIVE_S = 75  # an idle connection; clients give theirs up after 5 s, balancers after 60 s, so never at once
LONG_POOL_IDLE_S = 1.0  # its connections are seldom used, and one that is kept may be lost unnoticed
OTHER_FILES = 300  # open files besides connections of clients: the database, logs, temporary files


def require_loopback(settings: Settings) -> None:
    """Without access control the server may listen on loopback addresses only. Raises MaasError."""
    if settings.access.auth != "none":
        return
    try:
        addresses = {info[4][0] for info in socket.getaddrinfo(settings.http.host, settings.http.port)}
    except socket.gaierror as error:
        raise MaasError(
            "bad_setting", f"MAAS_HOST: {settings.http.host!r} is not an address of this machine"
        ) from error
    if not all(ipaddress.ip_address(str(address).partition("%")[0]).is_loopback for address in addresses):
        raise MaasError(
            "open_door",
            f"MAAS_HOST={settings.http.host} is reachable from other machines and MAAS_AUTH=none lets "
            "every client in; use 127.0.0.1, or MAAS_AUTH=keys and `maas keys create NAME`, or MAAS_AUTH=local",
        )


def bind(settings: HttpSettings) -> socket.socket:
    """Open the listening socket. With MAAS_SHARE_PORT several processes may listen on one port.

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
            f"cannot listen on {settings.host}:{settings.port} ({error.strerror}); set MAAS_PORT to a free port",
        ) from error


def allow_connections(settings: HttpSettings) -> None:
    """Raise the limit of open files to what MAAS_CONNECTIONS needs; log a warning if the hard limit is lower."""
    needed = settings.connections + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < needed:
        structlog.get_logger().warning(
            "open_files_limit_low", allowed=hard, needed=needed, hint="ulimit -Hn, MAAS_CONNECTIONS"
        )


class Server(uvicorn.Server):
    """On shutdown ends waiting requests and event streams first; their clients reconnect to another process."""

    def __init__(self, config: uvicorn.Config, app: Starlette) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.maas.run_watcher.close()
        await super().shutdown(sockets)


def load_mcp() -> MountedApp:
    """Import the handler of /mcp; takes most of a second."""
    from maas.mcp_server.http import handle_request

    return handle_request


async def serve(settings: Settings, postgres: PostgresUrls) -> None:
    """Serve until SIGTERM or SIGINT; wait for Postgres at the start. Raises MaasError for a wrong setting."""
    app, stack = await wait_for_postgres(partial(open_app, settings, postgres))
    async with stack:
        with bind(settings.http) as listener:
            gc.freeze()  # loaded modules stay; collecting them, and often, costs a tenth of the CPU time
            gc.set_threshold(10_000)
            config = uvicorn.Config(
                app,
                http=limited_protocol(settings.http),
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=5,
            )
            await Server(config, app).serve(sockets=[listener])


def drop_keys(settings: Settings) -> Settings:
    """Settings without the secrets that only orchestrators need; removes these from the environment, too."""
    unneeded, known = unneeded_by_server(settings), variables()
    for name in unneeded:
        os.environ.pop(known[name], None)
    return settings.without(unneeded)


async def print_admin_code(db: Database) -> None:
    """While there is no administrator: print a code, beside the log, with which the first one may sign up."""
    try:
        code = await offer_admin_code(db)
    except UNDEFINED_IN_SCHEMA:
        return  # not migrated yet
    if code is not None:
        text = (
            f"there is no administrator yet; sign up with the code {code}, which works once, within {LINK_HOURS} hours"
        )
        print(f"maas: {text}, or run `maas users add EMAIL --admin`", file=sys.stderr, flush=True)


async def open_app(settings: Settings, postgres: PostgresUrls) -> tuple[Starlette, AsyncExitStack]:
    """The application over an open database, and the stack that closes its resources. Raises MaasError."""
    async with AsyncExitStack() as stack:
        db = await stack.enter_async_context(
            open_database(
                postgres.query,
                settings.database.pool_size,
                "maas server",
                statement_timeout=settings.database.statement_timeout,
            )
        )
        await db.check_pooler()
        long_db = await stack.enter_async_context(
            open_database(
                postgres.query,
                LONG_POOL_SIZE,
                "maas server long",
                min_size=0,
                statement_timeout=settings.database.statement_timeout,
                idle_s=LONG_POOL_IDLE_S,
            )
        )
        standby = settings.database.read_database_url
        read_dsn = standby.get_secret_value() if standby is not None else None
        reads = await stack.enter_async_context(
            open_replica(
                db,
                read_dsn,
                settings.database.pool_size,
                "maas server reads",
                statement_timeout=settings.database.statement_timeout,
            )
        )
        long_reads = await stack.enter_async_context(
            open_replica(
                long_db,
                read_dsn,
                MAX_EXPORTS,
                "maas server long reads",
                statement_timeout=settings.database.statement_timeout,
                idle_s=LONG_POOL_IDLE_S,
            )
        )
        embedder = open_embedder(settings)
        questions = await stack.enter_async_context(
            open_query_embedder(db, embedder, settings.embeddings.embedding_timeout)
        )
        authenticator = await stack.enter_async_context(open_authenticator(db, settings))
        if settings.access.auth == "local":
            await print_admin_code(db)
        app = create_app(db, postgres.listen, settings, authenticator, questions, long_db, reads, long_reads)
        app.router.routes.append(Route("/mcp", LazyMount(load_mcp), methods=["POST"]))
        return app, stack.pop_all()


def main() -> None:
    """Run the HTTP process; a MaasError becomes one line on standard error and exit status 1."""
    try:
        settings = drop_keys(load_settings())
        close_to_others()
        log.configure(settings.diagnostics.log_level, settings.diagnostics.log_format)
        require_loopback(settings)
        allow_connections(settings.http)
        end_with_parent()
        logger = structlog.get_logger()
        for text in unknown_settings():
            logger.warning("unknown_setting", hint=text)
        with find_postgres(settings.database, lambda note: logger.info("postgres", note=note)) as postgres:
            uvloop.run(serve(settings, postgres))
    except MaasError as error:
        sys.exit(f"maas: {visible(error.message)}")


if __name__ == "__main__":
    main()
