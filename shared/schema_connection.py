"""The connection of a migration: it names the server that it cannot reach, and the file and line of an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row

from shared.errors import MaasError
from shared.log import mask
from shared.query import own_query

LOCK_KEY = 0x6D616173
TABLE_TIMEOUT_S = 0.5  # what all others wait for a table that a migration waits for
CONNECT_TIMEOUT_S = 10
MINIMUM_POSTGRES = 15

Connection = psycopg.Connection[DictRow]


def lock_schema(connection: Connection, timeout_s: float) -> None:
    """Lock out other migrations until the transaction ends, which it does with its process, also behind a pooler.

    Raises MaasError('migrations_locked') after `timeout_s` seconds.
    """
    query(connection, "limit_lock_wait", str(int(timeout_s * 1000)))
    try:
        query(connection, "lock_schema", LOCK_KEY)
    except psycopg.errors.LockNotAvailable as error:
        raise MaasError(
            "migrations_locked",
            f"another process has migrated this database for more than {timeout_s:.0f} s; wait for it or stop it, "
            "then try again",
        ) from error
    query(connection, "limit_lock_wait", str(int(TABLE_TIMEOUT_S * 1000)))


@contextmanager
def described(dsn: str, connection: Connection, name: str, text: str = "", at: int = 0) -> Iterator[None]:
    """Raise an error of Postgres as MaasError('migration_failed') that names file and line, or `database_unreachable`.

    `at` is the character of the file at which the statement begins.
    """
    try:
        yield
    except psycopg.errors.LockNotAvailable:
        raise
    except psycopg.Error as error:
        if connection.broken:
            raise _unreachable(dsn, error) from error
        position = error.diag.statement_position
        line = (
            f".sql line {text[: at + int(position)].count(chr(10)) + 1}"
            if text and position and position.isdigit()
            else ""
        )
        raise MaasError(
            "migration_failed",
            f"{name}{line}: {error.diag.message_primary or error}; nothing was changed: correct it, or migrate as a "
            "database user with the rights to (the owner of the database)",
            {"sqlstate": error.sqlstate, "detail": error.diag.message_detail, "hint": error.diag.message_hint},
        ) from error


def query(connection: Connection, name: str, *args: object) -> list[DictRow]:
    """Execute a query of `sql/queries`; return its rows, and none of a statement that returns nothing."""
    cursor = psycopg.RawCursor(connection, row_factory=dict_row)
    cursor.execute(own_query(name).text.encode(), args or None)
    return cursor.fetchall() if cursor.description is not None else []


def value_of(connection: Connection, name: str) -> bool:
    """Return the one boolean that a query of `sql/queries` returns."""
    (row,) = query(connection, name)
    return bool(next(iter(row.values())))


def connect(dsn: str) -> Connection:
    """Open a connection. Raises MaasError: `database_unreachable`, `postgres_too_old`."""
    try:
        connection = psycopg.connect(dsn, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S, row_factory=dict_row)
    except psycopg.Error as error:
        raise _unreachable(dsn, error) from error
    if connection.info.server_version < MINIMUM_POSTGRES * 10_000:
        version = connection.info.server_version // 10_000
        connection.close()
        raise MaasError(
            "postgres_too_old", f"the server is Postgres {version}; MaaS needs {MINIMUM_POSTGRES} or later: upgrade it"
        )
    return connection


def _unreachable(dsn: str, error: psycopg.Error) -> MaasError:
    try:
        parts = conninfo_to_dict(dsn)
        where = f"{parts.get('host') or 'the local socket'}:{parts.get('port') or 5432}/{parts.get('dbname') or ''}"
    except psycopg.Error:
        where = "the address given"
    reason = mask(re.sub(r"\s+", " ", str(error)).strip())
    return MaasError(
        "database_unreachable",
        f"cannot use the database at {where} ({reason}); start that server or correct DATABASE_URL, or unset it to use "
        "the embedded one",
    )
