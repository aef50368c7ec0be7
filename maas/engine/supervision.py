"""What an orchestrator keeps running beside its runs: background tasks, and processes for quarantined runs.

A background task that fails is started again later. A quarantined run has crashed its process before; it is executed in
a process of its own, where a further crash stops no other run.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from asyncio.subprocess import Process
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any

import structlog

from shared.db import CONNECTION_LOST
from shared.errors import Backoff
from shared.process import PARENT_VARIABLE as PARENT_VARIABLE

FIRST_BACKOFF_S = 1.0
MAX_BACKOFF_S = 300.0
MAX_QUARANTINE_PROCESSES = 2
EXIT_TIMEOUT_S = 10.0
BackgroundTask = Callable[[], Coroutine[Any, Any, None]]
log = structlog.get_logger()


async def keep_running(name: str, task: BackgroundTask, count: Callable[[str], None]) -> None:
    """Run a background task until cancelled: start it again whenever it fails or ends, at growing intervals.

    `count` is called with the name at each failure. Chance spreads the retries of many processes.
    """
    backoff = Backoff(FIRST_BACKOFF_S, MAX_BACKOFF_S, spread=lambda: 0.5 + 0.5 * random.random())
    while True:
        began = time.monotonic()
        error = await _failure(task)
        if time.monotonic() - began > MAX_BACKOFF_S:
            backoff.reset()
        delay = backoff.next_s()
        is_known = error is None or isinstance(error, CONNECTION_LOST)
        cause = repr(error) if error is not None else "it ended"
        log.warning(
            "background_task_failed",
            task=name,
            cause=cause,
            again_in=round(delay, 1),
            exc_info=None if is_known else error,
        )
        count(name)
        await asyncio.sleep(delay)


async def _failure(task: BackgroundTask) -> BaseException | None:
    """The exception that the task failed with; None when it ended by itself."""
    try:
        await task()
    except asyncio.CancelledError as error:
        current = asyncio.current_task()
        if current is None or current.cancelling():
            raise
        return error  # the task waited for something that was cancelled
    except Exception as error:
        return error
    return None


class Quarantine:
    """Starts processes by `command`, a few at a time, that execute quarantined runs one after another.

    Each of them ends by itself when no quarantined run is left.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command = command
        self._environment = os.environ | environment | {PARENT_VARIABLE: str(os.getpid())}
        self._processes: list[Process] = []

    async def start(self, runs: int) -> None:
        """Have as many processes running as `runs` quarantined runs need, within the limit."""
        self._processes = [process for process in self._processes if process.returncode is None]
        for _ in range(min(runs, MAX_QUARANTINE_PROCESSES) - len(self._processes)):
            process = await asyncio.create_subprocess_exec(*self._command, env=self._environment)
            log.warning("quarantine_started", pid=process.pid, runs=runs)
            self._processes.append(process)

    async def close(self) -> None:
        """Have the processes return their runs and end; kill those that do not."""
        for process in self._processes:
            with suppress(ProcessLookupError):
                process.terminate()
        for process in self._processes:
            try:
                async with asyncio.timeout(EXIT_TIMEOUT_S):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()
