"""Quotas of a user, and the queue of a user named by claims: refused in the transaction that adds too much."""

from __future__ import annotations

import secrets
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from maas.settings.quotas import QuotaSettings
from tests.logins import login
from tests.sql.engine import Engine, insert

Connection = psycopg.Connection[DictRow]
PNG = "insert into attachments (user_id, media_type, width, height, content) values (%s, 'image/png', 1, 1, %s)"
CONVERSATION = "insert into chat_conversations (user_id) values (%s)"


def limit(connection: Connection, **values: int) -> None:
    for key, value in values.items():
        assert connection.execute("update engine_settings set value = %s where key = %s", (str(value), key)).rowcount


def count(connection: Connection, table: str, user: UUID) -> int:
    return connection.execute(f"select from {table} where user_id = %s".encode(), (user,)).rowcount


def refused(connection: Connection, statement: str, *args: Any) -> dict[str, Any]:
    """The detail of the refusal of a statement."""
    with pytest.raises(psycopg.Error, match="an operator can raise MAAS_USER_") as caught:
        connection.execute(statement.encode(), args)
    assert caught.value.sqlstate == "MQ001"
    row = connection.execute("select %s::jsonb as d", (caught.value.diag.message_detail,)).fetchone()
    return dict(row["d"]) if row else {}


def document(name: str, size: int) -> Jsonb:
    return Jsonb(
        {
            "name": name,
            "media_type": "text/plain",
            "sha256": name,
            "bytes": size,
            "track_id": "t",
            "status": "processed",
        }
    )


