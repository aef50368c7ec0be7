"""A memory that is forgotten goes with its words and with every record that was made of them."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from tests.sql.engine import Engine, failed, insert, run_of
from tests.sql.traces import tables_with

Connection = psycopg.Connection[DictRow]
MARK = "qzx77wv"


def forget(connection: Connection, memory: UUID, user: UUID | None = None) -> dict[str, Any]:
    """The verdict, and how many turns and records went."""
    row = connection.execute("select maas_forget(%s, %s) as verdict", (memory, user)).fetchone()
    assert row is not None
    return {one: row["verdict"][one] for one in ("verdict", "logs", "records", "reopened") if one in row["verdict"]}


def exchange(connection: Connection, engine: Engine, user: UUID, words: str) -> tuple[UUID, list[UUID]]:
    """An answered and recorded request: its record and the logs of question and answer."""
    run_id = insert(connection, user, words)
    (run,) = engine.claim()
    engine.finish(run, summary=f"about {words}")
    record = connection.execute("select id, raw_log_ids from lsm_storage where run_id = %s", (run_id,)).fetchone()
    assert record is not None
    return record["id"], record["raw_log_ids"]


def merge(connection: Connection, user: UUID, level: int, children: list[UUID], summary: str) -> UUID:
    """A record of records, as compaction writes it."""
    row = connection.execute(
        """with parent as (
             insert into lsm_storage (user_id, level, time_bucket_start, time_bucket_end, tags, summary, raw_log_ids)
             select user_id, %s, min(time_bucket_start), max(time_bucket_end), '{}', %s,
               array(select unnest(raw_log_ids) from lsm_storage where id = any(%s))
             from lsm_storage where id = any(%s) and user_id = %s group by user_id returning id
           ), children as (
             update lsm_storage l set superseded_by = p.id, superseded_at = now() from parent p where l.id = any(%s)
           )
           select id from parent""",
        (level, summary, children, children, user, children),
    ).fetchone()
    assert row is not None
    return UUID(str(row["id"]))


def valid(connection: Connection, user: UUID) -> set[UUID]:
    rows = connection.execute("select id from v_user_memory where user_id = %s", (user,)).fetchall()
    return {row["id"] for row in rows}


def test_a_record_goes_with_its_words(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    record, _ = exchange(connection, engine, user, MARK)
    kept, _ = exchange(connection, engine, user, "something else")
    assert forget(connection, record) == {"verdict": "forgotten", "logs": 2, "records": 1, "reopened": 0}
    assert valid(connection, user) == {kept}
    assert tables_with(connection, MARK) == []
    note = connection.execute(
        "select action, user_id, subject, details from audit where user_id = %s", (user,)
    ).fetchone()
    assert note == {
        "action": "forget",
        "user_id": user,
        "subject": record,
        "details": {"logs": 2, "records": 1, "reopened": 0, "facts": 0, "answers": 0, "doubtful": 0},
    }
    assert forget(connection, record) == {"verdict": "not_found"}
    assert forget(connection, uuid4()) == {"verdict": "not_found"}


def test_a_turn_takes_its_record_along_and_leaves_the_other_turns(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    record, (question, answer) = exchange(connection, engine, user, MARK)
    assert forget(connection, question)["records"] == 1
    assert valid(connection, user) == set()
    left = connection.execute("select id, record_id, archived_at from raw_logs where user_id = %s", (user,)).fetchall()
    assert [(row["id"], row["record_id"]) for row in left] == [(answer, None)]
    assert left[0]["archived_at"] is not None, "it is not recorded again"
    assert forget(connection, record) == {"verdict": "not_found"}
    assert tables_with(connection, MARK) == []


def test_what_was_merged_is_opened_again_without_it(connection: Connection, engine: Engine) -> None:
    """Records of every level that hold the words go; their other children stand for themselves again."""
    user = uuid4()
    first, (question, _) = exchange(connection, engine, user, MARK)
    second, _ = exchange(connection, engine, user, "two")
    third, _ = exchange(connection, engine, user, "three")
    day = merge(connection, user, 1, [first, second], f"a day with {MARK}")
    other_day = merge(connection, user, 1, [third], "another day")
    week = merge(connection, user, 2, [day, other_day], f"a week with {MARK}")
    assert valid(connection, user) == {week}
    assert forget(connection, question) == {"verdict": "forgotten", "logs": 1, "records": 3, "reopened": 2}
    assert valid(connection, user) == {second, other_day}
    assert tables_with(connection, MARK) == []


def test_a_merged_record_goes_with_all_its_words(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    children = [exchange(connection, engine, user, f"{MARK} {n}")[0] for n in range(2)]
    kept, _ = exchange(connection, engine, user, "kept")
    day = merge(connection, user, 1, children, MARK)
    assert forget(connection, day) == {"verdict": "forgotten", "logs": 4, "records": 3, "reopened": 0}
    assert valid(connection, user) == {kept}
    assert tables_with(connection, MARK) == []


def test_a_record_that_was_written_anew_is_not_opened(connection: Connection, engine: Engine) -> None:
    """A failed run's record was merged, then the run was tried again: its new record is the valid one."""
    user = uuid4()
    one, (question, _) = exchange(connection, engine, user, "one")
    run_id = insert(connection, user, "two")
    (run,) = engine.claim()
    engine.step(done=[failed(run)])
    row = connection.execute("select id from lsm_storage where run_id = %s", (run_id,)).fetchone()
    assert row is not None
    merge(connection, user, 1, [one, row["id"]], "merged")
    connection.execute("select maas_retry_run(%s)", (run_id,))
    (run,) = engine.claim()
    engine.finish(run)
    assert forget(connection, question)["reopened"] == 0
    rows = connection.execute(
        "select run_id, superseded_at from v_user_memory v join lsm_storage l using (id)"
    ).fetchall()
    assert [row["superseded_at"] for row in rows] == [None]


