"""Who waits for runs: one LISTEN connection for all clients, and a look at the table in between."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from uuid import UUID

import structlog

from maas.pipeline.doorbell import Doorbell, Event
from maas.pipeline.states import TERMINAL, Status
from shared.db import CONNECT_TIMEOUT_S, CONNECTION_LOST, RECONNECT_TIMEOUT_S, Database
from shared.errors import MaasError

LOOK = 1.0
PING_TIMEOUT_S = 2.5
Waiting = dict[UUID, set[asyncio.Event]]
log = structlog.get_logger()


class Changes:
    """Wakes who waits for a run; keeps listening through every loss of the connection."""

    def __init__(self, db: Database, listen_dsn: str) -> None:
        self._db = db
        self._listen_dsn = listen_dsn
        self._waiting: Waiting = defaultdict(set)
        self._following: Waiting = defaultdict(set)
        self.is_leaving = False

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._listen())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def wait_for_answer(self, run_id: UUID, seconds: float) -> None:
        """Return when the run is COMPLETED or FAILED, is not there, `seconds` are over or the process ends."""
        with _standing_in(self._waiting, run_id) as heard, suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.is_leaving:
                    row = await self._db.row("run_state", run_id)
                    if row is None or Status(row["status"]) in TERMINAL:
                        return
                    try:
                        async with asyncio.timeout(LOOK):
                            await heard.wait()
                    except TimeoutError:
                        continue
                    heard.clear()

    def following(self, run_id: UUID) -> AbstractContextManager[asyncio.Event]:
        """An event that is set whenever the run changes its status or says something."""
        return _standing_in(self._following, run_id)

    def leave(self) -> None:
        """The process ends: let go of everybody who waits or follows."""
        self.is_leaving = True
        for run_id in (*self._waiting, *self._following):
            _wake(self._waiting, run_id)
            _wake(self._following, run_id)

    @property
    def followed(self) -> int:
        """How many runs are followed."""
        return len(self._following)

    @property
    def followers(self) -> int:
        """How many follow runs."""
        return sum(map(len, self._following.values()))

    async def _listen(self) -> None:
        timeout, is_silent = CONNECT_TIMEOUT_S, False
        while True:
            bell: Doorbell | None = None
            try:
                bell = await Doorbell.open(self._listen_dsn, "maas server listener", timeout=timeout)
                if is_silent:  # the network was cut: what hangs in it would hold the pool for minutes
                    await self._db.renew()
                    is_silent = False
                await bell.listen(self._hear, is_wanted=lambda: bool(self._waiting or self._following))
                await bell.listen_for_words(self._ring)
                while not bell.lost.is_set():
                    await asyncio.sleep(LOOK)
                    await bell.ping(PING_TIMEOUT_S)
            except (MaasError, *CONNECTION_LOST) as error:
                log.warning("listener_lost", cause=repr(error))
                timeout, is_silent = RECONNECT_TIMEOUT_S, is_silent or (bell is not None and bell.is_silent)
            finally:
                if bell is not None:
                    await bell.close()
            await asyncio.sleep(0.1 + random.random() / 2)

    def _hear(self, event: Event) -> None:
        self._ring(event.id)
        if event.status in TERMINAL:
            _wake(self._waiting, event.id)

    def _ring(self, run_id: UUID) -> None:
        _wake(self._following, run_id)


def _wake(waiting: Waiting, run_id: UUID) -> None:
    for heard in waiting.get(run_id, ()):
        heard.set()


@contextmanager
def _standing_in(waiting: Waiting, run_id: UUID) -> Iterator[asyncio.Event]:
    heard = asyncio.Event()
    waiting[run_id].add(heard)
    try:
        yield heard
    finally:
        waiting[run_id].discard(heard)
        if not waiting[run_id]:
            del waiting[run_id]
