"""Migrations under bad conditions: twice, at once, after a kill, with an error in a file, without rights, no server."""

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
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from maas.cli.up import prepare_database
from maas.plugins import sql_folders
from shared.errors import MaasError
from shared.migrate import migrate, pending, search_path_advice
from shared.postgres import EmbeddedPostgres
from shared.schema_connection import LOCK_KEY
from shared.schema_files import fingerprint
from tests.conftest import SQL_FOLDER
from tests.fault.holder import ROOT
from tests.logins import login
from tests.polling import poll

NEW = ["schema/1_tables", "functions/f", "views/v"]
FUNCTION = "create or replace function maas.f() returns int language sql as 'select {n}';"
COLLISIONS = """
create table public.pipeline_runs (id int primary key, note text);
create table public.users (id int);
create table public.ads (id int);
create function public.maas_step() returns int language sql as 'select 1';
insert into public.pipeline_runs values (1, 'theirs')"""


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
    """A checkout's `sql` in small: a table, a function, a view."""
    files = tmp_path / "a [odd] name"
    write(files, "schema/1_tables", "-- Напиши 100%.\ncreate table maas.a (n int);\n")
    write(files, "functions/f", FUNCTION.format(n=1))
    write(files, "views/v", "create view maas.v as select n from maas.a;")
    return files


