"""Coroutines that run side by side and end together."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def run_concurrently(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of all coroutines, in order. The first exception cancels the others and is raised."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