@pytest.mark.parametrize("is_archiving", [False, True])
def test_words_of_an_unfinished_run_are_in_use(connection: Connection, engine: Engine, is_archiving: bool) -> None:
    user = uuid4()
    run_id = insert(connection, user, MARK)
    (run,) = engine.claim()
    if is_archiving:
        engine.complete(run)
    log = connection.execute("select id from raw_logs where run_id = %s order by seq", (run_id,)).fetchone()
    assert log is not None
    assert forget(connection, log["id"]) == {"verdict": "in_use"}
    engine.finish(run)
    assert forget(connection, log["id"])["verdict"] == "forgotten"
    assert run_of(connection, run_id)["status"] == "COMPLETED"


def test_words_owed_to_a_run_in_flight_are_in_use(connection: Connection, engine: Engine) -> None:
    """An archive that failed: the next run's Archivist takes the words along, and may be reading them."""
    user = uuid4()
    run_id = insert(connection, user, MARK)
    (run,) = engine.claim()
    engine.complete(run)
    engine.step(done=[{"id": str(run["id"]), "attempt": run["attempt"], "outcome": "archive_failed", "calls": []}])
    insert(connection, user, "next")
    (following,) = engine.claim()
    log = connection.execute("select id from raw_logs where run_id = %s and archive_owed", (run_id,)).fetchone()
    assert log is not None
    assert forget(connection, log["id"]) == {"verdict": "in_use"}
    engine.finish(following)
    assert forget(connection, log["id"])["verdict"] == "forgotten"


