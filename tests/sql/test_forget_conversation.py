"""A conversation is deleted with its requests, and with what was made of it; the rest of the user stays."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from tests.sql.engine import Engine
from tests.sql.test_forget import merge, valid
from tests.sql.traces import tables_with

Connection = psycopg.Connection[DictRow]
MARK = "qzx77wv"
FACT = """
insert into facts (user_id, statement, subject, attribute, kind, said_by, said_at, known_at, raw_log_ids, origin)
values (%s, %s, 'user', %s, 'preference', 'user', now(), now(), %s, 'rule')
"""
IMAGE = """insert into attachments (user_id, media_type, width, height, content)
values (%s, 'image/png', 1, 1, %s) returning id"""


def exchange(
    connection: Connection, engine: Engine, user: UUID, words: str, answer: str = "Noted.", **columns: Any
) -> tuple[UUID, list[UUID]]:
    """An exchange that is archived: its run, and the messages of question and answer."""
    row = connection.execute(
        "insert into pipeline_runs (user_id, user_query, conversation_id, attachment_ids)"
        " values (%s, %s, %s, %s) returning id",
        (user, words, columns.get("conversation"), columns.get("images", [])),
    ).fetchone()
    assert row is not None
    (run,) = engine.claim()
    sources = [{"id": str(one), "kind": "turn", "score": 1.0} for one in columns.get("given", ())]
    connection.execute("update pipeline_runs set sources = %s where id = %s", (Jsonb(sources), row["id"]))
    engine.complete(run, answer)
    engine.step(done=[engine.archived(run, summary=f"About {words}")])
    logs = connection.execute("select id from raw_logs where run_id = %s order by seq", (row["id"],)).fetchall()
    return row["id"], [log["id"] for log in logs]


def delete(connection: Connection, conversation: UUID, doubtful: bool = False) -> dict[str, Any]:
    row = connection.execute(
        "select maas_forget_conversation(%s, 'test', %s) as v", (conversation, doubtful)
    ).fetchone()
    assert row is not None
    return dict(row["v"])


def count(connection: Connection, table: str, user: UUID) -> int:
    return connection.execute(f"select from {table} where user_id = %s".encode(), (user,)).rowcount


def test_all_of_it_goes_and_nothing_else(connection: Connection, engine: Engine) -> None:
    user, gone, kept = uuid4(), uuid4(), uuid4()
    _, [question, _] = exchange(connection, engine, user, f"My boat is called {MARK}.", conversation=gone)
    for conversation in (gone, kept):
        connection.execute(
            "insert into schedules (user_id, user_query, conversation_id, cron, timezone)"
            " values (%s, 'Ask.', %s, '0 9 * * *', 'UTC')",
            (user, conversation),
        )
    _, [second, _] = exchange(connection, engine, user, f"{MARK} is green.", conversation=gone)
    _, [other, _] = exchange(connection, engine, user, "I like jazz.", conversation=kept)
    records = connection.execute(
        "select id from lsm_storage where user_id = %s order by created_at", (user,)
    ).fetchall()
    merge(connection, user, 1, [row["id"] for row in records], f"A day with {MARK}")
    connection.execute(FACT, (user, f"The boat is {MARK}.", "boat", [question, second]))
    connection.execute(FACT, (user, "The user likes jazz.", "likes:jazz", [other, second]))
    _, [_, repeated] = exchange(
        connection, engine, user, "What is my boat called?", f"It is {MARK}.", conversation=kept, given=[question]
    )
    result = delete(connection, gone)
    assert {
        name: result[name] for name in ("messages", "logs", "records", "facts", "answers", "reopened", "schedules")
    } == {
        "messages": 4,
        "logs": 5,
        "records": 4,  # two exchanges, the day, and the exchange that repeats it
        "facts": 1,
        "answers": 1,
        "reopened": 1,
        "schedules": 1,
    }
    assert [one["id"] for one in result["repeating"]] == [str(repeated)]
    assert tables_with(connection, MARK) == []
    assert count(connection, "pipeline_runs", user) == 2 and count(connection, "chat_conversations", user) == 1
    assert valid(connection, user) == {records[2]["id"]}
    (fact,) = connection.execute("select statement, raw_log_ids from facts where user_id = %s", (user,)).fetchall()
    assert fact == {"statement": "The user likes jazz.", "raw_log_ids": [other]}
    (note,) = connection.execute(
        "select action, subject, details->'facts' as facts from audit where user_id = %s", (user,)
    )
    assert note == {"action": "forget_conversation", "subject": gone, "facts": 1}
    assert delete(connection, gone) == {"verdict": "not_found"}


def test_answers_that_may_repeat_it_go_only_if_they_are_asked_for(connection: Connection, engine: Engine) -> None:
    user, first, second = uuid4(), uuid4(), uuid4()
    for conversation, asked in ((first, False), (second, True)):
        _, [memory, _] = exchange(connection, engine, user, "My falcon is Gerda.", conversation=conversation)
        _, [_, answer] = exchange(connection, engine, user, "What shall I cook?", "Cook a soup.", given=[memory])
        result = delete(connection, conversation, asked)
        assert result["doubtful_runs"] == (0 if asked else 1) and result["answers"] == int(asked)
        assert connection.execute("select from raw_logs where id = %s", (answer,)).rowcount == (0 if asked else 1)


def test_what_was_cleared_is_forgotten_too(connection: Connection, engine: Engine) -> None:
    user, conversation = uuid4(), uuid4()
    exchange(connection, engine, user, MARK, conversation=conversation)
    connection.execute("select maas_clear_conversation(%s)", (conversation,))
    result = delete(connection, conversation)
    assert (result["messages"], result["logs"], tables_with(connection, MARK)) == (0, 2, [])


def test_images_go_that_no_other_request_has(connection: Connection, engine: Engine) -> None:
    user, conversation = uuid4(), uuid4()
    own, shared = [
        row["id"] for content in (b"1", b"2") for row in connection.execute(IMAGE, (user, content)).fetchall()
    ]
    exchange(connection, engine, user, "Look.", conversation=conversation, images=[own, shared])
    exchange(connection, engine, user, "Look again.", images=[shared])
    assert delete(connection, conversation)["images"] == 1
    left = connection.execute("select id from attachments where user_id = %s", (user,)).fetchall()
    assert left == [{"id": shared}]


@pytest.mark.parametrize("is_claimed", [False, True])
def test_a_request_that_is_not_finished_keeps_it(connection: Connection, engine: Engine, is_claimed: bool) -> None:
    user, conversation = uuid4(), uuid4()
    exchange(connection, engine, user, "My boat is green.", conversation=conversation)
    connection.execute(
        "insert into pipeline_runs (user_id, user_query, conversation_id) values (%s, %s, %s)",
        (user, MARK, conversation),
    )
    if is_claimed:
        (run,) = engine.claim()
        engine.complete(run)
    assert delete(connection, conversation) == {"verdict": "in_use"}
    assert count(connection, "raw_logs", user) == (4 if is_claimed else 3)
