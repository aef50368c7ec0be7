"""Images in SQL: named by runs of their owner only, shown by messages, kept once, erased with the user."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.sql.engine import Engine

Connection = psycopg.Connection[DictRow]


def one(connection: Connection, query: str, *args: Any) -> Any:
    row = connection.execute(query.encode(), args).fetchone()
    return None if row is None else next(iter(row.values()))


def keep(connection: Connection, user: UUID, content: bytes = b"x", run: UUID | None = None) -> UUID:
    query = "select maas_store_attachment(%s, %s, 'image/png', 1, 1, %s)"
    return one(connection, query, user, run, content)  # type: ignore[no-any-return]


def ask(connection: Connection, user: UUID, ids: list[UUID], conversation: UUID | None = None) -> UUID:
    query = """insert into pipeline_runs (user_id, user_query, attachment_ids, conversation_id)
               values (%s, 'What is this?', %s, %s) returning id"""
    return one(connection, query, user, ids, conversation)  # type: ignore[no-any-return]


def test_a_run_names_images_of_its_user(connection: Connection) -> None:
    user = uuid4()
    mine, theirs = keep(connection, user), keep(connection, uuid4())
    run = ask(connection, user, [mine])
    assert one(connection, "select attachment_ids from pipeline_runs where id = %s", run) == [mine]
    for ids, refusal, word in (
        (
            [mine, theirs],
            psycopg.errors.ForeignKeyViolation,
            f"attachment_ids: {theirs} is not an attachment of this user",
        ),
        ([uuid4()], psycopg.errors.ForeignKeyViolation, "is not an attachment of this user"),
        ([None], psycopg.errors.ForeignKeyViolation, "null is not an attachment"),
        ([mine] * 11, psycopg.errors.CheckViolation, "attachment_ids: 11 are too many"),
    ):
        with pytest.raises(refusal) as caught:
            ask(connection, user, ids)  # type: ignore[arg-type]
        assert word in str(caught.value)
        assert (caught.value.diag.column_name, bool(caught.value.diag.message_hint)) == ("attachment_ids", True)
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        connection.execute("update pipeline_runs set attachment_ids = %s where id = %s", ([theirs], run))
    assert one(connection, "select count(*) from pipeline_runs where user_id = %s", user) == 1


def test_ordinary_inserts_pay_nothing(connection: Connection) -> None:
    """The trigger has a condition: without images it is not called."""
    definition = one(connection, "select pg_get_triggerdef(oid) from pg_trigger where tgname = 'check_attachments'")
    assert "WHEN ((new.attachment_ids <> '{}'::uuid[]))" in definition
    connection.execute("set track_functions = 'all'")
    ask(connection, uuid4(), [])
    assert one(connection, "select count(*) from pg_stat_xact_user_functions where funcname = 'check_attachments'") == 0


def test_the_same_bytes_are_kept_once(connection: Connection) -> None:
    user = uuid4()
    run, other = ask(connection, user, []), ask(connection, user, [])
    kept = [keep(connection, user, b"x", drawn_by) for drawn_by in (None, None, run, run, other)]
    assert kept[0] == kept[1] and kept[2] == kept[3] and len(set(kept)) == 3
    kinds = connection.execute("select kind from attachments where user_id = %s order by created_at", (user,))
    assert [row["kind"] for row in kinds] == ["upload", "generated", "generated"]


def test_messages_show_what_came_and_what_was_drawn(connection: Connection) -> None:
    engine, user, conversation = Engine(connection), uuid4(), uuid4()
    photo = keep(connection, user, b"photo")
    run = ask(connection, user, [photo], conversation)
    (claimed,) = engine.claim()
    drawn = keep(connection, user, b"drawn", run)
    while claimed["status"] != "COMPLETED":
        assert engine.advance(claimed, "{}" if claimed["status"] == "ANALYZING" else "Here it is.")
    rows = connection.execute(
        "select role, attachment_ids from chat_messages where conversation_id = %s order by created_at", (conversation,)
    ).fetchall()
    assert [(row["role"], row["attachment_ids"]) for row in rows] == [("user", [photo]), ("assistant", [drawn])]


def test_erased_images_do_not_come_back(connection: Connection) -> None:
    """A drawing that is stored after its run was erased finds nobody to belong to."""
    user, other = uuid4(), uuid4()
    photo, kept = keep(connection, user), keep(connection, other)
    run = ask(connection, user, [photo])
    keep(connection, user, b"drawn", run)
    receipt = one(connection, "select maas_erase(%s)", user)
    assert receipt["attachments"] == 2
    assert keep(connection, user, b"late", run) is None
    assert keep(connection, user, b"forged", ask(connection, other, [kept])) is None
    left = connection.execute("select id from attachments").fetchall()
    assert [row["id"] for row in left] == [kept]


def test_content_is_not_compressed(connection: Connection) -> None:
    query = "select attstorage::text from pg_attribute where attrelid = 'attachments'::regclass and attname = 'content'"
    assert one(connection, query) == "e"
