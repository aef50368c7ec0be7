"""Pauses of assistants, keys, models and users: their runs leave the queue and come back in order."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import DictRow

from tests.sql.engine import Engine, insert, released, run_of

Connection = psycopg.Connection[DictRow]


@pytest.fixture
def engine(connection: Connection) -> Engine:
    connection.execute("insert into assistants (name, role_name) values ('other', 'Mentor')")
    return Engine(connection)


def call(connection: Connection, name: str, subject: str, of: object) -> tuple[str, int]:
    row = connection.execute(f"select * from {name}(%s, %s)", (subject, str(of))).fetchone()
    assert row is not None
    return row["verdict"], row["runs"]


def pause(connection: Connection, subject: str, of: object) -> tuple[str, int]:
    return call(connection, "maas_pause", subject, of)


def resume(connection: Connection, subject: str, of: object) -> tuple[str, int]:
    return call(connection, "maas_resume", subject, of)


def send(connection: Connection, user: UUID, assistant: str = "mentor", caller: str = "") -> UUID:
    row = connection.execute(
        """insert into pipeline_runs (user_id, user_query, assistant, caller) values (%s, 'hello', %s, %s)
           returning id""",
        (user, assistant, caller),
    ).fetchone()
    assert row is not None
    return UUID(str(row["id"]))


def claimed(engine: Engine, capacity: int = 64) -> list[UUID]:
    return [run["id"] for run in engine.claim(capacity)]


def test_runs_of_a_paused_assistant_wait_and_hold_up_nobody(connection: Connection, engine: Engine) -> None:
    """What is in the inbox, behind another run, or runnable; each user's other runs go on meanwhile."""
    ann, ben = uuid4(), uuid4()
    in_flight = send(connection, ann)
    (run,) = engine.claim()
    waiting, runnable = send(connection, ann), send(connection, ben)
    next_of_ann, next_of_ben = send(connection, ann, "other"), send(connection, ben, "other")
    engine.claim(1)
    connection.execute("update pipeline_runs set queue_state = 0, owner = null where id = %s", (runnable,))
    assert pause(connection, "assistant", "mentor") == ("paused", 2)
    assert [run_of(connection, one)["queue_state"] for one in (waiting, runnable)] == [-3, -3]
    assert claimed(engine) == [next_of_ben]
    assert [one["id"] for one in engine.finish(run)["claimed"]] == [next_of_ann]  # what was in flight was finished

    new = send(connection, uuid4())
    assert claimed(engine) == []
    assert run_of(connection, new)["queue_state"] == -3
    for one in connection.execute("select * from pipeline_runs where queue_state = 1").fetchall():
        engine.step(capacity=0, done=[released(one)])
    connection.execute("select maas_cancel_run(id) from pipeline_runs where assistant = 'other'")
    engine.step()
    assert resume(connection, "assistant", "mentor") == ("resumed", 3)
    assert claimed(engine) == [waiting, runnable, new]
    assert in_flight not in (waiting, runnable)


def test_a_paused_user_and_a_paused_key(connection: Connection, engine: Engine) -> None:
    connection.execute(
        "insert into api_keys (id, name, secret_hash, scopes) values ('0123456789ab', 'shop', sha256('x'), '{ask}')"
    )
    ann, ben = uuid4(), uuid4()
    of_key, of_ann, free = (
        send(connection, ben, caller="key:0123456789ab"),
        send(connection, ann),
        send(connection, ben),
    )
    assert pause(connection, "key", "0123456789ab") == ("paused", 0)
    assert pause(connection, "user", ann) == ("paused", 0)
    assert claimed(engine) == [free]
    assert resume(connection, "user", str(ann).upper()) == ("resumed", 1)
    assert claimed(engine) == [of_ann]
    assert run_of(connection, of_key)["queue_state"] == -3


def test_a_run_that_two_pauses_hold_waits_for_the_end_of_both(connection: Connection, engine: Engine) -> None:
    ann = uuid4()
    run_id = send(connection, ann)
    pause(connection, "user", ann)
    pause(connection, "assistant", "mentor")
    assert claimed(engine) == []
    assert resume(connection, "user", ann) == ("resumed", 0)
    assert claimed(engine) == []
    assert resume(connection, "assistant", "mentor") == ("resumed", 1)
    assert claimed(engine) == [run_id]


