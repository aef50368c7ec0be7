"""Calls of tools: counted, begun once, finished by who began them, and by nobody who lost the run."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from tests.sql.engine import Engine, insert, value

Connection = psycopg.Connection[DictRow]


def claimed(connection: Connection) -> UUID:
    """A run in flight, in its first claim."""
    run = insert(connection)
    Engine(connection).step()
    return run


def taken_over(connection: Connection, run: UUID) -> None:
    connection.execute("update pipeline_runs set attempt = attempt + 1 where id = %s", (run,))


def begin(connection: Connection, run: UUID, attempt: int = 1, is_idempotent: bool = False) -> tuple[str, Any]:
    query = "select * from maas_begin_tool(%s, %s, 'c1', 'send_mail', 'hash', 'write', %s)"
    row = connection.execute(query, (run, attempt, is_idempotent)).fetchone()
    assert row is not None
    return row["verdict"], row["result"]


def finish(connection: Connection, run: UUID, status: str, attempt: int = 1) -> bool:
    query = "select maas_finish_tool(%s, %s, 'send_mail', 'hash', %s, %s, 5)"
    return bool(value(connection, query, run, attempt, status, Jsonb({"status": status})))


def test_calls_are_counted_for_each_claim(connection: Connection) -> None:
    run = claimed(connection)
    count = "select maas_count_call(%s, %s)"
    assert [value(connection, count, run, 1) for _ in range(3)] == [1, 2, 3]
    taken_over(connection, run)
    assert [value(connection, count, run, attempt) for attempt in (1, 2)] == [None, 1]


def test_a_write_is_done_once(connection: Connection) -> None:
    """In this claim and in later ones it gives what it gave."""
    run = claimed(connection)
    assert begin(connection, run) == ("run", None)
    assert finish(connection, run, "done") and not finish(connection, run, "failed")
    assert begin(connection, run) == ("kept", {"status": "done"})
    taken_over(connection, run)
    assert begin(connection, run) == ("lost", None)
    assert begin(connection, run, 2) == ("kept", {"status": "done"})


def test_a_write_of_the_dead_is_in_doubt(connection: Connection) -> None:
    """Who was taken over cannot settle it any more."""
    run = claimed(connection)
    assert begin(connection, run) == ("run", None)
    taken_over(connection, run)
    assert begin(connection, run, 2) == begin(connection, run, 2) == ("in_doubt", None)
    assert not finish(connection, run, "done")


def test_an_idempotent_write_is_done_again(connection: Connection) -> None:
    run = claimed(connection)
    assert begin(connection, run, is_idempotent=True) == ("run", None)
    taken_over(connection, run)
    assert begin(connection, run, 2, is_idempotent=True) == ("run", None)
    assert not finish(connection, run, "done", attempt=1) and finish(connection, run, "done", attempt=2)


@pytest.mark.parametrize(("status", "again"), [("failed", "run"), ("in_doubt", "in_doubt")])
def test_a_write_that_failed(connection: Connection, status: str, again: str) -> None:
    """Its model may try again what surely failed; who comes later gives what was given then."""
    run = claimed(connection)
    begin(connection, run)
    finish(connection, run, status)
    taken_over(connection, run)
    assert begin(connection, run, 2) == ("kept", {"status": status})
    other = claimed(connection)
    begin(connection, other)
    finish(connection, other, status)
    assert begin(connection, other)[0] == again


def test_only_an_end_finishes(connection: Connection) -> None:
    run = claimed(connection)
    begin(connection, run)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="done, failed or in_doubt, not started"):
        finish(connection, run, "started")


def test_reads_are_noted_each_time(connection: Connection) -> None:
    run = claimed(connection)
    note = "select maas_record_read(%s, %s, 'c1', 'look', 'hash', 'done', 5)"
    assert [value(connection, note, run, attempt) for attempt in (1, 1, 2)] == [True, True, False]
    assert value(connection, "select count(*) from tool_executions where run_id = %s", run) == 2
