"""What keeps the queue cheap: heap-only updates, and indexes that hold unfinished runs only."""

from __future__ import annotations

import json
import time
from typing import Any
from uuid import RFC_4122, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import DictRow

from maas.engine.states import NEXT
from tests.sql.engine import Engine, insert

Connection = psycopg.Connection[DictRow]


@pytest.mark.parametrize("size", [64, 1200, 4000])
def test_status_updates_are_hot(connection: Connection, engine: Engine, size: int) -> None:
    """Texts of any size in the same UPDATE keep it heap-only: no transition inside queue_state 1 touches an index."""
    for _ in range(40):
        insert(connection)
    runs = engine.claim()
    before = _counts(connection, "n_tup_upd", "n_tup_hot_upd")
    for run in runs:
        for wrote in ('{"a": 1}', "x" * size, "y" * size, None):
            engine.advance(run, wrote)
    total, hot = _counts(connection, "n_tup_upd", "n_tup_hot_upd") - before
    assert total == 160
    assert hot >= 0.95 * total


def test_long_texts_leave_the_row_compressed(connection: Connection, engine: Engine) -> None:
    """A draft is written once, to a third of its length: no later update touches it."""
    insert(connection)
    (run,) = engine.claim()
    text = "- [2026-11-28 00:52] user: What did I tell you about my garden?\n" * 100
    engine.advance(run, '{"a": 1}')
    engine.advance(run, text)
    stored = "select pg_column_size(draft_context) as bytes, draft_context = %s as is_same from pipeline_runs"
    (row,) = connection.execute(stored, (text,)).fetchall()
    assert row["is_same"] and row["bytes"] < len(text) / 3


def test_a_run_touches_the_indexes_twice(connection: Connection, engine: Engine) -> None:
    """Where a place is free, only the claim from the inbox and the end are not heap-only."""
    before = _counts(connection, "n_tup_upd", "n_tup_hot_upd")
    for _ in range(40):
        insert(connection)
        (run,) = engine.claim()
        engine.finish(run)
    total, hot = _counts(connection, "n_tup_upd", "n_tup_hot_upd") - before
    assert total == 40 * 7
    assert total - hot <= 40 * 2.1


def test_a_move_writes_what_it_changes(connection: Connection, engine: Engine) -> None:
    """Columns that every update changes stand side by side at the end of the row: the log has them and no others."""
    for _ in range(5):
        insert(connection)
    logged = []
    for run in engine.claim():
        for wrote in ('{"a": 1}', "x" * 3000, "y" * 3000):
            assert engine.advance(run, wrote)
        (row,) = connection.execute(
            """explain (analyze, wal, format json) select from maas_advance(
                 %s, array[%s], array[%s], array['RESPONDING'], array[null], array[null], array[null], '[]')""",
            (engine.owner, run["id"], run["attempt"]),
        ).fetchall()
        plan = row["QUERY PLAN"][0]["Plan"]
        if not plan["WAL FPI"]:  # a checkpoint is followed by images of pages
            logged.append(plan["WAL Bytes"])
    assert min(logged) <= 250


def test_new_rows_are_neighbours_by_id(connection: Connection, engine: Engine) -> None:
    """Ids begin with their time: what is written together stands in few pages of an index, however large it is."""
    conversation = uuid4()
    began = time.time() - 1
    connection.execute(
        "insert into pipeline_runs (user_id, user_query, conversation_id) values (%s, 'hello', %s)",
        (uuid4(), conversation),
    )
    (run,) = engine.claim()
    engine.finish(run)
    for table, count in (("pipeline_runs", 1), ("raw_logs", 2), ("lsm_storage", 1), ("chat_messages", 2)):
        rows = connection.execute(sql.SQL("select id from {}").format(sql.Identifier(table))).fetchall()
        assert len(rows) == count
        for id in (row["id"] for row in rows):
            assert (id.version, id.variant) == (7, RFC_4122)
            assert began <= (id.int >> 80) / 1000 <= time.time() + 1


def test_a_summary_has_words_only_in_place_of_its_messages(connection: Connection, engine: Engine) -> None:
    """Its messages are found by theirs: no index of words is written until they are gone."""
    insert(connection)
    (run,) = engine.claim()
    engine.finish(run, summary="They talked about a greyhound.")
    words = "select tsv::text as words from lsm_storage"
    assert connection.execute(words).fetchall() == [{"words": None}]
    connection.execute("update lsm_storage set words_gone = true")
    assert connection.execute(words).fetchall() == [{"words": "'greyhound' 'talk'"}]
    row = connection.execute("select indexdef from pg_indexes where indexname = 'idx_lsm_search'").fetchone()
    assert row is not None and "words_gone" in row["indexdef"].partition(" WHERE ")[2]


