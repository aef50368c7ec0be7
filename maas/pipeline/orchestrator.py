"""The orchestrator: hears the bell, claims runs by the baton, drives each through its stages."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import socket
import time
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import asyncpg
import structlog
from structlog.contextvars import bind_contextvars

from maas.pipeline.background import keep_running
from maas.pipeline.doorbell import Doorbell
from maas.pipeline.failures import message_of
from maas.pipeline.isolation import Isolation
from maas.pipeline.metrics import EVERY, Metrics
from maas.pipeline.runs import Claims, Deferred, Done, LostRun, Outcome, Run
from maas.pipeline.stages import Chore, Deps, Stage
from maas.pipeline.states import NEXT, STAGE_OF, Status, statuses_of
from shared import tracing
from shared.db import CONNECT_TIMEOUT_S, CONNECTION_LOST, RECONNECT_TIMEOUT_S, SlowStatement, queries
from shared.errors import MaasError

PING = 1.0
LEAVE = 2.0
LONGEST_PAUSE_S = 1.0  # between sessions: work goes on that soon when the database is back
LINGER = 5.0  # an isolated process waits so long for the next suspect: to start one costs a second
LOOKS = 4  # looks for the dead in the time of a sweep
log = structlog.get_logger()


class LostSession(Exception):
    """The pinned connection or the lease is gone: this owner's runs belong to nobody."""


class Orchestrator:
    """Runs sessions until stopped. A session is one owner number on one pinned connection; losing it drops its runs.

    With `isolation` it is an ordinary one, which has suspects executed in processes of their own; without, it is the
    orchestrator of such a process: it takes suspects only, one after another, and ends when there are no more.
    `chores` run in the background: one that fails is tried again later and ends no session.
    """

    def __init__(
        self, deps: Deps, stages: Mapping[str, Stage], listen_dsn: str, isolation: Isolation | None,
        chores: Mapping[str, Chore] | None = None,
    ) -> None:  # fmt: skip
        self._deps = deps
        self._stages = stages
        self._listen_dsn = listen_dsn
        self._isolation = isolation
        self._chores = chores or {}
        self._stopping = asyncio.Event()
        self._metrics = Metrics()

    def stop(self) -> None:
        """Hand back what is in flight and end."""
        self._stopping.set()

    async def run(self) -> None:
        """Work until `stop`; survives every loss of the database."""
        pause, is_lost = 0.1, False
        while not self._stopping.is_set():
            session = _Session(
                self._deps, self._stages, self._isolation, self._stopping, self._metrics, self._chores
            )  # fmt: skip
            try:
                if is_lost:
                    await self._deps.db.renew()
                await session.open(self._listen_dsn, RECONNECT_TIMEOUT_S if is_lost else CONNECT_TIMEOUT_S)
                pause = 0.1
                await session.work()
            except (LostSession, MaasError, *CONNECTION_LOST) as error:
                log.warning("session_lost", cause=repr(error), again_in=round(pause, 1))
            except Exception:
                log.exception("session_failed", again_in=round(pause, 1))
            finally:
                await session.close()
                is_lost = True
            with suppress(TimeoutError):
                async with asyncio.timeout(0 if self._stopping.is_set() else pause * (0.5 + random.random())):
                    await self._stopping.wait()
            pause = min(pause * 2, LONGEST_PAUSE_S)
        if self._isolation is not None:
            await self._isolation.close()


