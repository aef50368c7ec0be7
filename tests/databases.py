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
