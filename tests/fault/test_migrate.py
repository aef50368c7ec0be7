"""Migrations under bad conditions: twice, at once, after a kill, with an error in a file, without a server."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from shared.errors import MaasError
from shared.migrate import LOCK_KEY, migrate, pending
from shared.postgres import EmbeddedPostgres
from tests.fault.holder import ROOT
from tests.polling import poll

BODY = "create function {name}() returns int language plpgsql as $$ begin return 1; end $$;"


@pytest.fixture
def empty(postgres: EmbeddedPostgres) -> Iterator[str]:
    """DSN of an empty database."""
    name = f"empty_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres.dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        yield postgres.dsn.rpartition("/")[0] + f"/{name}"
        admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = tmp_path / "a [odd] name"
    files.mkdir()
    (files / "0001_first.sql").write_text(f"-- Напиши 100%.\ncreate table a (n int);\n{BODY.format(name='f')}\n")
    (files / "0002_second.sql").write_text("insert into a values (2);\n")
    return files


def tables(dsn: str) -> set[str]:
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind='r'"
        )
        return {name for (name,) in rows if "yoyo" not in name}


def values(dsn: str) -> list[int]:
    with psycopg.connect(dsn) as connection:
        return [n for (n,) in connection.execute("select n from a order by n")]


def test_twice(empty: str, folder: Path) -> None:
    assert pending(empty, folder) == ["0001_first", "0002_second"]
    assert tables(empty) == set()
    assert migrate(empty, folder) == ["0001_first", "0002_second"]
    assert migrate(empty, folder) == []
    (folder / "0003_third.sql").write_text("insert into a select f();")
    assert pending(empty, folder) == ["0003_third"]
    assert migrate(empty, folder) == ["0003_third"]
    assert values(empty) == [1, 2]


def test_four_at_once(empty: str, folder: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        applied = list(pool.map(lambda _: migrate(empty, folder), range(4)))
    assert sorted(applied) == [[], [], [], ["0001_first", "0002_second"]]
    assert values(empty) == [2]


def test_a_lock_that_a_dead_process_left(empty: str, folder: Path) -> None:
    migrate(empty, folder)
    with psycopg.connect(empty) as connection:
        connection.execute("insert into yoyo_lock (locked, ctime, pid) values (1, now(), 1)")
    (folder / "0003_third.sql").write_text("insert into a values (3)")
    assert migrate(empty, folder) == ["0003_third"]


def test_killed_in_the_middle(empty: str, folder: Path) -> None:
    (folder / "0003_slow.sql").write_text("insert into a values (3); select pg_sleep(600);")
    code = f"from pathlib import Path; from shared.migrate import migrate; migrate({empty!r}, Path({str(folder)!r}))"
    sleeping = "select pid from pg_stat_activity where wait_event = 'PgSleep'"
    with (
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as process,
        psycopg.connect(empty, autocommit=True) as connection,
    ):
        (backend,) = poll(lambda: connection.execute(sleeping).fetchone() or ())
        process.kill()
        process.wait()
        connection.execute("select pg_terminate_backend(%s, 10000)", (backend,))
    (folder / "0003_slow.sql").write_text("insert into a values (4)")
    assert migrate(empty, folder) == ["0003_slow"]
    assert values(empty) == [2, 4]


def test_broken_sql_names_its_line_and_leaves_nothing(empty: str, folder: Path) -> None:
    (folder / "0003_broken.sql").write_text("create table b (n int);\n\ninsert into nowhere\nvalues (1);\n")
    with pytest.raises(MaasError) as caught:
        migrate(empty, folder)
    assert caught.value.code == "migration_failed"
    assert '0003_broken.sql line 3: relation "nowhere" does not exist' in caught.value.message
    assert tables(empty) == {"a"}
    assert pending(empty, folder) == ["0003_broken"]
    (folder / "0003_broken.sql").write_text("create table b (n int);")
    assert migrate(empty, folder) == ["0003_broken"]


def test_a_file_outside_a_transaction(empty: str, folder: Path) -> None:
    (folder / "0003_index.sql").write_text("-- transactional: false\ncreate index concurrently on a (n);")
    assert migrate(empty, folder)[-1] == "0003_index"
    assert migrate(empty, folder) == []


def test_somebody_holds_the_lock_for_too_long(empty: str, folder: Path) -> None:
    with psycopg.connect(empty) as other:
        other.execute("select pg_advisory_lock(%s)", (LOCK_KEY,))
        with pytest.raises(MaasError) as caught:
            migrate(empty, folder, lock_patience=0.1)
    assert caught.value.code == "migrations_locked"
    assert tables(empty) == set()


def test_nothing_to_connect_to(folder: Path) -> None:
    with pytest.raises(MaasError) as caught:
        migrate("postgresql://maas:secret@127.0.0.1:1/maas", folder)
    assert caught.value.code == "database_unreachable"
    assert "127.0.0.1:1/maas" in caught.value.message
    assert "DATABASE_URL" in caught.value.message
    assert "secret" not in caught.value.message


def test_an_address_that_is_none(folder: Path) -> None:
    with pytest.raises(MaasError) as caught:
        pending("no address", folder)
    assert caught.value.code == "database_unreachable"


def test_a_folder_without_files(empty: str, tmp_path: Path) -> None:
    with pytest.raises(MaasError) as caught:
        migrate(empty, tmp_path)
    assert caught.value.code == "migrations_missing"


def test_over_the_socket(postgres: EmbeddedPostgres, empty: str, folder: Path) -> None:
    name = empty.rpartition("/")[2]
    assert migrate(make_conninfo(postgres.socket_dsn, dbname=name), folder) == ["0001_first", "0002_second"]