def write(folder: Path, name: str, text: str) -> None:
    path = folder / f"{name}.sql"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def run(dsn: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def values(dsn: str) -> list[object]:
    return [n for (n,) in run(dsn, "select n from maas.a order by n")]


def relations(dsn: str) -> set[object]:
    return {name for (name,) in run(dsn, "select relname from pg_class where relkind in ('r', 'v') and oid > 16383")}


def test_twice(empty: str, folder: Path) -> None:
    assert pending(empty, folder) == NEW
    assert relations(empty) == set()
    assert migrate(empty, folder) == NEW
    assert migrate(empty, folder) == pending(empty, folder) == []
    write(folder, "migrations/0001_first", "insert into maas.a select maas.f();")
    assert pending(empty, folder) == ["migrations/0001_first"]
    assert migrate(empty, folder)[0] == "migrations/0001_first"
    assert migrate(empty, folder) == []
    assert values(empty) == [1]


def test_a_new_database_has_the_present_state_and_needs_no_migrations(empty: str, folder: Path) -> None:
    write(folder, "migrations/0001_first", "raise 'never applied'")
    assert migrate(empty, folder) == NEW
    assert pending(empty, folder) == []


def test_functions_and_views_are_applied_when_they_change(empty: str, folder: Path) -> None:
    before = fingerprint(folder)
    migrate(empty, folder)
    write(folder, "functions/f", FUNCTION.format(n=2))
    assert fingerprint(folder) != before
    assert migrate(empty, folder) == ["functions/f"]
    assert run(empty, "select maas.f()") == [(2,)]
    write(folder, "views/v", "create view maas.v as select 'x' as other;")  # which `create or replace` would refuse
    assert migrate(empty, folder) == ["views/v"]
    assert run(empty, "select other from maas.v") == [("x",)]


@pytest.fixture
def plugin(tmp_path: Path) -> dict[str, Path]:
    """The SQL of a plugin: a table, a function and a view."""
    files = tmp_path / "plugin"
    write(files, "schema/tables", "create table maas.b (n int default maas.f());")
    write(files, "functions/g", FUNCTION.format(n=2).replace("maas.f", "maas.g"))
    write(files, "views/w", "create view maas.w as select n from maas.b;")
    return {"shop": files}


OF_THE_PLUGIN = ["shop:schema/tables", "shop:functions/g"]
OWN_VIEW = "shop:views/w"


def test_a_plugin_of_a_new_database(empty: str, folder: Path, plugin: dict[str, Path]) -> None:
    write(plugin["shop"], "migrations/0001_first", "raise 'never applied'")
    assert pending(empty, folder, plugin) == migrate(empty, folder, plugin) == [*NEW, *OF_THE_PLUGIN, OWN_VIEW]
    assert pending(empty, folder, plugin) == [] and fingerprint(folder, plugin) != fingerprint(folder)


def test_a_plugin_that_comes_later_and_goes_and_comes_back(empty: str, folder: Path, plugin: dict[str, Path]) -> None:
    """Off it has no tables; what it has once had stays until it is on again, and then is brought up to date."""
    migrate(empty, folder)
    assert relations(empty) == {"schema_files", "a", "v"}
    assert pending(empty, folder, plugin) == [*OF_THE_PLUGIN, OWN_VIEW]
    assert migrate(empty, folder, plugin) == ["views/v", *OF_THE_PLUGIN, OWN_VIEW]
    run(empty, "insert into maas.b default values")
    write(folder, "functions/f", FUNCTION.format(n=3))
    write(folder, "views/v", "create view maas.v as select 2 as n;")
    assert migrate(empty, folder) == ["functions/f", "views/v"]
    assert relations(empty) == {"schema_files", "a", "b", "v"}
    write(plugin["shop"], "functions/g", FUNCTION.format(n=4).replace("maas.f", "maas.g"))
    write(plugin["shop"], "migrations/0001_first", "insert into maas.b select maas.g();")
    applied = ["views/v", "shop:migrations/0001_first", "shop:functions/g", OWN_VIEW]
    assert migrate(empty, folder, plugin) == applied
    assert migrate(empty, folder, plugin) == []
    assert run(empty, "select n from maas.w order by n") == [(1,), (2,)]


def test_a_plugin_whose_tables_are_others_is_named(empty: str, folder: Path, plugin: dict[str, Path]) -> None:
    migrate(empty, folder, plugin)
    write(plugin["shop"], "schema/tables", "create table maas.b\n  (n int default maas.f()); -- a remark\n")
    assert pending(empty, folder, plugin) == []
    write(plugin["shop"], "schema/tables", "create table maas.b (n bigint);")
    with pytest.raises(MaasError, match="the tables of another version of the plugin shop"):
        pending(empty, folder, plugin)
    assert pending(empty, folder) == [] and migrate(empty, folder) == []


def test_stickers_have_columns_of_their_own_while_they_are_on(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = "select column_name from information_schema.columns where table_name = 'assistant_sessions'"
    monkeypatch.setenv("MAAS_PLUGINS", "")
    migrate(empty, SQL_FOLDER, sql_folders())
    assert not {("style",), ("emotion",), ("pose",)} & set(run(empty, columns))
    insert = "insert into maas.assistant_sessions (user_id, assistant, slots) values (gen_random_uuid(), 'x', %s)"
    run(empty, insert.replace("%s", """'{"style": "anime"}'"""))
    monkeypatch.setenv("MAAS_PLUGINS", "stickers")
    assert migrate(empty, SQL_FOLDER, sql_folders()) == ["stickers:schema/sessions"]
    assert run(empty, "select style, emotion, pose from maas.assistant_sessions") == [("anime", None, None)]
    assert migrate(empty, SQL_FOLDER, sql_folders()) == []


def test_four_at_once(empty: str, folder: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        applied = list(pool.map(lambda _: migrate(empty, folder), range(4)))
    assert sorted(applied) == [[], [], [], NEW]


def test_killed_in_the_middle(empty: str, folder: Path) -> None:
    migrate(empty, folder)
    write(folder, "migrations/0001_slow", "insert into maas.a values (3); select pg_sleep(600);")
    code = f"from pathlib import Path; from shared.migrate import migrate; migrate({empty!r}, Path({str(folder)!r}))"
    sleeping = "select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()"
    with (
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as process,
        psycopg.connect(empty, autocommit=True) as connection,
    ):
        (backend,) = poll(lambda: connection.execute(sleeping).fetchone() or ())
        process.kill()
        process.wait()
        connection.execute("select pg_terminate_backend(%s, 10000)", (backend,))
    write(folder, "migrations/0001_slow", "insert into maas.a values (4)")
    assert migrate(empty, folder)[0] == "migrations/0001_slow"
    assert values(empty) == [4]


def test_broken_sql_names_its_line_and_leaves_nothing(empty: str, folder: Path) -> None:
    migrate(empty, folder)
    write(folder, "migrations/0001_fine", "create table maas.b (n int);")
    write(folder, "migrations/0002_broken", "create table maas.c (n int);\n\ninsert into nowhere\nvalues (1);\n")
    with pytest.raises(MaasError) as caught:
        migrate(empty, folder)
    assert caught.value.code == "migration_failed"
    assert 'migrations/0002_broken.sql line 3: relation "nowhere" does not exist' in caught.value.message
    assert relations(empty) == {"schema_files", "a", "v"}
    assert pending(empty, folder) == ["migrations/0001_fine", "migrations/0002_broken"]
    write(folder, "migrations/0002_broken", "create table maas.c (n int);")
    assert migrate(empty, folder)[:2] == ["migrations/0001_fine", "migrations/0002_broken"]


def test_somebody_holds_the_lock_for_too_long(empty: str, folder: Path) -> None:
    with psycopg.connect(empty) as other:
        other.execute("select pg_advisory_lock(%s)", (LOCK_KEY,))
        with pytest.raises(MaasError) as caught:
            migrate(empty, folder, lock_timeout_s=0.1)
    assert caught.value.code == "migrations_locked"
    assert relations(empty) == set()


def test_a_table_in_use_is_waited_for_without_stopping_others(empty: str, folder: Path) -> None:
    """An open transaction writes to the table that a changed file locks; others go on writing meanwhile."""
    migrate(empty, folder)
    write(folder, "functions/f", "lock table maas.a in share row exclusive mode;" + FUNCTION.format(n=2))
    with (
        psycopg.connect(empty) as writer,
        psycopg.connect(empty, autocommit=True) as other,
        ThreadPoolExecutor() as pool,
    ):
        writer.execute("insert into maas.a values (1)")
        done = pool.submit(migrate, empty, folder)
        waiting = "select from pg_locks where not granted and relation = 'maas.a'::regclass"
        poll(lambda: other.execute(waiting).fetchone() is not None)
        other.execute("set lock_timeout = '5 s'")
        other.execute("insert into maas.a values (2)")
        assert not done.done()
        writer.commit()
        assert done.result(30) == ["functions/f"]


def test_a_table_in_use_for_too_long(empty: str, folder: Path) -> None:
    migrate(empty, folder)
    write(folder, "functions/f", "lock table maas.a in share row exclusive mode;" + FUNCTION.format(n=2))
    with psycopg.connect(empty) as writer:
        writer.execute("insert into maas.a values (1)")
        with pytest.raises(MaasError, match="has used a table of MaaS") as caught:
            migrate(empty, folder, lock_timeout_s=0.6)
    assert caught.value.code == "migrations_locked"
    assert pending(empty, folder) == ["functions/f"]


def test_beside_tables_of_the_same_names(empty: str) -> None:
    """A database that is not ours alone: its search path stays, and one line says how to change it."""
    run(empty, COLLISIONS)
    prepare_database(empty)
    assert run(empty, "select note from public.pipeline_runs") == [("theirs",)]
    run(empty, "insert into maas.pipeline_runs (user_id, user_query) values (gen_random_uuid(), 'Hello')")
    assert run(empty, "select content from maas.raw_logs") == [("Hello",)]
    assert run(empty, "select id from public.pipeline_runs") == [(1,)]
    assert (
        run(
            empty,
            "select setconfig from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase "
            "where datname = current_database()",
        )
        == []
    )
    assert prepare_database(empty) == ([], 0)
    with login(empty, "maas_app") as url:
        name = conninfo_to_dict(empty)["dbname"]
        assert search_path_advice(url) == f'alter database {name} set search_path = "$user", public, maas'
        run(url, "insert into maas.pipeline_runs (user_id, user_query) values (gen_random_uuid(), 'Hello')")


def test_a_database_of_our_own_gets_the_search_path(empty: str, postgres: EmbeddedPostgres) -> None:
    with login(postgres.dsn) as url:
        user = sql.Identifier(str(conninfo_to_dict(url)["user"]))
        name = str(conninfo_to_dict(empty)["dbname"])
        with psycopg.connect(postgres.dsn, autocommit=True) as admin:
            admin.execute(sql.SQL("alter database {} owner to {}").format(sql.Identifier(name), user))
        url = make_conninfo(url, dbname=name)
        migrate(url, SQL_FOLDER, sql_folders())
        assert search_path_advice(url) is None
        assert run(url, "show search_path") == [("public, maas",)]
        run(url, "insert into pipeline_runs (user_id, user_query) values (gen_random_uuid(), 'Hello')")
        run(url, "create table mine (n int)")
        assert run(url, "select to_regclass('public.mine') is not null") == [(True,)]
        with psycopg.connect(postgres.dsn, autocommit=True) as admin:
            admin.execute(sql.SQL("alter database {} owner to current_user").format(sql.Identifier(name)))
        with psycopg.connect(empty, autocommit=True) as admin:
            admin.execute(sql.SQL("drop owned by {} cascade").format(user))


def test_a_login_without_rights_gets_one_clear_line(empty: str) -> None:
    with login(empty) as url:
        with pytest.raises(MaasError) as caught:
            migrate(url, SQL_FOLDER, sql_folders())
        assert caught.value.code == "migration_failed"
        assert "permission denied for database" in caught.value.message
        assert "owner of the database" in caught.value.message
        run(empty, f"alter role {conninfo_to_dict(url)['user']} set default_transaction_read_only = on")
        with pytest.raises(MaasError, match="read-only transaction"):
            migrate(url, SQL_FOLDER, sql_folders())
    assert relations(empty) == set()


def test_a_login_that_may_only_read_finds_nothing_to_do(empty: str) -> None:
    prepare_database(empty)
    with login(empty, "maas_server") as url:
        assert migrate(url, SQL_FOLDER, sql_folders()) == pending(url, SQL_FOLDER, sql_folders()) == []
    with login(empty) as url, pytest.raises(MaasError, match=r"may not read maas\.schema_files"):
        pending(url, SQL_FOLDER, sql_folders())


def test_a_database_of_the_former_layout_says_how_to_move(empty: str) -> None:
    run(empty, "create table _yoyo_migration (migration_id text); create table public.pipeline_runs (id uuid)")
    with pytest.raises(MaasError) as caught:
        migrate(empty, SQL_FOLDER, sql_folders())
    assert caught.value.code == "former_layout"
    assert "\n" not in caught.value.message
    assert "maas export" in caught.value.message and "maas import" in caught.value.message
    assert run(empty, "select to_regnamespace('maas')") == [(None,)]


def test_a_database_from_before_the_first_release_says_how_to_move(empty: str, folder: Path) -> None:
    """Until then a database recorded a hash of its tables, for which there is no migration."""
    migrate(empty, folder)
    run(empty, "update maas.schema_files set hash = '0.1.0 ' || md5('tables') where name = 'schema'")
    before = relations(empty)
    for look in (migrate, pending):
        with pytest.raises(MaasError, match="maas export USER") as caught:
            look(empty, folder)
        assert caught.value.code == "former_layout" and "\n" not in caught.value.message
    assert relations(empty) == before


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
    assert migrate(make_conninfo(postgres.socket_dsn, dbname=name), folder) == NEW
