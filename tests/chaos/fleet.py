"""The processes that are struck: three orchestrators, one of them with a part of the stages, and two servers."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import LiteralString
from urllib.parse import urlsplit

import httpx2
import psycopg
from psycopg import sql

from shared.process import PARENT_VARIABLE
from tests.chaos.schedule import Blow, Strike
from tests.chaos.witness import Witness
from tests.polling import NotWithin, apoll
from tests.programs import Process
from tests.stack import ROOT, Stack, free_port

STOPPED = 5.0
STARTING = 20.0
ENDING = 20.0
LOOK = 0.1
# A process that is stopped outlives its lease; a model call that hangs is cut.
SETTINGS = {
    "MAAS_LEASE": "3",
    "MAAS_HEARTBEAT": "1",
    "MAAS_POLL_INTERVAL": "0.25",
    "MAAS_CONCURRENCY": "16",
    "MAAS_ATTEMPT_TIMEOUT": "2",
    "MAAS_LOG_LEVEL": "warning",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What was done to which process. `pid` is none for Postgres."""

    at: datetime
    kind: str
    target: str
    pid: int | None


@dataclass(slots=True)
class Member:
    """One place in the fleet; it has a database role of its own, by which its connections are recognised."""

    name: str
    program: str
    arguments: tuple[str, ...]
    settings: dict[str, str]
    process: Process = field(init=False)
    is_stopped: bool = False
    is_replaced: bool = False
    checkout: Path = ROOT

    @property
    def is_server(self) -> bool:
        return self.program == "server.py"

    @property
    def role(self) -> str:
        return f"chaos_{self.name}"


class Fleet:
    """Starts the processes, strikes them, keeps them running. `problems` are what no fault excuses."""

    def __init__(self, stack: Stack, witness: Witness, settings: dict[str, str], checkout: Path = ROOT) -> None:
        self._stack = stack
        self._witness = witness
        self.ports = (free_port(), free_port())
        self.faults: list[Fault] = []
        self.problems: list[tuple[str, str]] = []
        everything = settings | SETTINGS | {PARENT_VARIABLE: str(os.getpid())}
        self.members = [
            Member("orchestrator_1", "main.py", (), everything),
            Member("orchestrator_2", "main.py", (), everything),
            Member("orchestrator_3", "main.py", ("--stages", "analyzer,archivist"), everything),
            *(
                Member(f"server_{n}", "server.py", (), everything | {"MAAS_PORT": str(port)})
                for n, port in enumerate(self.ports, 1)
            ),
        ]
        for member in self.members:
            member.checkout = checkout

    async def start(self) -> None:
        """Start every process and wait until all are ready. Raises NotWithin."""
        for member in self.members:
            member.settings |= {"DATABASE_URL": create_role(self._stack.dsn, member.role, "superuser")}
            self._launch(member)
        await self.wait_ready()

    async def wait_ready(self) -> None:
        """Return when servers answer and orchestrators are registered. Raises NotWithin."""
        await apoll(self._are_ready, STARTING * 2, "every process is ready")

    def strike(self, strike: Strike) -> asyncio.Task[None] | None:
        """Hit the first process of the order that is not stopped; a task that ends when it goes on again."""
        member = next((m for n in strike.order if not (m := self.members[n]).is_stopped), None)
        if member is None:
            return None
        self.note(strike.blow, member.name, member.process.pid)
        match strike.blow:
            case Blow.KILL:
                self._stack.stop(member.process, signal.SIGKILL)
                self._launch(member)
                return None
            case Blow.STOP:
                member.is_stopped = True
                member.process.send_signal(signal.SIGSTOP)
                return asyncio.create_task(self._go_on(member))
            case Blow.TERMINATE | Blow.SEVER:
                limit = 1 if strike.blow is Blow.SEVER else None
                return asyncio.create_task(self._disconnect(member, limit))

    async def replace(self, member: Member, checkout: Path) -> None:
        """End a process politely and start that of another checkout in its place. Raises NotWithin."""
        member.is_replaced, member.checkout = True, checkout
        try:
            await self._end(member)
            self._launch(member)
        finally:
            member.is_replaced = False
        await self.wait_ready()

    def note(self, kind: str, target: str, pid: int | None = None) -> None:
        self.faults.append(Fault(datetime.now(UTC), kind, target, pid))

    async def keep(self) -> None:
        """Start anew, as an operator's supervisor does, what has ended by itself."""
        while True:
            for member in self.members:
                if not member.is_replaced and (status := member.process.poll()) is not None:
                    self.note("ended", member.name, member.process.pid)
                    words = self._stack.last_words(member.process)
                    self.problems.append((member.name, f"ended by itself with {status}: {words[-2000:]}"))
                    self._stack.stop(member.process)
                    self._launch(member)
            await asyncio.sleep(LOOK)

    def errors(self) -> list[tuple[str, str, str]]:
        """Program, event and cause of each error that a process logged: what it did not foresee."""
        found = []
        for line in self._stack.log().splitlines():
            if '"level": "error"' in line and line.startswith("{"):
                entry = json.loads(line)
                words = str(entry.get("exception") or entry.get("cause") or "").strip().splitlines()
                found.append((entry.get("stage", "-"), entry["event"], words[-1] if words else "-"))
        return found

    async def finish(self) -> None:
        """End every process politely; one that does not end, or not in peace, is a problem."""
        await asyncio.gather(*map(self._end, self.members))
        with suppress(NotWithin):
            await apoll(self._are_gone, ENDING)
        for row in await self._witness.rows("connections_left"):
            self.problems.append((row["role"], f"left a process behind, {row['application']}"))

    def _launch(self, member: Member) -> None:
        program = member.checkout / member.program
        member.process = self._stack.launch(str(program), *member.arguments, **member.settings)

    async def _end(self, member: Member) -> None:
        member.process.send_signal(signal.SIGTERM)
        try:
            status = await asyncio.to_thread(member.process.wait, ENDING)
            if status not in (0, -signal.SIGTERM):  # uvicorn hands the signal on when it is done
                self.problems.append((member.name, f"SIGTERM ended it with {status}"))
        except subprocess.TimeoutExpired:
            self.problems.append((member.name, f"did not end within {ENDING:.0f} s of SIGTERM"))

    async def _go_on(self, member: Member) -> None:
        try:
            await asyncio.sleep(STOPPED)
        finally:
            member.process.send_signal(signal.SIGCONT)
            member.is_stopped = False

    async def _disconnect(self, member: Member, limit: int | None) -> None:
        await self._witness.value("end_connections", member.role, limit)

    async def _are_gone(self) -> bool:
        return not await self._witness.rows("connections_left")

    async def _are_ready(self) -> bool:
        living = {row["pid"] for row in await self._witness.rows("living_pids")}
        if not all(m.is_server or m.process.pid in living for m in self.members):
            return False
        async with httpx2.AsyncClient(timeout=5, trust_env=False) as client:
            try:
                replies = [await client.get(f"http://127.0.0.1:{port}/readyz") for port in self.ports]
            except httpx2.TransportError:
                return False
        return all(reply.status_code == 200 for reply in replies)


def create_role(dsn: str, name: str, options: LiteralString = "") -> str:
    """A database role that may log in; the address to do so."""
    password = secrets.token_hex(8)
    with psycopg.connect(dsn, autocommit=True) as admin:
        statement = sql.SQL("create role {} login password {} " + options)
        admin.execute(statement.format(sql.Identifier(name), sql.Literal(password)))
    parts = urlsplit(dsn)
    _, _, hosts = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{name}:{password}@{hosts}").geturl()