def test_the_order_of_a_user_holds_over_a_pause(connection: Connection, engine: Engine) -> None:
    ann = uuid4()
    sent = [send(connection, ann) for _ in range(3)]
    (first,) = engine.claim()
    pause(connection, "user", ann)
    sent += [send(connection, ann) for _ in range(2)]
    assert claimed(engine) == []
    resume(connection, "user", ann)
    order, run = [first["id"]], first
    while next_runs := engine.finish(run)["claimed"]:
        (run,) = next_runs
        order.append(run["id"])
    assert order == sent


def test_what_was_paused_goes_before_what_was_sent_later(connection: Connection, engine: Engine) -> None:
    """Also before what came in shortly before the end of the pause and is still in the inbox."""
    ann = uuid4()
    pause(connection, "user", ann)
    first = [send(connection, ann) for _ in range(2)]
    assert claimed(engine) == []
    last = send(connection, ann)
    resume(connection, "user", ann)
    (run,) = engine.claim()
    order = [run["id"]]
    while next_runs := engine.finish(run)["claimed"]:
        (run,) = next_runs
        order.append(run["id"])
    assert order == [*first, last]


def test_a_run_that_comes_back_while_paused_is_not_claimed(connection: Connection, engine: Engine) -> None:
    ann = uuid4()
    run_id = send(connection, ann)
    (run,) = engine.claim()
    pause(connection, "user", ann)
    engine.step(done=[released(run)])
    assert claimed(engine) == []
    resume(connection, "user", ann)
    assert claimed(engine) == [run_id]


def test_an_answer_is_archived_although_its_user_is_paused(connection: Connection, engine: Engine) -> None:
    ann = uuid4()
    run_id = send(connection, ann)
    (run,) = engine.claim()
    engine.complete(run)
    pause(connection, "user", ann)
    engine.step(capacity=0, done=[released(run)])
    assert claimed(engine) == [run_id]


def test_a_paused_run_is_cancelled(connection: Connection, engine: Engine) -> None:
    ann = uuid4()
    run_id = send(connection, ann)
    pause(connection, "user", ann)
    assert claimed(engine) == []
    connection.execute("select maas_cancel_run(%s)", (run_id,))
    assert engine.step()["cancelled"] == [run_id]


def test_a_model_is_paused_for_the_next_stage_of_every_run(connection: Connection, engine: Engine) -> None:
    insert(connection)
    before = engine.claim()[0]["assistants_version"]
    assert pause(connection, "model", "openai:gpt-4o") == ("paused", 0)
    insert(connection)
    assert engine.claim()[0]["assistants_version"] != before


@pytest.mark.parametrize(("subject", "name"), [("assistant", "nobody"), ("key", "ffffffffffff")])
def test_what_is_not_there_is_not_paused(connection: Connection, engine: Engine, subject: str, name: str) -> None:
    assert pause(connection, subject, name) == ("not_found", 0)
    assert resume(connection, subject, name) == ("not_found", 0)


def test_a_pause_names_a_thing(connection: Connection, engine: Engine) -> None:
    with pytest.raises(errors.InvalidTextRepresentation):
        pause(connection, "user", "ann")
    with pytest.raises(errors.CheckViolation):
        pause(connection, "weather", "rain")


def test_pauses_are_seen_noted_and_erased_with_their_user(connection: Connection, engine: Engine) -> None:
    ann = uuid4()
    insert(connection, ann)
    pause(connection, "user", ann)
    pause(connection, "user", ann)
    engine.step()
    assert connection.execute("select subject, name from v_pauses").fetchall() == [
        {"subject": "user", "name": str(ann)}
    ]
    queue = connection.execute("select paused, inbox, oldest_at from v_queue").fetchone()
    assert queue == {"paused": 1, "inbox": 0, "oldest_at": None}
    noted = connection.execute("select action, user_id from audit where action in ('pause', 'resume')").fetchall()
    assert noted == [{"action": "pause", "user_id": ann}] * 2
    connection.execute("select maas_erase(%s)", (ann,))
    assert connection.execute("select * from v_pauses").fetchall() == []
