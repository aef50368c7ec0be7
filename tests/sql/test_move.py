"""A user moves to another database with every row, whatever the numbers there, and whenever the move is interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from maas.moving.move import MOVED, MOVING, move_user
from maas.moving.tables import STAYS, UserTable, user_tables
from shared.errors import MaasError
from shared.postgres import EmbeddedPostgres
from tests.databases import copy_of
from tests.sql.engine import Engine, insert
from tests.sql.traces import tables_with

Connection = psycopg.Connection[DictRow]
MARK = "qzx77wv"


@pytest.fixture
def target(postgres: EmbeddedPostgres, template: str) -> Iterator[str]:
    """DSN of another database."""
    with copy_of(template, postgres.dsn) as dsn:
        yield dsn


@pytest.fixture
def there(target: str) -> Iterator[Connection]:
    with psycopg.connect(target, autocommit=True, row_factory=dict_row) as connection:
        yield connection


def move(source: str, target: str, user: UUID) -> int:
    return move_user(source, target, user, "tests", lambda name, rows: None)


def live(connection: Connection, user: UUID, word: str = MARK, exchanges: int = 2) -> None:
    """Exchanges of a user, a tool call in each, an import, a fact, a note, a secret and a conversation."""
    engine = Engine(connection)
    for number in range(exchanges):
        run = insert(connection, user, f"{word} {number}")
        (claimed,) = (one for one in engine.claim() if one["id"] == run)
        connection.execute(
            "insert into tool_executions (run_id, try, call_id, tool, args_hash, effect, status, attempt, arguments) "
            "values (%s, 1, 'call', 'write', '\\x00', 'write', 'done', 1, '{}')",
            (run,),
        )
        engine.finish(claimed, summary=f"about {word}", tags=(word,))
        engine.step()
    connection.execute("select maas_import(%s, %s, %s)", (user, word, Jsonb([{"role": "user", "content": word}])))
    engine.step(done=[engine.archived(run, summary=word) for run in engine.claim()])


def tables_of(connection: Connection) -> list[UserTable]:
    with psycopg.connect(connection.info.dsn, password=connection.info.password) as plain:
        return user_tables(plain)


def shown(connection: Connection, user: UUID) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of the user, but for numbers that a database gives."""
    rows = {}
    for table in tables_of(connection):
        names = [one.name for one in table.columns if one.numbered_by is None]
        found = connection.execute(
            f"select {', '.join(names)} from {table.name} where {table.condition.replace('$1', '%s')}".encode(), (user,)
        ).fetchall()
        rows[table.name] = sorted(tuple(map(str, one.values())) for one in found)
    return {name: found for name, found in rows.items() if found}


def test_every_table_of_a_user_moves_or_has_a_reason(connection: Connection) -> None:
    query = """
        select distinct k.relname as name from pg_class k join pg_attribute a on a.attrelid = k.oid
        where k.relnamespace = 'maas'::regnamespace and k.relkind = 'r' and a.attname = 'user_id'"""
    of_users = {row["name"] for row in connection.execute(query)}
    assert of_users - {one.name for one in tables_of(connection)} == set(STAYS)


def test_all_arrives_and_nothing_is_left(database: str, connection: Connection, target: str, there: Connection) -> None:
    user, other = uuid4(), uuid4()
    live(connection, user)
    live(connection, other, "theirs", 1)
    live(there, uuid4(), "resident", 3)  # whose numbers are taken
    before = shown(connection, user)
    assert {"pipeline_runs", "raw_logs", "lsm_storage", "tool_executions"} <= set(before)
    moved = move(database, target, user)
    assert shown(there, user) == before and moved == sum(map(len, before.values()))
    assert tables_with(connection, MARK) == [] and shown(connection, user) == {}
    assert len(shown(connection, other)["pipeline_runs"]) == 2
    later = insert(there, user, "and now?")
    engine = Engine(there)
    (claimed,) = engine.claim()
    assert claimed["id"] == later
    (row,) = there.execute(
        "select seq > all(select seq from pipeline_runs where id <> %s) as is_last from pipeline_runs where id = %s",
        (later, later),
    ).fetchall()
    assert row["is_last"]
    for side, key in ((connection, "to"), (there, "from")):
        (note,) = side.execute("select details from audit where action = 'move'").fetchall()
        assert note["details"]["rows"] == moved and key in note["details"]


def test_requests_wait_and_follow(database: str, connection: Connection, target: str, there: Connection) -> None:
    """What waits moves, and what comes to the old database later, too, without touching what happened since."""
    user = uuid4()
    live(connection, user, exchanges=1)
    connection.execute("select maas_pause('user', %s, %s)", (str(user), MOVING))
    waiting = insert(connection, user, "waits")
    Engine(connection).claim()
    move(database, target, user)
    engine = Engine(there)
    (claimed,) = engine.claim()
    assert claimed["id"] == waiting
    engine.finish(claimed)
    late = insert(connection, user, "too late")
    assert Engine(connection).claim() == []
    live(there, user, "since", 1)
    assert move(database, target, user) >= 1
    assert shown(connection, user) == {} and tables_with(there, "since") and tables_with(there, "too late")
    assert late in {one["id"] for one in there.execute("select id from pipeline_runs where queue_state < 2")}


