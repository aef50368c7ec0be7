"""What is old goes: words and finished runs, never what somebody still needs; records stay."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from maas.named_queries import query_texts
from tests.plans import explain, pages
from tests.remembering import at, days_ago, remember
from tests.sql.engine import Engine, insert, run_of

Connection = psycopg.Connection[DictRow]
KEEP = 30


@pytest.fixture
def engine(connection: Connection) -> Engine:
    return Engine(connection, lease="400 days")


def exchange(connection: Connection, engine: Engine, user: UUID, query: str = "hello there") -> UUID:
    """A request, answered and archived; its run."""
    run = insert(connection, user, query)
    claimed = [one for one in engine.claim() if one["id"] == run]
    engine.finish(claimed[0])
    return run


def later(connection: Connection, days: int) -> None:
    connection.execute("select set_config('maas.now', (now() + %s * interval '1 day')::text, false)", (days,))


def sweep(connection: Connection, limit: int = 500) -> list[dict[str, Any]]:
    """What each batch took, until nothing is left to do."""
    batches = []
    while (row := connection.execute("select maas_purge_expired(%s, %s) as c", (KEEP, limit)).fetchone()) and row["c"]:
        if not any(row["c"].values()):
            break
        batches.append(row["c"])
    return batches


def count(connection: Connection, table: str, user: UUID) -> int:
    return connection.execute(f"select from {table} where user_id = %s".encode(), (user,)).rowcount


def test_words_and_runs_go_when_they_are_old_and_records_stay(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    run = exchange(connection, engine, user)
    later(connection, KEEP - 1)
    assert sweep(connection) == []
    later(connection, KEEP + 1)
    assert sweep(connection) == [{"logs": 2, "runs": 1, "images": 0, "conversations": 0}]
    assert (count(connection, "raw_logs", user), count(connection, "pipeline_runs", user)) == (0, 0)
    record = connection.execute("select * from lsm_storage where user_id = %s", (user,)).fetchone()
    assert record is not None and record["words_gone"] and len(record["raw_log_ids"]) == 2
    note = connection.execute("select actor, details from audit where user_id = %s", (user,)).fetchall()
    assert note == [
        {"actor": "retention", "details": {"logs": 2, "runs": 1, "images": 0, "conversations": 0, "days": KEEP}}
    ]
    assert connection.execute("select from run_events where run_id = %s", (run,)).rowcount == 0
    forgotten = connection.execute("select maas_forget(%s) as f", (record["id"],)).fetchone()
    assert forgotten is not None and forgotten["f"]["records"] == 1
    assert count(connection, "lsm_storage", user) == 0


def test_batches_are_small(connection: Connection, engine: Engine) -> None:
    for user in [uuid4(), uuid4()]:
        for _ in range(3):
            exchange(connection, engine, user)
    later(connection, KEEP + 1)
    batches = sweep(connection, limit=2)
    assert all(batch["logs"] <= 2 and batch["runs"] <= 2 for batch in batches)
    assert (sum(one["logs"] for one in batches), sum(one["runs"] for one in batches)) == (12, 6)


def test_a_batch_is_of_many_users_and_passes_over_who_is_busy(
    connection: Connection, engine: Engine, database: str
) -> None:
    """A million users with one old exchange each would take days one by one. What each lost is noted with that user."""
    users = [UUID(int=n) for n in range(1, 5)]  # none shares a lock with another
    for n, user in enumerate(users):
        for _ in range(n + 1):
            exchange(connection, engine, user, "the heron flies")
        connection.execute("select maas_count_terms(%s, 0)", (user,))
    later(connection, KEEP + 1)
    with psycopg.connect(database) as other:
        other.execute("select maas_lock_memory(%s)", (users[0],))
        assert sweep(connection) == [{"logs": 18, "runs": 9, "images": 0, "conversations": 0}]
    assert sweep(connection) == [{"logs": 2, "runs": 1, "images": 0, "conversations": 0}]
    noted = "select user_id, details->'runs' as runs from audit where actor = 'retention'"
    notes = connection.execute(noted).fetchall()
    assert {note["user_id"]: note["runs"] for note in notes} == {user: n + 1 for n, user in enumerate(users)}
    assert connection.execute("select from term_df").rowcount == 0
    assert connection.execute("select from counted_users where turns <> 0").rowcount == 0


def test_what_is_in_flight_or_not_recorded_stays(connection: Connection, engine: Engine) -> None:
    user, other, third = uuid4(), uuid4(), uuid4()
    waiting = insert(connection, user)
    insert(connection, other)
    running = next(one for one in engine.claim() if one["user_id"] == other)
    unarchived = insert(connection, third)
    run = next(one for one in engine.claim() if one["id"] == unarchived)
    engine.complete(run)
    engine.step(done=[{"id": str(run["id"]), "attempt": run["attempt"], "outcome": "archive_failed", "calls": []}])
    later(connection, KEEP + 1)
    assert sweep(connection) == []
    assert [run_of(connection, one)["queue_state"] for one in (waiting, running["id"], unarchived)] == [1, 1, 2]
    assert count(connection, "raw_logs", third) == 2


@pytest.mark.parametrize(
    ("status", "expires", "stays"),
    [
        ("pending", 60, True),
        ("pending", 1, False),
        ("approved", 1, True),
        ("executing", 1, True),
        ("done", 1, False),
    ],
)
def test_a_run_stays_while_an_action_of_it_waits(
    connection: Connection, engine: Engine, status: str, expires: int, stays: bool
) -> None:
    user = uuid4()
    run = exchange(connection, engine, user)
    connection.execute(
        "insert into chat_pending_actions (user_id, run_id, call_id, tool_name, args_hash, asked_hash, effect, status, "
        "expires_at) values (%s, %s, 'a', 'a', 'a', 'a', 'write', %s, now() + %s * interval '1 day')",
        (user, run, status, expires),
    )
    later(connection, KEEP + 1)
    sweep(connection)
    assert count(connection, "raw_logs", user) == 0
    assert count(connection, "pipeline_runs", user) == count(connection, "chat_pending_actions", user) == int(stays)


def test_counted_words_stay_true(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    exchange(connection, engine, user, "the heron flies")
    connection.execute("update raw_logs set created_at = now() - interval '60 days' where user_id = %s", (user,))
    exchange(connection, engine, user, "the heron rests")
    connection.execute("select maas_count_terms(%s, 0)", (user,))
    sweep(connection)
    df = "select term, turns from term_df where user_id = %s order by term"
    after = connection.execute(df, (user,)).fetchall()
    turns = connection.execute("select turns from counted_users where user_id = %s", (user,)).fetchall()
    connection.execute("select maas_count_terms(%s, 0)", (user,))
    assert after == connection.execute(df, (user,)).fetchall() and after
    assert turns == [{"turns": 2}]


def test_a_dialogue_keeps_its_summary_and_notes_and_goes_when_nothing_is_left(
    connection: Connection, engine: Engine
) -> None:
    user, talk = uuid4(), uuid4()
    for query in ("one", "two"):
        connection.execute(
            "insert into pipeline_runs (user_id, user_query, conversation_id) values (%s, %s, %s)", (user, query, talk)
        )
        engine.finish(engine.claim()[0])
    first = connection.execute("select run_id from chat_messages where content = 'one'").fetchone()
    assert first is not None
    connection.execute("select maas_add_note(%s, 'the heron is grey')", (first["run_id"],))
    connection.execute("select maas_fold_conversation(%s, 2)", (talk,))
    connection.execute(
        "update raw_logs set created_at = now() - interval '60 days' where run_id = %s", (first["run_id"],)
    )
    sweep(connection)
    left = connection.execute("select content, is_folded from chat_messages where user_id = %s", (user,)).fetchall()
    assert [(row["content"], row["is_folded"]) for row in left] == [("two", False), ("an answer", False)]
    kept = connection.execute("select rolling_summary from chat_conversations where id = %s", (talk,)).fetchall()
    assert kept == [{"rolling_summary": "They talked."}]
    later(connection, KEEP + 1)
    connection.execute("update chat_conversations set created_at = now() - interval '1 day'")
    sweep(connection)
    assert count(connection, "chat_conversations", user) == 0
    assert connection.execute("select from maas_notes(%s)", (user,)).rowcount == 1


def test_one_of_many_sweeps_and_waits_for_nobody(connection: Connection, engine: Engine, database: str) -> None:
    user = uuid4()
    exchange(connection, engine, user)
    later(connection, KEEP + 1)
    with psycopg.connect(database) as other:
        for lock in ("maas_lock('retention')", "maas_lock_memory(%s)"):
            other.execute(f"select {lock}".encode(), (user,) if "%s" in lock else None)
            assert sweep(connection) == []
            other.rollback()
    assert len(sweep(connection)) == 1


def test_what_is_merged_after_a_sweep_is_forgotten_as_a_whole(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    for _ in range(2):
        exchange(connection, engine, user)
    later(connection, KEEP + 1)
    sweep(connection)
    rows = connection.execute(
        "select id, time_bucket_end as day from lsm_storage where user_id = %s", (user,)
    ).fetchall()
    merged = connection.execute(
        "select maas_compact(%s, 1, %s, %s::uuid[], 'Both.', false, '{}') as id",
        (user, rows[0]["day"], [row["id"] for row in rows]),
    ).fetchone()
    assert merged is not None
    parent = connection.execute(
        "select words_gone, raw_log_ids from lsm_storage where id = %s", (merged["id"],)
    ).fetchone()
    assert parent is not None and parent["words_gone"] and len(parent["raw_log_ids"]) == 4
    connection.execute("select maas_forget(%s)", (merged["id"],))
    assert count(connection, "lsm_storage", user) == 0


def merge(connection: Connection, user: UUID, level: int, summary: str) -> UUID:
    rows = connection.execute(
        "select id, time_bucket_end as day from lsm_storage where user_id = %s and superseded_at is null", (user,)
    ).fetchall()
    made = connection.execute(
        "select maas_compact(%s, %s, %s, %s::uuid[], %s, false, '{}') as id",
        (user, level, rows[0]["day"], [row["id"] for row in rows], summary),
    ).fetchone()
    assert made is not None and made["id"] is not None
    found: UUID = made["id"]
    return found


def wordless(connection: Connection, user: UUID, question: str, as_of: str | None = None) -> list[tuple[int, str]]:
    """Level and text of what a search finds of the summaries whose messages are deleted, best first."""
    args = (user, question, as_of, None, None, None, 5)
    with psycopg.RawCursor(connection, row_factory=dict_row) as cursor:
        rows = cursor.execute(query_texts()["wordless_records"].encode(), args).fetchall()
    return [(row["level"], row["summary"]) for row in rows]


def remember_birds(connection: Connection, user: UUID) -> tuple[UUID, list[UUID]]:
    """Three exchanges of a day, merged into a month that has forgotten most of them, without their messages; the month
    and the exchanges."""
    said = ["The heron is called Gustav.", "The stork is called Lotte.", "A heron was seen."]
    records = remember(connection, user, [(at(days_ago(100), 9 + n), text) for n, text in enumerate(said)])
    for level in (1, 2, 3):
        month = merge(connection, user, level, "They spoke of a heron.")
    connection.execute("update raw_logs set created_at = now() - interval '90 days' where user_id = %s", (user,))
    sweep(connection)
    assert count(connection, "raw_logs", user) == 0
    return month, records


def test_the_finest_summaries_are_searched(connection: Connection) -> None:
    """What the month has left out is found in the exchanges that it was made from, and each once."""
    user = uuid4()
    remember_birds(connection, user)
    assert wordless(connection, user, "What is the stork called?")[0] == (0, "The stork is called Lotte.")
    assert wordless(connection, user, "the heron called") == [
        (0, "The heron is called Gustav."),
        (0, "A heron was seen."),
        (0, "The stork is called Lotte."),
    ]
    assert wordless(connection, uuid4(), "stork") == wordless(connection, user, "stork", "2001-01-01") == []
    connection.execute("delete from lsm_storage where user_id = %s and level < 3", (user,))
    assert wordless(connection, user, "heron") == [(3, "They spoke of a heron.")], (
        "a month alone, as an import may have"
    )


def test_forgetting_reaches_the_finest_summaries(connection: Connection) -> None:
    """By the exchange, which reopens the others, and by the month, which deletes them all."""
    user, other = uuid4(), uuid4()
    _, records = remember_birds(connection, user)
    connection.execute("select maas_forget(%s)", (records[1],))
    assert wordless(connection, user, "stork Lotte") == []
    assert {text for _, text in wordless(connection, user, "heron")} == {
        "The heron is called Gustav.",
        "A heron was seen.",
    }
    month, _ = remember_birds(connection, other)
    connection.execute("select maas_forget(%s)", (month,))
    assert wordless(connection, other, "heron stork") == [] and count(connection, "lsm_storage", other) == 0


def test_a_void_summary_is_not_found(connection: Connection) -> None:
    user = uuid4()
    _, records = remember_birds(connection, user)
    connection.execute(
        "update lsm_storage set superseded_by = null, superseded_at = now() where id = %s", (records[1],)
    )
    assert wordless(connection, user, "stork") == []


def test_a_search_of_the_finest_summaries_reads_those_of_its_user(connection: Connection) -> None:
    """Sixty thousand summaries of 100 users, all without their messages: indexes, and few pages."""
    connection.execute(
        """insert into lsm_storage (id, user_id, level, time_bucket_start, time_bucket_end, tags, summary, words_gone,
             superseded_by, superseded_at)
           select md5(n::text)::uuid, md5((n % 100)::text)::uuid, l, d, d, '{}', 'Bird number ' || n || ' came.', true,
             case when l = 0 then md5((n - n % 1000 + n % 100)::text)::uuid end, case when l = 0 then now() end
           from generate_series(1, 60000) n cross join lateral (
             select (n % 1000 >= 100)::int as is_part, current_date - n % 300 as d) p
           cross join lateral (select case when is_part = 1 then 0 else 3 end as l) q"""
    )
    connection.execute("analyze lsm_storage")
    user = connection.execute("select md5('7')::uuid as id").fetchone()
    assert user is not None
    assert len(wordless(connection, user["id"], "bird number 407")) == 5
    plan = explain(connection, "wordless_records", user["id"], "bird number 407", *[None] * 4, 20)
    assert "idx_lsm_children" in str(plan) and "Seq Scan" not in str(plan), plan
    assert pages(plan) < 5000, plan


def test_the_role_of_orchestrators_sweeps_and_may_not_delete(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    exchange(connection, engine, user)
    later(connection, KEEP + 1)
    connection.execute("set role maas_worker")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("delete from raw_logs where user_id = %s", (user,))
    assert len(sweep(connection)) == 1
    connection.execute("reset role")
    assert count(connection, "raw_logs", user) == 0
