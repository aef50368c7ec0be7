"""Counters in the database: added in slots, folded when they are old, never falling."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from tests.sql.engine import Engine, failed, insert

Connection = psycopg.Connection[DictRow]


def add(connection: Connection, name: str, events: int = 1, **cell: object) -> None:
    connection.execute("select maas_add_metrics(%s)", (Jsonb([{"name": name, "events": events, **cell}]),))


def total(connection: Connection, name: str, **labels: str) -> int:
    row = connection.execute(
        "select coalesce(sum(events), 0)::int as n from engine_metrics where name = %s and labels @> %s",
        (name, Jsonb(labels)),
    ).fetchone()
    assert row is not None
    return int(row["n"])


def test_sums_never_fall_when_slots_are_folded(connection: Connection) -> None:
    """Ten minutes of slots on a clock of our own; only the last five minutes stay apart."""
    start = datetime(2030, 1, 1, tzinfo=UTC)
    sums = []
    for number in range(60):
        connection.execute("select set_config('maas.now', %s, false)", (str(start + timedelta(seconds=10 * number)),))
        add(connection, "stage", 2, labels={"stage": "analyzer"}, le=0.5, seconds=0.25)
        sums.append(total(connection, "stage"))
    assert sums == [2 * number for number in range(1, 61)]
    row = connection.execute(
        "select count(*) as slots, sum(seconds) as seconds, min(events) as least, max(events) as most"
        " from engine_metrics where name = 'stage'"
    ).fetchone()
    assert row is not None
    assert (row["seconds"], row["least"]) == (15.0, 2)
    assert row["slots"] == 32 and row["most"] == 2 * (60 - 31)


def test_two_orchestrators_add_to_one_slot(connection: Connection, database: str) -> None:
    connection.execute("set maas.now = '2030-01-01'")
    with psycopg.connect(database, autocommit=True, row_factory=dict_row) as other:
        other.execute("set maas.now = '2030-01-01'")
        for _ in range(3):
            add(connection, "runs_adopted")
            add(other, "runs_adopted", 2)
    assert total(connection, "runs_adopted") == 9
    rows = connection.execute(
        "select from engine_metrics where name = 'runs_adopted' and slot > '-infinity'"
    ).fetchall()
    assert len(rows) == 1


def test_failures_are_counted_where_they_are_written(connection: Connection, engine: Engine) -> None:
    """By the engine, by a cancel that nobody worked on, by the reaper; each with its code."""
    insert(connection)
    (run,) = engine.claim()
    engine.step(done=[failed(run, code="no_luck")])
    cancelled = insert(connection)
    connection.execute("select maas_cancel_run(%s)", (cancelled,))
    engine.step()
    assert total(connection, "runs_finished", status="FAILED", code="no_luck") == 1
    assert total(connection, "runs_finished", status="FAILED", code="cancelled") == 1
    insert(connection)
    (run,) = engine.claim()
    engine.complete(run)
    word = {"id": str(run["id"]), "attempt": run["attempt"], "outcome": "archive_failed", "calls": []}
    engine.step(done=[word])
    assert total(connection, "archives_failed", kind="ask") == 1


def test_the_queue_in_one_row(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    for who in (user, user, user, uuid4()):
        insert(connection, who)
    row = connection.execute("select * from v_queue").fetchone()
    assert row is not None
    assert (row["inbox"], row["oldest_user"], row["orchestrators"]) == (4, user, 1)
    assert row["oldest_for"] > timedelta(0) and 0 <= row["notify_queue_usage"] < 1
    engine.claim(1)
    row = connection.execute("select * from v_queue").fetchone()
    assert row is not None
    assert (row["inbox"], row["waiting"], row["runnable"], row["in_flight"]) == (0, 2, 1, 1)


def test_rates_are_of_the_last_seconds(connection: Connection) -> None:
    """A window ends now and begins with a slot: 10 to 15 s, 60 to 65 s."""
    labels = {"kind": "ask", "status": "COMPLETED", "code": ""}
    connection.execute("select set_config('maas.now', (now() - interval '30 s')::text, false)")
    add(connection, "runs_finished", 300, labels=labels)
    connection.execute("reset maas.now")
    add(connection, "runs_finished", 30, labels=labels)
    add(connection, "runs_finished", 15, labels=labels | {"status": "FAILED", "code": "cancelled"})
    for _ in range(15):
        insert(connection)
    short, long = connection.execute("select * from v_rates order by period").fetchall()
    assert 2 <= short["completed"] <= 3 and 1 <= short["failed"] <= 1.5 and 1 <= short["accepted"] <= 1.5
    assert 330 / 65 - 0.01 <= long["completed"] <= 5.5


def test_recent_times_come_from_their_buckets(connection: Connection) -> None:
    """The mean of the bucket that holds the quantile; what is older than five minutes does not count."""
    stage = {"labels": {"stage": "analyzer"}}
    connection.execute("select set_config('maas.now', (now() - interval '6 min')::text, false)")
    add(connection, "stage", 1000, le=60, seconds=50_000, **stage)
    connection.execute("reset maas.now")
    add(connection, "stage", 90, le=0.1, seconds=7.2, **stage)
    add(connection, "stage", 4, le=0.5, seconds=1.6, **stage)
    add(connection, "stage", 6, seconds=12_000, **stage)
    assert connection.execute("select * from v_stage_recent").fetchall() == [
        {"stage": "analyzer", "runs": 100, "p50_ms": 80, "p95_ms": 2_000_000}
    ]
