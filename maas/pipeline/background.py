"""Background tasks of an orchestrator; one that fails is tried again later and stops nothing else."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable

import structlog

from maas.pipeline.stages import Chore
from shared.db import CONNECTION_LOST

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 300.0
log = structlog.get_logger()


async def keep_running(
    name: str, task: Chore, count: Callable[[str], None], jitter: Callable[[], float] = random.random
) -> None:
    """Run a background task until cancelled: start it again whenever it fails or ends, at growing intervals.

    `count` is called with the name at each failure; `jitter` gives 0 to 1 and spreads the pauses of many processes.
    """
    pause = FIRST_PAUSE_S
    while True:
        began = time.monotonic()
        error = await _failure(task)
        if time.monotonic() - began > LONGEST_PAUSE_S:
            pause = FIRST_PAUSE_S
        again_in = pause * (0.5 + 0.5 * jitter())
        is_known = error is None or isinstance(error, CONNECTION_LOST)
        cause = repr(error) if error is not None else "it ended"
        log.warning(
            "background_task_failed", task=name, cause=cause, again_in=round(again_in, 1),
            exc_info=None if is_known else error,
        )  # fmt: skip
        count(name)
        await asyncio.sleep(again_in)
        pause = min(pause * 2, LONGEST_PAUSE_S)


async def _failure(task: Chore) -> BaseException | None:
    """What the task failed with; None when it ended by itself."""
    try:
        await task()
    except asyncio.CancelledError as error:
        current = asyncio.current_task()
        if current is None or current.cancelling():
            raise
        return error  # something that the task waited for was cancelled
    except Exception as error:
        return error
    return None
