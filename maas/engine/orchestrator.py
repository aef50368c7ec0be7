"""The orchestrator: claims runs, drives each through its stages and reports how it ended.

When the connection or the lease of its session is lost, the session drops its runs and a new one begins; other
orchestrators recover the runs from their rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

import structlog

from maas.engine.metrics import Metrics
from maas.engine.session import ExpiredLease, LostSession, Session
from maas.engine.stages import Deps, Stage
from maas.engine.supervision import BackgroundTask, Quarantine
from shared.db import CONNECT_TIMEOUT_S, CONNECTION_LOST, RECONNECT_TIMEOUT_S
from shared.errors import Backoff, MaasError

FIRST_BACKOFF_S = 0.1
MAX_BACKOFF_S = 1.0  # between sessions: work goes on that soon when the database is back
log = structlog.get_logger()


class Orchestrator:
    """Runs sessions until stopped.

    With `quarantine` it is an ordinary orchestrator, which has quarantined runs executed by processes of their own.
    Without, it is the orchestrator of such a process: it claims quarantined runs only, one after another, and ends when
    there are no more. `background_tasks` by name; one that fails is started again and ends no session.
    """

    def __init__(
        self,
        deps: Deps,
        stages: Mapping[str, Stage],
        listen_dsn: str,
        quarantine: Quarantine | None,
        background_tasks: Mapping[str, BackgroundTask] | None = None,
    ) -> None:
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
        cut_off: Session | None = None
        while not self._stopping.is_set():
            session = Session(
                self._deps, self._stages, self._quarantine, self._stopping, self._metrics, self._background_tasks
            )
            delay = 0.0
            try:
                if is_lost:
                    await self._deps.db.renew()
                if cut_off is not None:
                    await cut_off.excuse()
                    cut_off = None
                await session.open(self._listen_dsn, RECONNECT_TIMEOUT_S if is_lost else CONNECT_TIMEOUT_S)
                backoff.reset()
                await session.work()
            except (LostSession, MaasError, *CONNECTION_LOST) as error:
                delay = backoff.next_s()
                log.warning("session_lost", cause=repr(error), again_in=round(delay, 1))
                if session.is_registered and not isinstance(error, ExpiredLease):
                    cut_off = session
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
