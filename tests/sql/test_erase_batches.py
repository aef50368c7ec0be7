"""A large account is erased in short transactions: others wait for none of them, and whoever stops leaves no half."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from maas.memory.erase import SILENCE_S, erase_user, finish_erasures
from shared.db import Database
from shared.errors import MaasError
from tests.sql.engine import Engine, insert, run_of
from tests.sql.large_accounts import fill_account

Connection = psycopg.Connection[DictRow]
RUNS = 6000
LARGEST_SHARE = 0.25  # of the whole erasing, that anybody else may have to wait


@contextmanager
def connected(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        yield connection


def erase(dsn: str, user: UUID) -> tuple[dict[str, int], float]:
    """Erase by `maas_erase` alone; the receipt and the seconds."""
    with connected(dsn) as connection:
        began, receipt = time.monotonic(), None
        while receipt is None:
            row = connection.execute("select maas_erase(%s) as receipt", (user,)).fetchone()
            receipt = row["receipt"] if row is not None else None
        return receipt, time.monotonic() - began


def seconds_of(work: Any, *args: Any) -> float:
    began = time.monotonic()
    work(*args)
    return time.monotonic() - began


def rows_of(connection: Connection, user: UUID) -> int:
    tables = connection.execute("select distinct name from maas_user_tables()").fetchall()
    return sum(
        connection.execute(f"select from {table['name']} where user_id = %s".encode(), (user,)).rowcount
        for table in tables
        if table["name"] in ("pipeline_runs", "raw_logs", "lsm_storage", "term_df")
    )


def test_nobody_waits_for_the_erasing_of_a_large_account(connection: Connection, database: str) -> None:
    """A second session takes the engine lock, a third inserts, steps and finishes another user's run, all the time."""
    user, other = fill_account(connection, RUNS), uuid4()
    insert(connection, user, "unfinished")
    engine = Engine(connection)
    waits: list[float] = []
    with ThreadPoolExecutor(1) as pool, connected(database) as locker:
        erased: Future[tuple[dict[str, int], float]] = pool.submit(erase, database, user)
        while not erased.done():
            waits.append(seconds_of(locker.execute, "select maas_lock_engine()"))
            waits.append(seconds_of(insert, connection, other))
            waits.append(seconds_of(engine.step))
        receipt, whole = erased.result()
    print(f"erased {sum(receipt.values())} rows in {whole:.2f} s; the longest of {len(waits)} waits {max(waits):.3f} s")
    expected = {"raw_logs": 2 * RUNS + 1, "pipeline_runs": RUNS + 1, "run_events": RUNS}
    assert {name: receipt[name] for name in expected} == expected
    assert receipt["lsm_storage"] >= RUNS
    assert len(waits) > 10 and max(waits) < LARGEST_SHARE * whole
    assert rows_of(connection, user) == 0


def test_the_audit_row_and_the_receipt_are_totals(connection: Connection, database: str) -> None:
    user = fill_account(connection, 1500)
    receipt, _ = erase(database, user)
    assert {name: count for name, count in receipt.items() if count} == {
        "raw_logs": 3000,
        "pipeline_runs": 1500,
        "lsm_storage": 1500,
        "run_events": 1500,
    }
    rows = connection.execute("select details from audit where action = 'erase' and user_id = %s", (user,)).fetchall()
    assert [row["details"] for row in rows] == [receipt]
    assert connection.execute("select from erasures").rowcount == 0


def test_unfinished_runs_go_first_and_the_engine_lock_with_them(connection: Connection, database: str) -> None:
    """After the first call no run can come back to a user whose other rows are still there."""
    user = fill_account(connection, 1500)
    engine = Engine(connection)
    waiting = [insert(connection, user) for _ in range(3)]
    (run,) = engine.claim()
    assert connection.execute("select maas_erase(%s) as receipt", (user,)).fetchone() == {"receipt": None}
    left = connection.execute("select id from pipeline_runs where id = any(%s)", (waiting,)).rowcount
    assert (left, engine.advance(run, "{}"), engine.claim()) == (0, False, [])
    assert rows_of(connection, user) > 0
    with connected(database) as eraser, eraser.transaction():
        eraser.execute("select maas_erase(%s)", (user,))  # finished runs only
        with connected(database) as locker:
            locker.execute("set lock_timeout = '1 s'")
            locker.execute("select maas_lock_engine()")


def test_a_run_of_others_that_waits_behind_a_batch_is_next(connection: Connection) -> None:
    """With one key for all users a batch promotes who is next, once, and no second head."""
    connection.execute("update engine_settings set value = 'global' where key = 'blocking_scope'")
    engine = Engine(connection)
    user, other = fill_account(connection, 1500), uuid4()
    insert(connection, user)
    waiting = insert(connection, other)
    assert [run["user_id"] for run in engine.claim()] == [user]
    assert connection.execute("select maas_erase(%s) as receipt", (user,)).fetchone() == {"receipt": None}
    assert run_of(connection, waiting)["queue_state"] == 0


async def test_an_orchestrator_finishes_what_its_caller_left(connection: Connection, db: Database) -> None:
    """The erasure is recorded by its first call; it is taken over when nobody goes on with it."""
    user, other = fill_account(connection, 1500), fill_account(connection, 3)
    connection.execute("select maas_erase(%s, 'ann')", (user,))
    assert await finish_erasures(db) == 0  # its caller may still be there
    connection.execute("update erasures set touched_at = touched_at - make_interval(secs => %s)", (SILENCE_S + 1,))
    assert await finish_erasures(db) == 1
    assert rows_of(connection, user) == 0
    row = connection.execute("select actor, details from audit where action = 'erase' order by at").fetchall()
    assert [(one["actor"], one["details"]["pipeline_runs"]) for one in row] == [("ann", 1500)]
    assert rows_of(connection, other) > 0


async def test_a_repeated_call_goes_on_with_the_same_receipt(connection: Connection, db: Database) -> None:
    user = fill_account(connection, 1500)
    connection.execute("select maas_erase(%s)", (user,))
    counts: list[int] = []
    receipt = await erase_user(db, user, "http", counts.append)
    assert (receipt["pipeline_runs"], receipt["raw_logs"]) == (1500, 3000)
    assert counts == sorted(counts) and len(counts) > 2
    assert set((await erase_user(db, user, "http")).values()) == {0}


async def test_requests_that_keep_coming_in_end_it_with_an_error(
    connection: Connection, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is undone, and erasing again after they have stopped reaches the end."""
    user = fill_account(connection, 3000)
    monkeypatch.setattr("maas.memory.erase.MAX_LATE_CALLS", 3)

    def ask_again(_: int) -> None:
        insert(connection, user)

    with pytest.raises(MaasError, match="keep coming in"):
        await erase_user(db, user, "http", ask_again)
    left = rows_of(connection, user)
    assert 0 < left < 4 * 3000
    await erase_user(db, user, "http")
    assert rows_of(connection, user) == 0
