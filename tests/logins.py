"""Logins of a test: members of one role of ours each, gone afterwards."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from tests.polling import poll

PASSWORD = "a-word-of-tests"


@contextmanager
def login(dsn: str, role: str | None = None) -> Iterator[str]:
    """The address of the same database for a new login that is a member of `role`, or of nothing."""
    name = f"login_{uuid.uuid4().hex[:12]}"
    parts = conninfo_to_dict(dsn)
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("create role {} login password {}").format(sql.Identifier(name), sql.Literal(PASSWORD)))
        if role is not None:
            admin.execute(sql.SQL("grant {} to {}").format(sql.Identifier(role), sql.Identifier(name)))
    yield f"postgresql://{name}:{PASSWORD}@{parts['host']}:{parts['port']}/{parts['dbname']}"
    with psycopg.connect(dsn, autocommit=True) as admin:
        sessions = "select from pg_stat_activity where usename = %s"
        poll(lambda: not admin.execute(sessions, (name,)).fetchall(), what="its sessions are gone, and what they made")
        admin.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


@contextmanager
def logins(dsn: str, *roles: str) -> Iterator[dict[str, str]]:
    """The same for several roles."""
    with ExitStack() as stack:
        yield {role: stack.enter_context(login(dsn, role)) for role in roles}
