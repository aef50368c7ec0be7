"""Processes killed, silenced and cut off: every accepted run ends once, in order."""

from __future__ import annotations

import os
import signal
from uuid import UUID, uuid4

import pytest

from maas.engine.listener import NotifyListener
from maas.plugins import sql_folders
from shared.db import open_database
from shared.postgres import EmbeddedPostgres, acquire
from tests.databases import is_answering
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack

STAGE_OF_ROLE = {
    "analyzer": "ANALYZING",
    "assembler": "ASSEMBLING",
    "responder": "RESPONDING",
    "archivist": "COMPLETED",
}


def insert(stack: Stack, user: UUID, query: str = "What is a quark?") -> UUID:
    row = stack.rows("insert into pipeline_runs (user_id, user_query) values (%s, %s) returning id", user, query)[0]
    return UUID(str(row["id"]))


def assert_answered_once(stack: Stack, *runs: UUID) -> None:
    for run_id in runs:
        run = stack.rows("select * from pipeline_runs where id = %s", run_id)[0]
        assert (run["status"], run["archive_status"], run["queue_state"]) == ("COMPLETED", "ARCHIVED", 2), run[
            "error_message"
        ]
        logs = stack.rows("select message_type from raw_logs where run_id = %s order by seq", run_id)
        assert [log["message_type"] for log in logs] == ["user_query", "assistant_response"]
        assert len(stack.rows("select from lsm_storage where run_id = %s", run_id)) <= 1
    assert stack.rows("select from raw_logs where archived_at is null") == []
    assert stack.rows("select from lsm_storage where is_provisional") == []


@pytest.mark.parametrize("role", STAGE_OF_ROLE)
def test_kill_in_each_stage(stack: Stack, models: ModelServer, user: UUID, role: str) -> None:
    """kill -9 during the model call; another process goes on from the row, once."""
    models.hold(role)
    first = stack.start_orchestrator(**models.settings())
    run_id, later = insert(stack, user), insert(stack, user, "And a gluon?")
    poll(lambda: models.calls[role] == 1)
    assert stack.rows("select status from pipeline_runs where id = %s", run_id)[0]["status"] == STAGE_OF_ROLE[role]
    stack.stop(first, signal.SIGKILL)
    models.release(role)
    stack.start_orchestrator(**models.settings())
    stack.wait_archived(run_id, later)
    assert_answered_once(stack, run_id, later)
    # one call a role and run, and one more of the stage that was killed in the middle
    assert models.calls == {name: 2 + (name == role) for name in STAGE_OF_ROLE}
    events = stack.rows("select type from run_events where run_id = %s", run_id)
    assert [event["type"] for event in events] == ["reclaimed"]
    counted = "select sum(events)::int as n from engine_metrics where name = 'runs_reclaimed'"
    poll(lambda: stack.rows(counted)[0]["n"] == 1)


def test_sigterm_hands_back(stack: Stack, models: ModelServer, user: UUID) -> None:
    """A stopped process gives its runs back at once, without blame, and ends."""
    models.hold("responder")
    process = stack.start_orchestrator(**models.settings())
    run_id = insert(stack, user)
    poll(lambda: models.calls["responder"] == 1)
    stack.stop(process)
    assert process.returncode == 0
    run = stack.rows("select * from pipeline_runs where id = %s", run_id)[0]
    assert (run["status"], run["queue_state"], run["owner"], run["deaths"]) == ("RESPONDING", 0, None, 0)
    models.release("responder")
    stack.start_orchestrator(**models.settings())
    stack.wait_archived(run_id)
    assert_answered_once(stack, run_id)


def test_silent_process_loses_its_runs_and_cannot_overwrite(stack: Stack, models: ModelServer, user: UUID) -> None:
    """SIGSTOP: after the lease another takes over; what the returned one writes is refused."""
    models.hold("responder")
    silent = stack.start_orchestrator(**models.settings(), MAAS_LEASE="2")
    run_id = insert(stack, user)
    poll(lambda: models.calls["responder"] == 1)
    silent.send_signal(signal.SIGSTOP)
    models.replies["responder"] = "The second one answered."
    models.release("responder")
    stack.start_orchestrator(**models.settings())
    stack.wait_archived(run_id)
    silent.send_signal(signal.SIGCONT)
    poll(lambda: "session_lost" in stack.log())
    run = stack.rows("select final_answer from pipeline_runs where id = %s", run_id)[0]
    assert run == {"final_answer": "The second one answered."}
    events = stack.rows("select type, payload->'deaths' as deaths from run_events where run_id = %s", run_id)
    assert events == [{"type": "reclaimed", "deaths": 1}]
    assert_answered_once(stack, run_id)