def test_runs_are_counted_where_they_are(database: str, connection: Connection, target: str, there: Connection) -> None:
    """Both databases have sums of days, which agree with their runs before and after; what comes late follows."""
    user = uuid4()
    live(connection, user)
    live(connection, uuid4(), "theirs", 1)
    live(there, uuid4(), "resident", 1)

    def sums() -> list[int]:
        query = """
            select (select coalesce(sum(runs), 0)::int
                from maas_sums_between('2020-01-01', '2100-01-01', '{all}')) as sum,
              (select count(*)::int from pipeline_runs) as runs"""
        found = [row for side in (connection, there) for row in side.execute(query)]
        assert [row["sum"] for row in found] == [row["runs"] for row in found]
        return [row["runs"] for row in found]

    def sum_up() -> None:
        for side in (connection, there, connection, there):
            side.execute("select maas_sum_runs(1000, '0 s')")

    before = sums()
    sum_up()
    assert sums() == before
    move(database, target, user)
    moved = sums()
    assert moved[0] < before[0] and sum(moved) == sum(before)
    sum_up()
    assert sums() == moved
    insert(connection, user, "too late")
    sum_up()
    move(database, target, user)
    sum_up()
    assert sums() == [moved[0], moved[1] + 1]


@pytest.mark.parametrize("point", ["copied", "there", "deleted"])
def test_a_move_that_broke_off_is_taken_up(
    point: str, database: str, connection: Connection, target: str, there: Connection
) -> None:
    """Before anything is there, when everything is on both sides, and when it is there alone."""
    user = uuid4()
    live(connection, user)
    before = shown(connection, user)

    def disturb(name: str, _: int) -> None:
        if name != "raw_logs":  # the last one
            return
        if point == "copied":
            there.execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'maas move'")
        elif point == "there":
            connection.execute("update pipeline_runs set updated_at = clock_timestamp() where user_id = %s", (user,))
        else:
            there.execute("begin; select maas_lock_engine()")

    with pytest.raises(MaasError, match=r"busy|move_failed"):
        move_user(database, f"{target}?options=-c%20lock_timeout%3D300", user, "tests", disturb)
    if point == "deleted":
        there.execute("rollback")
    ours, theirs = (side.execute("select reason from pauses").fetchall() for side in (connection, there))
    assert ours == ([{"reason": MOVED}] if point == "deleted" else [{"reason": MOVING}])
    assert [row["reason"][:16] for row in theirs] == ([] if point == "copied" else ["is arriving from"])
    for name, rows in shown(connection, user).items():
        assert point != "deleted" and len(rows) == len(before[name])
    move(database, target, user)
    arrived = shown(there, user)
    assert {name: len(rows) for name, rows in arrived.items()} == {name: len(rows) for name, rows in before.items()}
    assert arrived["raw_logs"] == before["raw_logs"] and shown(connection, user) == {}
    assert there.execute("select from pauses").rowcount == 0


def test_what_arrived_from_elsewhere_is_never_replaced(
    database: str, connection: Connection, target: str, there: Connection
) -> None:
    """The only copy of somebody's rows may be the one that another move has not finished."""
    user = uuid4()
    live(connection, user, exchanges=1)
    live(there, user, "only copy", 1)
    before = shown(there, user)
    for reason in (MOVING, "is arriving from 7.5"):
        there.execute("select maas_pause('user', %s, %s)", (str(user), reason))
        for _ in range(2):
            with pytest.raises(MaasError, match="a move from elsewhere"):
                move(database, target, user)
            connection.execute("select maas_pause('user', %s, %s)", (str(user), MOVING))
        there.execute("select maas_resume('user', %s)", (str(user),))
    assert shown(there, user) == before


def test_late_requests_follow_a_user_who_moved_on(
    database: str, connection: Connection, target: str, there: Connection, postgres: EmbeddedPostgres, template: str
) -> None:
    user = uuid4()
    live(connection, user, exchanges=1)
    move(database, target, user)
    with copy_of(template, postgres.dsn) as third:
        move(target, third, user)
        late = insert(connection, user, "too late")
        move(database, target, user)
        assert Engine(there).claim() == [], "no answer without memory"
        move(target, third, user)
        with psycopg.connect(third, autocommit=True, row_factory=dict_row) as last:
            (claimed,) = Engine(last).claim()
    assert claimed["id"] == late


def test_what_cannot_move_stays_as_it_is(database: str, connection: Connection, target: str, there: Connection) -> None:
    user = uuid4()
    with pytest.raises(MaasError, match="there is no user"):
        move(database, target, user)
    live(connection, user, exchanges=1)
    before = shown(connection, user)
    with pytest.raises(MaasError, match="same database"):
        move(database, database, user)
    live(there, user, "resident", 1)
    with pytest.raises(MaasError, match="knows the user"):
        move(database, target, user)
    there.execute("alter table raw_logs add column more int")
    with pytest.raises(MaasError, match="raw_logs: not the same"):
        move(database, target, user)
    assert shown(connection, user) == before
    assert connection.execute("select from pauses").rowcount == 0
    assert {MOVING, MOVED}.isdisjoint(row["reason"] for row in there.execute("select reason from pauses"))
