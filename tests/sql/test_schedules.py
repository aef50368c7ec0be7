"""Schedules: each due time becomes one request, whoever looks, and whatever is in its way."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import DictRow

from maas.runs.schedules import send_due
from shared.db import open_database
from tests.sql.attempts import ANN, BEN

Connection = psycopg.Connection[DictRow]
HOUR = timedelta(hours=1)


def create(connection: Connection, user: UUID = ANN, cron: str = "0 * * * *", **fields: Any) -> UUID:
    names = ", ".join(f"{name} => %s" for name in fields)
    query = f"select maas_create_schedule(%s, 'What is due?', %s{', ' + names if names else ''}) as id"
    row = connection.execute(query.encode(), (user, cron, *fields.values())).fetchone()
    assert row is not None
    return UUID(str(row["id"]))


def fall_due(connection: Connection, schedule: UUID, hours: int) -> datetime:
    """The next time becomes a full hour of the past; returns it."""
    first = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - hours * HOUR
    connection.execute("update schedules set next_at = %s where id = %s", (first, schedule))
    return first


def send(database: str, processes: int = 1) -> None:
    """Have that many processes look at the same moment."""

    async def run() -> None:
        async with open_database(database, 4, "test") as one, open_database(database, 4, "test") as other:
            await asyncio.gather(*(send_due((one, other)[n % 2]) for n in range(processes)))

    asyncio.run(run())


def state(connection: Connection, schedule: UUID) -> DictRow:
    row = connection.execute("select * from schedules where id = %s", (schedule,)).fetchone()
    assert row is not None
    return row


def sent(connection: Connection, schedule: UUID) -> list[DictRow]:
    return connection.execute(
        "select * from pipeline_runs where attributes = jsonb_build_object('schedule', %s::text) order by seq",
        (schedule,),
    ).fetchall()


def test_a_due_time_is_one_request_whoever_looks(connection: Connection, database: str) -> None:
    schedule = create(connection)
    assert state(connection, schedule)["next_at"] is None
    send(database)  # by SQL nobody has computed the time
    next_at = state(connection, schedule)["next_at"]
    assert next_at > datetime.now(UTC) and sent(connection, schedule) == []
    due = fall_due(connection, schedule, 0)
    send(database, processes=4)
    (run,) = sent(connection, schedule)
    assert (run["user_id"], run["user_query"], run["run_at"], run["queue_state"]) == (ANN, "What is due?", due, -2)
    row = state(connection, schedule)
    assert (row["next_at"], row["last_at"], row["error"]) == (due + HOUR, due, None)
    fall_due(connection, schedule, 0)  # as if the next time had not been stored
    send(database)
    assert len(sent(connection, schedule)) == 1


@pytest.mark.parametrize(("catch_up", "runs"), [("none", 0), ("last", 1), ("all", 4)])
def test_what_passed_is_caught_up_as_it_says(connection: Connection, database: str, catch_up: str, runs: int) -> None:
    schedule = create(connection, p_catch_up=catch_up)
    first = fall_due(connection, schedule, 3)
    moment = first + 3 * HOUR + timedelta(minutes=20)
    name = connection.info.dbname
    connection.execute(f"alter database {name} set maas.now = '{moment.isoformat()}'".encode())
    send(database)
    times = [run["run_at"] for run in sent(connection, schedule)]
    assert times == [first + n * HOUR for n in range(4)][4 - runs :]
    assert state(connection, schedule)["next_at"] == first + 4 * HOUR


def test_a_pause_sends_nothing_and_is_not_caught_up(connection: Connection, database: str) -> None:
    schedule = create(connection, p_catch_up="all")
    connection.execute("select maas_change_schedule(%s, p_is_paused => true)", (schedule,))
    fall_due(connection, schedule, 5)
    send(database)
    assert sent(connection, schedule) == []
    connection.execute("select maas_change_schedule(%s, p_is_paused => false)", (schedule,))
    send(database)
    assert sent(connection, schedule) == [] and state(connection, schedule)["next_at"] > datetime.now(UTC)


def test_what_cannot_be_sent_says_why_and_goes_on(connection: Connection, database: str) -> None:
    """An assistant that is gone, a conversation that another user has opened since, a full queue, a bad expression."""
    connection.execute("insert into assistants (name, role_name) values ('other', 'Mentor')")
    talk = uuid4()
    cases = {
        create(connection, p_assistant="other"): "no active assistant",
        create(connection, p_conversation=talk): "is not a conversation of this user",
        create(connection, cron="61 * * * *"): "cron: Bad minute",
        create(connection, BEN): "1 requests were left out",
    }
    connection.execute("update assistants set is_active = false where name = 'other'")
    connection.execute("insert into chat_conversations (id, user_id, assistant) values (%s, %s, 'mentor')", (talk, BEN))
    connection.execute("update engine_settings set value = '1' where key = 'user_queue_limit'")
    connection.execute("insert into pipeline_runs (user_id, user_query) values (%s, 'hello')", (BEN,))
    for schedule in cases:
        fall_due(connection, schedule, 0)
    send(database)
    for schedule, cause in cases.items():
        row = state(connection, schedule)
        assert cause in row["error"] and sent(connection, schedule) == []
        assert (row["next_at"] is None) == (row["paused_at"] is not None) == ("cron" in cause)


def test_what_is_no_schedule_is_refused(connection: Connection) -> None:
    talk = uuid4()
    connection.execute("insert into chat_conversations (id, user_id, assistant) values (%s, %s, 'mentor')", (talk, BEN))
    with pytest.raises(errors.ForeignKeyViolation, match="not a conversation of this user"):
        create(connection, p_conversation=talk)
    with pytest.raises(errors.ForeignKeyViolation, match='no active assistant "nobody"'):
        create(connection, p_assistant="nobody")
    with pytest.raises(errors.InvalidParameterValue, match="unknown time zone"):
        create(connection, p_timezone="Nowhere/Town")
    for cron in ("* * * *", "* * * * * *", "* * * * *\n", "$ * * * *"):
        with pytest.raises(errors.CheckViolation):
            create(connection, cron=cron)
    connection.execute("update engine_settings set value = '1' where key = 'user_schedules'")
    create(connection)
    with pytest.raises(psycopg.Error, match="more than 1 schedules: delete some first"):
        create(connection)


def test_the_zone_is_that_of_the_user(connection: Connection, database: str) -> None:
    connection.execute("select maas_set_timezone(%s, 'Asia/Tokyo')", (ANN,))
    schedule = create(connection, cron="0 9 * * *")
    send(database)
    row = state(connection, schedule)
    assert row["timezone"] == "Asia/Tokyo" and row["next_at"].astimezone(UTC).hour == 0
    assert state(connection, create(connection, BEN))["timezone"] == "UTC"


def test_an_erased_user_has_none(connection: Connection, database: str) -> None:
    schedule = create(connection)
    fall_due(connection, schedule, 0)
    connection.execute("select maas_erase(%s)", (ANN,))
    send(database)
    assert connection.execute("select from schedules").fetchall() == [] and sent(connection, schedule) == []


def test_what_is_due_is_found_by_its_index(connection: Connection) -> None:
    """However many schedules there are."""
    connection.execute(
        """insert into schedules (user_id, user_query, cron, timezone, next_at)
           select gen_random_uuid(), 'hello', '0 0 1 1 *', 'UTC', now() + interval '1 day'
           from generate_series(1, 5000)"""
    )
    connection.execute("analyze schedules")
    plan = connection.execute(
        """explain select id from schedules where paused_at is null
           and coalesce(next_at, '-infinity'::timestamptz) <= maas_now()
           order by coalesce(next_at, '-infinity'::timestamptz) limit 100"""
    ).fetchall()
    assert "idx_schedules_due" in str(plan) and "Sort" not in str(plan)
