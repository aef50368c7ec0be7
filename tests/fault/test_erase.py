"""Users are erased while orchestrators work for them: nothing returns, nobody breaks, the others go on."""

from __future__ import annotations

import json
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.model_server import ModelServer
from tests.polling import poll
from tests.sql.large_accounts import fill_account
from tests.sql.traces import tables_with
from tests.stack import Stack

MARK = "qzx77wv"
MOST_ALIKE = 20  # of the erased users that are met in one state: so there are three states at least
BROKEN = (
    "session_lost",
    "session_failed",
    "stage_crashed",
    "write_lost",
    "outcome_refused",
    "runs_reaped",
    "Traceback",
)
HELD = {"analyzer": "ANALYZING", "assembler": "ASSEMBLING", "responder": "RESPONDING", "archivist": "COMPLETED"}


def erase(stack: Stack, user: UUID) -> None:
    stack.rows("select maas_erase(%s)", user)


def no_trace(stack: Stack) -> None:
    with psycopg.connect(stack.dsn, autocommit=True, row_factory=dict_row) as connection:
        assert tables_with(connection, MARK) == []


def nobody_broke(stack: Stack, engines: list[object]) -> None:
    assert [row["owner"] for row in stack.rows("select owner from v_engines where is_alive order by owner")] == engines
    assert [line for line in stack.log().splitlines() if any(word in line for word in BROKEN)] == []


def test_fifty_users_are_erased_under_load(stack: Stack) -> None:
    """Two orchestrators, a hundred users with an import and six requests each; half of them go while served."""
    for _ in range(2):
        stack.start_orchestrator(MAAS_CONCURRENCY="24")
    engines = [row["owner"] for row in stack.rows("select owner from v_engines where is_alive order by owner")]
    leaving, staying = [uuid4() for _ in range(50)], [uuid4() for _ in range(50)]
    for users, word in ((leaving, MARK), (staying, "something")):
        turns = [{"role": "user", "content": f"I lost {word} {n}.", "conversation": str(n)} for n in range(6)]
        stack.rows("select maas_import(u, %s, %s::jsonb) from unnest(%s) u", word, json.dumps(turns), users)
        stack.rows(
            "insert into pipeline_runs (user_id, user_query)"
            " select u, 'Do you remember ' || %s || '? I am ' || n from unnest(%s) u, generate_series(1, 6) n",
            word,
            users,
        )
    met: Counter[str] = Counter()
    served: set[UUID] = set()
    chance = random.Random(7)
    more = 0
    with ThreadPoolExecutor(4) as pool:
        while len(served) < 50:
            flying = stack.rows(
                "select user_id, kind, status from pipeline_runs where queue_state = 1 and user_id = any(%s)", leaving
            )
            if not flying and not stack.rows("select from pipeline_runs where queue_state < 2"):
                more += 1  # all were answered before 50 had been met: those that are left ask once more
                assert more < 10, f"{len(served)} were served"
                stack.rows(
                    "insert into pipeline_runs (user_id, user_query) select u, 'And now?' from unnest(%s) u",
                    [user for user in leaving if user not in served],
                )
            fresh = [
                row
                for row in flying
                if row["user_id"] not in served and met[f"{row['kind']} {row['status']}"] < MOST_ALIKE
            ]
            for row in chance.sample(fresh, min(len(fresh), 4)):
                met[f"{row['kind']} {row['status']}"] += 1
                served.add(row["user_id"])
                pool.submit(erase, stack, row["user_id"])
    assert len(met) > 2
    poll(
        lambda: stack.rows("select from pipeline_runs where queue_state < 2") == [], 60, "all is answered and recorded"
    )
    no_trace(stack)
    for table in ("pipeline_runs", "raw_logs", "lsm_storage"):
        assert stack.rows(f"select from {table} where user_id = any(%s)", leaving) == []
    ended = stack.rows(
        "select kind, status, archive_status, count(*) as n from pipeline_runs group by 1, 2, 3 order by 1"
    )
    assert [tuple(row.values()) for row in ended] == [
        ("archive", "COMPLETED", "ARCHIVED", 50),
        ("ask", "COMPLETED", "ARCHIVED", 300),
    ]
    nobody_broke(stack, engines)


@pytest.mark.parametrize("role", HELD)
def test_a_model_that_answers_after_the_erasing(stack: Stack, models: ModelServer, role: str) -> None:
    """The stage comes back from its model to a run that is gone; a user who is back already goes on as a new one."""
    users, other = [uuid4() for _ in range(5)], uuid4()
    models.hold(role)
    for _ in range(2):
        stack.start_orchestrator(**models.settings())
    engines = [row["owner"] for row in stack.rows("select owner from v_engines where is_alive order by owner")]
    for user in (*users, other):
        stack.rows("insert into pipeline_runs (user_id, user_query) values (%s, %s)", user, f"Where is {MARK}?")
    held = "select from pipeline_runs where status = %s and queue_state = 1"
    poll(lambda: len(stack.rows(held, HELD[role])) == 6 and models.calls[role] == 6, what="all are at the model")
    for user in users:
        erase(stack, user)
    back = stack.rows("insert into pipeline_runs (user_id, user_query) values (%s, 'Back.') returning id", users[0])
    models.release(role)
    poll(lambda: stack.rows("select from pipeline_runs where queue_state < 2") == [], what="the others are answered")
    assert stack.log().count('"run_lost"') == (5 if role != "archivist" else 0)
    states = stack.rows("select user_id, status, archive_status from pipeline_runs order by created_at")
    assert [tuple(row.values()) for row in states] == [
        (other, "COMPLETED", "ARCHIVED"),
        (users[0], "COMPLETED", "ARCHIVED"),
    ]
    assert len(stack.rows("select from raw_logs where run_id = %s", back[0]["id"])) == 2
    gone = "select from {} where user_id = any(%s)"
    for table in ("raw_logs", "lsm_storage"):
        assert stack.rows(gone.format(table), users[1:]) == []
    nobody_broke(stack, engines)


def test_erasing_over_http_ends_what_is_being_answered(stack: Stack, models: ModelServer, user: UUID) -> None:
    """The orchestrator stops waiting for the model; another request of the client gets 404 for its run."""
    models.hold("responder")
    stack.start_server()
    stack.start_orchestrator(**models.settings())
    run_id = stack.ask(user, f"Where is {MARK}?")
    poll(lambda: models.calls["responder"] == 1)
    receipt = stack.client.delete(f"/v1/users/{user}").json()["erased"]
    assert receipt["pipeline_runs"] == 1
    assert '"cancelled"' in stack.log()
    assert stack.client.get(f"/v1/runs/{run_id}").status_code == 404
    no_trace(stack)


def test_an_orchestrator_finishes_the_erasing_of_a_process_that_died(stack: Stack) -> None:
    """The first transaction recorded it, and its caller has been silent for more than a minute."""
    with psycopg.connect(stack.dsn, autocommit=True, row_factory=dict_row) as connection:
        user = fill_account(connection, 3000)
    erase(stack, user)
    assert stack.rows("select from pipeline_runs where user_id = %s", user)
    stack.rows("update erasures set touched_at = now() - interval '2 minutes'")
    stack.start_orchestrator()
    poll(lambda: stack.rows("select from erasures") == [], what="the orchestrator goes on")
    (receipt,) = stack.rows("select details from audit where action = 'erase' and user_id = %s", user)
    assert (receipt["details"]["pipeline_runs"], receipt["details"]["raw_logs"]) == (3000, 6000)
    for table in ("pipeline_runs", "raw_logs", "lsm_storage"):
        assert stack.rows(f"select from {table} where user_id = %s", user) == []
