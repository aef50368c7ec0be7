"""What was looked up within the last second, for all who ask for it at about one moment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

FOR = 1.0
MOST = 10_000
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Lately(Generic[Key, Value]):
    """Answers of `look_up`, none older than FOR seconds and MOST at most; a failure is asked again."""

    def __init__(self, look_up: Callable[[Key], Awaitable[Value]], clock: Callable[[], float] = time.monotonic) -> None:
        self._look_up = look_up
        self._clock = clock
        self._kept: dict[Key, tuple[float, asyncio.Task[Value]]] = {}

    async def get(self, key: Key) -> Value:
        """Raises what `look_up` raises."""
        now = self._clock()
        asked_at, task = self._kept.get(key, (-FOR, None))
        if task is None or now - asked_at >= FOR or (task.done() and (task.cancelled() or task.exception())):
            self._kept.pop(key, None)
            task = asyncio.ensure_future(self._ask(key))
            self._kept[key] = (now, task)
            if len(self._kept) > MOST:
                del self._kept[next(iter(self._kept))]
        return task.result() if task.done() else await asyncio.shield(task)

    async def _ask(self, key: Key) -> Value:
        return await self._look_up(key)
