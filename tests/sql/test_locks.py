"""What a login without any right can lock: advisory locks, which stop and deceive nobody."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from tests.logins import login
from tests.polling import poll
from tests.sql.engine import Engine, insert

Connection = psycopg.Connection[DictRow]


@pytest.fixture
def stranger(database: str) -> Iterator[Connection]:
    with (
        login(database) as url,
        psycopg.connect(url, autocommit=True, row_factory=dict_row) as session,
    ):
        yield session


def test_no_lock_of_a_stranger_stops_anybody(connection: Connection, stranger: Connection) -> None:
    """The numbers that the engine's locks had, and those of a user's memory: nothing waits for them any more."""
    user = uuid4()
    stranger.execute("select pg_advisory_lock(n, 1) from generate_series(4700, 4730) n")
    stranger.execute("select pg_advisory_lock(4700 + n, hashtext(%s)) from generate_series(0, 30) n", (str(user),))
    stranger.execute("select pg_advisory_lock(4711, n) from generate_series(1, 200) n")
    connection.execute("set statement_timeout = '5 s'")
    engine = Engine(connection)
    run = insert(connection, user)
    (claimed,) = engine.claim()
    assert claimed["id"] == run
    engine.finish(claimed)
    connection.execute("select maas_reap(3)")
    connection.execute("select maas_erase(%s)", (user,))


@pytest.mark.parametrize("table", ["engine_lock", "locks"])
def test_a_stranger_reaches_no_lock_of_ours(stranger: Connection, table: str) -> None:
    for mode in ("access share", "share update exclusive", "exclusive"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), stranger.transaction():
            stranger.execute(f"lock table maas.{table} in {mode} mode".encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        stranger.execute(f"select from maas.{table} for update".encode())


def test_a_stranger_keeps_no_dead_orchestrator_alive(
    connection: Connection, database: str, stranger: Connection
) -> None:
    """Whoever takes the lock of an orchestrator that has died: its runs are recovered at once."""
    with psycopg.connect(database, autocommit=True, row_factory=dict_row) as other:
        insert(connection)
        Engine(other).claim()
        row = connection.execute("select lock_key, is_alive from v_engines").fetchone()
        assert row is not None and row["is_alive"]
    poll(
        lambda: (
            stranger.execute("select pg_try_advisory_lock(4711, %s) as b", (row["lock_key"],)).fetchone() == {"b": True}
        )
    )
    assert connection.execute("select reclaimed from maas_reap(3)").fetchone() == {"reclaimed": 1}


def test_notifications_name_no_user(connection: Connection, stranger: Connection) -> None:
    for channel in ("pipeline_events", "pipeline_wakeup", "run_events"):
        stranger.execute(f"listen {channel}".encode())
    engine, user = Engine(connection), uuid4()
    insert(connection, user)
    (run,) = engine.claim()
    engine.finish(run)
    payloads = [note.payload for note in stranger.notifies(timeout=1)]
    assert any(str(run["id"]) in payload for payload in payloads)
    assert not any(str(user) in payload for payload in payloads)
