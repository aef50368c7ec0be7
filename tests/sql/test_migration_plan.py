"""`maas migrate --plan`: a rehearsal that tells statements, locks and rewritten tables, and changes nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from maas.plugins import sql_folders
from shared import migration_plan
from shared.errors import MaasError
from shared.migrate import pending
from shared.migration_plan import TableLock, plan
from shared.schema_files import read_files, statements
from tests.conftest import SQL_FOLDER
from tests.sql.attempts import Connection

Planned = Callable[[str], migration_plan.MigrationPlan]


@pytest.fixture
def planned(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Planned:
    """The plan of a version that has one migration more than the database."""
    monkeypatch.setattr(migration_plan, "REHEARSAL_S", 60.0)
    folder = tmp_path / "sql"
    shutil.copytree(SQL_FOLDER, folder)

    def make(migration: str) -> migration_plan.MigrationPlan:
        (folder / "migrations" / "0001_more.sql").write_text(migration)
        found = plan(database, folder, sql_folders())
        assert "migrations/0001_more" in pending(database, folder, sql_folders())
        return found

    return make


def test_nothing_to_do(database: str) -> None:
    assert plan(database, SQL_FOLDER, sql_folders()).steps == ()


def test_locks_and_rewritten_tables(planned: Planned, connection: Connection) -> None:
    found = planned("""-- The first; of two
alter table maas.raw_logs alter metadata set storage main;
alter table maas.pauses alter reason type varchar(1000), alter since type timestamptz(0);
select 'a;b';
create index on maas.raw_logs (user_id) where $$;$$ = 'x';
""")
    steps = [step for step in found.steps if step.file == "migrations/0001_more"]
    assert [step.line for step in steps] == [2, 3, 4, 5]
    assert [step.rewritten for step in steps] == [(), ("maas.pauses",), (), ()]
    assert steps[2].statement == "select 'a;b';" and steps[2].locks == ()
    assert ("maas.raw_logs", "ShareLock") in steps[3].locks
    assert found.is_whole
    locks = {(lock.table, lock.mode): lock for lock in found.locks}
    rewritten = locks["maas.pauses", "AccessExclusiveLock"]
    assert rewritten == TableLock("maas.pauses", "AccessExclusiveLock", "reads and writes", rewritten.held_s)
    assert rewritten.held_s >= sum(step.seconds for step in found.steps[found.steps.index(steps[1]) :])
    assert locks["maas.raw_logs", "ShareLock"].stops == "writes"
    (column,) = connection.execute(
        "select format_type(atttypid, atttypmod) as type from pg_attribute "
        "where attrelid = 'maas.pauses'::regclass and attname = 'since'"
    ).fetchall()
    assert column["type"] == "timestamp with time zone"


def test_a_rehearsal_keeps_nobody_waiting_for_long(planned: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration_plan, "REHEARSAL_S", 0.2)
    found = planned("lock table maas.pauses; select pg_sleep(600); select 1;")
    assert not found.is_whole
    assert found.steps[-1].statement != "select 1;"
    assert found.locks


def test_a_wrong_statement_is_found_before_it_is_applied(planned: Planned) -> None:
    with pytest.raises(MaasError, match=r"migrations/0001_more\.sql line 3: column \"b\" does not exist"):
        planned("select 1;\n\nselect b from maas.pauses;")


def test_a_table_in_use(planned: Planned, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration_plan, "LOCK_TIMEOUT_S", 0.1)
    with psycopg.connect(database) as writer:
        writer.execute("insert into maas.pauses values ('user', gen_random_uuid()::text, 'x', 'y')")
        with pytest.raises(MaasError) as caught:
            planned("lock table maas.pauses;")
    assert caught.value.code == "migrations_locked"


def test_a_new_database_of_this_version_is_split_where_its_statements_end(connection: Connection) -> None:
    """No statement of ours is cut in two, or holds another one: as many functions and tables as there are."""
    files = read_files(SQL_FOLDER, sql_folders())
    begins = [statement.split(maxsplit=1)[0].lower() for text in files.values() for _, statement in statements(text)]
    known = {
        "create",
        "alter",
        "comment",
        "insert",
        "do",
        "drop",
        "grant",
        "revoke",
        "select",
        "update",
        "delete",
        "with",
    }
    assert set(begins) <= known
    for name, text in files.items():
        assert "".join(statement for _, statement in statements(text)).count("$$") == text.count("$$"), name
