"""Webhooks: what is recorded with what happened, what is sent when, and who may see it."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from maas import queries
from tests.sql.attempts import ANN, BEN, ROLES, become, values
from tests.sql.engine import Engine, failed, insert
from tests.sql.traces import tables_with

Connection = psycopg.Connection[DictRow]
URL = "https://hooks.example/maas"


def create(connection: Connection, user: UUID | None = ANN, *, texts: bool = False, url: str = URL) -> UUID:
    row = connection.execute("select * from maas_create_webhook(%s, %s, null, %s)", (user, url, texts)).fetchone()
    assert row is not None and row["secret"].startswith("whsec_")
    found: UUID = row["id"]
    return found


def recorded(connection: Connection, endpoint: UUID) -> list[str]:
    return [
        row["type"]
        for row in connection.execute(
            "select type from webhook_deliveries where endpoint_id = %s order by seq", (endpoint,)
        ).fetchall()
    ]


def claim(connection: Connection, places: int = 64, slow: int = 32) -> list[DictRow]:
    return connection.execute(
        "select * from maas_claim_deliveries('test', 1, %s, %s, '30 s')", (places, slow)
    ).fetchall()


def finish(connection: Connection, claimed: DictRow, status: int | None = 200, **more: Any) -> None:
    result = {"id": str(claimed["id"]), "attempt": claimed["attempt"], "status": status, "is_slow": False} | more
    connection.execute("select maas_finish_deliveries(%s)", (Jsonb([result]),))


def hurry(connection: Connection) -> None:
    """All pauses are over."""
    connection.execute("update webhook_deliveries set next_at = now() - interval '1 s', claimed_until = null")
    connection.execute("update webhook_endpoints set paused_until = null")


def counted(connection: Connection) -> dict[str, int]:
    """The attempts by outcome, as /metrics shows them."""
    rows = connection.execute(
        "select labels->>'outcome' as outcome, sum(events)::int as events from engine_metrics "
        "where name = 'webhook_deliveries' group by 1"
    )
    return {row["outcome"]: row["events"] for row in rows}


def state(connection: Connection, endpoint: UUID) -> DictRow:
    row = connection.execute("select * from v_webhooks where id = %s", (endpoint,)).fetchone()
    assert row is not None
    return row


def answer(connection: Connection, user: UUID = ANN, query: str = "hello there") -> UUID:
    """A run from its question to its summary."""
    engine = Engine(connection)
    run_id = insert(connection, user, query)
    (run,) = [one for one in engine.claim() if one["id"] == run_id]
    engine.finish(run)
    return run_id


def test_what_happens_is_recorded_for_those_who_asked(connection: Connection) -> None:
    """Of one's own user, or of all; in the order in which it became true."""
    own, foreign, of_all = create(connection), create(connection, BEN), create(connection, None)
    run = answer(connection)
    engine = Engine(connection)
    insert(connection, ANN, "It fails.")
    (other,) = engine.claim()
    connection.execute("select maas_propose_action(%s, 'c', 'pay', '{}', 'write')", (other["id"],))
    connection.execute("select maas_propose_action(%s, 'c', 'pay', '{}', 'write')", (other["id"],))
    engine.step(done=[failed(other)])
    memory = values(connection, "select id from lsm_storage where run_id = %s", run)[0]
    assert values(connection, "select maas_forget(%s, %s)->>'verdict'", memory, ANN) == ["forgotten"]
    happened = [
        "run.completed",
        "memory.added",
        "run.approval_required",
        "run.failed",
        "memory.added",
        "memory.forgotten",
    ]
    assert recorded(connection, own) == recorded(connection, of_all) == happened
    assert recorded(connection, foreign) == []
    assert values(connection, "select maas_erase(%s) is not null", ANN) == [True]
    assert values(connection, "select id from webhook_endpoints order by created_at") == [foreign, of_all]
    assert recorded(connection, own) == [] and recorded(connection, of_all) == ["user.erased"]
    assert values(connection, "select data->>'user_id' from webhook_deliveries") == [str(ANN)]


