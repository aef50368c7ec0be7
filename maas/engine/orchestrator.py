"""The orchestrator: claims runs, drives each through its stages and reports how it ended.

A session is one owner number on one pinned connection. When the connection or the lease is lost, the session drops its
runs and a new one begins; other orchestrators recover the runs from their rows.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from uuid import UUID

import asyncpg
import structlog
from structlog.contextvars import bind_contextvars

from maas import queries
from maas.engine.claims import ClaimEnd, Claims, Deferred, LostRun, Outcome, Run, Yielded
from maas.engine.listener import NotifyListener
from maas.engine.metrics import FLUSH_INTERVAL_S, Metrics
from maas.engine.stages import Deps, Stage, failure_message
from maas.engine.states import NEXT, STAGE_OF, Status, statuses_of
from maas.engine.supervision import BackgroundTask, Quarantine, cancel_all, keep_running, wait_at_most
from shared import tracing
from shared.db import CONNECT_TIMEOUT_S, CONNECTION_LOST, RECONNECT_TIMEOUT_S, SlowStatement
from shared.errors import Backoff, MaasError
from shared.query import query_texts
from shared.text import is_blank

PING_INTERVAL_S = 1.0
CLOSE_TIMEOUT_S = 2.0
FIRST_BACKOFF_S = 0.1
MAX_BACKOFF_S = 1.0  # between sessions: work goes on that soon when the database is back
IDLE_EXIT_S = 5.0  # a quarantine process waits so long for its next run, since it takes a second to start one
UNHEARD_POLL_INTERVAL_S = 0.2  # where notifications do not arrive
REAPS_PER_POLL = 4  # looks for lost claims per poll interval
log = structlog.get_logger()


class LostSession(Exception):
    """The pinned connection or the lease is gone: the runs of this owner may be claimed by others."""


class Orchestrator:
    """Runs sessions until stopped.

    With `quarantine` it is an ordinary orchestrator, which has quarantined runs executed by processes of their own.
    Without, it is the orchestrator of such a process: it claims quarantined runs only, one after another, and ends when
    there are no more. `background_tasks` by name; one that fails is started again and ends no session.
    """

    def __init__(
        self, deps: Deps, stages: Mapping[str, Stage], listen_dsn: str, quarantine: Quarantine | None,
        background_tasks: Mapping[str, BackgroundTask] | None = None,
    ) -> None:  # fmt: skip
        self._deps = deps
        self._stages = stages
        self._listen_dsn = listen_dsn
        self._quarantine = quarantine
        self._background_tasks = background_tasks or {}
        self._stopping = asyncio.Event()
        self._metrics = Metrics()

    def stop(self) -> None:
        """Return the runs in flight to the queue and end."""
        self._stopping.set()

    async def run(self) -> None:
        """Work until `stop`, through every loss of the database."""
        backoff, is_lost = Backoff(FIRST_BACKOFF_S, MAX_BACKOFF_S), False
        while not self._stopping.is_set():
            session = _Session(
                self._deps, self._stages, self._quarantine, self._stopping, self._metrics, self._background_tasks
            )  # fmt: skip
            delay = 0.0
            try:
                if is_lost:
                    await self._deps.db.renew()
                await session.open(self._listen_dsn, RECONNECT_TIMEOUT_S if is_lost else CONNECT_TIMEOUT_S)
                backoff.reset()
                await session.work()
            except (LostSession, MaasError, *CONNECTION_LOST) as error:
                delay = backoff.next_s()
                log.warning("session_lost", cause=repr(error), again_in=round(delay, 1))
            except Exception:
                delay = backoff.next_s()
                log.exception("session_failed", again_in=round(delay, 1))
            finally:
                await session.close()
                is_lost = True
            with suppress(TimeoutError):
                async with asyncio.timeout(0 if self._stopping.is_set() else delay):
                    await self._stopping.wait()
        if self._quarantine is not None:
            await self._quarantine.close()


@dataclass(slots=True)
class _Drive:
    """A claimed run on its way through the stages.

    `is_interrupted`: its stage was cancelled, to return the run to the queue or to end it. `is_cancelled`: a client
    requested its end.
    """

    run: Run
    task: asyncio.Task[None] | None = None
    is_in_stage: bool = False
    is_interrupted: bool = False
    is_cancelled: bool = False

    def interrupt(self) -> None:
        """Cancel the stage that it is in, once."""
        if self.is_in_stage and not self.is_interrupted and self.task is not None:
            self.is_interrupted = True
            self.task.cancel()


class _Session:
    """One owner and its runs in flight."""

    def __init__(
        self, deps: Deps, stages: Mapping[str, Stage], quarantine: Quarantine | None, stopping: asyncio.Event,
        metrics: Metrics, background_tasks: Mapping[str, BackgroundTask],
    ) -> None:  # fmt: skip
        self._deps = deps
        self._background_tasks = background_tasks
        self._quarantine = quarantine
        self._capacity = deps.settings.concurrency if quarantine is not None else 1
        self._settings = deps.settings
        self._stages = stages
        self._statuses = statuses_of(frozenset(stages))
        self._stopping = stopping
        self._metrics = metrics
        self._wake = asyncio.Event()
        self._ends: list[ClaimEnd] = []
        self._drives: dict[UUID, _Drive] = {}
        self._listener: NotifyListener | None = None
        self._claims: Claims
        self._owner = 0
        self._poll_interval = self._settings.poll_interval

    async def open(self, listen_dsn: str, timeout: float) -> None:
        """Connect within `timeout` seconds, test the listener and register as a new owner."""
        settings = self._settings
        self._listener = await NotifyListener.open(listen_dsn, "maas orchestrator", timeout=timeout)
        await self._listener.listen_for_work(self._wake.set)
        if not await self._listener.is_listening(self._deps.db):
            self._poll_interval = min(self._poll_interval, UNHEARD_POLL_INTERVAL_S)
            log.warning("listen_is_deaf", hint="set LISTEN_DATABASE_URL to a direct connection; polling instead")
        await self._deps.db.value(queries.configure_engine, settings.engine_settings)
        self._owner = await self._listener.connection.fetchval(
            query_texts()[queries.register_engine], socket.gethostname(), os.getpid(), list(self._stages),
            self._capacity, timedelta(seconds=settings.lease),
        )  # fmt: skip
        shares = settings.assistant_share, settings.user_concurrency
        self._claims = Claims(self._deps.db, self._owner, self._statuses, self._quarantine is None, *shares)
        log.info("orchestrator_ready", owner=self._owner, stages=list(self._stages), concurrency=self._capacity)

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
                log.warning("not_unregistered", owner=self._owner, cause=repr(error))
        if self._listener is not None:
            await self._listener.close()

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
                    drive = self._drives[run.id] = _Drive(run)
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
        next_beat = time.monotonic() + interval
        while True:
            await asyncio.sleep(min(interval, PING_INTERVAL_S))
            await listener.ping()
            if time.monotonic() >= next_beat:
                next_beat = time.monotonic() + interval
                if not await self._deps.db.value(queries.heartbeat, self._owner, timedelta(seconds=lease)):
                    raise LostSession("the lease ran out")

    async def _metrics_loop(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_INTERVAL_S)
            await self._metrics.flush(self._deps.db)

    async def _drive(self, drive: _Drive) -> None:
        """Take one run as far as this process can, in a task of its own, which has its own log context."""
        run = drive.run
        bind_contextvars(run_id=run.id, user_id=run.user_id, attempt=run.attempt)
        end: ClaimEnd | None = None
        try:
            with tracing.span(f"run {run.kind}", _span_attributes(run), "consumer", await self._trace_parent(run)):
                end = await self._run_stages(drive)
        except LostRun:
            log.warning("run_lost", status=drive.run.status)
        except Deferred as deferred:
            end = _deferral(drive.run, deferred)
        except Yielded as yielded:
            end = ClaimEnd(drive.run, "deferred", wait=yielded.wait)
        except SlowStatement as error:
            end = _failure(drive.run, error)
        except CONNECTION_LOST as error:
            # Whether the write arrived is unknown: end the session, and let another owner continue from the row.
            log.warning("write_lost", status=drive.run.status, cause=repr(error))
            if self._listener is not None:
                self._listener.lost.set()
        except Exception as error:
            end = _failure(drive.run, error)
        del self._drives[run.id]
        if end is not None:
            self._ends.append(end)
        self._wake.set()

    async def _trace_parent(self, run: Run) -> str | None:
        """The `traceparent` that the client sent with the run, read only when spans are exported."""
        return await self._deps.db.value(queries.trace_parent, run.id) if tracing.is_on() else None

    async def _run_stages(self, drive: _Drive) -> ClaimEnd:
        while (name := STAGE_OF[drive.run.status]) in self._stages and not self._stopping.is_set():
            run = drive.run
            if run.status in (Status.NEW, Status.READY):
                await self._advance(drive, Outcome())
                continue
            outcome = run.skip_outcome() or await self._run_stage(name, drive)
            if outcome is None:
                break
            if outcome.has_more and outcome.record:
                drive.run = await self._claims.archive_exchange(run, outcome.record)
                continue
            if run.status is Status.COMPLETED:
                return ClaimEnd(run, "archived", record=outcome.record or {})
            await self._advance(drive, outcome)
        return ClaimEnd(drive.run, "released")

    async def _advance(self, drive: _Drive, outcome: Outcome) -> None:
        drive.run, is_cancelled = await self._claims.advance(drive.run, NEXT[drive.run.status], outcome)
        if drive.run.status is Status.COMPLETED:
            self._metrics.count_answer(drive.run)
        elif is_cancelled:
            raise _cancelled()

    async def _run_stage(self, name: str, drive: _Drive) -> Outcome | None:
        """The stage's outcome; None when it was interrupted to return the run to the queue."""
        run = drive.run
        drive.is_in_stage = True
        bind_contextvars(stage=name)
        began = time.monotonic()
        try:
            with tracing.span(f"stage {name}", {"maas.stage": name}) as span:
                outcome = await self._stages[name](run, self._deps)
                span.note({"maas.degraded": outcome.degraded})
                self._metrics.count_variant(run, "answered")
                return outcome
        except MaasError:
            self._metrics.count_variant(run, "failed")
            raise
        except asyncio.CancelledError:
            if not drive.is_interrupted or drive.task is None or drive.task.uncancel() > 0:
                raise  # the session ends
            if not drive.is_cancelled or run.status is Status.COMPLETED:
                return None
            if run.log.interrupted is not None:  # the provider bills it, so the user's budget does
                run.log.calls.append(run.log.interrupted)
            if is_blank(run.log.written):
                raise _cancelled() from None
            run.log.limited = "stopped"
            return Outcome(answer=run.log.written)
        finally:
            drive.is_in_stage = drive.is_interrupted = False
            self._metrics.observe(name, time.monotonic() - began)
            self._metrics.count_model_calls([*run.log.pinned, *run.log.calls])
            self._metrics.count_tool_calls(run.log.tools)


