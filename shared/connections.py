"""A pool of database connections that lends a connection again without asyncpg's release, which costs a statement."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

IDLE_RETURN_S = 10.0  # unused connections return to asyncpg that often; it closes those that stay unused


class ConnectionPool:
    """The connections of an asyncpg pool, of which at most `size` are open.

    A connection whose statement failed or was cancelled returns to asyncpg, which makes it usable again or replaces
    it. Waiting callers get connections in the order of their calls.
    """

    def __init__(self, pool: asyncpg.Pool, size: int) -> None:
        self._pool = pool
        self._size = size
        self._held = 0  # connections taken from asyncpg, idle or lent
        self._idle: list[Any] = []
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._returns: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._is_closing = False

    async def fetch(self, query: str, *args: object) -> list[asyncpg.Record]:
        """Return the rows of a query. Raises asyncpg's errors, as the methods below."""
        rows: list[asyncpg.Record] = await self._run("fetch", query, args)
        return rows

    async def fetchrow(self, query: str, *args: object) -> asyncpg.Record | None:
        """Return the first row of a query, None without one."""
        return await self._run("fetchrow", query, args)

    async def fetchval(self, query: str, *args: object) -> Any:
        """Return the first column of the first row, None without one."""
        return await self._run("fetchval", query, args)

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[asyncpg.Connection]:
        """Lend a connection for the block."""
        connection = await self._take()
        try:
            yield connection
        except BaseException:
            await self._return(connection)
            raise
        self._put(connection)

    @property
    def open_connections(self) -> int:
        """The number of open connections."""
        return int(self._pool.get_size())

    @property
    def used_connections(self) -> int:
        """The number of connections that execute a statement or are lent."""
        return int(self._pool.get_size() - self._pool.get_idle_size()) - len(self._idle)

    async def close(self) -> None:
        """Close all connections when their statements have ended."""
        self._is_closing = True
        self._return_idle()
        await self._pool.close()

    def terminate(self) -> None:
        """Close all connections at once."""
        self._is_closing = True
        self._return_idle()
        self._pool.terminate()

    async def _run(self, method: str, query: str, args: Sequence[object]) -> Any:
        # Not by `acquire`: a context manager costs as much as the rest.
        connection = await self._take()
        try:
            result = await getattr(connection, method)(query, *args)
        except BaseException:
            await self._return(connection)
            raise
        self._put(connection)
        return result

    async def _take(self) -> Any:
        while True:
            while self._idle:
                connection = self._idle.pop()
                if not _is_lost(connection):
                    return connection
                await self._return(connection)
            if self._held < self._size:
                return await self._take_new()
            waiter: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            try:
                connection = await waiter
            except BaseException:
                if waiter.done() and not waiter.cancelled():
                    self._put(waiter.result())
                raise
            if connection is not None:
                return connection

    async def _take_new(self) -> Any:
        self._held += 1
        try:
            return await self._pool.acquire()
        except BaseException:
            self._held -= 1
            self._put(None)
            raise

    def _put(self, connection: Any | None) -> None:
        """Lend a connection to the next waiting caller, or keep it; None lets that caller take a new one."""
        if connection is not None and (self._is_closing or _is_lost(connection)):
            self._return_soon(connection)
            return
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return
        if connection is not None:
            self._idle.append(connection)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(IDLE_RETURN_S, self._return_idle)

    async def _return(self, connection: Any) -> None:
        try:
            await self._pool.release(connection)
        finally:
            self._held -= 1
            self._put(None)

    def _return_soon(self, connection: Any) -> None:
        task = asyncio.create_task(self._return(connection))
        self._returns.add(task)
        task.add_done_callback(self._returns.discard)

    def _return_idle(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        idle, self._idle = self._idle, []
        for connection in idle:
            self._return_soon(connection)


def _is_lost(connection: Any) -> bool:
    """Return whether a lent connection is closed; asyncpg then takes it back by itself."""
    try:
        return bool(connection.is_closed())
    except asyncpg.InterfaceError:
        return True