def test_what_was_rolled_back_is_not_recorded(connection: Connection) -> None:
    endpoint = create(connection)
    with connection.transaction(force_rollback=True):
        answer(connection)
        assert recorded(connection, endpoint) == ["run.completed", "memory.added"]
    assert recorded(connection, endpoint) == []


def test_facts_and_decisions_are_recorded(connection: Connection) -> None:
    endpoint = create(connection, texts=True)
    run = answer(connection)
    log = values(connection, "select id from raw_logs where run_id = %s order by seq", run)[0]
    fact: dict[str, Any] = {
        "statement": "I like tea.",
        "subject": "user",
        "attribute": "likes:tea",
        "kind": "preference",
    }
    fact |= {"said_by": "user", "log_ids": [str(log)], "origin": "rule"}
    connection.execute("select maas_write_facts(%s)", (Jsonb([{"user_id": str(ANN), "facts": [fact]}]),))
    found = values(connection, "select id from facts")[0]
    connection.execute("select maas_decide_fact(%s, %s, 'wrong')", (ANN, found))
    connection.execute("select maas_decide_fact(%s, %s, 'wrong')", (ANN, found))
    changes = values(
        connection, "select data->>'change' from webhook_deliveries where type = 'fact.changed' order by seq"
    )
    assert changes == ["added", "wrong"]
    bodies = [row["body"] for row in claim(connection)]
    while any(body["type"] != "fact.changed" for body in bodies):
        connection.execute("update webhook_deliveries set state = 'delivered' where type <> 'fact.changed'")
        hurry(connection)
        bodies = [row["body"] for row in claim(connection)]
    assert bodies[0]["data"] == {
        "fact_id": str(found),
        "change": "added",
        "user_id": str(ANN),
        "fact": "I like tea.",
        "about": "user",
    }
    assert recorded(connection, endpoint).count("fact.changed") == 2


def test_steps_of_a_task_are_recorded(connection: Connection) -> None:
    endpoint = create(connection)
    steps = [{"title": "One", "prompt": "Think."}, {"title": "Two", "prompt": "Think."}]
    row = connection.execute("select * from maas_insert_task(%s, 'Report', %s)", (ANN, Jsonb(steps))).fetchone()
    assert row is not None
    engine = Engine(connection)
    (run,) = engine.claim()
    while run["status"] != "RESPONDING":
        engine.advance(run)
    connection.execute("select maas_next_step(%s, %s)", (run["id"], run["attempt"]))
    end = "select maas_end_step(%s, %s, 1, 'done', '{}')"
    assert values(connection, end, run["id"], run["attempt"]) == [True]
    assert values(connection, end, run["id"], run["attempt"]) == [False]
    assert values(connection, "select data from webhook_deliveries where endpoint_id = %s", endpoint) == [
        {"run_id": str(run["id"]), "step": 1, "status": "done", "ended": 1, "total": 2}
    ]


def test_texts_are_sent_to_those_who_ask_and_only_while_they_are_there(connection: Connection) -> None:
    create(connection)
    with_texts = create(connection, texts=True)
    run = answer(connection, query="My sister is called Anna.")
    assert "webhook_deliveries" not in tables_with(connection, "sister")
    first = {row["endpoint_id"] == with_texts: row["body"] for row in claim(connection)}
    thin = {"run_id": str(run), "kind": "ask", "assistant": "mentor", "conversation_id": None, "memory": "ok"}
    assert first[False]["data"] == thin | {"user_id": str(ANN)}
    assert first[True]["data"] == thin | {
        "user_id": str(ANN),
        "question": "My sister is called Anna.",
        "answer": "an answer",
    }
    memory = values(connection, "select id from lsm_storage where run_id = %s", run)[0]
    connection.execute("select maas_forget(%s)", (memory,))
    hurry(connection)
    for row in claim(connection):
        assert "sister" not in str(row["body"])