class _Session:
    """One owner and its runs in flight."""

    def __init__(
        self, deps: Deps, stages: Mapping[str, Stage], isolation: Isolation | None, stopping: asyncio.Event,
        metrics: Metrics, chores: Mapping[str, Chore],
    ) -> None:  # fmt: skip
        self._deps = deps
        self._chores = chores
        self._isolation = isolation
        self._capacity = deps.settings.concurrency if isolation is not None else 1
        self._settings = deps.settings
        self._stages = stages
        self._statuses = statuses_of(frozenset(stages))
        self._stopping = stopping
        self._metrics = metrics
        self._wake = asyncio.Event()
        self._done: list[Done] = []
        self._drives: dict[UUID, asyncio.Task[None]] = {}
        self._working: dict[UUID, asyncio.Task[None]] = {}
        self._interrupted: set[UUID] = set()
        self._cancelled: set[UUID] = set()
        self._bell: Doorbell | None = None
        self._claims: Claims
        self._owner = 0
        self._sweep = self._settings.sweep

    async def open(self, listen_dsn: str, timeout: float) -> None:
        """Connect within `timeout` seconds, register, take over what the dead left behind."""
        settings = self._settings
        self._bell = await Doorbell.open(listen_dsn, "maas orchestrator", timeout=timeout)
        await self._bell.listen_for_work(self._wake.set)
        if not await self._bell.can_hear(self._deps.db):
            self._sweep = min(self._sweep, 0.2)
            log.warning("listen_is_deaf", hint="set LISTEN_DATABASE_URL to a direct connection; polling instead")
        most = "" if settings.max_in_flight is None else str(settings.max_in_flight)
        await self._deps.db.value("configure_engine", settings.blocking_scope, settings.timezone, most)
        self._owner = await self._bell.connection.fetchval(
            queries()["register_engine"], socket.gethostname(), os.getpid(), list(self._stages),
            self._capacity, timedelta(seconds=settings.lease),
        )  # fmt: skip
        self._claims = Claims(self._deps.db, self._owner, self._statuses, self._isolation is None)
        log.info("orchestrator_ready", owner=self._owner, stages=list(self._stages), concurrency=self._capacity)

    async def work(self) -> None:
        """Return when stopped and empty. Raises LostSession, or what an essential loop died of."""
        bell = self._bell
        assert bell is not None
        count = partial(self._metrics.count, "background_failures")
        tasks = [
            asyncio.create_task(job, name=name)
            for name, job in (
                ("claim", self._claim_loop()),
                ("reap", self._reap_loop()),
                ("heartbeat", self._heartbeat_loop()),
                ("watch", bell.lost.wait()),
                ("metrics", keep_running("metrics", self._metrics_loop, count)),
                *((name, keep_running(name, chore, count)) for name, chore in self._chores.items()),
            )
        ]
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
            if tasks[0] not in ended:
                raise LostSession(f"{next(iter(ended)).get_name()} ended")
        finally:
            await _cancel([*tasks, *self._drives.values()])

    async def close(self) -> None:
        """Leave and give back what is left, without blame: this process lives. What cannot be given back is reaped."""
        if self._owner:
            try:
                await _within(LEAVE, self._deps.db.value("unregister_engine", self._owner))
                await _within(LEAVE, self._metrics.flush(self._deps.db))
            except (MaasError, TimeoutError, asyncpg.PostgresError, *CONNECTION_LOST) as error:
                log.warning("not_unregistered", owner=self._owner, cause=repr(error))
        if self._bell is not None:
            await self._bell.close()

    async def _claim_loop(self) -> None:
        stop = asyncio.create_task(self._stopping.wait())
        stop.add_done_callback(lambda _: self._wake.set())
        idle_since = time.monotonic()
        try:
            while not (self._stopping.is_set() and not self._drives and not self._done):
                if self._stopping.is_set():
                    self._interrupt(list(self._working))
                self._wake.clear()
                done, self._done = self._done, []
                capacity = 0 if self._stopping.is_set() else self._capacity - len(self._drives)
                step = await self._claims.step(capacity, done)
                for run in step.claimed:
                    self._metrics.claimed(run)
                    self._drives[run.id] = asyncio.create_task(self._drive(run))
                self._cancelled.update(step.to_cancel)
                self._interrupt(step.to_cancel)
                if self._done or (step.has_more and capacity > 0):
                    continue
                if self._drives:
                    idle_since = time.monotonic()
                elif self._isolation is None and time.monotonic() - idle_since > LINGER:
                    self._stopping.set()
                    continue
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._sweep):
                        await self._wake.wait()
        finally:
            stop.cancel()

    async def _reap_loop(self) -> None:
        statuses = [str(status) for status in self._statuses]
        for number in itertools.count():
            row = await self._deps.db.row("reap", self._settings.max_deaths, statuses, number % LOOKS == 0)
            assert row is not None
            if row["reclaimed"] + row["failed"] + row["adopted"]:
                log.warning("runs_reaped", **{name: count for name, count in row.items() if name != "moved"})
                for run in row["moved"]:
                    log.warning(f"run_{run['verdict']}", run_id=run["id"], status=run["status"], cause=run["message"])
                self._metrics.count("runs_reclaimed", events=row["reclaimed"])
                self._metrics.count("runs_adopted", events=row["adopted"])
            if self._isolation is not None and row["suspects"]:
                await self._isolation.start(row["suspects"])
            await asyncio.sleep(self._settings.sweep / LOOKS)

    async def _heartbeat_loop(self) -> None:
        bell = self._bell
        assert bell is not None
        lease, every = self._settings.lease, min(self._settings.heartbeat, self._settings.lease / 3)
        next_beat = time.monotonic() + every
        while True:
            await asyncio.sleep(min(every, PING))
            await bell.ping()
            if time.monotonic() >= next_beat:
                next_beat = time.monotonic() + every
                if not await self._deps.db.value("heartbeat", self._owner, timedelta(seconds=lease)):
                    raise LostSession("the lease ran out")

    async def _metrics_loop(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            await self._metrics.flush(self._deps.db)

    def _interrupt(self, runs: Iterable[UUID]) -> None:
        for run_id in runs:
            if run_id not in self._interrupted and (drive := self._working.get(run_id)):
                self._interrupted.add(run_id)
                drive.cancel()

    async def _drive(self, run: Run) -> None:
        """Take one run as far as this process can; a task of its own, so that its log context is its own."""
        bind_contextvars(run_id=run.id, user_id=run.user_id, attempt=run.attempt)
        try:
            with tracing.span(f"run {run.kind}", _about(run), "consumer", await self._parent(run)):
                done = await self._run_stages(run)
        except LostRun:
            log.warning("run_lost", status=run.status)
            done = None
        except Deferred as wait:
            done = _deferral(run, wait)
        except SlowStatement as error:
            done = self._failure(run, error)
        except CONNECTION_LOST as error:
            # Whether the write arrived is unknown: give up the owner, somebody goes on from the row.
            log.warning("write_lost", status=run.status, cause=repr(error))
            done = None
            if self._bell is not None:
                self._bell.lost.set()
        except Exception as error:
            done = self._failure(run, error)
        del self._drives[run.id]
        self._cancelled.discard(run.id)
        if done is not None:
            self._done.append(done)
        self._wake.set()

    async def _parent(self, run: Run) -> str | None:
        """The span of the client that asked for this run, if it told us and anybody wants to know."""
        return await self._deps.db.value("trace_parent", run.id) if tracing.is_on() else None

    async def _run_stages(self, run: Run) -> Done:
        while (name := STAGE_OF[run.status]) in self._stages and not self._stopping.is_set():
            if run.status in (Status.NEW, Status.READY):
                await self._claims.advance(run, NEXT[run.status], Outcome())
                continue
            outcome = run.settled() or await self._work(name, run)
            if outcome is None:
                break
            if outcome.has_more and outcome.record:
                await self._claims.archive_exchange(run, outcome.record)
                continue
            if run.status is Status.COMPLETED:
                return Done(run, "archived", record=outcome.record or {})
            await self._advance(run, outcome)
        return Done(run, "released")

    async def _advance(self, run: Run, outcome: Outcome) -> None:
        await self._claims.advance(run, NEXT[run.status], outcome)
        if run.status is Status.COMPLETED:
            self._metrics.completed(run)

    async def _work(self, name: str, run: Run) -> Outcome | None:
        """The stage's outcome; None when it was interrupted to be given back."""
        drive = self._drives[run.id]
        self._working[run.id] = drive
        bind_contextvars(stage=name)
        began = time.monotonic()
        try:
            with tracing.span(f"stage {name}", {"maas.stage": name}) as told:
                outcome = await self._stages[name](run, self._deps)
                told.note({"maas.degraded": outcome.degraded})
                return outcome
        except asyncio.CancelledError:
            if run.id not in self._interrupted or drive.uncancel() > 0:
                raise  # the session ends
            if run.id in self._cancelled and run.status is not Status.COMPLETED:
                raise MaasError("cancelled", "cancelled by request") from None
            return None
        finally:
            del self._working[run.id]
            self._interrupted.discard(run.id)
            self._metrics.observe(name, time.monotonic() - began)
            self._metrics.called([*run.pinned, *run.calls])
            self._metrics.used(run.tools)

    def _failure(self, run: Run, error: Exception) -> Done:
        stage = STAGE_OF[run.status]
        if isinstance(error, MaasError):
            log.warning("run_failed", stage=stage, code=error.code, cause=error.message)
            code = error.code
        else:
            log.exception("stage_crashed", stage=stage)
            code = "internal"
        if run.status is Status.COMPLETED:
            return Done(run, "archive_failed")
        return Done(run, "failed", code=code[:50], message=f"{stage}: {message_of(error)}"[:2000])


def _deferral(run: Run, wait: Deferred) -> Done:
    """It is told and logged when it begins, and when the model was asked again in vain."""
    if run.time_left is not None and not run.calls:
        return Done(run, "deferred", wait=wait.wait, time_left=wait.time_left)
    code, cause = wait.cause.code, wait.cause.message
    log.warning("run_deferred", status=run.status, code=code, cause=cause, again_in=round(wait.wait, 1))
    return Done(run, "deferred", code=code, message=cause, wait=wait.wait, time_left=wait.time_left)


def _about(run: Run) -> tracing.Attributes:
    return {
        "maas.run.id": str(run.id),
        "maas.run.kind": run.kind,
        "maas.run.attempt": run.attempt,
        "user.id": str(run.user_id),
        "gen_ai.agent.name": run.assistant,
        "gen_ai.conversation.id": str(run.conversation_id) if run.conversation_id else None,
    }


async def _cancel(tasks: Iterable[asyncio.Task[object]]) -> None:
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
        task.add_done_callback(_forget)
    if tasks:
        await asyncio.wait(tasks, timeout=LEAVE)


async def _within(seconds: float, work: Coroutine[Any, Any, object]) -> None:
    """Wait for it so long and no longer: where nothing arrives any more, the end of a query does not arrive either."""
    task = asyncio.create_task(work)
    await asyncio.wait([task], timeout=seconds)
    if not task.done():
        task.cancel()
        task.add_done_callback(_forget)
        raise TimeoutError
    task.result()


def _forget(task: asyncio.Task[Any]) -> None:
    """Take note of how a task ended that nobody waits for, so that it is not complained about."""
    if not task.cancelled():
        task.exception()
