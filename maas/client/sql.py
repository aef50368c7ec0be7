"""Submitting runs and waiting for them by SQL, without a server: the blocking and the asyncio transport."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg
import psycopg
from psycopg.rows import DictRow, dict_row
from tenacity import AsyncRetrying, Retrying

from .calls import END_STATUSES, ApiCall, ApiReply, GetRun, RunRow, SubmitRun, retry_policy
from .results import ClientError, Event, Forbidden, InvalidRequest, NotFound, RateLimited, Unavailable

CHANNEL = "pipeline_events"
CONNECT_TIMEOUT_S = 10
POLL_INTERVAL_S = 1.0  # in case a notification is lost
POOL_SIZE = 4
STATEMENT_TIMEOUT_S = 60
PRIORITIES = {"high": 1, "normal": 0, "low": -1}  # as in the column
_NAME = re.compile(r"^-- name: (\w++)[^\n]*+\n", re.MULTILINE)
_PARTS = _NAME.split(Path(__file__).with_name("statements.sql").read_text(encoding="utf-8"))
STATEMENTS = dict(zip(_PARTS[1::2], _PARTS[2::2], strict=True))  # by name
CONNECTION_LOST = (
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # of a connection whose end was announced and not yet processed
    OSError,
    TimeoutError,
)
Connection: TypeAlias = psycopg.Connection[DictRow]
# Beginnings of SQLSTATEs
_TEMPORARY = ("08", "25006", "40", "53", "57")  # connections, failover, deadlocks, resources, operators
_INVALID = ("22", "23")


class SqlTransport:
    """Blocking transport: each call has a connection to itself, idle ones are kept. Threads may share it."""

    def __init__(self, dsn: str, retries: int) -> None:
        self._dsn, self._retries = dsn, retries
        self._idle: list[Connection] = []

    def send(self, call: ApiCall) -> ApiReply:
        for attempt in Retrying(**retry_policy(self._retries)):
            with attempt:
                try:
                    return self._send(call)
                except psycopg.Error as error:
                    raise _error_of(_sqlstate(error), _message(error), error.diag.column_name) from error
        raise AssertionError("tenacity returns or raises")

    def events(self, run_id: str, last_event_id: str) -> Iterator[Event]:
        raise _needs_server("GET", f"/v1/runs/{run_id}/events")

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _send(self, call: ApiCall) -> ApiReply:
        if isinstance(call, SubmitRun):
            with self._connection() as connection:
                _execute(connection, "client_insert", *_insert_args(call.row))
                joined = call.row.debounce and _execute(connection, "client_joined", call.row.id).fetchone()
            return _reply_of({"request_id": joined["run_id"] if joined else call.row.id}, str(call.row.id))
        if isinstance(call, GetRun):
            with self._connection() as connection:
                row = _wait_for_end(connection, call)
            return _reply_of(row, call.run_id)
        raise _needs_server(call.method, call.path)

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        connection = self._idle.pop() if self._idle else self._open()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)

    def _open(self) -> Connection:
        connection = psycopg.connect(
            self._dsn, autocommit=True, row_factory=dict_row, connect_timeout=CONNECT_TIMEOUT_S
        )
        connection.cursor_factory = psycopg.RawCursor
        return connection


class AsyncSqlTransport:
    """asyncio transport: a pool for all calls and one LISTEN connection for all waiters, opened on first use."""

    def __init__(self, dsn: str, retries: int) -> None:
        self._dsn, self._retries = dsn, retries
        self._opening = asyncio.Lock()
        self._pool: asyncpg.Pool | None = None
        self._listener: asyncpg.Connection | None = None
        self._waiters: dict[str, set[asyncio.Event]] = defaultdict(set)  # by run id

    async def send(self, call: ApiCall) -> ApiReply:
        async for attempt in AsyncRetrying(**retry_policy(self._retries)):
            with attempt:
                try:
                    return await self._send(call)
                except asyncpg.PostgresError as error:
                    raise _error_of(error.sqlstate, error.message or str(error), error.column_name) from error
                except CONNECTION_LOST as error:
                    raise _error_of(None, str(error) or type(error).__name__, None) from error
        raise AssertionError("tenacity returns or raises")

    def events(self, run_id: str, last_event_id: str) -> AsyncGenerator[Event, None]:
        raise _needs_server("GET", f"/v1/runs/{run_id}/events")

    def stream(self, call: ApiCall) -> AsyncGenerator[Event, None]:
        raise _needs_server(call.method, call.path)

    async def close(self) -> None:
        if self._listener is not None:
            await self._listener.close()
        if self._pool is not None:
            await self._pool.close()

    async def _send(self, call: ApiCall) -> ApiReply:
        if isinstance(call, SubmitRun):
            pool = await self._open()
            await pool.execute(STATEMENTS["client_insert"], *_insert_args(call.row))
            joined = call.row.debounce and await pool.fetchval(STATEMENTS["client_joined"], call.row.id)
            return _reply_of({"request_id": joined or call.row.id}, str(call.row.id))
        if isinstance(call, GetRun):
            return await self._wait_for_end(await self._open(), call)
        raise _needs_server(call.method, call.path)

    async def _wait_for_end(self, pool: asyncpg.Pool, call: GetRun) -> ApiReply:
        deadline, notified = time.monotonic() + call.long_poll_s, asyncio.Event()
        if call.long_poll_s:
            await self._listen()
        self._waiters[call.run_id].add(notified)
        try:
            while True:
                row = await pool.fetchrow(STATEMENTS["client_look"], call.run_id)
                left_s = deadline - time.monotonic()
                if row is None or row["status"] in END_STATUSES or left_s <= 0:
                    return _reply_of(row, call.run_id)
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left_s, POLL_INTERVAL_S)):
                        await notified.wait()
                notified.clear()
        finally:
            self._waiters[call.run_id].discard(notified)
            if not self._waiters[call.run_id]:
                del self._waiters[call.run_id]

    async def _open(self) -> asyncpg.Pool:
        async with self._opening:
            if self._pool is None:
                self._pool = await asyncpg.create_pool(
                    self._dsn, min_size=1, max_size=POOL_SIZE, init=_prepare, **_connection_options("maas client")
                )
            return self._pool

    async def _listen(self) -> None:
        async with self._opening:
            if self._listener is None or self._listener.is_closed():
                self._listener = await asyncpg.connect(self._dsn, **_connection_options("maas client listener"))
                await self._listener.add_listener(CHANNEL, self._on_notify)

    def _on_notify(self, _: object, __: int, ___: str, payload: Any) -> None:
        for notified in self._waiters.get(json.loads(payload)["id"], ()):
            notified.set()


def _connection_options(name: str) -> dict[str, Any]:
    """Arguments of asyncpg's connect; `name` is shown in pg_stat_activity."""
    return {
        "timeout": CONNECT_TIMEOUT_S,
        "command_timeout": STATEMENT_TIMEOUT_S,
        "server_settings": {"application_name": name},
    }