def test_deliveries_of_a_run_come_one_after_another(connection: Connection) -> None:
    """Whatever fails holds up its own run alone."""
    create(connection)
    connection.execute("update webhook_endpoints set is_slow = false")
    one, other = answer(connection), answer(connection)
    first = {row["body"]["data"]["run_id"]: row for row in claim(connection)}
    assert {run: row["body"]["type"] for run, row in first.items()} == dict.fromkeys(
        (str(one), str(other)), "run.completed"
    )
    finish(connection, first[str(one)], 500)
    finish(connection, first[str(other)])
    (then,) = claim(connection)
    assert (then["body"]["type"], then["body"]["data"]["run_id"]) == ("memory.added", str(other))


def test_a_failed_delivery_is_tried_for_three_days(connection: Connection) -> None:
    """Ten attempts; then it has failed, and can be sent again with its id."""
    endpoint = create(connection)
    answer(connection)
    connection.execute("update webhook_deliveries set state = 'delivered' where type = 'memory.added'")
    pauses = []
    for attempt in range(1, 11):
        (row,) = claim(connection)
        assert row["attempt"] == attempt
        finish(connection, row, 500)
        pauses += values(
            connection,
            "select extract(epoch from next_at - changed_at)::float from webhook_deliveries where id = %s",
            row["id"],
        )
        hurry(connection)
    expected = [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400]
    assert all(low <= pause <= 1.1 * low for pause, low in zip(pauses, expected, strict=False))  # type: ignore[operator]
    assert sum(expected) > 3 * 86400
    assert claim(connection) == []
    assert values(connection, "select state from webhook_deliveries where type = 'run.completed'") == ["failed"]
    assert values(connection, "select maas_replay_webhook(%s)", endpoint) == [1]
    (again,) = claim(connection)
    assert (again["id"], again["attempt"]) == (row["id"], 1)
    finish(connection, again)
    assert counted(connection) == {"retried": 9, "failed": 1, "delivered": 1}
    assert values(connection, "select maas_replay_webhook(%s)", endpoint) == [0]
    assert values(connection, "select maas_replay_webhook(%s, %s)", endpoint, row["id"]) == [1]
    assert values(connection, "select maas_replay_webhook(%s, %s)", create(connection, BEN), row["id"]) == [0]


def test_410_disables_and_retry_after_is_obeyed(connection: Connection) -> None:
    endpoint = create(connection)
    answer(connection), answer(connection)
    (row,) = claim(connection)
    finish(connection, row, 429, wait=3600)
    paused = values(connection, "select paused_until - now() > interval '59 min' from webhook_endpoints")
    waits = values(
        connection, "select next_at - now() > interval '59 min' from webhook_deliveries where id = %s", row["id"]
    )
    assert paused == waits == [True] and claim(connection) == []
    hurry(connection)
    row, _ = claim(connection)
    finish(connection, row, 410)
    hurry(connection)
    assert claim(connection) == [] and state(connection, endpoint)["state"] == "gone"
    answer(connection)
    assert len(recorded(connection, endpoint)) == 4, "what happens meanwhile is not recorded"
    connection.execute("select maas_change_webhook(%s, p_is_enabled => true)", (endpoint,))
    assert len(claim(connection)) == 2, "what waited is sent"


def test_an_endpoint_that_fails_for_three_days_is_disabled(connection: Connection) -> None:
    endpoint = create(connection)
    answer(connection)
    (row,) = claim(connection)
    finish(connection, row, None, error="no_answer", is_slow=True)
    assert claim(connection) == [], "it is paused"
    connection.execute("update webhook_endpoints set failing_since = now() - interval '73 hours'")
    hurry(connection)
    (row,) = claim(connection)
    finish(connection, row, 500)
    assert state(connection, endpoint)["state"] == "failing"


