"""The product as an operator runs it: server.py and main.py as processes over one database."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Self
from uuid import UUID

import httpx2
import psycopg
from psycopg.rows import DictRow, dict_row

from tests.polling import poll
from tests.programs import SETTINGS, Process, run_maas, start

ROOT = Path(__file__).resolve().parent.parent
NOBODY = UUID(int=404)  # an id that nothing has, the same in every process that collects tests
PRIVATE = ("MAAS_", "OPENAI_", "GEMINI_", "LISTEN_DATABASE_URL")


PORTS = 2500  # of each test process, below the range in which the kernel chooses ports for connections
_worker = int("".join(filter(str.isdigit, os.environ.get("PYTEST_XDIST_WORKER", "0"))))
_first = 10_000 + PORTS * (_worker % 8)
_ports = itertools.count(os.getpid())


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on, and that no connection or other test process takes meanwhile."""
    for number in _ports:
        port = _first + number % PORTS
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError


def _rows(connection: psycopg.Connection[DictRow], query: str, args: tuple[object, ...]) -> list[DictRow]:
    cursor = connection.execute(query.encode(), args or None)
    return cursor.fetchall() if cursor.description is not None else []


class Stack:
    """Processes over one database; every one is ended by `close`. Without `is_forking` they start from nothing."""

    is_forking = True

    def __init__(self, dsn: str, folder: Path, **settings: str) -> None:
        self.dsn = dsn
        self.folder = folder
        self.port = free_port()
        self.client = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=30, trust_env=False, verify=False)
        usual = {
            "MAAS_POLL_INTERVAL": "0.2",
            "MAAS_LOG_FORMAT": "json",
            "MAAS_COMPACT_EVERY": "0",
            "MAAS_POOL_SIZE": "4",
            "FB_BASE_URL": "http://127.0.0.1:9",  # no test asks Facebook itself
        }
        self._settings = SETTINGS | usual | settings
        self._processes: list[Process] = []
        self._logs: dict[int, Path] = {}
        self._kept: tuple[Process, dict[str, str]] | None = None
        self._connection: psycopg.Connection[DictRow] | None = None
        self._querying = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start_server(self, **settings: str) -> Process:
        """Start server.py and wait until it is ready."""
        process = self.launch("server.py", **settings)
        poll(lambda: process.poll() is not None or self.is_ready(), what="server is ready")
        assert process.poll() is None, self.log()
        return process

    def start_orchestrator(self, *stages: str, **settings: str) -> Process:
        """Start main.py, all stages or some, and wait until it is registered."""
        arguments = ["--stages", ",".join(stages)] if stages else []
        return self._wait_registered(self.launch("main.py", *arguments, **settings))

    def keep_orchestrator(self, **settings: str) -> None:
        """Have an orchestrator with these settings: the one that was kept last if it has them, or else a new one."""
        if self._kept is not None and self._kept[0] in self._processes:
            if self._kept[1] == settings:
                return
            self.stop(self._kept[0])
        self._kept = self.start_orchestrator(**settings), settings

    def start_noop(self, **settings: str) -> Process:
        """Start an orchestrator whose stages compute nothing, and wait until it is registered."""
        return self._wait_registered(self.launch("bench/noop.py", **settings))

    def _wait_registered(self, process: Process) -> Process:
        poll(
            lambda: process.poll() is not None or self.rows("select from engines where pid = %s", process.pid),
            what="engine is there",
        )
        assert process.poll() is None, self.log()
        return process

    def rows(self, query: str, *args: object) -> list[DictRow]:
        """What a SQL query gives, on a connection that is kept: tests ask again and again, and opening one is dear."""
        with self._querying:
            if self._connection is not None:
                try:
                    return _rows(self._connection, query, args)
                except (psycopg.OperationalError, psycopg.InterfaceError):  # Postgres was away, or is
                    if not self._connection.closed:
                        raise
            self._connection = psycopg.connect(
                self.dsn, autocommit=True, row_factory=dict_row, prepare_threshold=None, application_name="tests"
            )
            return _rows(self._connection, query, args)

    def ask(self, user: UUID, query: str, **fields: Any) -> UUID:
        """POST a request; its id."""
        reply = self.client.post("/v1/runs", json={"user_id": str(user), "query": query, **fields})
        assert reply.status_code == 202, reply.text
        return UUID(reply.json()["request_id"])

    def answer(self, run_id: UUID, seconds: float = 20) -> dict[str, Any]:
        """The state of a run when it is answered."""
        reply = self.client.get(f"/v1/runs/{run_id}", params={"wait": seconds})
        assert reply.status_code == 200, reply.text
        return dict(reply.json())

    def wait_archived(self, *runs: UUID, seconds: float = 60) -> None:
        """Return when the exchange of every run is in memory."""
        poll(
            lambda: self.rows("select from pipeline_runs where id = any(%s) and queue_state < 2", list(runs)) == [],
            seconds,
            "runs are archived",
        )

    def log(self) -> str:
        """Everything that the processes have logged."""
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("*.log")))

    def last_words(self, process: Process) -> str:
        """The last lines that this process has logged."""
        return "\n".join(self._logs[process.pid].read_text(errors="replace").splitlines()[-20:])

    def stop(self, process: Process, how: int = signal.SIGTERM) -> None:
        """Signal a process and wait for its end."""
        with suppress(ProcessLookupError):
            process.send_signal(how)
        process.wait(30)  # twice the time after which `maas up` kills what does not end
        self._processes.remove(process)

    def kill(self, *, keeping: bool = False) -> None:
        """Kill every process; with `keeping`, all but the orchestrator that is kept."""
        for process in list(self._processes):
            if not (keeping and self._kept is not None and process is self._kept[0]):
                self.stop(process, signal.SIGKILL)

    def close(self) -> None:
        self.client.close()
        if self._connection is not None:
            self._connection.close()
        self.kill()

    def launch(self, name: str, *arguments: str, **settings: str) -> Process:
        """Start a program of the checkout and wait for nothing."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith(PRIVATE)}
        environment |= {"DATABASE_URL": self.dsn, "MAAS_PORT": str(self.port)} | self._settings | settings
        path = self.folder / f"{Path(name).name}-{len(list(self.folder.glob('*.log')))}.log"
        process: Process
        with path.open("wb") as output:
            if self.is_forking:
                process = start(ROOT / name, *arguments, environment=environment, folder=self.folder, output=output)
            else:
                process = subprocess.Popen(
                    [sys.executable, str(ROOT / name), *arguments],
                    env=environment,
                    cwd=self.folder,
                    stdout=output,
                    stderr=output,
                    stdin=subprocess.DEVNULL,
                )
        self._processes.append(process)
        self._logs[process.pid] = path
        return process

    def is_ready(self) -> bool:
        try:
            return self.client.get("/readyz").status_code == 200
        except httpx2.TransportError:
            return False


def maas(stack: Stack, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command of `maas` on the database of this stack."""
    return run_maas(*words, environment=os.environ | {"DATABASE_URL": stack.dsn} | environment, folder=stack.folder)
