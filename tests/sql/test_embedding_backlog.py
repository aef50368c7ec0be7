"""How many messages wait for their vector: counted where they are few, estimated where they are many, cheap always."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import DictRow

from tests.sql.attempts import become

Connection = psycopg.Connection[DictRow]
MAX_CHECKED = 10_000


def log_messages(connection: Connection, count: int, age: str = "0 s", is_remembered: bool = True) -> None:
    connection.execute(
        """insert into raw_logs (user_id, run_id, message_type, content, conversation, is_remembered, created_at)
           select %s, gen_random_uuid(), 'user_query', 'words ' || n, 'c', %s, now() - %s::interval
           from generate_series(1, %s) n""",
        (UUID(int=1), is_remembered, age, count),
    )


def start(connection: Connection, model: str = "m") -> None:
    connection.execute("select maas_lease_embeddings(%s, %s, '1 min')", (model, UUID(int=2)))


def finish(connection: Connection) -> None:
    """The pass over all messages is complete."""
    connection.execute("update embedding_fills set swept_to = null")


def embed(connection: Connection, count: int, model: str = "m") -> None:
    connection.execute(
        """select maas_write_embeddings(%s, array_agg(id), array_agg(1.0::real)) from (
             select id from raw_logs l where is_remembered
               and not exists (select from embeddings e where e.log_id = l.id and e.model = %s) limit %s) l""",
        (model, model, count),
    )


def backlog(connection: Connection) -> dict[str, Any] | None:
    return connection.execute("select model, embedded, refused, waiting, is_estimate from v_embedding").fetchone()


def test_nothing_is_shown_before_messages_are_embedded(connection: Connection) -> None:
    log_messages(connection, 3)
    assert backlog(connection) is None


def test_messages_without_a_vector_are_counted(connection: Connection) -> None:
    log_messages(connection, 5, "1 day")
    log_messages(connection, 2, "1 day", is_remembered=False)
    start(connection)
    found = {"model": "m", "embedded": 0, "refused": 0, "waiting": 5, "is_estimate": False}
    assert backlog(connection) == found
    embed(connection, 3)
    assert backlog(connection) == found | {"embedded": 3, "waiting": 2}
    embed(connection, 2)
    finish(connection)
    assert backlog(connection) == found | {"embedded": 5, "waiting": 0}
    log_messages(connection, 4)
    assert backlog(connection) == found | {"embedded": 5, "waiting": 4}
    connection.execute("select maas_write_embeddings('m', array_agg(id), '{}') from raw_logs")
    assert backlog(connection) == found | {"embedded": 5, "refused": 6, "waiting": 0}


def test_the_model_in_use_is_shown(connection: Connection) -> None:
    log_messages(connection, 5)
    start(connection, "old")
    embed(connection, 5, "old")
    connection.execute("update embedding_fills set leased_until = now() - interval '1 day'")
    start(connection, "new")
    found = backlog(connection)
    assert found is not None and (found["model"], found["waiting"]) == ("new", 5)


@pytest.mark.parametrize("is_first_pass", [True, False])
def test_many_are_estimated(connection: Connection, is_first_pass: bool) -> None:
    log_messages(connection, MAX_CHECKED + 5000)
    start(connection)
    if not is_first_pass:
        finish(connection)
    found = backlog(connection)
    assert found is not None and (found["waiting"], found["is_estimate"]) == (MAX_CHECKED, True)
    connection.execute("analyze raw_logs")
    found = backlog(connection)
    assert found is not None and (found["waiting"], found["is_estimate"]) == (MAX_CHECKED + 5000, True)


def test_what_was_checked_is_not_read_again(connection: Connection) -> None:
    """The cost does not grow with memory."""
    log_messages(connection, 2 * MAX_CHECKED, "1 day")
    start(connection)
    embed(connection, 2 * MAX_CHECKED)
    finish(connection)
    log_messages(connection, 10)
    connection.execute("vacuum analyze raw_logs, embeddings")
    assert backlog(connection) == {
        "model": "m",
        "embedded": 2 * MAX_CHECKED,
        "refused": 0,
        "waiting": 10,
        "is_estimate": False,
    }
    assert pages_read(connection) < pages(connection) / 3
    connection.execute(
        "update embedding_fills set swept_to = (select id from raw_logs order by id desc offset 20 limit 1)"
    )
    assert pages_read(connection) < pages(connection) / 3


def pages_read(connection: Connection) -> int:
    row = connection.execute("explain (analyze, buffers, format json) select * from v_embedding").fetchone()
    assert row is not None
    (plan,) = row["QUERY PLAN"] if not isinstance(row["QUERY PLAN"], str) else json.loads(row["QUERY PLAN"])
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


def pages(connection: Connection) -> int:
    row = connection.execute("select relpages from pg_class where oid = 'raw_logs'::regclass").fetchone()
    assert row is not None
    return int(row["relpages"])


@pytest.mark.parametrize("role", ["maas_ops", "maas_server"])
def test_operators_and_the_server_read_it(connection: Connection, role: str) -> None:
    log_messages(connection, 5)
    start(connection)
    with connection.transaction():
        become(connection, role, None)
        found = backlog(connection)
    assert found is not None and found["waiting"] == 5


def test_without_pgvector_it_is_unknown(connection: Connection) -> None:
    log_messages(connection, 5)
    start(connection)
    connection.execute("drop table embeddings, knowledge_embeddings")
    found = backlog(connection)
    assert found is not None and (found["waiting"], found["is_estimate"]) == (None, None)
