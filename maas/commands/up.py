"""`maas up`: everything on this machine, and one Ctrl-C stops it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import FrameType

import uvloop

from maas.commands.keys import describe_access
from maas.commands.migrate import prepare
from maas.commands.output import note, show
from shared import log
from shared.db import connect, open_database, when_there
from shared.dsn import find_postgres
from shared.errors import MaasError
from shared.parent import VARIABLE
from shared.process import close_to_others
from shared.settings import ROLES, Settings, load_settings, unneeded_by_server, variable_of

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 10.0
LOOK = 0.2
YOUNG, EARLY_DEATHS = 5.0, 3  # one that dies within so many seconds, so often in a row, is not started again
PROGRAMS = {"orchestrator": "main.py", "server": "server.py"}


def up() -> None:
    """Start Postgres (unless DATABASE_URL is set), the HTTP server and an orchestrator; Ctrl-C stops all."""
    settings = load_settings()
    log.configure(settings.log_level, settings.log_format)
    close_to_others()
    with find_postgres(settings, note) as postgres:
        applied = _prepare(postgres.query)
        if applied:
            note(f"database prepared: {len(applied)} migrations")
        signal.signal(signal.SIGTERM, _interrupt)
        environment = os.environ | {
            "DATABASE_URL": postgres.query, "LISTEN_DATABASE_URL": postgres.listen, VARIABLE: str(os.getpid()),
        }  # fmt: skip
        environments = {"orchestrator": environment, "server": without_keys(environment, settings)}
        children = [_Child(name, program, environments[name]) for name, program in PROGRAMS.items()]
        try:
            _announce(settings, children, postgres.query)
            while True:
                for child in children:
                    child.revive()
                time.sleep(LOOK)
        except KeyboardInterrupt:
            note("\nstopping")
        finally:
            _stop(children)


def without_keys(environment: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """What the server gets of it: not the secrets that only orchestrators need."""
    unneeded = {variable_of(name) for name in unneeded_by_server(settings)}
    return {name: value for name, value in environment.items() if name not in unneeded}


def _prepare(dsn: str) -> list[str]:
    """The migrations applied; waits for a Postgres that is away. Raises MaasError."""
    while True:
        uvloop.run(when_there(partial(_connect, dsn)))
        try:
            return prepare(dsn)[0]
        except MaasError as error:
            if error.code != "database_unreachable":
                raise


async def _connect(dsn: str) -> None:
    await (await connect(dsn)).close()


class _Child:
    """One of the processes; started again when it dies, unless it dies young and often."""

    def __init__(self, name: str, program: str, environment: dict[str, str]) -> None:
        self.name = name
        self._command = [sys.executable, str(ROOT / program)]
        self._environment = environment
        self._early_deaths = 0
        self._start()

    def _start(self) -> None:
        self._started = time.monotonic()
        self.process = subprocess.Popen(self._command, env=self._environment)

    def check(self) -> None:
        """Raise MaasError('child_ended') when it has ended."""
        if self.process.poll() is not None:
            raise MaasError(
                "child_ended", f"the {self.name} ended with status {self.process.returncode}; see its last lines above"
            )

    def revive(self) -> None:
        """Start it again when it has ended. Raises MaasError('child_ended') when that does not help."""
        if self.process.poll() is None:
            return
        self._early_deaths = self._early_deaths + 1 if time.monotonic() - self._started < YOUNG else 0
        if self._early_deaths >= EARLY_DEATHS:
            self.check()
        note(f"the {self.name} ended with status {self.process.returncode}; starting it again")
        self._start()


def _announce(settings: Settings, children: list[_Child], dsn: str) -> None:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"http://{host}:{settings.port}"
    while not _is_ready(f"{address}/readyz"):
        for child in children:
            child.check()
        time.sleep(0.05)
    models = sorted({settings.role_model(role) for role in ROLES})
    show(f"MaaS answers at {address}  (try it: {address}/docs)")
    show(f"who may call: {uvloop.run(_who_may_call(settings, dsn))}")
    show(f"models: {', '.join(models)}; Ctrl-C stops everything")


async def _who_may_call(settings: Settings, dsn: str) -> str:
    try:
        async with open_database(dsn, 1, "maas up") as db:
            return await describe_access(db, settings)
    except MaasError as error:
        return f"nobody yet: {error.message}"


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:
            return b'"orchestrators":0' not in reply.read()
    except (urllib.error.URLError, OSError):
        return False


def _stop(children: list[_Child]) -> None:
    processes = [child.process for child in children]
    for process in processes:
        if process.poll() is None:
            process.terminate()
    deadline = time.monotonic() + PATIENCE
    for process in processes:
        try:
            process.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt
