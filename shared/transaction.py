"""The named queries within one transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, TypeVar

import asyncpg

from shared.query import Args, Query, Row, Value, own_query

Result = TypeVar("Result")
LONG_STATEMENT_TIMEOUT_S = 600.0


class Transaction:
    """One connection of a pool until its transaction ends."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._timeout: float | None = None

    async def allow_long_statements(self) -> None:
        """Raise the timeout of the following statements to `LONG_STATEMENT_TIMEOUT_S`."""
        await self.value(own_query("lift_limit_of_statements"))
        self._timeout = LONG_STATEMENT_TIMEOUT_S

    async def plan_for_values(self) -> None:
        """Plan the following statements for their values, not each once for all."""
        await self.value(own_query("plan_for_values"))

    async def rows(self, query: Query[Row, *Args], *args: *Args) -> list[Row]:
        """Return all rows."""
        return list(await self._connection.fetch(query.text, *args, timeout=self._timeout))

    async def row(self, query: Query[Row, *Args], *args: *Args) -> Row | None:
        """Return the first row, None without one."""
        row: Row | None = await self._connection.fetchrow(query.text, *args, timeout=self._timeout)
        return row

    async def value(self, query: Value[Result, Any, *Args], *args: *Args) -> Result | Any:
        """Return the first column of the first row, None without one."""
        return await self._connection.fetchval(query.text, *args, timeout=self._timeout)

    async def stream(self, query: Query[Row, *Args], *args: *Args, prefetch: int = 100) -> AsyncIterator[Row]:
        """Yield row after row, with `prefetch` rows at a time in memory."""
        async for row in self._connection.cursor(query.text, *args, prefetch=prefetch):
            yield row
