"""Work of one key is done in order, that of different keys at the same time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import structlog

Item = TypeVar("Item")
log = structlog.get_logger()


class KeyedQueue(Generic[Item]):
    """Calls `work` with each item; a key has a task as long as it has items. An error of `work` is logged."""

    def __init__(self, work: Callable[[Item], Awaitable[None]]) -> None:
        self._work = work
        self._items: dict[Hashable, deque[Item]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, key: Hashable, item: Item) -> None:
        """Add an item behind those of its key."""
        if (waiting := self._items.get(key)) is not None:
            waiting.append(item)
            return
        self._items[key] = deque([item])
        task = asyncio.create_task(self._drain(key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stop where it stands."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _drain(self, key: Hashable) -> None:
        waiting = self._items[key]
        try:
            while waiting:
                try:
                    await self._work(waiting[0])
                except Exception:
                    log.exception("telegram_task_failed", key=str(key))
                waiting.popleft()
        finally:
            del self._items[key]
