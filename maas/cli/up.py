"""Processes on this machine: `maas up`, `maas orchestrator`, `maas mcp`."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from types import FrameType
from typing import Annotated

import typer
import uvloop

from maas import queries
from maas.cli.found_servers import ServerSearch
from maas.cli.keys import describe_access
from maas.memory.embeddings import PGVECTOR_HINT
from maas.model_registry import LOCAL_MODEL_HINT, lacks_default_embedder
from maas.plugins import active, sql_folders
from maas.prompting.prompts import seed_prompts
from maas.settings import Settings, load_settings
from maas.settings.embeddings import NO_EMBEDDING_MODEL
from maas.settings.models import ROLES
from maas.settings.variables import service_secrets, unneeded_by_server, variables
from maas.terminal.invocation import LOCAL_USER, composition_of
from maas.terminal.output import note, show, write
from shared import log
from shared.db import connect, open_database, wait_for_postgres
from shared.errors import MaasError
from shared.migrate import migrate
from shared.postgres import find_postgres
from shared.process import PARENT_VARIABLE, close_to_others
from shared.query import SQL

PROGRAMS = {"orchestrator": [str(SQL.parent / "main.py")], "server": [str(SQL.parent / "server.py")]}
COMMAND = ["-P", "-c", "from maas.launcher import cli; cli()"]  # not a package that the current folder has
STOP_TIMEOUT_S = 10.0
POLL_INTERVAL_S = 0.2
READY_POLL_INTERVAL_S = 0.05
EARLY_EXIT_S = 5.0
MAX_HEALTH_BYTES = 10_000  # of what is read of `/healthz`
MAX_EARLY_EXITS = 3  # in a row; then the process is not started again


def up() -> None:
    """Run everything until Ctrl-C or SIGTERM. Raises MaasError('child_ended') if a process keeps ending early."""
    settings = load_settings()
    log.configure(settings.diagnostics.log_level, settings.diagnostics.log_format)
    close_to_others()
    search = ServerSearch(settings)
    with find_postgres(settings.database, note) as postgres:
        applied = _prepare_database(postgres.query)
        if applied:
            note(f"database prepared: {len(applied)} files of sql/ applied")
        signal.signal(signal.SIGTERM, _interrupt)
        environment = os.environ | {
            "DATABASE_URL": postgres.query,
            "LISTEN_DATABASE_URL": postgres.listen,
            PARENT_VARIABLE: str(os.getpid()),
        }
        if (hint := uvloop.run(_why_no_vectors(settings, postgres.query))) is not None:
            note(f"search is by words: {hint}")
            environment[variables()["embedding_model"]] = NO_EMBEDDING_MODEL
        environments = {
            "orchestrator": _without(service_secrets(), environment),
            "server": without_keys(environment, settings),
        }
        children = [_Child(name, program, environments[name]) for name, program in PROGRAMS.items()]
        children += _services(settings, environment)
        try:
            _announce(settings, children, postgres.query, search)
            while True:
                for child in children:
                    child.restart_if_ended()
                time.sleep(POLL_INTERVAL_S)
        except KeyboardInterrupt:
            note("\nstopping")
        finally:
            _stop(children)


def orchestrator(
    ctx: typer.Context,
    stages: Annotated[str | None, typer.Option(help="run only these stages, separated by commas")] = None,
    alone: Annotated[bool, typer.Option("--alone", help="execute quarantined runs one at a time, then exit")] = False,
) -> None:
    """Run until SIGTERM or Ctrl-C. Raises MaasError."""
    composition_of(ctx).run_orchestrator(stages, alone)


def serve_mcp(
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            "-u",
            envvar="MAAS_MCP_USER",
            help="user whose memory is used: a UUID, or any stable name",
            show_default="the user of the key, else a user of this machine",
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(envvar="MAAS_URL", help="address of MaaS", show_default="MAAS_HOST and MAAS_PORT"),
    ] = None,
    assistant: Annotated[
        str | None, typer.Option("--assistant", "-a", help="offer the tools of this assistant, too")
    ] = None,
) -> None:
    """Serve until the end of standard input. Raises MaasError('bad_setting')."""
    from maas.mcp_server.server import serve  # slow to load

    settings = load_settings()
    log.configure(settings.diagnostics.log_level, settings.diagnostics.log_format)
    address = (url or _address(settings)).rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise MaasError("bad_setting", f"MAAS_URL: {address!r} must begin with http:// or https://")
    if sys.stdin.isatty():
        note(f"maas: this command speaks MCP and is started by MCP clients; MaaS is at {address}; Ctrl-C ends it")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # standard input is read by a thread that cannot be interrupted
    asyncio.run(serve(address, os.environ.get("MAAS_API_KEY"), user, LOCAL_USER, assistant))


def without_keys(environment: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """The environment of the server: without the secrets that only orchestrators need."""
    return _without(unneeded_by_server(settings), environment)


def _without(names: Collection[str], environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without the variables of these settings."""
    known = variables()
    unneeded = {known[name] for name in names}
    return {name: value for name, value in environment.items() if name not in unneeded}


