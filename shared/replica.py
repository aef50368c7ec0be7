"""Reads of a hot standby that are never older than their call: this file alone decides which server answers a read.

    read -- how far is the primary's log? -- has the standby replayed that? -- yes: standby
                                                                            -- not in MAX_LAG_S, or it is away: primary

So a caller reads its own writes, whoever made them: this process, another server, an orchestrator, a client of SQL.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import asyncpg
import structlog

from shared.connections import ConnectionPool
from shared.db import CONNECTION_LOST, Database, open_database
from shared.errors import MaasError
from shared.log import mask
from shared.query import Args, Query, Row, Value, own_query
from shared.transaction import Transaction

MAX_LAG_S = 0.5  # a read waits so long for the standby
POLL_INTERVAL_S = 0.002
PAUSE_S = 2.0  # a standby that was away, or too far behind, is asked again after that
Result = TypeVar("Result")
log = structlog.get_logger()


class Replica(Database):
    """The read-only queries of `primary`, answered by its standby where that is as new.

    It must be one server: another standby behind the same address may be further behind than the one that was asked.
    """

    def __init__(
        self, primary: Database, pool: ConnectionPool, open_pool: Callable[[float], Awaitable[ConnectionPool]]
    ) -> None:
        super().__init__(pool, open_pool)
        self._primary = primary
        self._paused_until = 0.0

    async def rows(self, query: Query[Row, *Args], *args: *Args) -> list[Row]:
        """Return all rows, of the standby, else of the primary. Raises SlowStatement."""
        return await self._read(partial(super().rows, query, *args), partial(self._primary.rows, query, *args))

    async def row(self, query: Query[Row, *Args], *args: *Args) -> Row | None:
        """Return the first row, None without one, as `rows`."""
        return await self._read(partial(super().row, query, *args), partial(self._primary.row, query, *args))

    async def value(self, query: Value[Result, Any, *Args], *args: *Args) -> Result | Any:
        """Return the first column of the first row, None without one, as `rows`."""
        return await self._read(partial(super().value, query, *args), partial(self._primary.value, query, *args))

    @asynccontextmanager
    async def transaction(self, **options: Any) -> AsyncIterator[Transaction]:
        """Run the block in a transaction of one of both servers; it is not repeated if that server is lost."""
        begin = super().transaction if await self._is_current() else self._primary.transaction
        async with begin(**options) as transaction:
            yield transaction

    async def _read(
        self, on_standby: Callable[[], Awaitable[Result]], on_primary: Callable[[], Awaitable[Result]]
    ) -> Result:
        if await self._is_current():
            try:
                return await on_standby()
            except CONNECTION_LOST as error:
                self._pause(error)
        return await on_primary()

    async def _is_current(self) -> bool:
        """Return whether the standby has all that was committed before this call; wait for it up to MAX_LAG_S."""
        if self._paused_until:
            if time.monotonic() < self._paused_until:
                return False
            self._paused_until = time.monotonic() + PAUSE_S  # the others do not wait for the answer
        try:
            async with asyncio.timeout(MAX_LAG_S):
                position = (await self._primary.shared_rows(own_query("log_position")))[0]["position"]
                while not await self._has_replayed(position):
                    await asyncio.sleep(POLL_INTERVAL_S)
        except (MaasError, asyncpg.PostgresError, ValueError, *CONNECTION_LOST) as error:
            self._pause(error)
            return False
        self._paused_until = 0.0
        return True

    async def _has_replayed(self, position: int) -> bool:
        standby = await super().row(own_query("log_position"))
        assert standby is not None
        if not standby["is_standby"]:  # the data of another primary may be anybody's
            raise MaasError("bad_setting", "the server of MAAS_READ_DATABASE_URL is no hot standby")
        return bool(standby["position"] >= position)

    def _pause(self, error: BaseException) -> None:
        self._paused_until = time.monotonic() + PAUSE_S
        cause = f"not up to date within {MAX_LAG_S} s" if isinstance(error, TimeoutError) else mask(repr(error))
        log.warning("standby_not_read", cause=cause, hint="the primary answers; see MAAS_READ_DATABASE_URL")


@asynccontextmanager
async def open_replica(
    primary: Database, dsn: str | None, size: int, name: str, **options: Any
) -> AsyncIterator[Database]:
    """Yield what read-only queries of `primary` go to: the standby at `dsn`, or `primary` itself without one.

    The standby need not be there; `options` are those of `open_database`.
    """
    if dsn is None:
        yield primary
        return
    async with open_database(dsn, size, name, min_size=0, kind=partial(Replica, primary), **options) as replica:
        yield replica