def test_a_hanging_endpoint_takes_no_place_of_others(connection: Connection) -> None:
    """Slow ones get one delivery at a time and own places; a user has a share; a dead process loses its claims."""
    hanging = [create(connection) for _ in range(3)]
    for _ in range(12):
        answer(connection)
    quick = create(connection, BEN)
    connection.execute("update webhook_endpoints set is_slow = false where id = %s", (quick,))
    for _ in range(6):
        answer(connection, BEN)
    taken = claim(connection, places=4, slow=2)
    assert sorted(row["endpoint_id"] == quick for row in taken) == [False, False, True, True]
    taken += claim(connection)
    assert [row["endpoint_id"] for row in taken].count(quick) == 4
    assert {row["endpoint_id"] for row in taken} == {quick, *hanging} and len(taken) == 7
    connection.execute("update webhook_endpoints set is_slow = false")
    taken += claim(connection)
    assert len([row for row in taken if row["endpoint_id"] != quick]) == 8, "the share of a user"
    connection.execute("delete from webhook_deliveries where claimed_until is null")
    connection.execute("update webhook_deliveries set claimed_until = now(), next_at = now()")
    again = claim(connection)
    assert {row["attempt"] for row in again} == {2}
    finish(connection, taken[0], 500)
    assert values(connection, "select state from webhook_deliveries where id = %s", taken[0]["id"]) == ["waiting"]
    assert values(connection, "select claimed_until is null from webhook_deliveries where id = %s", taken[0]["id"]) == [
        False
    ], "the report of a process that lost its claim counts for nothing"


def test_what_a_dead_process_was_sending_is_due_at_once(connection: Connection) -> None:
    create(connection)
    answer(connection)
    assert [row["attempt"] for row in claim(connection)] == [1] and claim(connection) == []
    connection.execute("update engines set pid = 2")
    assert [row["attempt"] for row in claim(connection)] == [2]


def test_two_processes_do_not_claim_the_same(connection: Connection, database: str) -> None:
    create(connection)
    answer(connection)
    with psycopg.connect(database, row_factory=psycopg.rows.dict_row) as other:
        assert len(claim(other)) == 1 and claim(connection) == []
        other.rollback()
    assert len(claim(connection)) == 1


def test_secrets_are_rotated(connection: Connection) -> None:
    """Two are valid at once, never three."""
    endpoint = create(connection)
    answer(connection)
    secrets = []
    for _ in range(3):
        secrets.append(values(connection, "select maas_rotate_webhook(%s)", endpoint)[0])
    (row,) = claim(connection)
    assert row["secrets"] == [secrets[2], secrets[1]]
    connection.execute("update webhook_secrets set expires_at = now() where expires_at is not null")
    hurry(connection)
    (row,) = claim(connection)
    assert row["secrets"] == [secrets[2]]
    assert tables_with(connection, str(secrets[2])) == ["webhook_secrets"]
    assert values(connection, "select maas_rotate_webhook(%s)", uuid4()) == [None]


def test_limits_of_a_user(connection: Connection) -> None:
    connection.execute("update engine_settings set value = '2' where key in ('user_webhooks', 'user_webhook_events')")
    full, _ = create(connection), create(connection, BEN)
    create(connection)
    with pytest.raises(psycopg.Error) as caught:
        create(connection)
    assert caught.value.sqlstate == "MQ001"
    connection.execute("select setseed(0.5)")
    for _ in range(60):
        answer(connection)
    assert state(connection, full)["state"] == "queue_full"
    assert 2 < state(connection, full)["waiting"] < 130


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://a.example/",
        "https://",
        "https://ann:secret@a.example/",
        "https://a.example/#x",
        "https://a b/",
        "https://a.example/\n",
        "javascript:alert(1)",
        "https://a.example\\@b",
        "https://a.example/" + "x" * 2000,
    ],
)
def test_no_address(connection: Connection, url: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="url: must be"):
        create(connection, url=url)


def test_events_are_named(connection: Connection) -> None:
    make = "select id from maas_create_webhook(%s, %s, %s)"
    for events in ([], ["run.done"], [None], ["user.erased"]):
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="events: "):
            connection.execute(make, (ANN, URL, events))
    found = values(connection, make, ANN, URL, ["run.failed"])[0]
    answer(connection)
    assert recorded(connection, UUID(str(found))) == []


