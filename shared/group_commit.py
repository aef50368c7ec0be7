"""Groups in the application: items that wait at one moment are written, or read, by one statement. No timer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import asyncpg

from shared.quotas import QuotaExceeded

Item = TypeVar("Item")
Result = TypeVar("Result")
BAD_DATA = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError)


class GroupCommit(Generic[Item, Result]):
    """Coalesces `submit` calls into `flush(items) -> results`, in order, one flush at a time.

    If the database refuses the data of a batch, each item is flushed alone, so that only the bad one fails.
    """

    def __init__(self, flush: Callable[[list[Item]], Awaitable[list[Result]]], limit: int = 256) -> None:
        self._flush = flush
        self._limit = limit
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def submit(self, item: Item) -> Result:
        """Return the result of this item. Raises the exception of its flush."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[: self._limit], self._waiting[self._limit :]
                await self._flush_batch(batch)
        finally:
            # Here and not in a callback, which would run later: an item submitted in between would wait for ever.
            self._worker = None

    async def _flush_batch(self, batch: list[tuple[Item, asyncio.Future[Result]]]) -> None:
        try:
            await self._flush_whole(batch)
        except (*BAD_DATA, QuotaExceeded) as error:
            if len(batch) == 1:
                _fail(batch, error)
            else:
                for one in batch:
                    await self._flush_batch([one])
        except Exception as error:
            _fail(batch, error)

    async def _flush_whole(self, batch: list[tuple[Item, asyncio.Future[Result]]]) -> None:
        results = await self._flush([item for item, _ in batch])
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():
                future.set_result(result)


def _fail(batch: list[tuple[Item, asyncio.Future[Result]]], error: Exception) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error)
