"""Lanes: work of one key is done in order, that of different keys at the same time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Lanes(Generic[Item]):
    """Calls `work` with each item; a lane has a task as long as it has items. `work` must not raise."""

    def __init__(self, work: Callable[[Item], Awaitable[None]]) -> None:
        self._work = work
        self._items: dict[Hashable, deque[Item]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, key: Hashable, item: Item) -> None:
        """Add an item to the end of a lane."""
        if (lane := self._items.get(key)) is not None:
            lane.append(item)
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
        lane = self._items[key]
        try:
            while lane:
                await self._work(lane[0])
                lane.popleft()
        finally:
            del self._items[key]