@pytest.mark.parametrize("role", ROLES)
def test_who_may_what(connection: Connection, role: str) -> None:
    """A user of claims sees own endpoints; only orchestrators get secrets, with what is to be sent."""
    create(connection), create(connection, BEN)

    def reach(statement: str) -> list[object] | None:
        try:
            with connection.transaction(force_rollback=True):
                become(connection, role, ANN)
                return values(connection, statement)
        except psycopg.errors.InsufficientPrivilege:
            return None

    seen = {"authenticated": [ANN], "maas_server": [ANN, BEN], "maas_worker": [ANN, BEN]}
    assert reach("select user_id from webhook_endpoints order by 1") == seen.get(role)
    assert reach("select value from webhook_secrets") is None
    assert (reach("select secrets from maas_claim_deliveries('test', 1, 1, 1, '1 s')") is not None) == (
        role == "maas_worker"
    )
    is_writer = role in ("maas_ops", "maas_server")
    assert (reach(f"select maas_create_webhook('{ANN}', '{URL}')") is not None) == is_writer
    assert (reach(f"select maas_replay_webhook('{ANN}')") is not None) == is_writer


def test_old_deliveries_are_purged(connection: Connection) -> None:
    endpoint = create(connection)
    answer(connection)
    connection.execute(
        "update webhook_deliveries set changed_at = now() - interval '8 days' where type = 'memory.added'"
    )
    assert values(connection, "select maas_purge_deliveries(7)") == [1]
    assert recorded(connection, endpoint) == ["run.completed"]


def test_without_an_endpoint_a_run_pays_nothing(connection: Connection) -> None:
    """No function is called for it and nothing is written."""
    connection.execute("set track_functions = 'pl'")
    connection.execute("select pg_stat_reset()")
    answer(connection)
    connection.execute("select pg_stat_force_next_flush()")
    assert "maas_emit" not in values(connection, "select funcname from pg_stat_user_functions")
    written = "select relname from pg_stat_user_tables where relname like 'webhook%' and n_tup_ins + seq_tup_read > 0"
    assert values(connection, written) == []


def test_an_event_reads_the_endpoints_of_its_user_alone(connection: Connection) -> None:
    """However many there are of others, also where the planner may use no bitmaps."""
    connection.execute(
        """insert into webhook_endpoints (user_id, url, events)
           select gen_random_uuid(), 'https://hooks.example/', '{run.completed}' from generate_series(1, 5000)"""
    )
    connection.execute("analyze webhook_endpoints")
    create(connection), create(connection, None)
    connection.execute("select pg_stat_reset()")
    answer(connection)
    connection.execute("select pg_stat_force_next_flush()")
    read = "select idx_tup_fetch + seq_tup_read from pg_stat_user_tables where relname = 'webhook_endpoints'"
    (rows,) = values(connection, read)
    assert isinstance(rows, int) and rows <= 20
    assert values(connection, "select count(*) from webhook_deliveries") == [4]


def test_what_waits_for_disabled_webhooks_is_no_backlog(connection: Connection) -> None:
    """It is sent when somebody enables them: it must alarm nobody until then."""
    endpoint, other = create(connection), create(connection)
    answer(connection)
    connection.execute("update webhook_deliveries set created_at = now() - interval '1 hour'")
    assert backlog(connection) == (4, 3600) and backlog(connection, most=3)[0] == 3
    connection.execute("select maas_change_webhook(%s, null, null, null, false)", (endpoint,))
    assert backlog(connection) == (2, 3600)
    connection.execute("select maas_change_webhook(%s, null, null, null, false)", (other,))
    assert backlog(connection) == (0, 0)


def backlog(connection: Connection, most: int = 1000) -> tuple[int, int]:
    """The events that wait, and the age of the oldest in seconds."""
    row = connection.execute(queries.webhook_backlog.text.replace("$1", "%s").encode(), (most,)).fetchone()
    assert row is not None
    return row["waiting"], round(row["oldest_seconds"], -1)
