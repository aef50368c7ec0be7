"""The product under measurement: a fresh database, its processes, and what they use."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import asyncpg

from bench.http_load import Caller
from bench.processes import Deadline, Processes, cpu_seconds, family_seconds, memory_mb
from bench.report import Figure
from bench.sandbox import Sandbox
from maas.settings import Settings
from shared.db import connect
from shared.errors import MaasError

TIMEOUT_S = 30.0
UNFINISHED = "select exists (select from v_runs_current)"
UNARCHIVED = "select count(*) from pipeline_runs where archive_status <> 'ARCHIVED'"
ENGINES = "select count(*) from engines where pid = any($1::int[])"


@dataclass(frozen=True, slots=True)
class Bench:
    """What every case gets; `stages` collects milliseconds for the plot, `concurrency` what suits a peer best."""

    sandbox: Sandbox
    settings: Settings
    quick: bool
    stages: dict[str, list[float]] = field(default_factory=dict)
    concurrency: dict[str, int] = field(default_factory=dict)

    def pick(self, full: int, quick: int) -> int:
        """How much of something is measured."""
        return quick if self.quick else full


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds since the processes began; 0 for what is not there, and for a Postgres that is not ours."""

    postgres: float
    server: float
    orchestrators: float

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            self.postgres - other.postgres, self.server - other.server, self.orchestrators - other.orchestrators
        )

    def figures(self, count: int, by: str = "") -> list[Figure]:
        """CPU a request, of everything that used any."""
        used = {"server": self.server, "orchestrators": self.orchestrators, "Postgres": self.postgres}
        end = f", {by}" if by else ""
        return [
            Figure(f"CPU of {who} a request{end}", "ms", 1000 * seconds / count)
            for who, seconds in used.items()
            if seconds
        ]


class System:
    """Running processes over one database, and a connection of the benchmark's own."""

    def __init__(
        self, sandbox: Sandbox, dsn: str, processes: Processes, connection: asyncpg.Connection, is_noop: bool
    ) -> None:
        self.dsn = dsn
        self.connection = connection
        self.port = free_port()
        self._sandbox = sandbox
        self._processes = processes
        self._is_noop = is_noop
        self._server: list[subprocess.Popen[bytes]] = []
        self._orchestrators: list[subprocess.Popen[bytes]] = []

    @property
    def orchestrator_pids(self) -> list[int]:
        return [process.pid for process in self._orchestrators]

    def kill_first(self) -> None:
        """kill -9 the orchestrator that runs the longest."""
        self._processes.kill(self._orchestrators.pop(0))

    async def start(self, server: bool, orchestrators: int) -> None:
        """Start the processes and wait until they are ready. Raises MaasError."""
        start = self._start_noop if self._is_noop else lambda: self._processes.start("main.py")
        self._orchestrators += [start() for _ in range(orchestrators)]
        if server:
            self._server.append(self._processes.start("server.py", MAAS_PORT=str(self.port)))
        deadline = Deadline(TIMEOUT_S, "the start of the processes")
        while await self.connection.fetchval(ENGINES, self.orchestrator_pids) < len(self._orchestrators) or (
            server and not await is_ready(self.port)
        ):
            await self.pause(deadline)

    def _start_noop(self) -> subprocess.Popen[bytes]:
        return self._processes.start("bench/noop.py")

    async def wait_archived(self, seconds: float = 120.0) -> None:
        """Return when every exchange is in memory. Raises MaasError when that takes longer, or one fails."""
        deadline = Deadline(seconds, "the archiving of all runs")
        while await self.connection.fetchval(UNFINISHED):
            await self.pause(deadline)
        if failed := await self.connection.fetchval(UNARCHIVED):
            raise MaasError(
                "bench_runs_failed", f"{failed} runs were not archived; the log ends: {self._processes.log()}"
            )

    async def pause(self, deadline: Deadline) -> None:
        """Wait a little. Raises MaasError when the time is over or a process has ended."""
        deadline.check()
        self._processes.check()
        await asyncio.sleep(0.02)

    def server_memory_mb(self) -> float:
        """The most that the server has had in memory."""
        return memory_mb(self._server[0].pid)

    def usage(self) -> Usage:
        """What Postgres, server and orchestrators have used so far."""
        postgres = self._sandbox.server.pid if self._sandbox.server else None
        return Usage(
            family_seconds(postgres) if postgres else 0.0,
            cpu_seconds(*(process.pid for process in self._server)),
            cpu_seconds(*(process.pid for process in self._orchestrators)),
        )


@asynccontextmanager
async def open_system(
    bench: Bench, *, server: bool = False, orchestrators: int = 0, noop: bool = False, **settings: str
) -> AsyncIterator[System]:
    """A fresh database and ready processes over it; all gone at the end. Raises MaasError.

    `noop`: orchestrators with the stages of bench.noop in place of the product's.
    """
    environment = {"MAAS_MODEL": "extractive:builtin"} | settings
    with (
        bench.sandbox.database() as dsn,
        Processes(bench.sandbox.folder, dsn, bench.settings, **environment) as processes,
    ):
        connection = await connect(dsn)
        try:
            system = System(bench.sandbox, dsn, processes, connection, noop)
            await system.start(server, orchestrators)
            yield system
        finally:
            await connection.close(timeout=5)


async def is_ready(port: int, orchestrators: int = 0) -> bool:
    """Whether the server answers that it is ready, with so many orchestrators."""
    try:
        async with Caller(port) as caller:
            status, body = await caller.get("/readyz")
    except (OSError, EOFError):
        return False
    return status == 200 and body["orchestrators"] >= orchestrators


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def wait_for_port(port: int, processes: Processes) -> None:
    """Return when somebody listens there. Raises MaasError when a process has ended, or after a while."""
    deadline = Deadline(TIMEOUT_S, "the start of the model server")
    while True:
        deadline.check()
        processes.check()
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return
