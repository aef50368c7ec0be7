"""One chaos run: a fleet, a load, everything that can break breaking, and the verdict of SQL."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psycopg

from maas.cli.up import prepare_database
from shared.postgres import EmbeddedPostgres, acquire
from tests.aimock import EchoingAimock
from tests.chaos.fleet import Fleet, create_role
from tests.chaos.load import Load
from tests.chaos.proxy import FaultProxy
from tests.chaos.schedule import batches, model_faults, restarts, storms, strikes
from tests.chaos.verdict import Verdict
from tests.chaos.witness import Witness
from tests.polling import apoll
from tests.stack import Stack

LOOK = 0.25
STANDSTILL = 60.0
COMING_BACK = 60.0
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """How large a run is. Twice as many requests as users, and at least 40, are unfinished at one time."""

    runs: int
    users: int
    seed: int
    restarts: int = 3

    @property
    def backlog(self) -> int:
        return max(40, 2 * self.users)


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is over; `seconds` from the first request to the last archived run."""

    verdict: Verdict
    seconds: float
    calls: int
    standstill: tuple[str, ...]
    postgres: str


def hold_trial(plan: Plan, folder: Path, on_progress: Progress = lambda finished: None) -> Ended:
    """Run in `folder`, which the unprivileged user of Postgres must be able to enter; leaves no process behind."""
    with ExitStack() as stack:
        server = acquire(folder / "data", on_note=lambda note: None)
        stack.callback(server.close, wait=True)
        prepare_database(server.dsn)
        application = create_role(server.dsn, "chaos_application")
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute((Path(__file__).parent / "tables.sql").read_bytes())
        logs = folder / "logs"
        logs.mkdir()
        model = stack.enter_context(EchoingAimock(logs))
        processes = stack.enter_context(Stack(server.dsn, logs, MAAS_USER_RATE="0"))
        processes.is_forking = False
        try:
            return asyncio.run(_Trial(plan, server, processes, model, application, on_progress).run())
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


class _Trial:
    """The parts while they run."""

    def __init__(
        self,
        plan: Plan,
        server: EmbeddedPostgres,
        stack: Stack,
        model: EchoingAimock,
        application: str,
        on_progress: Progress,
    ) -> None:
        self._plan = plan
        self._server = server
        self._witness = Witness(server.dsn)
        draws = model_faults(plan.seed)
        self._proxy = FaultProxy(model.url, lambda: next(draws))
        self._stack, self._model = stack, model
        self._on_progress = on_progress
        self._application = application
        self._may_send = asyncio.Event()
        self._backlog = 0
        self._finished = 0
        self._fleet: Fleet
        self._load: Load

    async def run(self) -> Ended:
        """The whole run; SIGTERM and SIGHUP cancel it, as SIGINT does."""
        task = asyncio.current_task()
        assert task is not None
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        plan = self._plan
        async with self._proxy:
            settings = self._model.settings() | {"OPENAI_BASE_URL": f"{self._proxy.url}/v1"}
            self._fleet = Fleet(self._stack, self._witness, settings)
            self._load = Load(
                batches(plan.seed, plan.runs, plan.users), self._fleet.ports, self._application, self._may_send
            )
            await self._fleet.start()
            began = time.monotonic()
            await self._beside(self._most, self._fleet.keep, self._strike, self._storm, self._restart)
            await self._beside(self._fleet.wait_ready, self._fleet.keep)
            await self._beside(self._drain, self._fleet.keep)
            seconds = time.monotonic() - began
            left = tuple(str(dict(row)) for row in await self._witness.rows("unfinished"))
            await self._fleet.finish()
        await self._tell()
        version = await self._witness.value("version")
        return Ended(await Verdict.ask(self._witness), seconds, self._proxy.calls, left, version)

    async def _beside(self, main: Callable[[], Awaitable[None]], *others: Callable[[], Awaitable[None]]) -> None:
        """Run `main`, and the others as long as it takes; the first error of any ends all."""
        tasks = [asyncio.ensure_future(one()) for one in (main, *others)]
        try:
            pending = set(tasks)
            while tasks[0] in pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _strike(self) -> None:
        began = time.monotonic()
        going_on: set[asyncio.Task[None]] = set()
        try:
            for strike in strikes(self._plan.seed, len(self._fleet.members)):
                await asyncio.sleep(max(0.0, began + strike.at - time.monotonic()))
                if task := self._fleet.strike(strike):
                    going_on.add(task)
                    task.add_done_callback(going_on.discard)
        finally:
            for task in going_on:
                task.cancel()
            await asyncio.gather(*going_on, return_exceptions=True)

    async def _storm(self) -> None:
        began = time.monotonic()
        for storm in storms(self._plan.seed):
            await asyncio.sleep(max(0.0, began + storm.at - time.monotonic()))
            self._proxy.storm = storm.fault
            try:
                await asyncio.sleep(storm.seconds)
            finally:
                self._proxy.storm = None

    async def _restart(self) -> None:
        for restart in restarts(self._plan.seed, self._plan.restarts):
            while self._finished < restart.share * self._plan.runs:
                await asyncio.sleep(LOOK)
            before = self._server.pid
            self._fleet.note("restart by kill -9" if restart.is_kill else "restart at once", "postgres")
            os.kill(before, signal.SIGKILL if restart.is_kill else signal.SIGQUIT)
            await apoll(lambda before=before: self._server.pid != before, COMING_BACK, "Postgres comes back")  # type: ignore[misc]

    async def _most(self) -> None:
        """Send everything, and return when nearly all of it is finished, or when nothing moves any more."""
        sending = asyncio.ensure_future(self._load.send())
        rest = self._plan.runs // 10
        try:
            await self._until(lambda: sending.done() and (sending.exception() or self._backlog <= rest))
            if sending.done():
                sending.result()
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _drain(self) -> None:
        """Return when nothing is left to do, or nothing moves any more."""
        await self._until(lambda: self._backlog == 0)

    async def _until(self, is_over: Callable[[], object]) -> None:
        state, moved = (-1, -1), time.monotonic()
        await self._count()
        while not is_over() and time.monotonic() - moved < STANDSTILL:
            await asyncio.sleep(LOOK)
            await self._count()
            if state != (now := (len(self._load.accepted), self._backlog)):
                state, moved = now, time.monotonic()

    async def _count(self) -> None:
        """Keep the backlog within its limit."""
        self._backlog = await self._witness.value("backlog")
        self._finished = max(self._finished, len({one.id for one in self._load.accepted}) - self._backlog)
        self._on_progress(self._finished)
        if self._backlog < self._plan.backlog:
            self._may_send.set()
        else:
            self._may_send.clear()

    async def _tell(self) -> None:
        """Give the database what only the harness knows."""
        tell, load = self._witness.tell, self._load
        requests = [request for batch in load.batches for request in batch.requests]
        await tell("chaos_requests", [(one.number, one.mark) for one in requests])
        await tell(
            "chaos_accepted",
            [(a.request.number, a.request.mark, a.id, str(a.way), a.sent_at, a.at) for a in load.accepted],
        )
        await tell("chaos_faults", [(f.at, str(f.kind), f.target, f.pid) for f in self._fleet.faults])
        await tell("chaos_model_faults", [(i.at, str(i.fault), i.model, i.mark) for i in self._proxy.injected])
        await tell("chaos_replies", [(str(way), outcome, times) for (way, outcome), times in load.replies.items()])
        await tell("chaos_problems", self._fleet.problems)
        await tell("chaos_errors", self._fleet.errors())
