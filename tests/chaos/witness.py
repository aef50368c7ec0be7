"""What the run itself asks and tells the database; while Postgres is down it asks again."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import asyncpg

from shared.db import CONNECTION_LOST
from shared.errors import MaasError
from shared.hosts import connect_to_first

TIMEOUT_S = 60.0
PAUSE = 0.1
_NAME = re.compile(r"^-- name: (\w+)[^\n]*\n", re.MULTILINE)


@cache
def statements() -> dict[str, str]:
    """Every statement of this folder by the name in its `-- name:` line."""
    parts = [_NAME.split(path.read_text(encoding="utf-8")) for path in sorted(Path(__file__).parent.glob("*.sql"))]
    return {name: text.strip() for part in parts for name, text in zip(part[1::2], part[2::2], strict=True)}


class Witness:
    """A connection a question, so that no loss of one matters."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn

    async def rows(self, name: str, *args: object) -> list[asyncpg.Record]:
        """What the named statement gives. Raises MaasError('postgres_gone') when there is no answer for a minute."""
        end = time.monotonic() + TIMEOUT_S
        while True:
            try:
                connection = await connect_to_first(self.dsn, timeout=5)
                try:
                    return list(await connection.fetch(statements()[name], *args))
                finally:
                    connection.terminate()
            except CONNECTION_LOST as error:
                if time.monotonic() > end:
                    raise MaasError(
                        "postgres_gone", f"Postgres has been away for {TIMEOUT_S:.0f} s: {error}"
                    ) from error
                await asyncio.sleep(PAUSE)

    async def value(self, name: str, *args: object) -> Any:
        return (await self.rows(name, *args))[0][0]

    async def tell(self, table: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Fill a table of the run; at its end, when nothing is broken any more."""
        connection = await asyncpg.connect(self.dsn, timeout=5)
        try:
            await connection.copy_records_to_table(table, records=rows)
        finally:
            await connection.close(timeout=5)
