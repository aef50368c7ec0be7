"""Databases of their own for tests: copies of one that is migrated and seeded."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

# A tenth of the time of wal_log, which is what Postgres does by itself.
_COPY = sql.SQL("create database {} template {} strategy file_copy")
# Postgres does not copy the settings of a database.
_SEARCH_PATH = sql.SQL("alter database {} set search_path = public, maas")
_DROP = sql.SQL("drop database if exists {} with (force)")
_TABLES = "select oid::regclass::text from pg_class where relnamespace = 'maas'::regnamespace and relkind = 'r'"
# What migrating, seeding and the start of an orchestrator write.
_KEPT = {
    "assistants", "engine_metrics", "engine_settings", "engines", "loadable_tables", "locks", "model_prices",
    "restore_key", "schema_files", "signing_key", "system_prompts", "tools",
}  # fmt: skip


@contextmanager
def copy_of(template: str, server_dsn: str) -> Iterator[str]:
    """DSN of a copy; gone afterwards, open connections or not."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(_COPY.format(sql.Identifier(name), sql.Identifier(template)))
        admin.execute(_SEARCH_PATH.format(sql.Identifier(name)))
        try:
            yield server_dsn.rpartition("/")[0] + f"/{name}"
        finally:
            admin.execute(_DROP.format(sql.Identifier(name)))


def empty(dsn: str) -> None:
    """Delete all rows that runs have left, and the assistants of tests."""
    with psycopg.connect(dsn) as connection:
        connection.execute("set session_replication_role = replica")  # neither triggers nor foreign keys
        names = [name for (name,) in connection.execute(_TABLES) if name.removeprefix("maas.") not in _KEPT]
        tables = [sql.Identifier(*name.split(".")) for name in names]
        held = sql.SQL(", ").join(sql.SQL("exists (select from {})").format(table) for table in tables)
        row = connection.execute(sql.SQL("select {}").format(held)).fetchone()
        for table, is_held in zip(tables, row or (), strict=True):
            if is_held:
                connection.execute(sql.SQL("delete from {}").format(table))
        connection.execute("delete from assistants where name in ('clerk', 'office')")


def is_answering(dsn: str) -> bool:
    """Whether a connection can be opened."""
    try:
        psycopg.connect(dsn, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
