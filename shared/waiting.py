"""Waiting for work that may hang: for a limited time, and without an error that nobody retrieves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

Result = TypeVar("Result")


async def cancel_all(tasks: Iterable[asyncio.Task[Any]], timeout: float) -> None:
    """Cancel tasks and wait for their end, at most `timeout` seconds."""
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
        task.add_done_callback(_retrieve_exception)
    if tasks:
        await asyncio.wait(tasks, timeout=timeout)


async def wait_at_most(seconds: float, work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of `work`, or give it up. Raises TimeoutError, and what `work` raises.

    `asyncio.timeout` would wait for the cancelled query to end, which takes long on a connection that is cut.
    """
    task = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait([task], timeout=seconds)
    finally:
        task.cancel()
        task.add_done_callback(_retrieve_exception)
    if not done:
        raise TimeoutError
    return task.result()


def _retrieve_exception(task: asyncio.Task[Any]) -> None:
    """Retrieve the exception of a task that nobody awaits, so that asyncio does not report it."""
    if not task.cancelled():
        task.exception()
