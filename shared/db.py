"""Postgres for asyncio: named queries, a connection pool with JSON codecs, errors that say what to do.

A pooler in front of Postgres that shares sessions must support prepared statements and transactions.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, TypeVar

import asyncpg
import structlog

from shared.connections import ConnectionPool
from shared.errors import Backoff, MaasError
from shared.hosts import connect_to_first
from shared.log import mask
from shared.pooler import POOLER_ADVICE, UNKNOWN_STATEMENT, check_pooler, no_prepared_statements
from shared.query import Args, Query, Row, Value, own_query
from shared.shared_reads import SharedReads
from shared.transaction import Transaction

Result = TypeVar("Result")
log = structlog.get_logger()

UNAVAILABLE = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # of a connection whose end was announced and not yet processed
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.ReadOnlySQLTransactionError,  # a standby, which another server or itself will replace
    OSError,
)
CONNECTION_LOST = (*UNAVAILABLE, asyncpg.TransactionRollbackError)
NOT_OPENED = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, ValueError)
LOST_IN_A_COMMIT = (  # of UNAVAILABLE: what was sent may have taken effect
    asyncpg.ConnectionDoesNotExistError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    ConnectionError,
    TimeoutError,
)
FIRST_BACKOFF_S, MAX_BACKOFF_S = 0.1, 5.0
CONNECT_TIMEOUT_S = 10.0
RENEWAL_GRACE_S = 0.5
COMMIT_TIMEOUT_S = 2.0
CLOSE_GRACE_S = 5.0
RECONNECT_TIMEOUT_S = 3.0  # an attempt that began while the network was down does not arrive later
UNDEFINED_IN_SCHEMA = (
    asyncpg.UndefinedTableError,
    asyncpg.UndefinedColumnError,
    asyncpg.UndefinedFunctionError,
    asyncpg.UndefinedObjectError,
    asyncpg.InvalidSchemaNameError,
)
IDLE_LIFETIME_S = 300.0


class SlowStatement(MaasError, asyncpg.QueryCanceledError):  # type: ignore[misc]
    """A statement exceeded its timeout and was rolled back; the connection is still usable."""

    def __init__(self) -> None:
        super().__init__(
            "statement_timeout",
            "the database took too long and was stopped, nothing was changed; send it again later, or less at once "
            "(an operator can raise MAAS_STATEMENT_TIMEOUT)",
            {"retry_after": 5},
        )


@contextmanager
def _statement_errors() -> Iterator[None]:
    try:
        yield
    except asyncpg.QueryCanceledError as error:
        raise SlowStatement from error


async def prepare(connection: asyncpg.Connection) -> None:
    """Set the codecs of json and jsonb on this connection to Python values."""
    for kind in ("json", "jsonb"):
        await connection.set_type_codec(kind, encoder=_to_json, decoder=json.loads, schema="pg_catalog")


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


async def connect(dsn: str, *, timeout: float = CONNECT_TIMEOUT_S, **options: Any) -> asyncpg.Connection:
    """Open one connection, within `timeout` seconds. Raises MaasError('database_unreachable')."""
    try:
        connection = await connect_to_first(dsn, timeout=timeout, **options)
        await prepare(connection)
    except NOT_OPENED as error:
        raise unreachable(error) from error
    return connection


async def wait_for_postgres(work: Callable[[], Awaitable[Result]]) -> Result:
    """Return the result of `work`, repeated with backoff while Postgres is unavailable.

    Raises every other error, such as a wrong password.
    """
    backoff = Backoff(FIRST_BACKOFF_S, MAX_BACKOFF_S)
    while True:
        try:
            return await work()
        except (MaasError, *UNAVAILABLE) as error:
            cause = error.__cause__ if isinstance(error, MaasError) and error.code == "database_unreachable" else error
            if not isinstance(cause, UNAVAILABLE) or isinstance(cause, ValueError):
                raise
            wait_s = backoff.next_s()
            log.warning("database_unavailable", cause=mask(repr(cause)), again_in=round(wait_s, 1))
        await asyncio.sleep(wait_s)


def unreachable(error: BaseException) -> MaasError:
    """Return the error for a database that does not answer."""
    if isinstance(error, UNKNOWN_STATEMENT):
        return no_prepared_statements()
    cause = mask(str(error)) or type(error).__name__
    return MaasError(
        "database_unreachable", f"Postgres does not answer ({cause}); check DATABASE_URL or run `maas doctor`"
    )


def read_only() -> MaasError:
    """Return the error for a database that accepts no changes."""
    return MaasError(
        "database_read_only",
        "the database accepts no changes at the moment: it is a standby, or about to be replaced by one; send the "
        "request again",
        {"retry_after": 1},
    )


async def _prepare_for_pool(statement_timeout: float | None, connection: asyncpg.Connection) -> None:
    await prepare(connection)
    await connection.execute(own_query("set_up_session").text)
    if statement_timeout is not None:
        await connection.execute(own_query("limit_statements").text, str(round(statement_timeout * 1000)))


async def _no_reset(_: asyncpg.Connection) -> None:
    """Skip asyncpg's reset, a round trip each time: single statements leave no state in a session."""