def test_the_same_sources_are_not_stored_again(connection: Connection, engine: Engine) -> None:
    """Stages after the Draft Builder may name its sources once more; only another list costs anything."""
    insert(connection)
    (run,) = engine.claim()
    engine.advance(run, '{"a": 1}')
    sources = [{"id": str(uuid4()), "kind": "turn", "score": 0.5, "number": number} for number in range(60)]
    shown, cited = json.dumps(sources), json.dumps([one | {"used": True} for one in sources])
    stored = """
        select n_tup_ins from pg_stat_all_tables
        where relid = (select reltoastrelid from pg_class where oid = 'pipeline_runs'::regclass)"""

    def added(named: str | None) -> int:
        """Pieces of long values that the step stores."""
        connection.execute("select pg_stat_force_next_flush()")
        (before,) = connection.execute(stored).fetchall()
        assert engine.advance(run, "short", named)
        connection.execute("select pg_stat_force_next_flush()")
        (after,) = connection.execute(stored).fetchall()
        return int(after["n_tup_ins"]) - int(before["n_tup_ins"])

    assert added(shown) > 0
    assert added(shown) == 0
    assert added(None) == 0
    assert added(cited) > 0
    (row,) = connection.execute("select sources from pipeline_runs").fetchall()
    assert row["sources"] == json.loads(cited)


def test_archived_logs_stay_in_their_page(connection: Connection, engine: Engine) -> None:
    """The update that archives a log touches no index, least of all that of the words."""
    for number in range(60):
        insert(connection, query=f"a question about garden number {number} " * 5)
    before = _counts(connection, "n_tup_upd", "n_tup_hot_upd", table="raw_logs")
    for run in engine.claim():
        engine.finish(run)
    total, hot = _counts(connection, "n_tup_upd", "n_tup_hot_upd", table="raw_logs") - before
    assert total == 120
    assert hot >= 0.95 * total


def test_a_run_costs_the_rows_that_it_touches(connection: Connection, engine: Engine) -> None:
    """Plans that were made on an empty queue hold when it is full: nothing grows with the batch or with history."""
    engine.step()
    engine.connection.execute("select from maas_reap(3)")
    for _ in range(20):
        connection.execute(
            "insert into pipeline_runs (user_id, user_query) select gen_random_uuid(), 'q' from generate_series(1, 50)"
        )
        runs = engine.claim(50)
        before = _counts(connection, "idx_tup_fetch", "seq_tup_read")
        for run in runs:
            engine.complete(run)
        done = [engine.archived(run) for run in runs]
        engine.step(done=done)
        fetched, scanned = _counts(connection, "idx_tup_fetch", "seq_tup_read") - before
        assert fetched + scanned <= 10 * len(runs)


def test_a_claim_reads_no_more_however_many_wait(connection: Connection, engine: Engine) -> None:
    def end_and_claim(runs: list[dict[str, Any]]) -> tuple[int, list[dict[str, Any]]]:
        """The rows that it reads to end these runs, to promote those behind them and to claim; what it claims."""
        done = [{"id": str(run["id"]), "attempt": run["attempt"], "outcome": "archive_failed"} for run in runs]
        before = _counts(connection, "idx_tup_fetch", "seq_tup_read")
        claimed = engine.step(done=done)["claimed"]
        assert len(claimed) == len(runs) == 64
        return sum(_counts(connection, "idx_tup_fetch", "seq_tup_read") - before), claimed

    users = [uuid4() for _ in range(64)]
    added = "insert into pipeline_runs (user_id, user_query) select u, 'q' from unnest(%s) u, generate_series(1, %s)"
    connection.execute(added, (users, 3))
    few, claimed = end_and_claim(engine.claim(5000))
    connection.execute(added, (users, 60))
    engine.step(5000)
    many, _ = end_and_claim(claimed)
    assert many <= 1.5 * few


def test_a_bare_run_pays_for_the_queue_alone(connection: Connection, engine: Engine) -> None:
    """A run that leaves no log and no record touches its own row and fires two triggers: what it needs, to the call."""
    connection.execute("set track_functions = 'pl'")
    connection.execute("select pg_stat_reset()")
    connection.execute(
        """insert into pipeline_runs (user_id, user_query, kind)
           select gen_random_uuid(), 'q', 'archive' from generate_series(1, 50)"""
    )
    runs = engine.claim(50)
    for run in runs:
        engine.complete(run)
    engine.step(done=[engine.archived(run) for run in runs])
    connection.execute("select pg_stat_force_next_flush()")
    calls = connection.execute("select funcname::text as name, calls from pg_stat_user_functions").fetchall()
    of_runs = {"prepare_run": 50, "notify_pipeline_change": 50 * (len(("NEW", *NEXT, "ARCHIVED")))}
    of_runs["maas_is_legal"] = 50 * len(NEXT)
    of_batches = {"log_queries": 1, "notify_engines": 1, "maas_step": 2, "maas_lock_engine": 2}
    of_batches |= {"maas_claim_runs": 2, "maas_end_runs": 1}
    assert {row["name"]: row["calls"] for row in calls} == of_runs | of_batches | {"maas_advance": 250}
    tables = connection.execute(
        """select relname::text as name, n_tup_ins + n_tup_upd + n_tup_del as written,
             idx_tup_fetch + seq_tup_read as read
           from pg_stat_user_tables where relname not in ('engines', 'engine_settings', 'raw_logs')"""
    ).fetchall()
    assert {row["name"]: row["written"] for row in tables if row["written"]} == {"pipeline_runs": 50 * 8}
    assert sum(row["read"] or 0 for row in tables) <= 50 * 10