def _cancelled() -> MaasError:
    return MaasError("cancelled", "cancelled by request")


def _failure(run: Run, error: Exception) -> ClaimEnd:
    """The end of a run whose stage has failed; it is logged here."""
    stage = STAGE_OF[run.status]
    if isinstance(error, MaasError):
        log.warning("run_failed", stage=stage, code=error.code, cause=error.message)
        code = error.code
    else:
        log.exception("stage_crashed", stage=stage)
        code = "internal"
    if run.status is Status.COMPLETED:
        return ClaimEnd(run, "archive_failed")
    return ClaimEnd(run, "failed", code=code[:50], message=f"{stage}: {failure_message(error)}"[:2000])


def _deferral(run: Run, deferred: Deferred) -> ClaimEnd:
    """The end of a claim whose model is away; logged at first, and when the model was called again without success."""
    if run.time_left is not None and not run.log.calls:
        return ClaimEnd(run, "deferred", wait=deferred.wait, time_left=deferred.time_left)
    code, cause = deferred.cause.code, deferred.cause.message
    log.warning("run_deferred", status=run.status, code=code, cause=cause, again_in=round(deferred.wait, 1))
    return ClaimEnd(run, "deferred", code=code, message=cause, wait=deferred.wait, time_left=deferred.time_left)


def _span_attributes(run: Run) -> tracing.Attributes:
    return {
        "maas.run.id": str(run.id),
        "maas.run.kind": run.kind,
        "maas.run.attempt": run.attempt,
        "user.id": str(run.user_id),
        "gen_ai.agent.name": run.assistant,
        "gen_ai.conversation.id": str(run.conversation_id) if run.conversation_id else None,
    }
