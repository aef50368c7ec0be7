"""The engine's functions: the per-key lock, order, fencing, faults."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import DictRow, dict_row

from tests.polling import poll
from tests.sql.engine import Engine, failed, insert, released, run_of

Connection = psycopg.Connection[DictRow]
REAP = "select reclaimed, quarantined from maas_reap(3, array['ANALYZING']) where reclaimed > 0"


def test_claim_is_exclusive(connection: Connection, database: str) -> None:
    """Two engines step over the same inbox: each run is claimed once."""
    for _ in range(20):
        insert(connection)
    with psycopg.connect(database, autocommit=True, row_factory=psycopg.rows.dict_row) as second:
        one, two = Engine(connection), Engine(second)
        first, then = one.claim(capacity=8), two.claim()
    ids = [run["id"] for run in first + then]
    assert len(first) == 8
    assert len(ids) == len(set(ids)) == 20


def test_next_run_waits_until_the_last_is_archived(connection: Connection, engine: Engine) -> None:
    """COMPLETED is not enough; ARCHIVED is."""
    user = uuid4()
    first, second = insert(connection, user), insert(connection, user)
    (run,) = engine.claim()
    assert run["id"] == first
    engine.complete(run)
    assert engine.claim() == []
    assert run_of(connection, second)["status"] == "NEW"
    found = engine.step(done=[engine.archived(run)])
    assert [one["id"] for one in found["claimed"]] == [second]


def test_users_do_not_wait_for_each_other(connection: Connection, engine: Engine) -> None:
    for _ in range(3):
        insert(connection, uuid4())
    assert len(engine.claim()) == 3


def test_seq_follows_the_inbox(connection: Connection, engine: Engine) -> None:
    """`seq` is drawn when a run leaves the inbox, so that runs are promoted in the order of `seq`."""
    user = uuid4()
    ids = [insert(connection, user) for _ in range(6)]
    order, turns = [], []
    claimed = engine.claim()
    while claimed:
        (run,) = claimed
        order.append(run["id"])
        turns.append(run["seq"])
        claimed = engine.finish(run)["claimed"]
    assert order == ids
    assert turns == sorted(turns)


def test_two_runs_of_a_key_in_flight_are_impossible(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    insert(connection, user)
    second = insert(connection, user)
    engine.claim()
    with pytest.raises(errors.UniqueViolation):
        connection.execute("update pipeline_runs set queue_state = 1 where id = %s", (second,))


def test_whole_way_is_recorded(connection: Connection, engine: Engine) -> None:
    """The history of a run is a query."""
    run_id = insert(connection)
    (run,) = engine.claim()
    trace = connection.execute("select * from lsm_storage where run_id = %s", (run_id,)).fetchone()
    assert trace is not None and trace["is_provisional"] and trace["raw_log_ids"] == []
    engine.finish(run)
    rows = connection.execute("select happened from v_run_history where run_id = %s order by at", (run_id,)).fetchall()
    assert [row["happened"] for row in rows] == [
        "NEW",
        "ANALYZING",
        "ANALYZED",
        "ASSEMBLING",
        "READY",
        "RESPONDING",
        "COMPLETED",
        "ARCHIVED",
    ]


def test_answer_is_logged_once(connection: Connection, engine: Engine) -> None:
    run_id = insert(connection)
    (run,) = engine.claim()
    engine.finish(run)
    rows = connection.execute(
        "select message_type, content, metadata->>'request_id' as request from raw_logs where run_id = %s order by seq",
        (run_id,),
    ).fetchall()
    assert [(row["message_type"], row["request"]) for row in rows] == [
        ("user_query", str(run_id)),
        ("assistant_response", str(run_id)),
    ]
    assert rows[1]["content"] == "an answer"


def test_archiving_writes_one_record_with_its_logs(connection: Connection, engine: Engine) -> None:
    """The provisional trace becomes the record; logs point to it."""
    run_id = insert(connection)
    (run,) = engine.claim()
    engine.finish(run, summary="A decision was made. It is final.", tags=("Decision",))
    records = connection.execute("select * from lsm_storage where run_id = %s", (run_id,)).fetchall()
    assert len(records) == 1
    assert not records[0]["is_provisional"]
    assert records[0]["tags"] == ["Decision"]
    logs = connection.execute("select * from raw_logs where run_id = %s order by seq", (run_id,)).fetchall()
    assert records[0]["raw_log_ids"] == [log["id"] for log in logs]
    assert all(log["archived_at"] and log["record_id"] == records[0]["id"] for log in logs)


def test_archiving_twice_changes_nothing(connection: Connection, engine: Engine) -> None:
    """The second outcome of a run that ended is ignored."""
    run_id = insert(connection)
    (run,) = engine.claim()
    engine.complete(run)
    word = engine.archived(run)
    assert engine.step(done=[word])["ended"] == [run["id"]]
    word["item"]["summary"] = "something else"
    assert engine.step(done=[word])["ended"] == []
    records = connection.execute("select summary from lsm_storage where run_id = %s", (run_id,)).fetchall()
    assert records == [{"summary": "They talked."}]


def test_small_talk_leaves_no_record_but_is_processed(connection: Connection, engine: Engine) -> None:
    run_id = insert(connection, query="привет")
    (run,) = engine.claim()
    engine.finish(run, summary="", tags=())
    assert connection.execute("select from lsm_storage where run_id = %s", (run_id,)).fetchall() == []
    logs = connection.execute("select archived_at, record_id from raw_logs where run_id = %s", (run_id,)).fetchall()
    assert len(logs) == 2
    assert all(log["archived_at"] and log["record_id"] is None for log in logs)


def test_record_of_nothing_is_none(connection: Connection, engine: Engine) -> None:
    """A run whose words are gone leaves no provisional trace behind."""
    run_id = insert(connection)
    (run,) = engine.claim()
    engine.complete(run)
    word = engine.archived(run)
    connection.execute("delete from raw_logs where run_id = %s", (run_id,))
    engine.step(done=[word])
    assert connection.execute("select from lsm_storage where run_id = %s", (run_id,)).fetchall() == []
    assert run_of(connection, run_id)["archive_status"] == "ARCHIVED"


def test_failed_run_frees_its_user_and_keeps_what_was_said(connection: Connection, engine: Engine) -> None:
    user = uuid4()
    first, second = insert(connection, user, "remember my number is 7"), insert(connection, user)
    (run,) = engine.claim()
    found = engine.step(done=[failed(run, "unauthorized", "final_responder: no key")])
    assert [one["id"] for one in found["claimed"]] == [second]
    row = run_of(connection, first)
    assert (row["status"], row["archive_status"], row["queue_state"]) == ("FAILED", "SKIPPED", 2)
    assert (row["error_code"], row["error_message"]) == ("unauthorized", "final_responder: no key")
    record = connection.execute("select * from lsm_storage where run_id = %s", (first,)).fetchone()
    assert record is not None and not record["is_provisional"] and record["summary"] == "remember my number is 7"
    logs = connection.execute("select archived_at from raw_logs where run_id = %s", (first,)).fetchall()
    assert all(log["archived_at"] for log in logs)


@pytest.mark.parametrize("advances", range(5))
def test_every_status_in_progress_may_fail(connection: Connection, engine: Engine, advances: int) -> None:
    run_id = insert(connection)
    (run,) = engine.claim()
    for _ in range(advances):
        engine.advance(run)
    engine.step(done=[failed(run)])
    assert run_of(connection, run_id)["status"] == "FAILED"


def test_completed_run_cannot_fail(connection: Connection, engine: Engine) -> None:
    """A late failure of a run that was answered gives it back for archiving."""
    run_id = insert(connection)
    (run,) = engine.claim()
    engine.complete(run)
    engine.step(done=[failed(run)], capacity=0)
    row = run_of(connection, run_id)
    assert (row["status"], row["queue_state"], row["archive_status"], row["error_code"]) == (
        "COMPLETED",
        0,
        "PENDING",
        "test",
    )
    (again,) = engine.claim()
    assert again["status"] == "COMPLETED"


def test_illegal_jump_is_refused(connection: Connection, engine: Engine) -> None:
    """The error says what to do; the maintenance switch lets it through."""
    run_id = insert(connection)
    (run,) = engine.claim()
    engine.finish(run)
    with pytest.raises(errors.CheckViolation, match="COMPLETED -> NEW"):
        connection.execute("update pipeline_runs set status = 'NEW' where id = %s", (run_id,))
    connection.execute("set maas.maintenance = on")
    connection.execute("update pipeline_runs set status = 'NEW' where id = %s", (run_id,))
    assert run_of(connection, run_id)["status"] == "NEW"


def test_write_of_an_older_attempt_is_refused(connection: Connection, database: str) -> None:
    """The returned one cannot overwrite."""
    run_id = insert(connection)
    with psycopg.connect(database, autocommit=True, row_factory=psycopg.rows.dict_row) as other:
        silent = Engine(other)
        (old,) = silent.claim()
        stale = dict(old)
        connection.execute("set maas.now = '2999-01-01'")
        assert connection.execute("select reclaimed from maas_reap(3)").fetchone() == {"reclaimed": 1}
        connection.execute("reset maas.now")
        engine = Engine(connection)
        (run,) = engine.claim()
        assert run["attempt"] == 2
        assert not silent.advance(stale, '{"late": true}')
        assert silent.step(done=[failed(stale)])["ended"] == []
    row = run_of(connection, run_id)
    assert (row["status"], row["analysis_result"], row["owner"]) == ("ANALYZING", None, engine.owner)


def test_status_never_moves_backwards_by_a_reclaim(connection: Connection, database: str) -> None:
    """A run goes on from the status that its dead owner reached."""
    run_id = insert(connection)
    with psycopg.connect(database, autocommit=True, row_factory=psycopg.rows.dict_row) as other:
        dying = Engine(other)
        (run,) = dying.claim()
        dying.advance(run, "{}")
        dying.advance(run, "d")
    engine = Engine(connection)
    _reap_the_dead(connection)
    (again,) = engine.claim()
    assert (again["id"], again["status"], again["draft_context"]) == (run_id, "ASSEMBLING", "d")


def test_run_that_kills_its_engine_fails(connection: Connection, database: str) -> None:
    """Alone in flight each time, so it is to blame: FAILED with its cause, and its user is free."""
    user = uuid4()
    first, second = insert(connection, user), insert(connection, user)
    for is_alone in (False, False, True):
        assert [run["id"] for run in _die(database, is_alone)] == [first]
        _reap_the_dead(connection)
    row = run_of(connection, first)
    assert (row["status"], row["error_code"], row["deaths"], row["queue_state"]) == ("FAILED", "engine_died", 3, 2)
    assert run_of(connection, second)["queue_state"] == 0
    assert len(connection.execute("select from run_events where run_id = %s", (first,)).fetchall()) == 3


def test_bystanders_are_not_blamed(connection: Connection, database: str) -> None:
    """Of several in flight nobody is blamed; lost twice in a row they are executed alone, one by one."""
    runs = {insert(connection) for _ in range(3)}
    for _ in range(2):
        assert {run["id"] for run in _die(database)} == runs
        _reap_the_dead(connection)
    engine = Engine(connection)
    assert engine.claim() == []
    for number in range(3):
        (run,) = engine.step(capacity=1, is_alone=True)["claimed"]
        assert run_of(connection, run["id"])["deaths"] == 0
        if number == 0:  # one that moved on is trusted again
            engine.advance(run, "{}")
            engine.step(capacity=0, done=[released(run)])
            assert [one["id"] for one in engine.claim()] == [run["id"]]
    assert engine.step(capacity=1, is_alone=True)["claimed"] == []


def test_quarantined_runs_are_reported_to_one_process(connection: Connection, database: str) -> None:
    """The engine that reaps learns of them at once, the others only when nobody came."""
    insert(connection)
    for _ in range(2):
        _die(database)
        found = poll(lambda: connection.execute(REAP).fetchone())
    assert found == {"reclaimed": 1, "quarantined": 1}
    count = "select quarantined from maas_reap(3, array['ANALYZING'])"
    assert connection.execute(count).fetchone() == {"quarantined": 0}
    connection.execute("update pipeline_runs set updated_at = now() - interval '6 seconds'")
    assert connection.execute(count).fetchone() == {"quarantined": 1}
    assert connection.execute("select quarantined from maas_reap(3, array['READY'])").fetchone() == {"quarantined": 0}


def test_runs_in_flight_are_limited_over_all_engines(connection: Connection, database: str) -> None:
    """MAAS_MAX_IN_FLIGHT; a finished run frees a place, and the other engines are notified."""
    connection.execute("update engine_settings set value = '3' where key = 'max_in_flight'")
    for _ in range(5):
        insert(connection)
    with psycopg.connect(database, autocommit=True, row_factory=psycopg.rows.dict_row) as other:
        one, two = Engine(connection), Engine(other)
        first, second = one.claim(2), two.claim()
        assert (len(first), len(second), two.claim()) == (2, 1, [])
        assert [run_of(connection, run["id"])["queue_state"] for run in first] == [1, 1]
        assert len(one.finish(first[0])["claimed"]) == 1


def test_a_key_without_a_head_is_recovered(connection: Connection, engine: Engine) -> None:
    """A key that lost its head on purpose is found again."""
    user = uuid4()
    insert(connection, user)
    second = insert(connection, user)
    (run,) = engine.claim()
    connection.execute("update pipeline_runs set queue_state = 2, owner = null where id = %s", (run["id"],))
    assert engine.claim() == []
    assert connection.execute("select recovered from maas_reap(3)").fetchone() == {"recovered": 1}
    assert [one["id"] for one in engine.claim()] == [second]


def test_released_run_goes_to_the_engine_of_its_stage(connection: Connection, database: str) -> None:
    """Each engine names the statuses that it can work on."""
    insert(connection)
    with psycopg.connect(database, autocommit=True, row_factory=psycopg.rows.dict_row) as other:
        one, two = Engine(connection), Engine(other)
        (run,) = one.step(statuses=["NEW", "ANALYZING"])["claimed"]
        one.advance(run, "{}")
        assert one.step(statuses=["NEW", "ANALYZING"], done=[released(run)])["claimed"] == []
        (mine,) = two.step(statuses=["ANALYZED"])["claimed"]
        assert (mine["status"], mine["attempt"]) == ("ANALYZED", 2)
        assert not one.advance(run)


def test_cancel_of_a_waiting_run(connection: Connection, engine: Engine) -> None:
    """The engine, which alone changes queue states, makes it FAILED; the key goes on."""
    user = uuid4()
    first, second, third = (insert(connection, user) for _ in range(3))
    (run,) = engine.claim()
    assert _cancel(connection, second) == "cancelling"
    engine.step()
    row = run_of(connection, second)
    assert (row["status"], row["error_code"], row["queue_state"]) == ("FAILED", "cancelled", 2)
    assert [one["id"] for one in engine.finish(run)["claimed"]] == [third]
    assert _cancel(connection, first) == "finished"
    assert _cancel(connection, uuid4()) == "not_found"


def test_thousands_that_are_cancelled_leave_in_portions(connection: Connection, engine: Engine) -> None:
    """So that the engine lock is held for a short time; each step says that there are more."""
    connection.execute(
        "insert into pipeline_runs (user_id, user_query) select gen_random_uuid(), 'hello' from generate_series(1, 700)"
    )
    connection.execute("update pipeline_runs set cancel_requested_at = now()")
    steps = [engine.step(), engine.step(), engine.step()]
    assert [len(step["cancelled"]) for step in steps] == [500, 200, 0]
    assert [bool(step["more"]) for step in steps] == [True, False, False]
    assert connection.execute("select from pipeline_runs where queue_state < 2").fetchall() == []


def test_cancel_of_a_run_in_flight_reaches_its_owner(connection: Connection, engine: Engine) -> None:
    run_id = insert(connection)
    engine.claim()
    _cancel(connection, run_id)
    assert engine.step()["cancel"] == [run_id]


def test_retry_is_a_new_try_in_a_new_turn(connection: Connection, engine: Engine) -> None:
    """The query's log is unprocessed again, the failed try's record superseded."""
    run_id = insert(connection)
    (run,) = engine.claim()
    engine.step(done=[failed(run)])
    assert _retry(connection, run_id) == "retrying"
    row = run_of(connection, run_id)
    assert (row["status"], row["queue_state"], row["try"], row["error_message"]) == ("NEW", -2, 2, None)
    log = connection.execute("select archived_at from raw_logs where run_id = %s", (run_id,)).fetchone()
    assert log == {"archived_at": None}
    (again,) = engine.claim()
    assert again["seq"] > run["seq"]
    engine.finish(again)
    records = connection.execute(
        "select superseded_at is null as valid, summary from lsm_storage where run_id = %s order by 1", (run_id,)
    ).fetchall()
    assert records == [{"valid": False, "summary": "hello there"}, {"valid": True, "summary": "They talked."}]
    assert _retry(connection, run_id) == "not_failed"
    assert _retry(connection, uuid4()) == "not_found"


def test_archive_that_failed_is_owed(connection: Connection, engine: Engine) -> None:
    """The user is released, and the next exchange takes the logs along."""
    user = uuid4()
    first, second = insert(connection, user, "first"), insert(connection, user, "second")
    (run,) = engine.claim()
    engine.complete(run)
    word = {"id": str(run["id"]), "attempt": run["attempt"], "outcome": "archive_failed", "calls": []}
    (next_run,) = engine.step(done=[word])["claimed"]
    assert next_run["id"] == second
    assert run_of(connection, first)["archive_status"] == "FAILED"
    owed = connection.execute("select run_id from raw_logs where archive_owed").fetchall()
    assert {row["run_id"] for row in owed} == {first}


def test_failed_archive_is_tried_again(connection: Connection, engine: Engine) -> None:
    """The answer stands; only the record is made anew, in a turn of its own."""
    user = uuid4()
    first = insert(connection, user, "first")
    (run,) = engine.claim()
    engine.complete(run)
    engine.step(done=[{"id": str(run["id"]), "attempt": run["attempt"], "outcome": "archive_failed", "calls": []}])
    assert _retry(connection, first) == "archiving"
    (again,) = engine.claim()
    assert (again["status"], again["attempt"]) == ("COMPLETED", 2)
    row = run_of(connection, first)
    assert (row["archive_status"], row["try"]) == ("ARCHIVING", 1)
    engine.step(done=[engine.archived(again)])
    row = run_of(connection, first)
    assert (row["archive_status"], row["final_answer"], row["queue_state"]) == ("ARCHIVED", "an answer", 2)
    assert len(connection.execute("select from lsm_storage where run_id = %s", (first,)).fetchall()) == 1
    assert connection.execute("select from raw_logs where archive_owed").fetchall() == []


def test_flood_of_one_user_does_not_hide_others(connection: Connection, engine: Engine) -> None:
    """The inbox is taken in portions, and the step says when it holds more."""
    flood = uuid4()
    connection.execute(
        "insert into pipeline_runs (user_id, user_query) select %s, 'q' from generate_series(1, 200)", (flood,)
    )
    others = [insert(connection) for _ in range(5)]
    claimed: list[Any] = []
    for _ in range(30):
        found = engine.step(capacity=64 - len(claimed))
        claimed += found["claimed"]
        if not found["more"]:
            break
    assert {run["id"] for run in claimed} >= set(others)
    assert len(claimed) == 6


def test_a_reaped_engine_claims_nothing_more(connection: Connection, database: str) -> None:
    """A process that was stopped goes on with its old owner before it notices; it must not take its runs again."""
    with psycopg.connect(database, autocommit=True, row_factory=dict_row) as other:
        silent, living = Engine(connection, lease="0 s"), Engine(other)
        run_id = insert(connection)
        assert silent.claim() == []  # the lease is over, though nobody has reaped it yet
        other.execute("select maas_reap(3)")
        assert silent.claim() == []
        assert [run["id"] for run in living.claim()] == [run_id]


def test_a_step_that_waited_is_not_early(connection: Connection, database: str) -> None:
    """What a step writes is later than what was written while it waited for the lock."""
    with (
        psycopg.connect(database, row_factory=dict_row) as holder,
        psycopg.connect(database, autocommit=True, row_factory=dict_row) as inserting,
        ThreadPoolExecutor() as pool,
    ):
        engine = Engine(connection)
        holder.execute("select maas_lock_engine()")
        first = insert(inserting)
        step = pool.submit(engine.claim)
        poll(
            lambda: inserting.execute(
                "select from pg_locks where relation = 'engine_lock'::regclass and not granted"
            ).fetchall()
        )
        second = insert(inserting)
        holder.commit()
        assert {run["id"] for run in step.result()} == {first, second}
    early = connection.execute("select from pipeline_runs where analyzing_at < created_at").fetchall()
    assert early == []


def test_who_leaves_gives_back_without_blame(connection: Connection, database: str) -> None:
    """A process that lives and lost its session, or is stopped, was not killed by what it worked on."""
    run_id = insert(connection)
    with psycopg.connect(database, autocommit=True, row_factory=dict_row) as other:
        engine = Engine(connection)
        engine.claim()
        other.execute("select maas_unregister(%s)", (engine.owner,))
    row = run_of(connection, run_id)
    assert (row["queue_state"], row["owner"], row["losses"], row["deaths"]) == (0, None, 0, 0)
    assert connection.execute("select from engines").fetchall() == []


def test_who_could_not_reach_postgres_is_excused(connection: Connection, database: str) -> None:
    """Its runs were taken over meanwhile; what was lost with another process since then counts."""
    runs = [insert(connection), insert(connection)]
    excuse = "select maas_excuse(%s, %s) as runs"
    with psycopg.connect(database, autocommit=True, row_factory=dict_row) as other:
        away = Engine(other)
        away.claim()
    _reap_the_dead(connection)
    assert [run_of(connection, run)["losses"] for run in runs] == [1, 1]
    with psycopg.connect(database, autocommit=True, row_factory=dict_row) as other:
        Engine(other).claim(1)
    _reap_the_dead(connection)
    assert connection.execute(excuse, (away.owner, runs[:1])).fetchone() == {"runs": 0}
    assert connection.execute(excuse, (away.owner, runs)).fetchone() == {"runs": 1}
    assert [run_of(connection, run)["losses"] for run in runs] == [2, 0]
    away = Engine(connection)
    away.claim()
    assert connection.execute(excuse, (away.owner, runs[1:])).fetchone() == {"runs": 0}
    row = run_of(connection, runs[1])
    assert (row["queue_state"], row["owner"], row["losses"], row["deaths"]) == (0, None, 0, 0)


def test_a_restart_of_postgres_blames_nobody(connection: Connection, database: str) -> None:
    """Every session is lost then, whatever it worked on."""
    run_id = insert(connection)
    _die(database)
    connection.execute("update engines set started_at = pg_postmaster_start_time() - interval '1 second'")
    _reap_the_dead(connection)
    row = run_of(connection, run_id)
    assert (row["queue_state"], row["losses"], row["deaths"]) == (0, 0, 0)


def _die(database: str, is_alone: bool = False) -> list[Any]:
    """An engine that claims all it can, and whose connection is then lost; what it claimed."""
    with psycopg.connect(database, autocommit=True, row_factory=psycopg.rows.dict_row) as other:
        return Engine(other).step(is_alone=is_alone)["claimed"]


def _reap_the_dead(connection: Connection) -> None:
    """Reap until the backend of the closed connection is seen to be gone."""
    poll(lambda: connection.execute("select from maas_reap(3) where reclaimed + failed > 0").fetchone() is not None)


def _cancel(connection: Connection, run_id: UUID) -> str:
    row = connection.execute("select maas_cancel_run(%s) as verdict", (run_id,)).fetchone()
    assert row is not None
    return str(row["verdict"])


def _retry(connection: Connection, run_id: UUID) -> str:
    row = connection.execute("select maas_retry_run(%s) as verdict", (run_id,)).fetchone()
    assert row is not None
    return str(row["verdict"])
