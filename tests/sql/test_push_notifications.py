"""Push notifications of A2A: what is recorded for the endpoints of a task, and who may have them."""

from __future__ import annotations

from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.attempts import ANN, BEN, values
from tests.sql.engine import Engine, failed
from tests.sql.test_webhooks import Connection, answer, claim, create, finish

URL = "https://client.example/push"
HEADERS = {"authorization": "Bearer of-the-client"}


def ask(connection: Connection, user: UUID = ANN, task: UUID | None = None) -> UUID:
    """A message of A2A; with a task it goes on with it."""
    names = {"message": "m"} | ({} if task is None else {"task": str(task)})
    insert = "insert into pipeline_runs (user_id, user_query, source, metadata) values (%s, 'hello', 'a2a', %s)"
    (found,) = values(connection, f"{insert} returning id", user, Jsonb({"a2a": names}))
    assert isinstance(found, UUID)
    return found


def push(connection: Connection, task: UUID, user: UUID = ANN, name: str = "one") -> None:
    command = "select maas.maas_set_push_notification(%s, %s, %s, %s, %s)"
    connection.execute(command, (user, task, name, URL, Jsonb(HEADERS)))


def notified(connection: Connection) -> int:
    """How many notifications wait now, for all endpoints of tasks; then none does."""
    connection.execute("update webhook_deliveries set next_at = now() - interval '1 s', claimed_until = null")
    update = "update webhook_deliveries set state = 'delivered' where type = 'a2a.task' and state = 'waiting'"
    return len(connection.execute(f"{update} returning id").fetchall())


def test_each_change_of_a_task_is_recorded(connection: Connection) -> None:
    """Its present state at once, the end of each of its runs, and every decision; nothing of other requests."""
    task, other = ask(connection), ask(connection)
    push(connection, task)
    assert notified(connection) == 1
    engine = Engine(connection)
    (run,) = engine.claim()
    connection.execute("select maas_propose_action(%s, 'c', 'pay', '{}', 'write')", (run["id"],))
    assert notified(connection) == 0, "it is still at work"
    more = ask(connection, task=task)
    (run,) = engine.finish(run)["claimed"]
    assert notified(connection) == 1 and run["id"] == other
    (run,) = engine.finish(run)["claimed"]
    assert notified(connection) == 0 and run["id"] == more, "another task of the user has ended"
    engine.step(done=[failed(run)])
    assert notified(connection) == 1
    action = values(connection, "select id from chat_pending_actions")[0]
    connection.execute("select maas_decide_action(%s, %s, 'approve', 'test')", (action, ANN))
    assert notified(connection) == 1
    (run,) = engine.claim()
    assert run["kind"] == "action"
    engine.finish(run)
    assert notified(connection) == 1
    answer(connection)
    assert notified(connection) == 0


def test_a_notification_is_of_its_task_and_carries_the_headers_of_the_client(connection: Connection) -> None:
    task = ask(connection)
    push(connection, task)
    (row,) = claim(connection)
    assert (row["user_id"], row["task_id"], row["headers"], row["secrets"]) == (ANN, task, HEADERS, [])
    finish(connection, row)
    own = create(connection, BEN)
    answer(connection, BEN)
    plain = [row for row in claim(connection) if row["endpoint_id"] == own]
    assert [(row["task_id"], row["headers"], len(row["secrets"])) for row in plain] == [(None, None, 1)]


def test_a_task_that_is_just_ending_is_waited_for(connection: Connection, database: str) -> None:
    """So its end is seen by the endpoint, or the endpoint by its end."""
    task = ask(connection)
    with psycopg.connect(database) as other:
        other.execute("select from pipeline_runs where id = %s for no key update", (task,))
        with pytest.raises(psycopg.errors.QueryCanceled), connection.transaction():
            connection.execute("set local statement_timeout = '300 ms'")
            push(connection, task)
    push(connection, task)
    assert notified(connection) == 1


def test_a_name_replaces_what_has_it_and_a_task_has_ten_at_most(connection: Connection) -> None:
    task = ask(connection)
    for number in range(10):
        push(connection, task, name=str(number))
    push(connection, task, name="0")
    with pytest.raises(psycopg.Error) as caught, connection.transaction():
        push(connection, task, name="10")
    assert caught.value.sqlstate == "MQ001"
    push(connection, task, BEN)
    count = "select count(*)::int from webhook_endpoints"
    assert values(connection, count) == [10], "BEN has no such task"
    drop = "select maas.maas_delete_push_notification(%s, %s, '0')"
    assert [values(connection, drop, user, task)[0] for user in (BEN, ANN, ANN)] == [False, True, False]
    assert values(connection, count) == [9]


def test_they_are_no_webhooks_of_the_user_and_end_with_task_and_time(connection: Connection) -> None:
    """No list and no quota of webhooks counts them; they go with the run, with the user, and after some days."""
    connection.execute("update engine_settings set value = '1' where key = 'user_webhooks'")
    task = ask(connection)
    push(connection, task)
    create(connection)
    assert values(connection, "select user_id from v_webhooks") == [ANN]
    used = "select used from v_user_quotas where name = 'user_webhooks'"
    assert values(connection, used) == [1]
    count = "select count(*)::int from webhook_endpoints where task_id is not null"
    connection.execute("select maas_purge_deliveries(7)")
    assert values(connection, count) == [1]
    connection.execute("update webhook_endpoints set created_at = now() - interval '8 days'")
    connection.execute("select maas_purge_deliveries(7)")
    assert values(connection, count) == [0] and values(connection, "select count(*)::int from v_webhooks") == [1]
    push(connection, task)
    assert values(connection, "select maas_erase(%s) is not null", ANN) == [True]
    assert values(connection, count) == [0]