def turns(characters: int) -> Jsonb:
    return Jsonb([{"role": "user", "content": secrets.token_hex(characters // 2)}])


def test_the_database_begins_with_the_defaults_of_the_settings(connection: Connection) -> None:
    """They hold before an orchestrator has written its own."""
    rows = connection.execute("select key, value from engine_settings").fetchall()
    stored = {row["key"]: row["value"] for row in rows}
    assert {name: stored[name] for name in QuotaSettings.model_fields} == {
        name: str(field.default) for name, field in QuotaSettings.model_fields.items()
    }


def test_conversations_are_limited_whoever_opens_them(connection: Connection) -> None:
    user, other = uuid4(), uuid4()
    limit(connection, user_conversations=2)
    connection.execute(CONVERSATION, (user,))
    connection.execute("select maas_create_conversation(%s, 'mentor')", (user,))
    expected = {"name": "user_conversations", "quota": 2, "used": 3}
    assert refused(connection, CONVERSATION, user) == expected
    assert refused(connection, "select maas_create_conversation(%s, 'mentor')", user) == expected
    asked = "insert into pipeline_runs (user_id, user_query, conversation_id) values (%s, 'hello', %s)"
    assert refused(connection, asked, user, uuid4()) == expected
    assert refused(connection, "select maas_chat_conversation('chat', %s, 'mentor')", user) == expected
    assert [count(connection, table, user) for table in ("chat_conversations", "pipeline_runs", "raw_logs")] == [
        2,
        0,
        0,
    ]
    row = connection.execute("select id from chat_conversations where user_id = %s limit 1", (user,)).fetchone()
    assert row is not None
    connection.execute(asked.encode(), (user, row["id"]))
    connection.execute(CONVERSATION, (other,))


def test_images_are_limited_by_number_and_by_bytes(connection: Connection) -> None:
    user = uuid4()
    limit(connection, user_images=2, user_image_bytes=100)
    connection.execute(PNG, (user, b"a" * 50))
    assert refused(connection, PNG, user, b"b" * 51) == {"name": "user_image_bytes", "quota": 100, "used": 101}
    connection.execute(PNG, (user, b"b" * 50))
    store = "select maas_store_attachment(%s, null, 'image/png', 1, 1, %s)"
    connection.execute(store, (user, b"a" * 50))  # known
    assert refused(connection, store, user, b"c")["name"] == "user_images"
    connection.execute("delete from attachments where content = %s", (b"a" * 50,))
    connection.execute(store, (user, b"c"))
    assert count(connection, "attachments", user) == 2


def test_documents_are_limited_by_number_and_by_bytes_but_not_those_of_everybody(connection: Connection) -> None:
    user = uuid4()
    limit(connection, user_documents=2, user_document_bytes=100)
    add = "select maas_add_document(%s, %s, '[]')"
    connection.execute(add, (user, document("a", 90)))
    assert refused(connection, add, user, document("b", 11)) == {
        "name": "user_document_bytes",
        "quota": 100,
        "used": 101,
    }
    connection.execute(add, (user, document("a", 50)))  # in place of the former
    connection.execute(add, (user, document("b", 50)))
    expected = Jsonb([{"name": "c", "media_type": "text/plain", "bytes": 0, "track_id": "t"}])
    assert refused(connection, "select maas_expect_documents(%s, %s)", user, expected)["name"] == "user_documents"
    assert count(connection, "knowledge_documents", user) == 2
    for name in "abc":
        connection.execute(add, (None, document(name, 90)))


def test_memory_is_limited_by_bytes(connection: Connection) -> None:
    """A large addition is always checked, small ones from time to time."""
    user = uuid4()
    limit(connection, user_memory_bytes=3 << 20)
    imported = "select maas_import(%s, 'x', %s)"
    connection.execute(imported, (user, turns(2 << 20)))
    detail = refused(connection, imported, user, turns(2 << 20))
    assert (detail["name"], detail["used"] > detail["quota"]) == ("user_memory_bytes", True)
    assert count(connection, "raw_logs", user) == count(connection, "pipeline_runs", user) == 1
    limit(connection, user_memory_bytes=1 << 20)
    remember = "select maas_remember(%s, %s)"
    assert refused(connection, remember, user, turns(2 << 20))["name"] == "user_memory_bytes"
    with pytest.raises(psycopg.Error) as caught:
        for _ in range(500):  # each with a chance of one in 17
            insert(connection, user, "x" * 60_000)
    assert caught.value.sqlstate == "MQ001"
    insert(connection, uuid4(), "x" * 60_000)


def test_the_view_shows_what_each_user_has_of_each_quota(connection: Connection) -> None:
    user = uuid4()
    connection.execute(CONVERSATION, (user,))
    connection.execute(PNG, (user, b"a" * 50))
    connection.execute("select maas_add_document(%s, %s, '[]')", (user, document("a", 90)))
    connection.execute("select maas_import(%s, 'x', %s)", (user, turns(1000)))
    connection.execute("select maas_create_webhook(%s, 'https://hooks.example/')", (user,))
    connection.execute("select maas_create_schedule(%s, 'hello', '30 8 * * 1-5')", (user,))
    limit(connection, user_image_bytes=100)
    rows = connection.execute("select name, used, share from v_user_quotas where user_id = %s", (user,)).fetchall()
    used = {row["name"]: row["used"] for row in rows}
    assert used.keys() == QuotaSettings.model_fields.keys() - {"user_queue_limit", "user_webhook_events"}
    (memory,) = connection.execute("select maas_memory_bytes(%s) as bytes", (user,)).fetchall()
    assert used.pop("user_memory_bytes") == memory["bytes"] > 1000
    assert used == {
        "user_conversations": 1,
        "user_documents": 1,
        "user_document_bytes": 90,
        "user_images": 1,
        "user_image_bytes": 50,
        "user_webhooks": 1,
        "user_schedules": 1,
    }
    assert [str(row["share"]) for row in rows if row["name"] == "user_image_bytes"] == ["0.500"]


def test_a_user_named_by_claims_cannot_fill_the_queue(connection: Connection, database: str) -> None:
    """One INSERT or many: beyond the limit nothing is inserted. Applications and the owner are not limited."""
    user, other = uuid4(), uuid4()
    limit(connection, user_queue_limit=100)
    many = "insert into pipeline_runs (user_id, user_query) select %s, 'n ' || n from generate_series(1, %s) n"
    with (
        login(database, "authenticated") as dsn,
        psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as client,
    ):
        client.execute("select set_config('request.jwt.claim.sub', %s, false)", (str(user),))
        with pytest.raises(psycopg.Error, match="more than 100 unfinished requests") as caught:
            client.execute(many, (user, 20_000))
        assert caught.value.sqlstate == "MQ002" and "wait until some are finished" in str(
            caught.value.diag.message_hint
        )
        assert count(connection, "pipeline_runs", user) == count(connection, "raw_logs", user) == 0
        client.execute(many, (user, 100))
        with pytest.raises(psycopg.Error, match="unfinished requests"):
            client.execute(many, (user, 1))
        engine = Engine(connection)
        (run,) = engine.claim()
        engine.complete(run)
        engine.step(done=[engine.archived(run)])
        client.execute(many, (user, 1))
    with (
        login(database, "maas_app") as dsn,
        psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as application,
    ):
        application.execute(many, (other, 300))
    connection.execute(many, (other, 300))
    assert count(connection, "pipeline_runs", other) == 600