async def _prepare(connection: asyncpg.Connection) -> None:
    """Read jsonb as Python values."""
    await connection.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")


def _wait_for_end(connection: Connection, call: GetRun) -> DictRow | None:
    """The run at its end, or after `long_poll_s` seconds; None if there is no such run.

    It listens only while it waits: a session that listens and does not read holds up everybody's notifications.
    """
    deadline = time.monotonic() + call.long_poll_s
    if call.long_poll_s:
        _execute(connection, "client_listen")
    while True:
        row = _execute(connection, "client_look", call.run_id).fetchone()
        left_s = deadline - time.monotonic()
        if row is None or row["status"] in END_STATUSES or left_s <= 0:
            break
        for notification in connection.notifies(timeout=min(left_s, POLL_INTERVAL_S)):
            if call.run_id in notification.payload:
                break
    if call.long_poll_s:
        _execute(connection, "client_unlisten")
    return row


def _execute(connection: Connection, name: str, *args: Any) -> psycopg.Cursor[DictRow]:
    return connection.execute(STATEMENTS[name].encode(), args or None)


def _insert_args(row: RunRow) -> tuple[Any, ...]:
    """Arguments of the query client_insert. Raises InvalidRequest for a priority that there is not."""
    if row.priority is not None and row.priority not in PRIORITIES:
        raise InvalidRequest("invalid_request", f"priority: must be one of {', '.join(PRIORITIES)}")
    return (
        row.id,
        row.user_id,
        row.query,
        row.assistant,
        row.conversation_id,
        row.mode,
        _json(row.metadata),
        [str(one) for one in row.attachment_ids],
        None if row.priority is None else PRIORITIES[row.priority],
        row.run_at,
        _json(row.attributes),
        row.debounce,
    )


def _json(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(dict(value), ensure_ascii=False)


def _reply_of(row: Mapping[str, Any] | None, run_id: str) -> ApiReply:
    """A row in the form of the HTTP reply. Raises NotFound."""
    if row is None:
        raise NotFound("not_found", f"there is no run {run_id}")
    return ApiReply(json.dumps(dict(row), default=str).encode())


def _needs_server(method: str, path: str) -> ClientError:
    return InvalidRequest(
        "needs_url",
        f"{method} {path} needs a server: use MaaS(url=...). With dsn there are ask, submit and wait only, "
        "and user_id must be a UUID",
    )


def _sqlstate(error: psycopg.Error) -> str | None:
    """The SQLSTATE; None for a lost connection. What psycopg itself refuses has none and counts as bad data."""
    is_lost = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate or (None if is_lost else "22000")


def _message(error: psycopg.Error) -> str:
    return error.diag.message_primary or str(error).strip() or type(error).__name__


def _error_of(sqlstate: str | None, message: str, column: str | None) -> ClientError:
    """The error that a SQLSTATE stands for; None means that the connection is lost."""
    if sqlstate is None or sqlstate.startswith(_TEMPORARY):
        return Unavailable("database_unreachable", f"Postgres does not answer ({message}); check the dsn")
    if sqlstate == "23503" and column in ("conversation_id", "attachment_ids"):
        return NotFound("not_found", message)
    if sqlstate == "23503":
        return InvalidRequest("unknown_assistant", message)
    if sqlstate.startswith(_INVALID):
        return InvalidRequest("invalid_request", message)
    if sqlstate == "MQ001":
        return Forbidden("quota_exceeded", message)
    if sqlstate == "MQ002":
        return RateLimited("queue_full", message)
    if sqlstate == "42501":
        return Forbidden("forbidden", message)
    return ClientError("sql_error", f"{sqlstate}: {message}")
