"""A folder and a database that exist only while a benchmark runs."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString
from urllib.parse import urlsplit

import psycopg
from psycopg import sql
from rich.console import Console

from maas.cli.up import prepare_database
from maas.settings import Settings
from shared.errors import MaasError
from shared.postgres import EmbeddedPostgres, acquire

notes = Console(stderr=True, highlight=False)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """`server` is None when DATABASE_URL names the server; `template` is the name of a migrated database of our own."""

    folder: Path
    server_dsn: str
    server: EmbeddedPostgres | None
    template: str

    @contextmanager
    def database(self) -> Iterator[str]:
        """DSN of a copy of the template; dropped at the end. Raises MaasError."""
        with _database(self.server_dsn, self.template) as dsn:
            yield dsn

    @contextmanager
    def empty_database(self) -> Iterator[str]:
        """DSN of a database that holds nothing; dropped at the end. Raises MaasError."""
        with _database(self.server_dsn, "template1") as dsn:
            yield dsn


@contextmanager
def open_sandbox(settings: Settings) -> Iterator[Sandbox]:
    """A folder and a migrated database, in an embedded server or in that of DATABASE_URL. Raises MaasError."""
    with _folder() as folder, ExitStack() as stack:
        server: EmbeddedPostgres | None = None
        if settings.database.database_url is None:
            server = acquire(folder / "data", on_note=notes.print)
            stack.callback(server.close, wait=True)
            server_dsn = server.dsn
        else:
            server_dsn = settings.database.database_url.get_secret_value()
        dsn = stack.enter_context(_database(server_dsn, "template1"))
        prepare_database(dsn)
        yield Sandbox(folder, server_dsn, server, urlsplit(dsn).path.strip("/"))


@contextmanager
def _database(server_dsn: str, template: str) -> Iterator[str]:
    name = f"maas_bench_{secrets.token_hex(6)}"
    _administer(server_dsn, "create database {} template {}", name, template)
    if template != "template1":  # Postgres does not copy the settings of a database
        _administer(server_dsn, "alter database {} set search_path = public, maas", name)
    try:
        yield beside(server_dsn, name)
    finally:
        _administer(server_dsn, "drop database {} with (force)", name)


def beside(dsn: str, name: str) -> str:
    """The same address with another database."""
    parts = urlsplit(dsn)
    return f"{parts.scheme}://{parts.netloc}/{name}" + (f"?{parts.query}" if parts.query else "")


@contextmanager
def _folder() -> Iterator[Path]:
    # Not /tmp, which is often memory: what a commit costs is part of every figure.
    disk = Path("/var/tmp")
    folder = Path(tempfile.mkdtemp(prefix="maas-bench-", dir=disk if disk.is_dir() else None))
    folder.chmod(0o755)  # the server runs as another user when we are root
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def server_version(dsn: str) -> str:
    """Such as 18.1."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute("show server_version").fetchone()
    assert row is not None
    return str(row[0])


def _administer(dsn: str, statement: LiteralString, *names: str) -> None:
    try:
        with psycopg.connect(dsn, autocommit=True, connect_timeout=10) as admin:
            admin.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
    except psycopg.Error as error:
        cause = " ".join(str(error).split())
        raise MaasError(
            "bench_database",
            f"a benchmark needs a database of its own ({cause}); name in DATABASE_URL a running server and a user who "
            "may create databases, or unset it to use the embedded one",
        ) from error
