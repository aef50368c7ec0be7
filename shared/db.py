"""Postgres for asyncio: named queries, a pool that speaks JSON, and errors that say what to do."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import structlog

from shared.errors import MaasError
from shared.log import mask
from shared.pooler import FORGOTTEN, check_pooler, forgetful

Answer = TypeVar("Answer")
log = structlog.get_logger()
SQL = Path(__file__).resolve().parent.parent / "sql"
_NAME = re.compile(r"^-- name: (\w++)[^\n]*+\n", re.MULTILINE)

CONNECTION_LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # what a connection says whose end was announced and not yet seen
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
    OSError,
)
AWAY = (
    asyncpg.PostgresConnectionError, asyncpg.InterfaceError, asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError, asyncpg.InsufficientResourcesError, OSError,
)  # fmt: skip
LONGEST_PAUSE_S = 5.0
CONNECT_TIMEOUT_S = 10.0
RENEWAL_GRACE_S = 0.5
RECONNECT_TIMEOUT_S = 3.0  # an attempt that began in a cut network does not arrive when the network is back
NOT_THERE = (
    asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError, asyncpg.UndefinedFunctionError,
    asyncpg.UndefinedObjectError,
)  # fmt: skip
LONG_STATEMENT_S = 600.0
BAD_DATA = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError)


class SlowStatement(MaasError, asyncpg.QueryCanceledError):  # type: ignore[misc]
    """A statement was stopped by its limit of time, so that nothing of it is there; its connection is still good."""

    def __init__(self) -> None:
        super().__init__(
            "statement_timeout",
            "the database took too long and was stopped, nothing was changed; send it again later, or less at once "
            "(an operator can raise MAAS_STATEMENT_TIMEOUT)",
            {"retry_after": 5},
        )


@contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        yield
    except asyncpg.QueryCanceledError as error:
        raise SlowStatement from error


@cache
def queries() -> Mapping[str, str]:
    """Every query of sql/queries, by the name in its `-- name:` line."""
    found: dict[str, str] = {}
    for path in sorted((SQL / "queries").glob("*.sql")):
        parts = _NAME.split(path.read_text(encoding="utf-8"))
        for name, text in zip(parts[1::2], parts[2::2], strict=True):
            if name in found:
                raise ValueError(f"two queries are named {name}")
            found[name] = text.strip()
    return found


@cache
def newest_migration() -> str:
    """The name of the last file of sql/migrations, as the database records it."""
    return max(path.stem for path in (SQL / "migrations").glob("*.sql"))


async def prepare(connection: asyncpg.Connection) -> None:
    """Make json and jsonb Python values on this connection."""
    for kind in ("json", "jsonb"):
        await connection.set_type_codec(kind, encoder=_to_json, decoder=json.loads, schema="pg_catalog")


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


async def connect(dsn: str, *, timeout: float = CONNECT_TIMEOUT_S, **options: Any) -> asyncpg.Connection:
    """Open one connection, within `timeout` seconds. Raises MaasError('database_unreachable')."""
    try:
        connection = await asyncpg.connect(dsn, timeout=timeout, **options)
        await prepare(connection)
    except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as error:
        raise unreachable(error) from error
    return connection


async def when_there(work: Callable[[], Awaitable[Answer]]) -> Answer:
    """What `work` gives, begun again while Postgres is away. Raises what else it fails of, a wrong password for one."""
    pause = 0.1
    while True:
        try:
            return await work()
        except (MaasError, *AWAY) as error:
            cause = error.__cause__ if isinstance(error, MaasError) and error.code == "database_unreachable" else error
            if not isinstance(cause, AWAY) or isinstance(cause, ValueError):
                raise
            log.warning("database_away", cause=mask(repr(cause)), again_in=round(pause, 1))
        await asyncio.sleep(pause * (0.5 + random.random()))
        pause = min(pause * 2, LONGEST_PAUSE_S)


def unreachable(error: BaseException) -> MaasError:
    """The one sentence for a database that does not answer."""
    if isinstance(error, FORGOTTEN):
        return forgetful()
    cause = mask(str(error)) or type(error).__name__
    return MaasError(
        "database_unreachable", f"Postgres does not answer ({cause}); check DATABASE_URL or run `maas doctor`"
    )


async def _prepare_for_pool(statement_timeout: float | None, connection: asyncpg.Connection) -> None:
    """A plan is made once a connection and kept: most queries probe by key, and cost less than to plan them again."""
    await prepare(connection)
    await connection.execute("set plan_cache_mode = force_generic_plan")
    await connection.execute(queries()["notice_dead_peer"])
    if statement_timeout is not None:
        await connection.execute(queries()["limit_statements"], str(round(statement_timeout * 1000)))


async def _keep(_: asyncpg.Connection) -> None:
    """Nothing to undo: single statements leave nothing in a session, and asyncpg's own reset is a round trip each."""


