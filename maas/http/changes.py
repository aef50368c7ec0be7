"""Following runs: one LISTEN connection for all clients that wait, and a look at the table in between."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import structlog

from maas.pipeline.doorbell import Doorbell, Event
from maas.pipeline.states import TERMINAL, Status
from shared.db import CONNECTION_LOST, Database
from shared.errors import MaasError

LOOK = 1.0
log = structlog.get_logger()


class Changes:
    """Wakes who waits for a run; keeps listening through every loss of the connection."""

    def __init__(self, db: Database, listen_dsn: str) -> None:
        self._db = db
        self._listen_dsn = listen_dsn
        self._waiting: dict[UUID, set[asyncio.Event]] = defaultdict(set)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._listen())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def wait_for_answer(self, run_id: UUID, seconds: float) -> None:
        """Return when the run is COMPLETED or FAILED, is not there, or `seconds` are over."""
        heard = asyncio.Event()
        self._waiting[run_id].add(heard)
        try:
            async with asyncio.timeout(seconds):
                while True:
                    row = await self._db.row("run_state", run_id)
                    if row is None or Status(row["status"]) in TERMINAL:
                        return
                    try:
                        async with asyncio.timeout(LOOK):
                            await heard.wait()
                    except TimeoutError:
                        continue
                    heard.clear()
        except TimeoutError:
            return
        finally:
            self._waiting[run_id].discard(heard)
            if not self._waiting[run_id]:
                del self._waiting[run_id]

    async def _listen(self) -> None:
        while True:
            bell: Doorbell | None = None
            try:
                bell = await Doorbell.open(self._listen_dsn, "maas server listener")
                await bell.listen(self._hear, is_wanted=lambda: bool(self._waiting))
                while not bell.lost.is_set():
                    await asyncio.sleep(LOOK)
                    await bell.ping()
            except (MaasError, *CONNECTION_LOST) as error:
                log.warning("listener_lost", cause=repr(error))
            finally:
                if bell is not None:
                    await bell.close()
            await asyncio.sleep(0.2 + random.random())

    def _hear(self, event: Event) -> None:
        if event.status in TERMINAL:
            for heard in self._waiting.get(event.id, ()):
                heard.set()