class Database:
    """A connection pool and the named queries; a connection is held during a call or a transaction only."""

    def __init__(self, pool: ConnectionPool, open_pool: Callable[[float], Awaitable[ConnectionPool]]) -> None:
        self._pool = pool
        self._open_pool = open_pool
        self._shared = SharedReads(self.rows)

    async def renew(self) -> None:
        """Replace all connections, which may hang after a network failure. Raises MaasError.

        Queries in flight have `RENEWAL_GRACE_S` to end; one that hangs would hold its connection for minutes.
        """
        old, self._pool = self._pool, await self._open_pool(RECONNECT_TIMEOUT_S)
        await _close(old, RENEWAL_GRACE_S)

    async def check_pooler(self) -> None:
        """Raise MaasError('bad_pooler') for a pooler that loses prepared statements or refuses transactions."""
        try:  # also around the opening of connections, which prepares statements
            async with self._pool.acquire() as one, self._pool.acquire() as other:
                await check_pooler(one, other, own_query("session").text)
        except UNKNOWN_STATEMENT as error:
            raise no_prepared_statements() from error
        except asyncpg.PostgresConnectionError as error:
            if "prepared statement" in str(error):  # another client's statement of that name
                raise no_prepared_statements() from error
            if "transaction" not in str(error):  # not the pooler: Postgres is gone
                raise
            raise MaasError(
                "bad_pooler", f"the pooler before Postgres refuses transactions ({error}); {POOLER_ADVICE}"
            ) from error

    async def check_commits(self) -> None:
        """Raise MaasError for a database that takes no changes: `database_read_only`, or `commit_timeout`."""
        try:
            async with asyncio.timeout(COMMIT_TIMEOUT_S):
                if not await self.value(own_query("try_commit")):
                    raise read_only()
        except TimeoutError as error:
            raise MaasError(
                "commit_timeout",
                f"Postgres answers, but a commit took more than {COMMIT_TIMEOUT_S:.0f} s: look for a synchronous "
                "standby that has stopped (synchronous_standby_names, pg_stat_replication) or a full disk",
                {"retry_after": 5},
            ) from error

    async def close(self) -> None:
        """Close the pool; queries in flight have `CLOSE_GRACE_S` to end."""
        await _close(self._pool, CLOSE_GRACE_S)

    @property
    def connections(self) -> tuple[int, int]:
        """The numbers of open connections and of those in use."""
        return self._pool.open_connections, self._pool.used_connections

    async def rows(self, query: Query[Row, *Args], *args: *Args) -> list[Row]:
        """Return all rows. Raises SlowStatement, and asyncpg's errors, as the methods below."""
        try:  # not _statement_errors, which costs as much as a short query's arguments
            return await self._pool.fetch(query.text, *args)
        except asyncpg.QueryCanceledError as error:
            raise SlowStatement from error

    async def filtered_rows(self, query: Query[Row, *Args], *args: *Args) -> list[Row]:
        """Return all rows of a list that is planned each time, as its filters decide which index serves it."""
        async with self.transaction() as transaction:
            await transaction.plan_for_values()
            return await transaction.rows(query, *args)

    async def shared_rows(self, query: Query[Row, *Args], *args: *Args, version: str | None = None) -> list[Row]:
        """Return rows as `SharedReads.rows` does."""
        return await self._shared.rows(query, *args, version=version)

    async def grouped_rows(self, query: Query[Row, *tuple[Any, ...]], *args: object) -> list[Row]:
        """Return the rows of one call as `SharedReads.grouped_rows` does."""
        return await self._shared.grouped_rows(query, *args)

    async def row(self, query: Query[Row, *Args], *args: *Args) -> Row | None:
        """Return the first row, None without one. Raises SlowStatement."""
        with _statement_errors():
            return await self._pool.fetchrow(query.text, *args)

    async def value(self, query: Value[Result, Any, *Args], *args: *Args) -> Result | Any:
        """Return the first column of the first row, None without one. Raises SlowStatement."""
        with _statement_errors():
            return await self._pool.fetchval(query.text, *args)

    async def long_value(self, query: Value[Result, Any, *Args], *args: *Args) -> Result | Any:
        """Return the value of a statement over all data of a user, which may take minutes."""
        async with self.transaction() as transaction:
            await transaction.allow_long_statements()
            return await transaction.value(query, *args)

    @asynccontextmanager
    async def transaction(self, **options: Any) -> AsyncIterator[Transaction]:
        """Run the block in a transaction; `options` are asyncpg's. The block must not wait for a client or a model."""
        with _statement_errors():
            async with self._pool.acquire() as connection, connection.transaction(**options):
                yield Transaction(connection)