def test_run_that_kills_its_process(stack: Stack, models: ModelServer) -> None:
    """It ends FAILED with its cause and frees its user; those beside it are answered and not blamed."""
    models.hold("responder")
    poison, patient = uuid4(), uuid4()
    killer, later = insert(stack, poison, "poison"), insert(stack, poison, "What is a quark?")
    others = [insert(stack, user) for user in (patient, uuid4(), uuid4())]
    process = stack.start_orchestrator(**models.settings())

    def victim() -> int | None:
        rows = stack.rows(
            "select e.pid from pipeline_runs r join v_engines e using (owner)"
            " where r.id = %s and r.status = 'RESPONDING' and e.is_alive",
            killer,
        )
        return rows[0]["pid"] if rows else None

    def answering() -> int:
        return len(
            stack.rows(
                "select from pipeline_runs join v_engines e using (owner) where status = 'RESPONDING' and e.is_alive"
            )
        )

    for number in range(5):
        pid = poll(victim, 30)
        assert pid is not None
        assert (pid == process.pid) == (number < 2), "a quarantined run has a process of its own"
        if number < 2:
            poll(lambda: answering() == 4)
            stack.stop(process, signal.SIGKILL)
            process = stack.start_orchestrator(**models.settings())
        else:
            models.release("responder", keeping="'content': 'poison'")  # as its question, not as a line of memory
            os.kill(pid, signal.SIGKILL)
            poll(lambda pid=pid: victim() != pid)  # type: ignore[misc]
    run = poll(lambda: stack.rows("select * from pipeline_runs where id = %s and queue_state = 2", killer))[0]
    assert (run["status"], run["error_code"]) == ("FAILED", "engine_died")
    assert "RESPONDING" in run["error_message"]
    stack.wait_archived(later, *others, seconds=30)
    assert_answered_once(stack, later, *others)
    blamed = stack.rows("select from run_events where run_id <> %s and (payload->>'deaths')::int > 0", killer)
    assert blamed == []


def test_lost_connections(stack: Stack, user: UUID) -> None:
    """Every connection is terminated; a row inserted meanwhile is answered."""
    stack.start_orchestrator()
    for _ in range(3):
        stack.rows("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'maas orch%%'")
        run_id = insert(stack, user)
        stack.wait_archived(run_id)
        assert_answered_once(stack, run_id)


async def test_a_listener_without_notifications_is_noticed(database: str, postgres: EmbeddedPostgres) -> None:
    """A notification sent elsewhere is not received, as behind a transaction-mode pooler; one sent here is."""
    listener = await NotifyListener.open(database, "test")
    try:
        async with open_database(database, 2, "test") as here, open_database(postgres.dsn, 2, "test") as elsewhere:
            assert await listener.is_listening(here)
            assert not await listener.is_listening(elsewhere, within=0.2)
    finally:
        await listener.close()


def test_concurrency_is_limited(stack: Stack, models: ModelServer) -> None:
    """No more runs in flight than MAAS_CONCURRENCY, whoever asks; the others wait and are answered."""
    models.hold("responder")
    stack.start_orchestrator(**models.settings(), MAAS_CONCURRENCY="2")
    ids = [insert(stack, uuid4()) for _ in range(5)]
    poll(lambda: models.calls["responder"] == 2)
    assert len(stack.rows("select from pipeline_runs where queue_state = 1")) == 2
    assert models.calls["analyzer"] == 2
    models.release("responder")
    stack.wait_archived(*ids)
    assert_answered_once(stack, *ids)


def test_lost_notification(stack: Stack, user: UUID) -> None:
    """The table is the truth: a run whose notification was lost is found by polling."""
    stack.start_orchestrator()
    stack.rows("alter table pipeline_runs disable trigger notify_engines")
    stack.rows("alter table pipeline_runs disable trigger on_pipeline_change")
    run_id = insert(stack, user)
    stack.wait_archived(run_id)
    assert_answered_once(stack, run_id)


