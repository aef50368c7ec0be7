"""A session of an orchestrator: one owner number on one pinned connection, and its runs in flight."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from uuid import UUID

import asyncpg
import structlog

from maas import queries
from maas.engine.claims import ClaimEnd, Claims
from maas.engine.drive import Drive, DriveContext
from maas.engine.listener import NotifyListener
from maas.engine.metrics import FLUSH_INTERVAL_S, Metrics
from maas.engine.stages import Deps, Stage
from maas.engine.states import statuses_of
from maas.engine.supervision import BackgroundTask, Quarantine, keep_running
from shared.db import CONNECTION_LOST
from shared.errors import MaasError
from shared.waiting import cancel_all, wait_at_most

PING_INTERVAL_S = 1.0
CLOSE_TIMEOUT_S = 2.0
IDLE_EXIT_S = 5.0  # a quarantine process waits so long for its next run, since it takes a second to start one
UNHEARD_POLL_INTERVAL_S = 0.2  # where notifications do not arrive
REAPS_PER_POLL = 4  # looks for lost claims per poll interval
log = structlog.get_logger()


class LostSession(Exception):
    """The pinned connection or the lease is gone: the runs of this owner may be claimed by others."""


class ExpiredLease(LostSession):
    """This process was silent for longer than the lease although Postgres answers."""


class Session:
    """One owner and its runs in flight."""

    def __init__(
        self,
        deps: Deps,
        stages: Mapping[str, Stage],
        quarantine: Quarantine | None,
        stopping: asyncio.Event,
        metrics: Metrics,
        background_tasks: Mapping[str, BackgroundTask],
    ) -> None:
        self._deps = deps
        self._background_tasks = background_tasks
        self._quarantine = quarantine
        self._capacity = deps.settings.engine.concurrency if quarantine is not None else 1
        self._settings = deps.settings.engine
        self._stages = stages
        self._statuses = statuses_of(frozenset(stages))
        self._stopping = stopping
        self._metrics = metrics
        self._wake = asyncio.Event()
        self._ends: list[ClaimEnd] = []
        self._drives: dict[UUID, Drive] = {}
        self._listener: NotifyListener | None = None
        self._claims: Claims
        self._context: DriveContext
        self._owner = 0
        self._poll_interval = self._settings.poll_interval

    async def open(self, listen_dsn: str, timeout: float) -> None:
        """Connect within `timeout` seconds, test the listener and register as a new owner."""
        settings = self._settings
        self._listener = await NotifyListener.open(listen_dsn, "maas orchestrator", timeout=timeout)
        await self._listener.listen_for_work(self._wake.set)
        if not await self._listener.is_listening(self._deps.db):
            self._poll_interval = min(self._poll_interval, UNHEARD_POLL_INTERVAL_S)
            log.warning("listen_unavailable", hint="set LISTEN_DATABASE_URL to a direct connection; polling instead")
        await self._deps.db.value(queries.configure_engine, self._deps.settings.engine_settings)
        self._owner = await self._listener.connection.fetchval(
            queries.register_engine.text,
            socket.gethostname(),
            os.getpid(),
            list(self._stages),
            self._capacity,
            timedelta(seconds=settings.lease),
        )
        shares = settings.assistant_share, settings.user_concurrency
        self._claims = Claims(self._deps.db, self._owner, self._statuses, self._quarantine is None, *shares)
        self._context = DriveContext(self._deps, self._stages, self._claims, self._metrics, self._stopping)
        log.info("orchestrator_ready", owner=self._owner, stages=list(self._stages), concurrency=self._capacity)

    @property
    def is_registered(self) -> bool:
        """Whether it has been an owner, and may have had runs."""
        return self._owner > 0

    async def work(self) -> None:
        """Return when stopped and empty. Raises LostSession, or the error of an essential loop."""
        listener = self._listener
        assert listener is not None
        count = partial(self._metrics.count, "background_failures")
        tasks = [
            asyncio.create_task(job, name=name)
            for name, job in (
                ("claim", self._claim_loop()),
                ("reap", self._reap_loop()),
                ("heartbeat", self._heartbeat_loop()),
                ("watch", listener.lost.wait()),
                ("metrics", keep_running("metrics", self._metrics_loop, count)),
                *((name, keep_running(name, task, count)) for name, task in self._background_tasks.items()),
            )
        ]
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
            if tasks[0] not in ended:
                raise LostSession(f"{next(iter(ended)).get_name()} ended")
        finally:
            drives = [drive.task for drive in self._drives.values() if drive.task is not None]
            await cancel_all([*tasks, *drives], CLOSE_TIMEOUT_S)

    async def close(self) -> None:
        """Unregister, which returns the remaining runs to the queue and counts no crash against them.

        Where that fails, other orchestrators recover the runs when the lease has run out.
        """
        if self._owner:
            try:
                await wait_at_most(CLOSE_TIMEOUT_S, self._deps.db.value(queries.unregister_engine, self._owner))
                await wait_at_most(CLOSE_TIMEOUT_S, self._metrics.flush(self._deps.db))
            except (MaasError, TimeoutError, asyncpg.PostgresError, *CONNECTION_LOST) as error:
                log.warning("unregister_failed", owner=self._owner, cause=repr(error))
        if self._listener is not None:
            await self._listener.close()

    async def excuse(self) -> None:
        """Take back what was counted against the runs of this session, which ended because Postgres was away.

        Raises MaasError, and what the database raises.
        """
        await self._deps.db.value(queries.excuse_engine, self._owner, list(self._drives))

    async def _claim_loop(self) -> None:
        stop = asyncio.create_task(self._stopping.wait())
        stop.add_done_callback(lambda _: self._wake.set())
        idle_since = time.monotonic()
        try:
            while not (self._stopping.is_set() and not self._drives and not self._ends):
                if self._stopping.is_set():
                    for drive in self._drives.values():
                        drive.interrupt()
                self._wake.clear()
                ends, self._ends = self._ends, []
                capacity = 0 if self._stopping.is_set() else self._capacity - len(self._drives)
                step = await self._claims.step(capacity, ends, [drive.run for drive in self._drives.values()])
                for run in step.claimed:
                    self._metrics.count_claim(run)
                    drive = self._drives[run.id] = Drive(run, self._context)
                    drive.task = asyncio.create_task(self._drive(drive))
                for cancelled in map(self._drives.get, step.to_cancel):
                    if cancelled is not None:
                        cancelled.is_cancelled = True
                        cancelled.interrupt()
                if self._ends or (step.has_more and capacity > 0):
                    continue
                if self._drives:
                    idle_since = time.monotonic()
                elif self._quarantine is None and time.monotonic() - idle_since > IDLE_EXIT_S:
                    self._stopping.set()
                    continue
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._poll_interval):
                        await self._wake.wait()
        finally:
            stop.cancel()

    async def _reap_loop(self) -> None:
        """Recover the runs of owners that have died, and have quarantined runs executed."""
        statuses = [str(status) for status in self._statuses]
        for is_sweep in itertools.cycle([True, *[False] * (REAPS_PER_POLL - 1)]):
            row = await self._deps.db.row(queries.reap, self._settings.max_deaths, statuses, is_sweep)
            assert row is not None
            if row["reclaimed"] + row["failed"] + row["recovered"]:
                log.warning("runs_reaped", **{name: count for name, count in row.items() if name != "moved"})
                for run in row["moved"]:
                    log.warning(f"run_{run['verdict']}", run_id=run["id"], status=run["status"], cause=run["message"])
                self._metrics.count("runs_reclaimed", events=row["reclaimed"])
                self._metrics.count("runs_adopted", events=row["recovered"])
            if self._quarantine is not None and row["quarantined"]:
                await self._quarantine.start(row["quarantined"])
            await asyncio.sleep(self._settings.poll_interval / REAPS_PER_POLL)

    async def _heartbeat_loop(self) -> None:
        listener = self._listener
        assert listener is not None
        lease, interval = self._settings.lease, min(self._settings.heartbeat, self._settings.lease / 3)
        beat = time.monotonic()
        while True:
            await asyncio.sleep(min(interval, PING_INTERVAL_S))
            await listener.ping()
            if time.monotonic() >= beat + interval:
                rest = max(beat + lease - time.monotonic(), PING_INTERVAL_S)
                beat = time.monotonic()
                beating = self._deps.db.value(queries.heartbeat, self._owner, timedelta(seconds=lease))
                if not await wait_at_most(rest, beating):
                    raise ExpiredLease("the lease ran out")

    async def _metrics_loop(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_INTERVAL_S)
            await self._metrics.flush(self._deps.db)

    async def _drive(self, drive: Drive) -> None:
        """Drive one run in a task of its own, which has its own log context."""
        try:
            end = await drive.finish()
        except CONNECTION_LOST as error:
            # Whether the write arrived is unknown: end the session, and let another owner continue from the row.
            log.warning("write_lost", status=drive.run.status, cause=repr(error))
            if self._listener is not None:
                self._listener.lost.set()
            return
        del self._drives[drive.run.id]
        if end is not None:
            self._ends.append(end)
        self._wake.set()
