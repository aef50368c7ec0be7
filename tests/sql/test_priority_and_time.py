"""Which runs start first and when: priorities among users, times before which a run does not start, attributes."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from tests.sql.attempts import become
from tests.sql.engine import Engine, failed, insert, run_of

Connection = psycopg.Connection[DictRow]
LOW, HIGH = -1, 1


def send(connection: Connection, user: UUID | None = None, **columns: Any) -> UUID:
    names = list(columns)
    row = connection.execute(
        f"""insert into pipeline_runs (user_id, user_query{"".join(f", {name}" for name in names)})
            values (%s, 'hello'{", %s" * len(names)}) returning id""",
        (user or uuid4(), *columns.values()),
    ).fetchone()
    assert row is not None
    return UUID(str(row["id"]))


def claimed(engine: Engine, capacity: int = 1) -> list[UUID]:
    return [run["id"] for run in engine.claim(capacity)]


def test_users_with_a_higher_priority_come_first(connection: Connection, engine: Engine) -> None:
    """From the inbox, where a flood of low ones is before them, and from those that are runnable already."""
    flood = [send(connection, priority=LOW) for _ in range(40)]
    normal, high = send(connection), send(connection, priority=HIGH)
    assert claimed(engine) == [high]
    later = send(connection, priority=HIGH)
    assert claimed(engine) == [later]
    assert claimed(engine) == [normal]
    assert [run for _ in flood for run in claimed(engine)] == flood


def test_the_order_of_a_user_holds_whatever_the_priorities(connection: Connection, engine: Engine) -> None:
    """A run takes along what its user has sent before, however long the queue before that is."""
    user = uuid4()
    first = send(connection, user, priority=LOW)
    others = [send(connection, priority=LOW) for _ in range(30)]
    second = send(connection, user, priority=HIGH)
    third = send(connection, user)
    seen = [first, second, third]
    order = []
    for _ in range(len(others) + len(seen)):
        (run,) = engine.claim(1)
        if run["user_id"] == user:
            order.append(run["id"])
        engine.complete(run)
        engine.step(capacity=0, done=[engine.archived(run)])
    assert order == seen


def test_a_share_goes_to_the_higher_priority(connection: Connection, engine: Engine) -> None:
    low, high = send(connection, priority=LOW), send(connection, priority=HIGH)
    rows = connection.execute(
        "select id from maas_step(%s, '{NEW}', 5, '[]', false, '{}', '{}', 1, 1) where verdict = 'claimed'",
        (engine.owner,),
    ).fetchall()
    assert [row["id"] for row in rows] == [high]
    assert run_of(connection, low)["queue_state"] == 0


def test_a_run_waits_for_its_time_and_lets_later_ones_go_first(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    scheduled = send(connection, user, run_at="2100-01-01")
    assert run_of(connection, scheduled)["queue_state"] == -4
    now = insert(connection, user, "What is new?")
    (run,) = engine.claim()
    assert run["id"] == now
    hidden = connection.execute("select maas_hidden_runs(%s, %s) as runs", (user, run["seq"])).fetchone()
    assert hidden is not None and scheduled in hidden["runs"]  # what it asks was not said yet
    engine.finish(run)
    assert engine.claim() == []
    connection.execute("update pipeline_runs set run_at = now() where id = %s", (scheduled,))
    (late,) = engine.claim()
    assert late["id"] == scheduled and late["seq"] > run["seq"]
    assert late["waited"] < 60  # since its time, not since it was sent


def test_a_time_that_is_past_changes_nothing(connection: Connection, engine: Engine) -> None:
    run_id = send(connection, run_at="2000-01-01")
    assert claimed(engine) == [run_id]


def test_a_scheduled_run_is_cancelled_and_waits_again_when_retried(connection: Connection, engine: Engine) -> None:
    run_id = send(connection, run_at="2100-01-01")
    assert connection.execute("select maas_cancel_run(%s) as v", (run_id,)).fetchone() == {"v": "cancelling"}
    assert engine.step()["cancelled"] == [run_id]
    assert connection.execute("select maas_retry_run(%s) as v", (run_id,)).fetchone() == {"v": "retrying"}
    assert (run_of(connection, run_id)["status"], run_of(connection, run_id)["queue_state"]) == ("NEW", -4)


def test_priority_and_time_survive_a_failure(connection: Connection, engine: Engine) -> None:
    run_id = send(connection, priority=HIGH)
    (run,) = engine.claim()
    engine.step(done=[failed(run)])
    connection.execute("select maas_retry_run(%s)", (run_id,))
    send(connection)
    assert claimed(engine) == [run_id]


@pytest.mark.parametrize(
    "value",
    [
        [],
        "text",
        {"": 1},
        {"a" * 65: 1},
        {"a": None},
        {"a": []},
        {"a": {"b": 1}},
        {"a": "x" * 513},
        {str(n): n for n in range(17)},
    ],
)
def test_attributes_are_few_and_plain(connection: Connection, value: Any) -> None:
    with pytest.raises(errors.CheckViolation):
        send(connection, attributes=Jsonb(value))


def test_attributes_are_found_by_their_index(connection: Connection) -> None:
    one = send(connection, attributes=Jsonb({"team": "red", "batch": 7, "dry": True}))
    send(connection, attributes=Jsonb({"team": "blue"}))
    asked = (
        """select id from pipeline_runs where attributes is not null and attributes @> '{"team": "red", "batch": 7}'"""
    )
    assert [row["id"] for row in connection.execute(asked)] == [one]
    connection.execute("set enable_seqscan = off")
    assert "idx_pipeline_runs_attributes" in str(connection.execute(f"explain {asked}").fetchall())


def test_an_application_asks_with_them(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    asked = """insert into run_requests (user_id, user_query, priority, run_at, attributes, idempotency_key)
               values (%s, 'hello', 1, '2000-01-01', '{"team": "red"}', 'k')
               returning priority, attributes"""
    for _ in range(2):
        assert connection.execute(asked, (user,)).fetchone() == {"priority": 1, "attributes": {"team": "red"}}
    with pytest.raises(errors.UniqueViolation):
        connection.execute(asked.replace("1,", "0,", 1), (user,))


def test_users_of_claims_take_no_high_priority(known: Connection) -> None:
    """Else every user would, and the others would wait."""
    user = UUID("00000000-0000-4000-8000-0000000000aa")
    for table in ("pipeline_runs", "run_requests"):
        with known.transaction(force_rollback=True):
            become(known, "authenticated", user)
            sent = f"insert into {table} (user_id, user_query, priority) values (%s, 'hello', %s)"
            known.execute(sent, (user, LOW))
            with pytest.raises(errors.InsufficientPrivilege), known.transaction():
                known.execute(sent, (user, HIGH))
