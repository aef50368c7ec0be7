"""Who did what: rows that are only added."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.sql.engine import Engine, failed, insert

Connection = psycopg.Connection[DictRow]


def notes(connection: Connection, action: str) -> list[DictRow]:
    return connection.execute(
        "select actor, user_id, subject, details from v_audit where action = %s order by at", (action,)
    ).fetchall()


@pytest.mark.parametrize(
    ("statement", "action", "details"),
    [
        (
            "update system_prompts set prompt_template = 'SECRET' where role_name = 'Analyzer'",
            "prompt_change",
            {"how": "update", "changed": ["prompt_template"], "role_name": "Analyzer", "version": 2},
        ),
        (
            "insert into model_prices (provider, model, input, output) values ('me', 'mine', 1, 2)",
            "price_change",
            {"how": "insert", "provider": "me", "model": "mine"},
        ),
        (
            "update assistants set is_active = false where name = 'mentor'",
            "assistant_change",
            {"how": "update", "changed": ["is_active"], "name": "mentor"},
        ),
    ],
)
def test_a_change_by_hand_is_noted(
    connection: Connection, statement: str, action: str, details: dict[str, object]
) -> None:
    before = len(notes(connection, action))
    connection.execute(statement.encode())
    row = notes(connection, action)[before:]
    assert [(one["user_id"], one["details"]) for one in row] == [(None, details)]
    role = connection.execute("select session_user as me").fetchone()
    assert role is not None and row[0]["actor"] == f"sql:{role['me']}"
    assert not connection.execute("select from audit where details::text like '%SECRET%'").fetchall()


def test_what_changes_nothing_is_not_noted(connection: Connection) -> None:
    before = len(notes(connection, "assistant_change"))
    connection.execute("update assistants set updated_at = now()")
    assert len(notes(connection, "assistant_change")) == before


def test_a_role_is_noted_when_it_comes_and_when_it_goes(connection: Connection) -> None:
    user = uuid4()
    connection.execute("insert into user_roles (user_id, role) values (%s, 'admin')", (user,))
    connection.execute("delete from user_roles where user_id = %s", (user,))
    assert [(row["user_id"], row["details"]) for row in notes(connection, "role_change")] == [
        (user, {"how": "insert", "role": "admin"}),
        (user, {"how": "delete", "role": "admin"}),
    ]


def test_cancel_and_retry_are_noted_with_who_asked(connection: Connection) -> None:
    engine = Engine(connection)
    user = uuid4()
    run = insert(connection, user)
    assert connection.execute("select maas_cancel_run(%s, 'ann') as v", (run,)).fetchall() == [{"v": "cancelling"}]
    engine.step()
    assert connection.execute("select maas_cancel_run(%s, 'ann') as v", (run,)).fetchall() == [{"v": "finished"}]
    assert connection.execute("select maas_retry_run(%s) as v", (run,)).fetchall() == [{"v": "retrying"}]
    assert connection.execute("select maas_retry_run(%s) as v", (run,)).fetchall() == [{"v": "not_failed"}]
    engine.step(done=[failed(engine.claim()[0])])
    assert [(row["actor"], row["user_id"], row["subject"]) for row in notes(connection, "cancel")] == [
        ("ann", user, run)
    ]
    retries = notes(connection, "retry")
    assert [(row["user_id"], row["subject"]) for row in retries] == [(user, run)]
    assert retries[0]["actor"].startswith("sql:")


@pytest.mark.parametrize("statement", ["update audit set actor = 'me'", "delete from audit", "truncate audit"])
def test_nobody_rewrites_the_audit(connection: Connection, statement: str) -> None:
    connection.execute("select maas_write_audit('test', null, null, '{}', 'ann')")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="rows can only be added"):
        connection.execute(statement.encode())


def test_erasing_keeps_the_audit(connection: Connection) -> None:
    user = uuid4()
    run = insert(connection, user)
    connection.execute("select maas_cancel_run(%s)", (run,))
    connection.execute("select maas_erase(%s)", (user,))
    rows = connection.execute("select action from audit where user_id = %s order by id", (user,)).fetchall()
    assert [row["action"] for row in rows] == ["cancel", "erase"]
