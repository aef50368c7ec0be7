"""One chaos run: a fleet, a load, everything that can break breaking, and the verdict of SQL."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psycopg
import rich.progress
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from bench.sandbox import notes
from maas.cli.up import prepare_database
from shared.postgres import EmbeddedPostgres, acquire
from tests.aimock import EchoingAimock
from tests.chaos.acts import LIMITS, Acts
from tests.chaos.fleet import Fleet, create_role
from tests.chaos.load import Load
from tests.chaos.proxy import FaultProxy
from tests.chaos.schedule import ModelFault, batches, model_faults, restarts, storms, strikes
from tests.chaos.verdict import Verdict
from tests.chaos.witness import Witness
from tests.polling import apoll
from tests.stack import ROOT, Stack

LOOK = 0.25
STANDSTILL = 60.0
COMING_BACK = 60.0
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """How large a run is. Twice as many requests as users, and at least 40, are unfinished at one time.

    `has_acts`: schedules, limits, pauses and bulk changes go on beside the load, which takes minutes more.
    """

    runs: int
    users: int
    seed: int
    restarts: int = 3
    has_acts: bool = False

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
        with open_scene(server.dsn, folder / "logs") as scene:
            return _AllAtOnce(plan, scene, server, on_progress).hold()


@contextmanager
def progress_bar(total: int) -> Iterator[Progress]:
    """Shows on standard error how many of `total` runs are finished; gone afterwards."""
    columns = (TextColumn("finished"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with rich.progress.Progress(*columns, console=notes, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda finished: bar.update(task, completed=finished)


@dataclass(frozen=True, slots=True)
class Scene:
    """What a trial plays in: processes over one database, a model, and the address for another application."""

    stack: Stack
    model: EchoingAimock
    application: str


@contextmanager
def open_scene(dsn: str, logs: Path, prepare: Callable[[str], object] = prepare_database) -> Iterator[Scene]:
    """Prepare the database and start the model; no process of ours runs yet."""
    prepare(dsn)
    application = create_role(dsn, "chaos_application")
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute((Path(__file__).parent / "tables.sql").read_bytes())
    logs.mkdir()
    with EchoingAimock(logs) as model, Stack(dsn, logs, MAAS_USER_RATE="0") as stack:
        stack.is_forking = False
        yield Scene(stack, model, application)


class Trial:
    """The parts while they run; a kind of trial says what happens beside the load."""

    standstill_s = STANDSTILL  # after so long without a change it is over
    checkout = ROOT  # whose programs are started

    def __init__(
        self, plan: Plan, scene: Scene, on_progress: Progress, draw: Callable[[], ModelFault | None] = lambda: None
    ) -> None:
        self.plan = plan
        self.witness = Witness(scene.stack.dsn)
        self.proxy = FaultProxy(scene.model.url, draw)
        self.finished = 0
        self.fleet: Fleet
        self._stack, self._model = scene.stack, scene.model
        self._on_progress = on_progress
        self._application = scene.application
        self._backlog = 0
        self._load: Load

    def hold(self) -> Ended:
        """Run to the end. Raises KeyboardInterrupt for SIGINT, SIGTERM and SIGHUP."""
        try:
            return asyncio.run(self._run())
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None

    def disturbances(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """What goes on until nearly all runs are finished."""
        raise NotImplementedError

    def allowed(self) -> int:
        """How many requests may be sent by now."""
        return sys.maxsize

    async def prepare(self) -> None:
        """What is done before the load begins."""

    async def settle(self) -> None:
        """What is done before the rest is waited for."""

    async def ask(self) -> Verdict:
        """What SQL says in the end."""
        return await Verdict.ask(self.witness, "checks")

    async def wait_finished(self, share: float) -> None:
        """Return when this share of the runs is finished."""
        while self.finished < share * self.plan.runs:
            await asyncio.sleep(LOOK)

    async def _run(self) -> Ended:
        task = asyncio.current_task()
        assert task is not None
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        plan = self.plan
        async with self.proxy:
            settings = self._model.settings() | {"OPENAI_BASE_URL": f"{self.proxy.url}/v1", "MAAS_MODELS": LIMITS}
            self.fleet = Fleet(self._stack, self.witness, settings, self.checkout)
            self._load = Load(
                batches(plan.seed, plan.runs, plan.users), self.fleet.ports, self._application, self._may_send
            )
            await self.fleet.start()
            await self.prepare()
            began = time.monotonic()
            await self._beside(self._most, self.fleet.keep, *self.disturbances())
            await self._beside(self.fleet.wait_ready, self.fleet.keep)
            await self._beside(self.settle, self.fleet.keep)
            await self._beside(self._drain, self.fleet.keep)
            seconds = time.monotonic() - began
            left = tuple(str(dict(row)) for row in await self.witness.rows("unfinished"))
            await self.fleet.finish()
        await self._tell()
        version = await self.witness.value("version")
        return Ended(await self.ask(), seconds, self.proxy.calls, left, version)

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

    async def _most(self) -> None:
        """Send everything, and return when nearly all of it is finished, or when nothing moves any more."""
        sending = asyncio.ensure_future(self._load.send())
        rest = self.plan.runs // 10
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
        while not is_over() and time.monotonic() - moved < self.standstill_s:
            await asyncio.sleep(LOOK)
            await self._count()
            if state != (now := (len(self._load.accepted), self._backlog)):
                state, moved = now, time.monotonic()

    async def _count(self) -> None:
        accepted = len({one.id for one in self._load.accepted})  # a repeated request is accepted twice
        self._backlog = await self.witness.value("backlog")
        self.finished = max(self.finished, accepted - self._backlog)
        self._on_progress(self.finished)

    def _may_send(self) -> bool:
        """Whether the backlog is within its limit. Asks no database: clients go on while it is away."""
        return self._load.sent - self.finished < self.plan.backlog and self._load.sent < self.allowed()

    async def _tell(self) -> None:
        """Give the database what only the harness knows."""
        tell, load = self.witness.tell, self._load
        requests = [request for batch in load.batches for request in batch.requests]
        await tell("chaos_requests", [(one.number, one.mark) for one in requests])
        await tell(
            "chaos_accepted",
            [(a.request.number, a.request.mark, a.id, str(a.way), a.sent_at, a.at) for a in load.accepted],
        )
        await tell("chaos_faults", [(f.at, str(f.kind), f.target, f.pid) for f in self.fleet.faults])
        await tell("chaos_model_faults", [(i.at, str(i.fault), i.model, i.mark) for i in self.proxy.injected])
        await tell("chaos_replies", [(str(way), outcome, times) for (way, outcome), times in load.replies.items()])
        await tell("chaos_problems", self.fleet.problems)
        await tell("chaos_errors", self.fleet.errors())


class _AllAtOnce(Trial):
    """Everything breaks: processes, connections, the model, and Postgres itself."""

    def __init__(self, plan: Plan, scene: Scene, server: EmbeddedPostgres, on_progress: Progress) -> None:
        super().__init__(plan, scene, on_progress, partial(next, model_faults(plan.seed)))
        self._server = server
        self._acts: Acts | None = None

    def disturbances(self) -> Sequence[Callable[[], Awaitable[None]]]:
        acts = () if self._acts is None else self._acts.all()
        return self._strike, self._storm, self._restart, *acts

    async def prepare(self) -> None:
        if self.plan.has_acts:
            self._acts = Acts(self.plan.seed, self.witness, self.fleet.ports)
            await self._acts.prepare()

    async def settle(self) -> None:
        if self._acts is not None:
            await self._acts.settle()

    async def ask(self) -> Verdict:
        if self._acts is None:
            return await super().ask()
        await self._acts.tell(self.proxy.limited)
        return await Verdict.ask(self.witness, "checks", "acts")

    async def _strike(self) -> None:
        began = time.monotonic()
        going_on: set[asyncio.Task[None]] = set()
        try:
            for strike in strikes(self.plan.seed, len(self.fleet.members)):
                await asyncio.sleep(max(0.0, began + strike.at - time.monotonic()))
                if task := self.fleet.strike(strike):
                    going_on.add(task)
                    task.add_done_callback(going_on.discard)
        finally:
            for task in going_on:
                task.cancel()
            await asyncio.gather(*going_on, return_exceptions=True)

    async def _storm(self) -> None:
        began = time.monotonic()
        for storm in storms(self.plan.seed):
            await asyncio.sleep(max(0.0, began + storm.at - time.monotonic()))
            self.proxy.storm = storm.fault
            try:
                await asyncio.sleep(storm.seconds)
            finally:
                self.proxy.storm = None

    async def _restart(self) -> None:
        for restart in restarts(self.plan.seed, self.plan.restarts):
            await self.wait_finished(restart.share)
            before = self._server.pid
            self.fleet.note("restart by kill -9" if restart.is_kill else "restart at once", "postgres")
            os.kill(before, signal.SIGKILL if restart.is_kill else signal.SIGQUIT)
            await apoll(lambda before=before: self._server.pid != before, COMING_BACK, "Postgres comes back")  # type: ignore[misc]