def test_bad_notification(stack: Stack, user: UUID) -> None:
    """A payload that is none is logged and dropped, an in-progress status is ignored."""
    stack.start_orchestrator(MAAS_LOG_LEVEL="debug")
    for payload in ("", "no json", "[]", "{}", '{"id": 1}', f'{{"id": "{uuid4()}", "status": "BOGUS"}}'):
        stack.rows("select pg_notify('pipeline_events', %s)", payload)
    run_id = insert(stack, user)
    stack.wait_archived(run_id)
    assert stack.log().count("event_dropped") == 6
    assert '"event": "event_received"' in stack.log()


def test_server_accepts_while_the_orchestrator_is_down(stack: Stack, user: UUID) -> None:
    """The row waits as NEW; the log is written; a process that comes later answers."""
    stack.start_server()
    run_id = stack.ask(user, "Is anybody there?")
    state = stack.client.get(f"/v1/runs/{run_id}").json()
    assert (state["status"], state["archive_status"]) == ("NEW", "PENDING")
    assert stack.rows("select message_type from raw_logs where run_id = %s", run_id) == [{"message_type": "user_query"}]
    stack.start_orchestrator()
    assert stack.answer(run_id)["status"] == "COMPLETED"


def test_one_stage_in_each_process(stack: Stack, models: ModelServer, user: UUID) -> None:
    """Rows stop where no process runs the stage; what is edited between two stages is what the next one reads."""
    run_id = insert(stack, user)
    for stage, status, edited in (
        ("analyzer", "ANALYZED", None),
        ("draft_builder", "ASSEMBLING", r"draft_context = replace(draft_context, '</role>', E'Be brief.\n</role>')"),
        (
            "assembler",
            "READY",
            "final_context_payload = replace(final_context_payload, 'Be brief.', 'Be brief, please.')",
        ),
        ("final_responder", "COMPLETED", None),
    ):
        process = stack.start_orchestrator(stage, **models.settings())
        poll(lambda status=status: _lane_and_status(stack, run_id) == (0, status))  # type: ignore[misc]
        stack.stop(process)
        if edited:
            stack.rows(f"update pipeline_runs set {edited} where id = %s", run_id)
    assert "Be brief, please." in models.prompts("responder")[0]
    run = stack.rows("select * from pipeline_runs where id = %s", run_id)[0]
    assert run["analysis_result"]["context_type"] == "GENERAL"
    assert run["draft_context"].startswith("<draft>")
    assert run["final_context_payload"].startswith("<system>")
    assert run["final_answer"] == "A model answered."
    stack.start_orchestrator("archivist", **models.settings())
    stack.wait_archived(run_id)
    assert_answered_once(stack, run_id)


def test_three_processes_share_the_work(stack: Stack) -> None:
    """Many users, three orchestrators: each run once, each user's runs in order."""
    for _ in range(3):
        stack.start_orchestrator()
    users = [uuid4() for _ in range(20)]
    stack.rows(
        "insert into pipeline_runs (user_id, user_query) select u, 'note ' || n"
        " from generate_series(1, 5) n, unnest(%s::uuid[]) u",
        users,
    )
    poll(lambda: stack.rows("select from pipeline_runs where queue_state < 2") == [], 60)
    runs = stack.rows("select id from pipeline_runs")
    assert len(runs) == 100
    assert_answered_once(stack, *(run["id"] for run in runs))
    overlaps = stack.rows(
        "select from pipeline_runs a join pipeline_runs b on a.user_id = b.user_id and a.seq < b.seq"
        " where b.analyzing_at < a.archived_at"
    )
    assert overlaps == []


def test_postgres_restarts_under_load(reachable_tmp: os.PathLike[str], stack: Stack) -> None:
    """Postgres is killed -9 while requests run; everything that was accepted is completed."""
    from pathlib import Path

    from maas.prompting.prompts import seed_prompts
    from shared.migrate import migrate
    from tests.conftest import SQL_FOLDER

    with acquire(Path(reachable_tmp) / f"restart-{uuid4().hex[:8]}") as server:
        migrate(server.dsn, SQL_FOLDER, sql_folders())
        seed_prompts(server.dsn)
        with Stack(server.dsn, stack.folder) as running:
            running.start_server()
            running.start_orchestrator()
            users = [uuid4() for _ in range(10)]
            ids = [running.ask(user, f"note {n} about tulips") for n in range(5) for user in users]
            _kill_postgres(server)
            more = [_ask_until_accepted(running, user) for user in users]
            running.wait_archived(*ids, *more, seconds=60)
            assert_answered_once(running, *ids, *more)


