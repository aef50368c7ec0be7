"""A link shows what was said in its conversation until it was made, and of memory only what its user's answers cite."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg import RawCursor
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from maas.named_queries import query_texts
from tests.sql.engine import Engine

Connection = psycopg.Connection[DictRow]
NOW = "2999-01-01"


def say(connection: Connection, engine: Engine, user: UUID, query: str, conversation: UUID, kind: str = "ask") -> UUID:
    row = connection.execute(
        "insert into pipeline_runs (user_id, user_query, conversation_id, kind) values (%s, %s, %s, %s) returning id",
        (user, query, conversation, kind),
    ).fetchone()
    assert row is not None
    engine.finish(*engine.claim())
    return UUID(str(row["id"]))


def read(connection: Connection, conversation: UUID, user: UUID, until: Any = NOW) -> list[dict[str, Any]]:
    with RawCursor(connection, row_factory=dict_row) as cursor:
        arguments = (conversation, user, until, 0, 100, True)
        return cursor.execute(query_texts()["shared_messages"].encode(), arguments).fetchall()


def message_of(connection: Connection, run: UUID) -> UUID:
    row = connection.execute(
        "select id from raw_logs where run_id = %s and message_type = 'user_query'", (run,)
    ).fetchone()
    assert row is not None
    return UUID(str(row["id"]))


def test_evidence_is_what_an_answer_cites_of_its_own_user(connection: Connection, engine: Engine) -> None:
    user, stranger, conversation, elsewhere = uuid4(), uuid4(), uuid4(), uuid4()
    cited, given = (message_of(connection, say(connection, engine, user, text, elsewhere)) for text in ("one", "two"))
    foreign = message_of(connection, say(connection, engine, stranger, "of a stranger", uuid4()))
    run = say(connection, engine, user, "three", conversation)
    sources = [
        {"id": str(cited), "kind": "turn", "score": 1, "number": 2, "used": True},
        {"id": str(given), "kind": "turn", "score": 1, "number": 1},
        {"id": str(foreign), "kind": "turn", "score": 1, "number": 3, "used": True},
        {"id": str(uuid4()), "kind": "turn", "score": 1, "number": 4, "used": True},  # forgotten since
    ]
    connection.execute("update pipeline_runs set sources = %s where id = %s", (Jsonb(sources), run))
    question, answer = read(connection, conversation, user)
    assert question["evidence"] is None
    assert [(one["number"], one["speaker"], one["text"]) for one in answer["evidence"]] == [(2, "user", "one")]
    assert read(connection, conversation, stranger) == []


def test_neither_later_messages_nor_tool_calls_nor_actions_are_shown(connection: Connection, engine: Engine) -> None:
    user, conversation = uuid4(), uuid4()
    run = say(connection, engine, user, "hello", conversation)
    connection.execute(
        "insert into chat_messages (conversation_id, user_id, run_id, role, content) values (%s, %s, %s, 'tool', 'x')",
        (conversation, user, run),
    )
    row = connection.execute("select maas_propose_action(%s, 'c', 'wipe', '{}', 'dangerous') as id", (run,)).fetchone()
    assert row is not None
    connection.execute("select maas_decide_action(%s, %s, 'approve', 'test')", (row["id"], user))
    engine.finish(*engine.claim())
    shown = [(one["role"], one["content"]) for one in read(connection, conversation, user)]
    assert shown == [("user", "hello"), ("assistant", "an answer"), ("assistant", "an answer")]
    at = connection.execute("select clock_timestamp() as at").fetchone()
    assert at is not None
    say(connection, engine, user, "later", conversation)
    assert [(one["role"], one["content"]) for one in read(connection, conversation, user, at["at"])] == shown


def test_a_link_goes_with_its_user_and_says_nothing_to_others(connection: Connection, engine: Engine) -> None:
    user, conversation = uuid4(), uuid4()
    say(connection, engine, user, "hello", conversation)
    made = connection.execute(
        "select * from maas_share_conversation(%s, sha256('t'), 7, true, 'test')", (conversation,)
    ).fetchone()
    assert made is not None and made["verdict"] == "created"
    opened = "select title, expires_at - created_at > interval '6 days' as lasts from maas_open_link(sha256(%s), %s)"
    assert connection.execute(opened, (b"t", 30)).fetchall() == [{"title": "hello", "lasts": True}]
    assert connection.execute(opened, (b"u", 30)).fetchall() == []
    assert connection.execute("select from maas_list_links(%s)", (uuid4(),)).fetchall() == []
    while connection.execute("select maas_erase(%s) as receipt", (user,)).fetchone() == {"receipt": None}:
        pass
    assert connection.execute("select from conversation_links").fetchall() == []