async def _close(pool: ConnectionPool, seconds: float) -> None:
    """Close the pool when its queries have ended, at the latest after so many seconds."""
    closing = asyncio.create_task(pool.close())
    await asyncio.wait([closing], timeout=seconds)
    if not closing.done():
        pool.terminate()
        closing.cancel()


class ReadOnlyDatabase(Database):
    """A Database whose transactions are all read-only; set by transaction, because a pooler shares sessions."""

    async def rows(self, query: Query[Row, *Args], *args: *Args) -> list[Row]:
        async with self.transaction() as transaction:
            return await transaction.rows(query, *args)

    async def row(self, query: Query[Row, *Args], *args: *Args) -> Row | None:
        async with self.transaction() as transaction:
            return await transaction.row(query, *args)

    async def value(self, query: Value[Result, Any, *Args], *args: *Args) -> Result | Any:
        async with self.transaction() as transaction:
            return await transaction.value(query, *args)

    @asynccontextmanager
    async def transaction(self, **options: Any) -> AsyncIterator[Transaction]:
        """Run the block in a read-only transaction; `options` are asyncpg's."""
        async with super().transaction(**options | {"readonly": True}) as transaction:
            yield transaction


@asynccontextmanager
async def open_database(
    dsn: str,
    size: int,
    name: str,
    *,
    min_size: int = 1,
    kind: Callable[[ConnectionPool, Callable[[float], Awaitable[ConnectionPool]]], Database] = Database,
    statement_timeout: float | None = None,
    idle_s: float = IDLE_LIFETIME_S,
) -> AsyncIterator[Database]:
    """Open a pool of `min_size` to `size` connections, named `name` in pg_stat_activity. Raises MaasError.

    A statement that takes more than `statement_timeout` seconds raises SlowStatement. A connection beyond `min_size`
    is closed when it was not used for `idle_s` seconds.
    """
    options = {"command_timeout": 60, "server_settings": {"application_name": name}}

    async def open_pool(timeout: float) -> ConnectionPool:
        try:
            pool = await asyncpg.create_pool(
                dsn,
                connect=connect_to_first,
                min_size=min_size,
                max_size=size,
                init=partial(_prepare_for_pool, statement_timeout),
                reset=_no_reset,
                timeout=timeout,
                max_inactive_connection_lifetime=idle_s,
                **options,
            )
        except NOT_OPENED as error:
            raise unreachable(error) from error
        pool.set_connect_args(dsn, timeout=RECONNECT_TIMEOUT_S, **options)
        return ConnectionPool(pool, size)

    db = kind(await open_pool(CONNECT_TIMEOUT_S), open_pool)
    try:
        yield db
    finally:
        await db.close()
