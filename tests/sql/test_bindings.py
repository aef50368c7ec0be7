"""Rows that name rows of another user lead nowhere: nothing of the other is read, changed, lost or kept out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import RawCursor
from psycopg.rows import DictRow, dict_row

from maas.named_queries import query_texts
from tests.notes import ADD_NOTE
from tests.sql.engine import Engine, failed, run_of
from tests.sql.test_forget import exchange, forget, merge, valid

Connection = psycopg.Connection[DictRow]
Read = Callable[..., list[dict[str, Any]]]
SECRET = "qzx77wv"


@pytest.fixture
def read(connection: Connection) -> Read:
    def run(name: str, *args: object) -> list[dict[str, Any]]:
        with RawCursor(connection, row_factory=dict_row) as cursor:
            return cursor.execute(query_texts()[name].encode(), args).fetchall()

    return run


def write(connection: Connection, table: str, **columns: Any) -> UUID:
    """A row as it came in before imports were checked."""
    required: dict[str, dict[str, Any]] = {
        "raw_logs": {"message_type": "user_query", "content": "planted", "conversation": "c"},
        "lsm_storage": {
            "summary": "planted",
            "tags": [],
            "time_bucket_start": "2026-01-05",
            "time_bucket_end": "2026-01-05",
        },
    }
    values = required.get(table, {}) | columns
    row = connection.execute(
        f"insert into {table} ({', '.join(values)}) values ({', '.join(['%s'] * len(values))}) returning id".encode(),
        tuple(values.values()),
    ).fetchone()
    assert row is not None
    return UUID(str(row["id"]))


def ask(connection: Connection, user: UUID, query: str, conversation: UUID | None = None) -> UUID:
    return write(connection, "pipeline_runs", user_id=user, user_query=query, conversation_id=conversation)


def rows_of(connection: Connection, user: UUID) -> dict[str, list[DictRow]]:
    tables = ("raw_logs", "lsm_storage", "chat_conversations", "chat_messages", "attachments")
    return {
        name: connection.execute(f"select * from {name} where user_id = %s order by id".encode(), (user,)).fetchall()
        for name in tables
    }


def test_a_summary_tells_of_runs_of_its_user_only(connection: Connection, engine: Engine) -> None:
    owner, stranger, conversation = uuid4(), uuid4(), uuid4()
    run_id = ask(connection, owner, "a secret")
    (run,) = engine.claim()
    engine.finish(run, summary=SECRET)
    write(connection, "chat_conversations", id=conversation, user_id=stranger)
    write(
        connection,
        "chat_messages",
        user_id=stranger,
        conversation_id=conversation,
        run_id=run_id,
        role="user",
        content="planted",
    )
    connection.execute("select maas_fold_conversation(%s, 0)", (conversation,))
    (row,) = connection.execute("select rolling_summary from chat_conversations where id = %s", (conversation,))
    assert SECRET not in row["rolling_summary"]


def test_forgotten_words_take_along_copies_of_their_user_only(connection: Connection, engine: Engine) -> None:
    owner, stranger, conversation = uuid4(), uuid4(), uuid4()
    run_id = ask(connection, owner, "remember that", conversation)
    (run,) = engine.claim()
    connection.execute("select maas_add_note(%s, 'a note')", (run_id,))
    engine.finish(run)
    connection.execute("select maas_fold_conversation(%s, 0)", (conversation,))
    before = rows_of(connection, owner)
    logs = [
        write(connection, "raw_logs", user_id=stranger, run_id=run_id, turn_no=turn, message_type=kind)
        for turn, kind in enumerate(("user_query", "assistant_response"), start=1)
    ]
    for log in logs:
        assert forget(connection, log, stranger)["verdict"] == "forgotten"
    assert rows_of(connection, owner) == before


@pytest.mark.parametrize("is_parent", [True, False])
def test_a_forgotten_record_takes_along_parents_of_its_user_only(
    connection: Connection, engine: Engine, is_parent: bool
) -> None:
    owner, stranger = uuid4(), uuid4()
    child, _ = exchange(connection, engine, owner, "one")
    parent = merge(connection, owner, 1, [child], "a day")
    before = rows_of(connection, owner)
    named = parent if is_parent else child
    record = write(connection, "lsm_storage", user_id=stranger, superseded_by=named, superseded_at="2026-01-06")
    assert forget(connection, record, stranger)["verdict"] == "forgotten"
    assert rows_of(connection, owner) == before


def test_words_under_a_waiting_run_are_not_of_it(connection: Connection, engine: Engine, read: Read) -> None:
    owner, stranger = uuid4(), uuid4()
    run_id = ask(connection, owner, "what is mine?")
    for turn in (0, 1):
        write(
            connection,
            "raw_logs",
            user_id=stranger,
            run_id=run_id,
            turn_no=turn,
            message_type="assistant_response",
        )
    (run,) = engine.claim()
    engine.complete(run, "the real answer")
    assert [row["content"] for row in read("exchange_of_run", [run_id])] == ["what is mine?", "the real answer"]
    item = {"tags": ["Talk"], "summary": "They talked.", "degraded": False}  # no log_ids: all that the run said
    engine.step(done=[{"id": str(run_id), "attempt": run["attempt"], "outcome": "archived", "item": item, "calls": []}])
    (record,) = connection.execute("select raw_log_ids from lsm_storage where run_id = %s", (run_id,))
    assert [row["content"] for row in read("sources", owner, record["raw_log_ids"])] == [
        "what is mine?",
        "the real answer",
    ]
    assert len(record["raw_log_ids"]) == 2


def test_a_record_under_a_waiting_run_keeps_none_out(connection: Connection, engine: Engine) -> None:
    owner, stranger = uuid4(), uuid4()
    run_id = ask(connection, owner, "what is mine?")
    write(connection, "lsm_storage", user_id=stranger, run_id=run_id)
    (run,) = engine.claim()
    engine.finish(run, summary="the real record")
    rows = connection.execute("select summary from lsm_storage where run_id = %s and user_id = %s", (run_id, owner))
    assert [row["summary"] for row in rows] == ["the real record"]


def test_a_run_may_take_an_id_under_which_words_of_another_stand(connection: Connection, engine: Engine) -> None:
    """An import brings words and no runs: the ids of these are free."""
    owner, stranger, run_id = uuid4(), uuid4(), uuid4()
    write(connection, "raw_logs", user_id=owner, run_id=run_id)
    before = rows_of(connection, owner)
    write(connection, "pipeline_runs", id=run_id, user_id=stranger, user_query="mine now")
    (run,) = engine.claim()
    engine.step(done=[failed(run)])
    assert run_of(connection, run_id)["status"] == "FAILED"
    connection.execute("select maas_retry_run(%s)", (run_id,))
    (run,) = engine.claim()
    engine.finish(run)
    assert rows_of(connection, owner) == before


def test_images_show_those_of_their_user_only(connection: Connection, engine: Engine, read: Read) -> None:
    owner, stranger, conversation, elsewhere = uuid4(), uuid4(), uuid4(), uuid4()
    image = {"media_type": "image/png", "width": 1, "height": 1}
    photo = write(connection, "attachments", user_id=owner, content=b"photo", **image)
    run_id = write(
        connection,
        "pipeline_runs",
        user_id=owner,
        user_query="draw",
        conversation_id=conversation,
        attachment_ids=[photo],
    )
    write(
        connection, "attachments", user_id=stranger, run_id=run_id, kind="generated", content=b"not asked for", **image
    )
    write(connection, "chat_conversations", id=elsewhere, user_id=stranger)
    message = {"user_id": stranger, "conversation_id": elsewhere, "role": "user", "content": "x"}
    write(connection, "chat_messages", run_id=run_id, **message)
    write(connection, "chat_messages", attachment_ids=[photo], **message)
    shown = read("list_messages", elsewhere, None, None, 9, ["user"], 0, False)
    assert [row["attachment_ids"] for row in shown] == [[], []]
    assert read("drawing_of_run", run_id) == []
    assert read("run_states", [run_id])[0]["drawn"] is None
    (drawn,) = connection.execute("select maas_store_drawing(%s, 'image/png', 1, 1, 'the drawing') as id", (run_id,))
    assert read("run_states", [run_id])[0]["drawn"] == [drawn["id"]]
    (run,) = engine.claim()
    connection.execute("select maas_set_agent(%s, %s, 'sales', 'money')", (run_id, run["attempt"]))
    write(connection, "chat_messages", **(message | {"role": "assistant"}), run_id=run_id)
    engine.finish(run)
    agents = connection.execute("select agent from chat_messages where user_id = %s", (stranger,)).fetchall()
    assert [row["agent"] for row in agents] == [None, None, None]


def test_reads_tell_of_rows_of_their_user_only(connection: Connection, engine: Engine, read: Read) -> None:
    owner, stranger, conversation = uuid4(), uuid4(), uuid4()
    record, (question, _) = exchange(connection, engine, owner, SECRET)
    (run,) = connection.execute("select run_id from raw_logs where id = %s", (question,))
    day = merge(connection, owner, 1, [record], f"a day with {SECRET}")
    log = write(connection, "raw_logs", user_id=stranger, run_id=uuid4(), record_id=record)
    child = write(connection, "lsm_storage", user_id=stranger, superseded_by=day, superseded_at="2026-01-06")
    write(connection, "chat_conversations", id=conversation, user_id=stranger)
    connection.execute(ADD_NOTE, (stranger, "a note", run["run_id"]))
    write(
        connection,
        "chat_messages",
        user_id=stranger,
        conversation_id=conversation,
        run_id=run["run_id"],
        role="user",
        content="x",
    )
    found = [
        read("turns", stranger, [log, question]),
        read("memory", log),
        read("history", stranger, [log, question]),
        read("records", stranger, [record, day, child], 5),
        read("notes", stranger),
        read("recent_messages", stranger, 10**9, conversation, 9),
        read("sources", stranger, [question]),
    ]
    assert found[0], "its own turn is found"
    planted = ("record_id", "superseded_by")  # what the stranger wrote itself
    shown = str([{name: row[name] for name in row if name not in planted} for rows in found for row in rows])
    assert not [one for one in (SECRET, str(question), str(record), str(day)) if one in shown]
    assert found[0][0]["summary"] is None


def test_words_that_name_a_run_of_another_do_not_keep_it(connection: Connection, engine: Engine) -> None:
    """A run whose words are gone is swept, whoever names it; whether one is waiting is shown to nobody."""
    owner, stranger = uuid4(), uuid4()
    run_id = ask(connection, owner, "old")
    (run,) = engine.claim()
    log = write(connection, "raw_logs", user_id=stranger, run_id=run_id, turn_no=1)
    (own,) = connection.execute("select id from raw_logs where user_id = %s", (owner,))
    record = write(connection, "lsm_storage", user_id=stranger, raw_log_ids=[own["id"]], words_gone=True)
    assert forget(connection, record, stranger)["verdict"] == "forgotten", "no word of the other's queue"
    engine.finish(run)
    assert valid(connection, owner)
    for words in connection.execute("select id from raw_logs where user_id = %s", (owner,)).fetchall():
        forget(connection, words["id"])
    (swept,) = connection.execute("select count(*) from maas_expired_runs(now() + interval '1 day')")
    assert swept["count"] == 1
    assert log is not None