class Transaction:
    """The named queries within one transaction: all of it is kept or nothing."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._timeout: float | None = None

    async def allow_long_statements(self) -> None:
        """From now on a statement may take `LONG_STATEMENT_S`."""
        await self.value("lift_limit_of_statements")
        self._timeout = LONG_STATEMENT_S

    async def row(self, query: str, *args: object) -> asyncpg.Record | None:
        return await self._connection.fetchrow(queries()[query], *args, timeout=self._timeout)

    async def value(self, query: str, *args: object) -> Any:
        return await self._connection.fetchval(queries()[query], *args, timeout=self._timeout)

    async def stream(self, query: str, *args: object, prefetch: int = 100) -> AsyncIterator[asyncpg.Record]:
        """Row after row, `prefetch` at a time in memory."""
        async for row in self._connection.cursor(queries()[query], *args, prefetch=prefetch):
            yield row


class Database:
    """A pool and the named queries. No connection is held between two calls, but for a transaction."""

    def __init__(self, pool: asyncpg.Pool, open_pool: Callable[[float], Awaitable[asyncpg.Pool]]) -> None:
        self._pool = pool
        self._open_pool = open_pool
        self._turns: dict[tuple[object, ...], asyncio.Lock] = {}
        self._upcoming: dict[tuple[object, ...], asyncio.Task[list[asyncpg.Record]]] = {}

    async def renew(self) -> None:
        """Open new connections in the place of all, which may hang in a cut network. Raises MaasError.

        Queries in flight have `RENEWAL_GRACE_S` to end; one that hangs would hold its connection for minutes.
        """
        old, self._pool = self._pool, await self._open_pool(RECONNECT_TIMEOUT_S)
        await _close(old, RENEWAL_GRACE_S)

    async def check_pooler(self) -> None:
        """Raise MaasError('bad_pooler') for one that we cannot work with."""
        async with self._pool.acquire() as one, self._pool.acquire() as other:
            await check_pooler(one, other, queries()["session"])

    async def close(self) -> None:
        """Let queries end for five seconds, then drop them."""
        await _close(self._pool, 5)

    @property
    def connections(self) -> tuple[int, int]:
        """Those of the pool that are open, and those of them that are in use."""
        is_open = self._pool.get_size()
        return is_open, is_open - self._pool.get_idle_size()

    async def rows(self, query: str, *args: object) -> list[asyncpg.Record]:
        with _clear_errors():
            return list(await self._pool.fetch(queries()[query], *args))

    async def shared_rows(self, query: str, *args: Hashable) -> list[asyncpg.Record]:
        """Rows that many ask for at one moment: they share one answer, which is never older than the question."""
        key = (query, *args)
        task = self._upcoming.get(key)
        if task is None:
            task = self._upcoming[key] = asyncio.create_task(self._ask(key, query, *args))
        return await asyncio.shield(task)

    async def _ask(self, key: tuple[object, ...], query: str, *args: object) -> list[asyncpg.Record]:
        async with self._turns.setdefault(key, asyncio.Lock()):
            del self._upcoming[key]  # who comes from now on needs an answer that is newer than this one
            return await self.rows(query, *args)

    async def row(self, query: str, *args: object) -> asyncpg.Record | None:
        with _clear_errors():
            return await self._pool.fetchrow(queries()[query], *args)

    async def value(self, query: str, *args: object) -> Any:
        with _clear_errors():
            return await self._pool.fetchval(queries()[query], *args)

    async def long_value(self, query: str, *args: object) -> Any:
        """The same of a statement that goes through all that a user has, and may take minutes."""
        async with self.transaction() as transaction:
            await transaction.allow_long_statements()
            return await transaction.value(query, *args)

    @asynccontextmanager
    async def transaction(self, **options: Any) -> AsyncIterator[Transaction]:
        """All that is done in it commits or vanishes; `options` are asyncpg's. Await no client and no model in it."""
        with _clear_errors():
            async with self._pool.acquire() as connection, connection.transaction(**options):
                yield Transaction(connection)


async def _close(pool: asyncpg.Pool, seconds: float) -> None:
    """Close it when its queries have ended, after so many seconds in any case."""
    closing = asyncio.create_task(pool.close())
    await asyncio.wait([closing], timeout=seconds)
    if not closing.done():
        pool.terminate()
        closing.cancel()


class ReadOnly(Database):
    """The same, but Postgres refuses every write; asked of each transaction, since a pooler shares its sessions."""

    async def rows(self, query: str, *args: object) -> list[asyncpg.Record]:
        with _clear_errors():
            async with self._pool.acquire() as connection, connection.transaction(readonly=True):
                return list(await connection.fetch(queries()[query], *args))

    async def row(self, query: str, *args: object) -> asyncpg.Record | None:
        async with self.transaction() as transaction:
            return await transaction.row(query, *args)

    async def value(self, query: str, *args: object) -> Any:
        async with self.transaction() as transaction:
            return await transaction.value(query, *args)

    @asynccontextmanager
    async def transaction(self, **options: Any) -> AsyncIterator[Transaction]:
        async with super().transaction(**options | {"readonly": True}) as transaction:
            yield transaction


@asynccontextmanager
async def open_database(
    dsn: str, size: int, name: str, *, least: int = 1, kind: type[Database] = Database,
    statement_timeout: float | None = None,
) -> AsyncIterator[Database]:  # fmt: skip
    """A pool of `least` to `size` connections, seen as `name` in pg_stat_activity. Raises MaasError.

    A statement that takes more than `statement_timeout` seconds ends as a SlowStatement.
    """
    options = {"command_timeout": 60, "server_settings": {"application_name": name}}

    async def open_pool(timeout: float) -> asyncpg.Pool:
        try:
            pool = await asyncpg.create_pool(
                dsn,
                min_size=least,
                max_size=size,
                init=partial(_prepare_for_pool, statement_timeout),
                reset=_keep,
                timeout=timeout,
                **options,
            )
        except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as error:
            raise unreachable(error) from error
        pool.set_connect_args(dsn, timeout=RECONNECT_TIMEOUT_S, **options)
        return pool

    db = kind(await open_pool(CONNECT_TIMEOUT_S), open_pool)
    try:
        yield db
    finally:
        await db.close()