def _services(settings: Settings, environment: Mapping[str, str]) -> list[_Child]:
    """The services of plugins that these settings ask for; each has the secrets of its own plugin only."""
    children = []
    for plugin in active():
        own = plugin.load(plugin.settings).service_secrets if plugin.settings is not None else ()
        unneeded = [name for name in unneeded_by_server(settings) if name not in own]
        for command in plugin.commands:
            if command.service is not None and plugin.load(command.service)(settings):
                children.append(_Child(command.name, [*COMMAND, command.name], _without(unneeded, environment)))
    return children


def prepare_database(dsn: str) -> tuple[list[str], int]:
    """Migrate and seed; the names of the applied files and the number of inserted prompts. Raises MaasError."""
    return migrate(dsn, SQL, sql_folders()), seed_prompts(dsn)


def _prepare_database(dsn: str) -> list[str]:
    """The applied files of `sql/`; waits for a Postgres that does not answer. Raises MaasError."""
    while True:
        uvloop.run(wait_for_postgres(partial(_connect, dsn)))
        try:
            return prepare_database(dsn)[0]
        except MaasError as error:
            if error.code != "database_unreachable":
                raise


async def _why_no_vectors(settings: Settings, dsn: str) -> str | None:
    """What the default embedding model lacks; None if nothing, or if another one is chosen."""
    if lacks_default_embedder(settings):
        return LOCAL_MODEL_HINT
    if not settings.embeddings.has_default_embedding_model:
        return None
    try:
        async with open_database(dsn, 1, "maas up") as db:
            return None if await db.value(queries.vectors_are_there) else PGVECTOR_HINT
    except MaasError:
        return None  # the processes wait for the database, and look again


async def _connect(dsn: str) -> None:
    await (await connect(dsn)).close()


class _Child:
    """A child process; it is started again when it ends, unless it keeps ending soon after its start."""

    def __init__(self, name: str, arguments: Sequence[str], environment: dict[str, str]) -> None:
        self.name = name
        self._command = [sys.executable, *arguments]
        self._environment = environment
        self._early_exits = 0
        self._start()

    def _start(self) -> None:
        self._started = time.monotonic()
        self.process = subprocess.Popen(self._command, env=self._environment)

    def check(self) -> None:
        """Raises MaasError('child_ended') if the process has ended."""
        if self.process.poll() is not None:
            raise MaasError(
                "child_ended", f"the {self.name} ended with status {self.process.returncode}; see its last lines above"
            )

    def restart_if_ended(self) -> None:
        """Raises MaasError('child_ended') after MAX_EARLY_EXITS."""
        if self.process.poll() is None:
            return
        is_early = time.monotonic() - self._started < EARLY_EXIT_S
        self._early_exits = self._early_exits + 1 if is_early else 0
        if self._early_exits >= MAX_EARLY_EXITS:
            self.check()
        note(f"the {self.name} ended with status {self.process.returncode}; starting it again")
        self._start()


def _announce(settings: Settings, children: list[_Child], dsn: str, search: ServerSearch) -> None:
    """Wait until the server is ready and an orchestrator is registered, then print access, models and, last, the page.

    The last line comes when nothing is left to wait for: whoever reads it may send a signal at once.
    """
    address = _address(settings)
    while not _is_ready(f"{address}/readyz"):
        for child in children:
            child.check()
        time.sleep(READY_POLL_INTERVAL_S)
    models = sorted({settings.models.role_model(role) for role in ROLES})
    access = uvloop.run(_access(settings, dsn))
    show(f"access: {access}")
    show(f"models: {', '.join(models)}{'' if settings.profile == 'cloud' else f'; profile {settings.profile}'}")
    if (found := search.found()) is not None:
        write(found)
    show(f"API reference: {address}/docs; Ctrl-C stops everything")
    show(f"MaaS answers at {address}/")


def _address(settings: Settings) -> str:
    """The URL of the server on this machine."""
    host = f"[{settings.http.host}]" if ":" in settings.http.host else settings.http.host
    return f"http://{host}:{settings.http.port}"


async def _access(settings: Settings, dsn: str) -> str:
    try:
        async with open_database(dsn, 1, "maas up") as db:
            return await describe_access(db, settings)
    except MaasError as error:
        return f"no client yet: {error.message}"


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return b'"orchestrators":0' not in response.read(MAX_HEALTH_BYTES)
    except (urllib.error.URLError, OSError):
        return False


def _stop(children: list[_Child]) -> None:
    """Send SIGTERM to every child; kill those that have not ended after STOP_TIMEOUT_S."""
    processes = [child.process for child in children]
    for process in processes:
        if process.poll() is None:
            process.terminate()
    deadline = time.monotonic() + STOP_TIMEOUT_S
    for process in processes:
        try:
            process.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt
