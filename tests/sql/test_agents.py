"""Which agent holds a conversation: named before its answer, known with it, and by nobody else."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.sql.engine import Engine

Connection = psycopg.Connection[DictRow]


def begun(connection: Connection, conversation: UUID) -> UUID:
    row = connection.execute(
        "insert into pipeline_runs (user_id, user_query, conversation_id) values (%s, 'Who?', %s) returning id",
        (uuid4(), conversation),
    ).fetchone()
    assert row is not None
    Engine(connection).step()
    return UUID(str(row["id"]))


def name(connection: Connection, run: UUID, attempt: int, agent: str | None, domain: str | None = None) -> bool:
    query = "select maas_set_agent(%s, %s, %s, %s) as found"
    row = connection.execute(query, (run, attempt, agent, domain)).fetchone()
    assert row is not None
    return bool(row["found"])


def answer(connection: Connection, run: UUID) -> None:
    connection.execute("update pipeline_runs set final_answer = 'Me.' where id = %s", (run,))


def holder(connection: Connection, conversation: UUID) -> tuple[str | None, str | None, str | None]:
    query = "select maas_active_agent(id) as active, last_agent, last_domain from chat_conversations where id = %s"
    row = connection.execute(query, (conversation,)).fetchone()
    assert row is not None
    return row["active"], row["last_agent"], row["last_domain"]


def test_a_name_counts_with_the_answer(connection: Connection) -> None:
    conversation = uuid4()
    run = begun(connection, conversation)
    assert name(connection, run, 1, "router") and name(connection, run, 1, "ads")
    assert holder(connection, conversation) == (None, None, None)
    answer(connection, run)
    assert holder(connection, conversation) == ("ads", "ads", None)
    assert name(connection, run, 1, None, "crm")
    assert holder(connection, conversation) == ("ads", "ads", None)


def test_who_lost_the_run_names_nobody(connection: Connection) -> None:
    run = begun(connection, uuid4())
    assert not name(connection, run, 2, "ads")
    connection.execute("update pipeline_runs set attempt = 2 where id = %s", (run,))
    assert not name(connection, run, 1, "ads")
    assert connection.execute("select from pipeline_runs where agent is not null").fetchall() == []


@pytest.mark.parametrize("is_cleared", [False, True])
def test_a_cleared_conversation_keeps_its_agent(connection: Connection, is_cleared: bool) -> None:
    conversation = uuid4()
    run = begun(connection, conversation)
    name(connection, run, 1, "ads", "box")
    answer(connection, run)
    if is_cleared:
        connection.execute("select maas_clear_conversation(%s)", (conversation,))
    assert holder(connection, conversation) == ("ads", "ads", "box")
