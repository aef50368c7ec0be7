"""ask, submit and wait by SQL, for programs that wait."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import psycopg
from psycopg.rows import DictRow, dict_row
from tenacity import Retrying

from maas.clients.calls import Call, Look, Reply, Submit
from maas.clients.retrying import policy
from maas.clients.rows import ENDS, LOOK, arguments_of, error_of_state, refuse, reply_of
from shared.db import queries

Connection: TypeAlias = psycopg.Connection[DictRow]


class Rows:
    """Each call has a connection to itself; those that are idle are kept for the next. Threads may share it."""

    def __init__(self, dsn: str, retries: int) -> None:
        self._dsn, self._retries = dsn, retries
        self._idle: list[Connection] = []

    def send(self, call: Call) -> Reply:
        for attempt in Retrying(**policy(self._retries)):
            with attempt:
                try:
                    return self._send(call)
                except psycopg.Error as error:
                    raise error_of_state(_state(error), _message(error), error.diag.column_name) from error
        raise AssertionError("tenacity returns or raises")

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _send(self, call: Call) -> Reply:
        if isinstance(call, Submit):
            with self._connection() as connection:
                _execute(connection, "client_insert", *arguments_of(call.run))
            return reply_of({"request_id": call.run.id}, str(call.run.id))
        if isinstance(call, Look):
            with self._connection() as connection:
                row = _look(connection, call)
            return reply_of(row, call.run_id)
        raise refuse(call)

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
        connection = psycopg.connect(self._dsn, autocommit=True, row_factory=dict_row, connect_timeout=10)
        connection.cursor_factory = psycopg.RawCursor
        return connection


def _look(connection: Connection, call: Look) -> DictRow | None:
    """Listens only as long as it waits: who listens and does not read holds up the notifications of all."""
    end = time.monotonic() + call.waits
    if call.waits:
        _execute(connection, "client_listen")
    while True:
        row = _execute(connection, "client_look", call.run_id).fetchone()
        left = end - time.monotonic()
        if row is None or row["status"] in ENDS or left <= 0:
            break
        for notice in connection.notifies(timeout=min(left, LOOK)):
            if call.run_id in notice.payload:
                break
    if call.waits:
        _execute(connection, "client_unlisten")
    return row


def _execute(connection: Connection, query: str, *args: Any) -> psycopg.Cursor[DictRow]:
    return connection.execute(queries()[query].encode(), args or None)


def _state(error: psycopg.Error) -> str | None:
    """What psycopg refuses by itself has no SQLSTATE and is no lost connection."""
    is_lost = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate or (None if is_lost else "22000")


def _message(error: psycopg.Error) -> str:
    return error.diag.message_primary or str(error).strip() or type(error).__name__