def test_notifications_are_bounded(connection: Connection, database: str, engine: Engine) -> None:
    """One event a change of status, one at the archive's end, and at most one wakeup a batch."""
    with psycopg.connect(database, autocommit=True) as listener:
        listener.execute("listen pipeline_events")
        listener.execute("listen pipeline_wakeup")
        for _ in range(10):
            insert(connection)
        runs = engine.claim()
        for run in runs:
            engine.complete(run)
        engine.step(done=[engine.archived(run) for run in runs])
        channels = [note.channel for note in listener.notifies(timeout=2)]
    assert channels.count("pipeline_events") == 10 * len(("NEW", *NEXT, "ARCHIVED"))
    assert channels.count("pipeline_wakeup") <= 10


def test_a_session_may_leave_notifications_out(connection: Connection, database: str, engine: Engine) -> None:
    """Rows are not told one by one, or not at all; orchestrators find their runs by polling."""
    with psycopg.connect(database, autocommit=True) as listener:
        listener.execute("listen pipeline_events; listen pipeline_wakeup; listen done")

        def channels() -> list[str]:
            connection.execute("notify done")
            found: list[str] = []
            while "done" not in found:
                found += [note.channel for note in listener.notifies(timeout=30, stop_after=1)] or ["nothing", "done"]
            return found

        with connection.transaction():
            connection.execute("set local maas.notify = 'off'")
            insert(connection)
        assert channels() == ["done"]
        with connection.transaction():
            connection.execute("set local maas.notify = 'wakeups'")
            insert(connection)
            insert(connection)
        assert channels() == ["pipeline_wakeup", "done"]
        connection.execute("set maas.notify = 'wakeups'")
        runs = engine.claim()
        assert len(runs) == 3
        for run in runs:
            engine.complete(run)
        assert channels() == ["done"]


def test_queue_reads_use_their_indexes(connection: Connection, engine: Engine) -> None:
    """Finished runs cost the queue nothing."""
    connection.execute("set session_replication_role = replica")
    connection.execute(
        """insert into pipeline_runs (queue_key, user_id, user_query, status, queue_state, seq, archive_status)
           select u, u, 'q', 'COMPLETED', 2, n, 'ARCHIVED'
           from (select gen_random_uuid() u, n from generate_series(1, 20000) n) s"""
    )
    connection.execute("reset session_replication_role")
    connection.execute("analyze pipeline_runs")
    for condition, index in (
        (
            "queue_state = 0 and not_before is null and assistant = 'mentor' order by seq limit 10",
            "idx_pipeline_runs_status",
        ),
        ("queue_state = 0 and not_before <= now() order by not_before limit 10", "idx_pipeline_runs_deferred"),
        ("queue_state = -2 order by seq limit 10", "idx_pipeline_runs_inbox"),
        ("queue_state = -1 and queue_key = gen_random_uuid() order by seq limit 1", "idx_pipeline_runs_waiting"),
        (
            "queue_state < 2 and kind in ('ask', 'action') and user_id = gen_random_uuid()",
            "idx_pipeline_runs_unfinished",
        ),
        ("queue_state in (0, 1) and queue_key = '00000000-0000-0000-0000-000000000000'", "idx_pipeline_runs_key_lock"),
    ):
        plan = connection.execute(f"explain select id from pipeline_runs where {condition}").fetchall()
        assert index in str(plan), plan


def _counts(connection: Connection, *names: str, table: str = "pipeline_runs") -> Counts:
    connection.execute("select pg_stat_force_next_flush()")
    connection.execute("select 1")
    row = connection.execute("select * from pg_stat_user_tables where relname = %s", (table,)).fetchone()
    assert row is not None
    return Counts(row[name] for name in names)


class Counts(tuple[int, ...]):
    """Counters, to be subtracted."""

    def __sub__(self, other: tuple[int, ...]) -> Counts:
        return Counts(now - then for now, then in zip(self, other, strict=True))
