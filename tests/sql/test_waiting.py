"""Runs that wait for their model: put off in queue_state 0, behind a time, at no cost for all others."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg.rows import DictRow

from tests.sql.engine import Engine, insert, rows_read, run_of

Connection = psycopg.Connection[DictRow]


def deferred(run: dict[str, Any], message: str | None = None, time_left: float = 150) -> dict[str, Any]:
    return {
        "id": str(run["id"]),
        "attempt": run["attempt"],
        "outcome": "deferred",
        "code": "timeout",
        "message": message,
        "wait": 60,
        "time_left": time_left,
        "calls": [],
    }


def respond(engine: Engine, run: dict[str, Any]) -> None:
    while run["status"] != "RESPONDING":
        assert engine.advance(run)


def come(connection: Connection, run_id: UUID) -> None:
    """Its time has come."""
    connection.execute("update pipeline_runs set not_before = now() where id = %s", (run_id,))


def test_a_deferred_run_keeps_its_turn_until_its_time(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    first, second = insert(connection, user), insert(connection, user)
    (run,) = engine.claim()
    respond(engine, run)
    assert engine.step(done=[deferred(run, "away")]) == engine_words(ended=[first])
    row = run_of(connection, first)
    assert (row["status"], row["queue_state"], row["owner"]) == ("RESPONDING", 0, None)
    assert run_of(connection, second)["queue_state"] == -1
    assert engine.claim() == []
    (event,) = connection.execute("select payload from run_events where type = 'deferred'").fetchall()
    assert (event["payload"]["code"], event["payload"]["cause"]) == ("timeout", "away")

    come(connection, first)
    (again,) = engine.claim()
    assert (again["id"], again["status"], again["attempt"]) == (first, "RESPONDING", 2)
    assert 100 < again["time_left"] <= 150
    assert run_of(connection, first)["not_before"] is None
    engine.step(done=[deferred(again, time_left=900)])
    assert run_of(connection, first)["answer_by"] == row["answer_by"]  # the first wait has set it
    assert connection.execute("select count(*) as n from run_events where type = 'deferred'").fetchone() == {"n": 1}
    come(connection, first)
    (last,) = engine.claim()
    assert [one["id"] for one in engine.finish(last)["claimed"]] == [second]


def test_who_was_put_off_by_a_late_owner_is_not(connection: Connection, engine: Engine) -> None:
    run_id = insert(connection)
    (run,) = engine.claim()
    engine.step(done=[deferred(run | {"attempt": 7}, "away")])
    assert run_of(connection, run_id)["not_before"] is None


def test_a_deferred_run_is_cancelled_and_retried(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    first, second = insert(connection, user), insert(connection, user)
    (run,) = engine.claim()
    engine.step(done=[deferred(run, "away")])
    connection.execute("select maas_cancel_run(%s)", (first,))
    step = engine.step()
    assert (step["cancelled"], [one["id"] for one in step["claimed"]]) == ([first], [second])
    connection.execute("select maas_retry_run(%s)", (first,))
    row = run_of(connection, first)
    assert (row["status"], row["not_before"], row["answer_by"]) == ("NEW", None, None)


def test_those_who_wait_cost_the_others_nothing(connection: Connection, engine: Engine) -> None:
    """A step with work to do reads none of 300 runs that wait, nor does one without."""
    for _ in range(300):
        insert(connection)
    engine.step(done=[deferred(run) for run in engine.claim(300)])
    before = rows_read(connection)
    for _ in range(5):
        engine.step()
    insert(connection)
    (run,) = engine.claim()
    engine.finish(run)
    assert rows_read(connection) - before <= 40


def test_the_reaper_names_what_it_moved(connection: Connection, engine: Engine) -> None:
    """One item a run: where it stands, and why."""
    user = uuid4()
    lost, adopted = insert(connection), insert(connection, user)
    engine.claim(1)
    connection.execute("update pipeline_runs set queue_state = -1 where id = %s", (adopted,))
    connection.execute("update engines set lease_until = now() - interval '1 s'")
    row = connection.execute("select * from maas_reap(3)").fetchone()
    assert row is not None
    found = {item["id"]: (item["verdict"], item["status"]) for item in row["moved"]}
    assert found == {str(lost): ("reclaimed", "ANALYZING"), str(adopted): ("adopted", "NEW")}
    assert all(item["message"] for item in row["moved"])
    again = connection.execute("select * from maas_reap(3)").fetchone()
    assert again is not None and again["moved"] == []


def engine_words(**found: list[Any]) -> dict[str, list[Any]]:
    return {"claimed": [], "ended": [], "cancelled": [], "cancel": [], "more": []} | found
