"""What keeps the queue cheap: heap-only updates, and indexes that hold unfinished runs only."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.sql.engine import Engine, insert

Connection = psycopg.Connection[DictRow]


@pytest.fixture
def engine(connection: Connection) -> Engine:
    return Engine(connection)


def test_status_updates_are_hot(connection: Connection, engine: Engine) -> None:
    """Large texts in the same UPDATE keep it heap-only: no transition inside lane 1 touches an index."""
    for _ in range(20):
        insert(connection)
    runs = engine.claim()
    before = _updates(connection)
    for run in runs:
        engine.advance(run, '{"a": 1}')
        engine.advance(run, "x" * 4000)
        engine.advance(run, "y" * 4000)
        engine.advance(run)
    after = _updates(connection)
    total, hot = after[0] - before[0], after[1] - before[1]
    assert total == 80
    assert hot >= 0.95 * total


def test_queue_reads_use_their_indexes(connection: Connection, engine: Engine) -> None:
    """Finished runs cost the queue nothing."""
    connection.execute("set session_replication_role = replica")
    connection.execute(
        """insert into pipeline_runs (lane_key, user_id, user_query, status, lane, seq, archive_status)
           select u, u, 'q', 'COMPLETED', 2, n, 'ARCHIVED'
           from (select gen_random_uuid() u, n from generate_series(1, 20000) n) s"""
    )
    connection.execute("reset session_replication_role")
    connection.execute("analyze pipeline_runs")
    for condition, index in (
        ("lane = 0 order by seq limit 10", "idx_pipeline_runs_status"),
        ("lane = -2 order by seq limit 10", "idx_pipeline_runs_inbox"),
        ("lane = -1 and lane_key = gen_random_uuid() order by seq limit 1", "idx_pipeline_runs_waiting"),
        ("lane < 2 and kind = 'ask' and user_id = gen_random_uuid()", "idx_pipeline_runs_unfinished"),
        ("lane in (0, 1) and lane_key = '00000000-0000-0000-0000-000000000000'", "idx_pipeline_runs_baton"),
    ):
        plan = connection.execute(f"explain select id from pipeline_runs where {condition}").fetchall()
        assert index in str(plan), plan


def _updates(connection: Connection) -> tuple[int, int]:
    connection.execute("select pg_stat_force_next_flush()")
    connection.execute("select 1")
    row = connection.execute(
        "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = 'pipeline_runs'"
    ).fetchone()
    assert row is not None
    return row["n_tup_upd"], row["n_tup_hot_upd"]
