"""Words that are logged and not remembered: to an assistant with `memory: off`, or of a run that is not to be."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import DictRow

from maas import queries
from maas.memory.context import build_context
from maas.memory.search import search
from maas.memory.transfer.export import write_export
from maas.memory.transfer.import_ import import_file
from shared.db import Database
from tests.sql.engine import Engine, failed, run_of

Connection = psycopg.Connection[DictRow]
FORGETFUL = (
    "insert into assistants (name, role_name, definition) values ('forgetful', 'Mentor', '{\"memory\": \"off\"}')"
)
SECRET = "The zeppelin of Alma is moored in Lisbon."


@pytest.fixture
def engine(connection: Connection) -> Engine:
    """With an assistant that has no memory."""
    connection.execute(FORGETFUL)
    return Engine(connection)


WAYS = pytest.mark.parametrize("way", [{"assistant": "forgetful"}, {"is_remembered": False}])


def say(connection: Connection, user: UUID, query: str, **columns: Any) -> UUID:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    row = connection.execute(
        sql.SQL("insert into pipeline_runs (user_id, user_query{}{}) values ({}) returning id").format(
            sql.SQL(", " if columns else ""), names, sql.SQL(", ").join(sql.Placeholder() * (2 + len(columns)))
        ),
        (user, query, *columns.values()),
    ).fetchone()
    assert row is not None
    return UUID(str(row["id"]))


def logs(connection: Connection, user: UUID) -> list[DictRow]:
    return connection.execute("select * from raw_logs where user_id = %s order by seq", (user,)).fetchall()


@WAYS
async def test_it_is_logged_and_nowhere_recalled(
    connection: Connection, engine: Engine, db: Database, way: dict[str, Any]
) -> None:
    user, conversation = uuid4(), uuid4()
    assistant = way.get("assistant", "mentor")
    connection.execute(
        "insert into chat_conversations (id, user_id, assistant) values (%s, %s, %s)", (conversation, user, assistant)
    )
    say(connection, user, SECRET, conversation_id=conversation, **way)
    (run,) = engine.claim()
    engine.complete(run, "It is moored there.")
    assert await db.rows(queries.exchange_of_run, [run["id"]]) == []
    assert engine.step(done=[engine.archived(run)])["ended"] == [run["id"]]

    said = logs(connection, user)
    assert [log["content"] for log in said] == [SECRET, "It is moored there."]
    assert all(log["archived_at"] and not log["is_remembered"] for log in said)
    assert connection.execute("select from lsm_storage where user_id = %s", (user,)).rowcount == 0
    assert connection.execute("select from chat_messages where user_id = %s", (user,)).rowcount == 2

    say(connection, user, "The harbour is closed on Monday.")
    engine.finish(*engine.claim())
    last = 2**60
    assert [row["content"] for row in await db.rows(queries.recent_turns, user, last, 10)] == [
        "an answer",
        "The harbour is closed on Monday.",
    ]
    assert await db.rows(queries.recent_messages, user, last, conversation, 10) == []
    for is_full in (False, True):
        hits = await search(db, user, "Where is the zeppelin of Alma moored?", is_full=is_full)
        assert not {hit.text for hit in hits} & {SECRET, "It is moored there."}
    context = await build_context(db, user, "Where is the zeppelin of Alma moored?", 4000)
    assert "Lisbon" not in "".join(context.lines)
    if connection.execute("select to_regclass('embeddings') as name").fetchone() != {"name": None}:  # with pgvector
        (page,) = await db.rows(queries.sweep_turns, "m", UUID(int=0), 100)
        assert (page["looked_at"], len(page["missing"])) == (4, 2)
        assert len(await db.rows(queries.new_turns, "m", run["created_at"], 100)) == 2


@WAYS
async def test_its_words_are_not_counted(
    connection: Connection, engine: Engine, db: Database, way: dict[str, Any]
) -> None:
    user = uuid4()
    said = [say(connection, user, words, **columns) for words, columns in ((SECRET, way), ("Alma likes herring.", {}))]
    connection.execute("select maas_count_terms(%s, 0)", (user,))

    def counted() -> tuple[dict[str, int], int]:
        terms = connection.execute("select term, turns from term_df where user_id = %s", (user,)).fetchall()
        row = connection.execute("select turns from counted_users where user_id = %s", (user,)).fetchone()
        return {row["term"]: row["turns"] for row in terms}, row["turns"] if row else 0

    (terms, turns) = counted()
    assert "alma" in terms and not any(term.startswith("zeppel") for term in terms)
    assert turns == 1
    for run in engine.claim():
        engine.finish(run)
    connection.execute("update term_df set turns = 5 where user_id = %s", (user,))
    log = connection.execute("select id from raw_logs where run_id = %s", (said[0],)).fetchone()
    assert log is not None
    connection.execute("select maas_forget(%s)", (log["id"],))
    assert set(counted()[0].values()) == {5}


@WAYS
def test_a_failed_one_leaves_no_record_and_may_be_retried(
    connection: Connection, engine: Engine, way: dict[str, Any]
) -> None:
    user = uuid4()
    run_id = say(connection, user, SECRET, **way)
    (run,) = engine.claim()
    engine.step(0, done=[failed(run)])
    assert connection.execute("select from lsm_storage where user_id = %s", (user,)).rowcount == 0
    connection.execute("select maas_retry_run(%s)", (run_id,))
    engine.finish(*engine.claim())
    assert run_of(connection, run_id)["archive_status"] == "ARCHIVED"
    assert all(log["archived_at"] and log["record_id"] is None for log in logs(connection, user))
    assert connection.execute("select from lsm_storage where user_id = %s", (user,)).rowcount == 0


def test_a_note_is_not_taken_in_it(connection: Connection, engine: Engine) -> None:
    run_id = say(connection, uuid4(), "remember: I sail", is_remembered=False)
    assert connection.execute("select maas_add_note(%s, 'I sail')", (run_id,)).fetchone() == {"maas_add_note": "off"}
    assert connection.execute("select from facts").rowcount == 0


def test_nobody_brings_it_back_by_the_way_of_an_action(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    say(connection, user, "Wipe the list.", is_remembered=False)
    (run,) = engine.claim()
    row = connection.execute(
        "select maas_propose_action(%s, 'c', 'wipe', '{}', 'dangerous') as id", (run["id"],)
    ).fetchone()
    assert row is not None
    decided = connection.execute(
        "select * from maas_decide_action(%s, %s, 'approve', 'test')", (row["id"], user)
    ).fetchone()
    assert decided is not None
    assert run_of(connection, decided["run_id"])["is_remembered"] is False


async def test_an_export_keeps_it_apart(connection: Connection, engine: Engine, db: Database) -> None:
    user, other = uuid4(), uuid4()
    say(connection, user, SECRET, is_remembered=False)
    engine.finish(*engine.claim())
    file = BytesIO()
    await write_export(db, user, file, "test")
    lines = [json.loads(line) for line in file.getvalue().splitlines()]
    assert [line["is_remembered"] for line in lines if line.get("type") in ("log", "run")] == [False] * 3
    file.seek(0)
    await import_file(db, other, file, "export.jsonl", "test")
    assert [log["is_remembered"] for log in logs(connection, other)] == [False, False]
    assert await search(db, other, SECRET) == []


async def test_a_temporary_conversation_remembers_itself_and_nothing_else_does(
    connection: Connection, engine: Engine, db: Database
) -> None:
    """Whatever a later request of it says: the first one has decided."""
    user, conversation, elsewhere = uuid4(), uuid4(), uuid4()
    say(connection, user, "The harbour is closed on Monday.", conversation_id=elsewhere)
    engine.finish(*engine.claim())
    say(connection, user, SECRET, conversation_id=conversation, is_remembered=False)
    engine.finish(*engine.claim())
    say(connection, user, "And where is it moored?", conversation_id=conversation, is_remembered=True)
    (run,) = engine.claim()
    assert run_of(connection, run["id"])["is_remembered"] is False
    last = 2**60
    rows = await db.rows(queries.recent_messages, user, run["seq"], conversation, 10)
    assert [row["content"] for row in rows] == ["an answer", SECRET]
    engine.finish(run)
    assert connection.execute("select from lsm_storage where user_id = %s", (user,)).rowcount == 1
    assert await search(db, user, "Where is the zeppelin of Alma moored?") == []
    marks = "select is_remembered from chat_conversations where user_id = %s order by created_at"
    assert [row["is_remembered"] for row in connection.execute(marks, (user,))] == [True, False]
    shown = await db.rows(queries.recent_messages, user, last, elsewhere, 10)
    assert {row["content"] for row in shown} == {"an answer", "The harbour is closed on Monday."}


@pytest.mark.parametrize(
    "columns", [{"assistant": "forgetful"}, {"is_remembered": False, "source": "openai"}, {"source": "telegram"}]
)
def test_only_a_request_that_says_so_opens_a_temporary_conversation(
    connection: Connection, engine: Engine, columns: dict[str, Any]
) -> None:
    """A client's own task, such as a title, leaves the conversation of its user as it is."""
    conversation = uuid4()
    say(connection, uuid4(), SECRET, conversation_id=conversation, **columns)
    (row,) = connection.execute(
        "select is_remembered from chat_conversations where id = %s", (conversation,)
    ).fetchall()
    assert row["is_remembered"] is True