def test_cancel_of_a_run_in_flight(stack: Stack, models: ModelServer, user: UUID) -> None:
    """The model call is interrupted, the run is FAILED as cancelled, the user's next run goes on."""
    models.hold("responder")
    stack.start_server()
    stack.start_orchestrator(**models.settings())
    run_id, later = stack.ask(user, "Take your time."), stack.ask(user, "Next, please.")
    poll(lambda: models.calls["responder"] == 1)
    assert stack.client.post(f"/v1/runs/{run_id}/cancel").status_code == 202
    state = stack.answer(run_id)
    assert (state["status"], state["error_code"], state["final_answer"]) == ("FAILED", "cancelled", None)
    models.release("responder")
    assert stack.answer(later)["status"] == "COMPLETED"
    assert stack.client.post(f"/v1/runs/{run_id}/cancel").status_code == 409


def _lane_and_status(stack: Stack, run_id: UUID) -> tuple[int, str]:
    row = stack.rows("select queue_state, status from pipeline_runs where id = %s", run_id)[0]
    return row["queue_state"], row["status"]


def _kill_postgres(server: EmbeddedPostgres) -> None:
    before = server.pid
    os.kill(before, signal.SIGKILL)
    poll(lambda: server.pid != before and is_answering(server.dsn), 30)


def _ask_until_accepted(stack: Stack, user: UUID) -> UUID:
    key = {"idempotency-key": str(uuid4())}

    def post() -> UUID | None:
        reply = stack.client.post("/v1/runs", json={"user_id": str(user), "query": "still there?"}, headers=key)
        assert reply.status_code in (202, 503), reply.text
        return UUID(reply.json()["request_id"]) if reply.status_code == 202 else None

    found = poll(post, 30)
    assert found is not None
    return found


def test_a_slow_model_holds_up_its_own_assistant_only(stack: Stack, models: ModelServer) -> None:
    """More users than places wait for the model of one assistant; who asks another one is answered meanwhile."""
    stack.rows(
        "insert into assistants (name, role_name, definition) values ('quick', 'Mentor', %s)",
        '{"model": "extractive:builtin"}',
    )
    models.hold("responder")
    stack.start_orchestrator(**models.settings(), MAAS_CONCURRENCY="6")
    slow = [insert(stack, uuid4()) for _ in range(10)]
    poll(lambda: models.calls["responder"] == 4)
    row = stack.rows(
        "insert into pipeline_runs (user_id, user_query, assistant) values (%s, 'And a muon?', 'quick') returning id",
        uuid4(),
    )[0]
    stack.wait_archived(row["id"])
    assert models.calls["responder"] == 4
    models.release("responder")
    stack.wait_archived(*slow)
    assert_answered_once(stack, *slow)


@pytest.mark.parametrize("is_in_flight", [True, False])
def test_a_run_that_sql_set_to_failed_is_logged_once(stack: Stack, models: ModelServer, is_in_flight: bool) -> None:
    """With id, code and message, and the user's next run is answered; what was in flight is dropped."""
    models.hold("responder")
    user = uuid4()
    first, second, third = insert(stack, user), insert(stack, user), insert(stack, user)
    stack.start_orchestrator(**models.settings())
    poll(lambda: models.calls["responder"] == 1)
    target, others = (first, (second, third)) if is_in_flight else (second, (first, third))
    fail = "update pipeline_runs set status = 'FAILED', error_code = 'unwanted', error_message = 'off' where id = %s"
    stack.rows(fail, target)
    poll(lambda: stack.rows("select queue_state from pipeline_runs where id = %s", target)[0]["queue_state"] == 2)
    models.release("responder")
    stack.wait_archived(*others)
    run = stack.rows("select * from pipeline_runs where id = %s", target)[0]
    assert (run["status"], run["error_code"], run["owner"]) == ("FAILED", "unwanted", None)
    (line,) = [line for line in stack.log().splitlines() if '"event": "run_failed"' in line]
    for word in (str(target), '"unwanted"', '"off"'):
        assert word in line