def test_an_import_in_progress_can_forget_what_is_recorded(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    turns = [{"role": "user", "content": f"{MARK} {n}", "conversation": str(n)} for n in range(2)]
    connection.execute("select maas_import(%s, 'x', %s)", (user, Jsonb(turns)))
    (run,) = engine.claim()
    while run["status"] != "COMPLETED":
        engine.advance(run)
    logs = [row["id"] for row in connection.execute("select id from raw_logs order by turn_no").fetchall()]
    item = {"log_ids": [str(logs[0])], "tags": ["T"], "summary": "first"}
    connection.execute(
        "select maas_archive_exchange(%s, %s, %s, %s, '[]')", (engine.owner, run["id"], run["attempt"], Jsonb(item))
    )
    assert forget(connection, logs[1]) == {"verdict": "in_use"}
    assert forget(connection, logs[0]) == {"verdict": "forgotten", "logs": 1, "records": 1, "reopened": 0}


def test_a_memory_of_another_user_is_not_there(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    record, (question, _) = exchange(connection, engine, user, MARK)
    for memory in (record, question):
        assert forget(connection, memory, uuid4()) == {"verdict": "not_found"}
    assert valid(connection, user) == {record}
    assert forget(connection, record, user)["verdict"] == "forgotten"


def test_counted_words_are_forgotten_too(connection: Connection, engine: Engine) -> None:
    """[design 3] The words of a large memory are counted; none may outlive its last turn."""
    user = uuid4()
    record, _ = exchange(connection, engine, user, f"a kayak named {MARK}")
    exchange(connection, engine, user, "a second kayak")
    connection.execute("select maas_count_terms(%s, 1)", (user,))
    assert "term_df" in tables_with(connection, MARK)
    assert forget(connection, record)["verdict"] == "forgotten"
    assert "term_df" not in tables_with(connection, MARK)
    counts = connection.execute("select turns from term_df where user_id = %s and term = 'kayak'", (user,)).fetchall()
    assert counts == [{"turns": 1}]


def test_a_run_keeps_its_times_and_none_of_its_words(connection: Connection, engine: Engine) -> None:
    """Nor does any later one keep a draft, which quotes memory; earlier runs and those of others keep theirs."""
    user, other = uuid4(), uuid4()
    draft = "update pipeline_runs set draft_context = %s where id = %s"
    runs: list[UUID] = []
    for whose, words in ((user, "before"), (user, MARK), (user, "later"), (other, "theirs")):
        _, (question, _) = exchange(connection, engine, whose, words)
        row = connection.execute("select run_id from raw_logs where id = %s", (question,)).fetchone()
        assert row is not None
        runs.append(row["run_id"])
        connection.execute(draft, (f"draft of {words} {MARK if words == 'later' else ''}", row["run_id"]))
    before, marked, later, theirs = runs
    connection.execute(
        "update pipeline_runs set client_context = %s, metadata = %s, attributes = %s where id = %s",
        (Jsonb({"system": MARK}), Jsonb({"note": MARK}), Jsonb({"note": MARK}), marked),
    )
    for run_id in (marked, later):
        connection.execute(
            "insert into tool_executions (run_id, try, attempt, call_id, tool, args_hash, effect, status, arguments, "
            "result, body) values (%s, 1, 1, 'c', 'find', 'h', 'read', 'done', %s, %s, %s)",
            (run_id, *[Jsonb({"text": MARK})] * 3),
        )
        connection.execute("insert into run_events values (%s, 99, 'tool_result', %s)", (run_id, Jsonb({"text": MARK})))
    connection.execute(
        "insert into responses (run_id, user_id, request, input) values (%s, %s, '{}', %s)",
        (marked, user, Jsonb([MARK])),
    )
    connection.execute(
        "insert into assistant_sessions (user_id, assistant, run_id, slots) values (%s, 'mentor', %s, %s)",
        (user, marked, Jsonb({"text": MARK, "focus": "kept"})),
    )
    waiting = insert(connection, user, "waits")
    log = connection.execute(
        "select id from raw_logs where run_id = %s and message_type = 'user_query'", (marked,)
    ).fetchone()
    assert log is not None and forget(connection, log["id"])["verdict"] == "forgotten"
    assert tables_with(connection, MARK) == []
    row = run_of(connection, marked)
    assert (row["user_query"], row["status"], row["metadata"]) == ("[forgotten]", "COMPLETED", None)
    trial = "select verdict from maas_insert_trial(%s, 'FinalResponder', null, null, 'analyzer')"
    verdicts = [connection.execute(trial, (run_id,)).fetchone() for run_id in (marked, later)]
    assert [row and row["verdict"] for row in verdicts] == ["not_replayable", "inserted"]
    assert run_of(connection, later)["user_query"] == "later" and run_of(connection, later)["draft_context"] is None
    assert run_of(connection, waiting)["user_query"] == "waits"
    for run_id in (before, theirs):
        assert run_of(connection, run_id)["draft_context"].startswith("draft of ")
    (session,) = connection.execute("select slots from assistant_sessions where user_id = %s", (user,)).fetchall()
    assert session["slots"] == {"focus": "kept"}


def test_a_forgotten_question_is_not_tried_again(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    run_id = insert(connection, user, MARK)
    (run,) = engine.claim()
    engine.step(done=[failed(run, message=MARK)])
    log = connection.execute("select id from raw_logs where run_id = %s", (run_id,)).fetchone()
    assert log is not None and forget(connection, log["id"])["verdict"] == "forgotten"
    row = connection.execute("select maas_retry_run(%s) as verdict", (run_id,)).fetchone()
    assert row == {"verdict": "not_failed"} and tables_with(connection, MARK) == []
