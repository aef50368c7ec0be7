"""Migrations: the plain SQL files of one folder, applied once each and in the order of their names.

yoyo keeps the record of what is applied. Two things differ from its own command: a file is sent to the server whole,
not cut into statements by a Python parser, and a file and its record are one transaction, so that no kill comes
between them. A file that opens with `-- transactional: false` is left to yoyo's own way.
"""

from __future__ import annotations

import glob
import os
import re
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend
from yoyo.connections import DatabaseURI
from yoyo.migrations import (
    Migration,
    StepCollector,
    default_migration_table,
    parse_metadata_from_sql_comments,
    read_migrations,
)

from shared.errors import MaasError
from shared.log import mask

LOCK_KEY = 0x6D616173
OLDEST = 15
CONNECT_PATIENCE = 10


def migrate(dsn: str, folder: Path, *, lock_patience: float = 120.0) -> list[str]:
    """Apply what is missing and return the names of the files applied, without `.sql`.

    Safe to run twice and in several processes at once: one works, the others wait at most `lock_patience` seconds.
    Raises MaasError: database_unreachable, postgres_too_old, migrations_missing, migrations_locked, migration_failed.
    """
    migrations = _read(folder)
    if not _missing(dsn, migrations):
        return []
    with _locked(dsn, lock_patience), _backend(dsn) as backend:
        backend.init_database()
        # The advisory lock is ours, so a row in yoyo's own lock table was left by a process that is dead.
        backend.break_lock()
        with backend.lock():
            return [_apply(backend, each) for each in backend.to_apply(migrations)]


def pending(dsn: str, folder: Path) -> list[str]:
    """Names of the files that are not applied yet; changes nothing. Raises as `migrate` does."""
    return _missing(dsn, _read(folder))


class _Backend(PostgresqlPsycopgBackend):  # type: ignore[misc]
    """yoyo's tables over a plain DSN; the record of a file commits with the file."""

    def connect(self, dburi: DatabaseURI) -> psycopg.Connection[Any]:
        return _connect(dburi.args["dsn"])

    def apply_one(self, migration: Any, force: bool = False, mark: bool = True) -> None:
        self.ensure_internal_schema_updated()
        if not migration.use_transactions:
            super().apply_one(migration, force, mark)
            return
        with self.transaction():
            migration.process_steps(self, "apply", force=force)
            self.log_migration(migration, "apply")
            self.mark_one(migration, log=False)

    def get_log_data(self, migration: Any = None, operation: str = "apply") -> dict[str, Any]:
        # yoyo asks for the full host name, which can take seconds, and for a user name, which may not exist.
        return {
            "id": str(uuid.uuid1()),
            "migration_id": migration.id if migration else None,
            "migration_hash": migration.hash if migration else None,
            "username": str(os.geteuid()),
            "hostname": socket.gethostname(),
            "created_at_utc": datetime.now(UTC).replace(tzinfo=None),
            "operation": operation,
        }


def _read(folder: Path) -> Any:
    migrations = read_migrations(glob.escape(str(folder)))
    if not migrations:
        raise MaasError("migrations_missing", f"{folder} holds no .sql file; run from a complete checkout")
    for each in migrations:
        _load(each)
    return migrations


def _load(migration: Migration) -> None:
    text = Path(migration.path).read_text("utf-8")
    directives, _, _ = parse_metadata_from_sql_comments(text)
    if directives:
        migration.load()
        return
    collector = StepCollector(migration=migration)
    collector.add_step(lambda connection: connection.execute(text))
    migration._depends = set()
    migration.steps = collector.create_steps(True)


def _missing(dsn: str, migrations: Any) -> list[str]:
    with _connect(dsn) as connection:
        row = connection.execute("select to_regclass(%s)", (default_migration_table,)).fetchone()
        if row is None or row[0] is None:
            return [each.id for each in migrations]
        rows = connection.execute(f"select migration_id from {default_migration_table}").fetchall()
    applied = {name for (name,) in rows}
    return [each.id for each in migrations if each.id not in applied]


def _apply(backend: _Backend, migration: Migration) -> str:
    try:
        backend.apply_one(migration)
    except psycopg.Error as error:
        if backend.connection.broken:
            raise _unreachable(backend.uri.args["dsn"], error) from error
        raise MaasError(
            "migration_failed",
            f"{migration.path}{_line(migration, error)}: {error.diag.message_primary or error}; nothing of this file "
            "was kept: correct it, or the rights of the database user, and migrate again",
            {"sqlstate": error.sqlstate, "detail": error.diag.message_detail, "hint": error.diag.message_hint},
        ) from error
    return str(migration.id)


def _line(migration: Migration, error: psycopg.Error) -> str:
    position = error.diag.statement_position
    if position is None or not position.isdigit():
        return ""
    return f" line {Path(migration.path).read_text('utf-8')[: int(position)].count(chr(10)) + 1}"


@contextmanager
def _backend(dsn: str) -> Iterator[_Backend]:
    name = conninfo_to_dict(dsn).get("dbname")
    address = DatabaseURI("postgresql+psycopg", None, None, None, None, name, {"dsn": dsn})
    backend = _Backend(address, default_migration_table)
    try:
        yield backend
    finally:
        backend.connection.close()


@contextmanager
def _locked(dsn: str, patience: float) -> Iterator[None]:
    """Alone with the schema. A transaction holds the lock: it ends with its process, and works through a pooler."""
    with _connect(dsn) as connection, connection.transaction():
        connection.execute(f"set local lock_timeout = {int(patience * 1000)}")
        connection.execute("set local idle_in_transaction_session_timeout = 0")
        try:
            # No parameters: an extended query's portal would keep its snapshot, and every concurrent index wait for it.
            connection.execute(f"select pg_advisory_xact_lock({LOCK_KEY})")
        except psycopg.errors.LockNotAvailable as error:
            raise MaasError(
                "migrations_locked",
                f"another process has migrated this database for more than {patience:.0f} s; wait for it or stop it, "
                "then try again",
            ) from error
        yield


def _connect(dsn: str) -> psycopg.Connection[Any]:
    try:
        connection: psycopg.Connection[Any] = psycopg.connect(dsn, autocommit=True, connect_timeout=CONNECT_PATIENCE)
    except psycopg.Error as error:
        raise _unreachable(dsn, error) from error
    if connection.info.server_version < OLDEST * 10_000:
        found = connection.info.server_version // 10_000
        connection.close()
        raise MaasError("postgres_too_old", f"the server is Postgres {found}; MaaS needs {OLDEST} or later: upgrade it")
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
