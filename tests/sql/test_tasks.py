"""Tasks: inserted whole or not at all, taken from step to step by the owner of the run alone, ended without a gap."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from maas.engine.states import RunKind
from maas.runs.tasks import QUEUE_LIMIT, TaskLimits, TaskStep, insert_task
from shared.db import open_database
from shared.errors import MaasError
from tests.sql.engine import Engine, failed, insert, run_of

Connection = psycopg.Connection[DictRow]
WRITE = {"title": "Send it", "tool": "send_mail", "arguments": {"to": "ann"}}


@pytest.fixture(autouse=True)
def tools(connection: Connection) -> None:
    connection.execute(
        """insert into tools (name, domain, description, parameters, effect, version, is_idempotent) values
           ('send_mail', 'mail', 'Send', '{}', 'write', '1', false),
           ('set_flag', 'mail', 'Set', '{}', 'write', '1', true),
           ('read_mail', 'mail', 'Read', '{}', 'read', '1', false)"""
    )


def asks(*needs: list[int]) -> list[dict[str, Any]]:
    """Steps that ask a model; each depends on these."""
    return [{"title": f"Step {n}", "prompt": "Think.", "depends_on": list(one)} for n, one in enumerate(needs, 1)]


def task(connection: Connection, steps: Any, user: UUID | None = None, **more: Any) -> DictRow:
    names = "".join(f", {name} => %s" for name in more)
    row = connection.execute(
        f"select * from maas_insert_task(%s, 'The report', %s{names})".encode(),
        (user or uuid4(), Jsonb(steps), *more.values()),
    ).fetchone()
    assert row is not None
    return row


def begin(connection: Connection, steps: Any, **more: Any) -> dict[str, Any]:
    """A task that an orchestrator has claimed and brought to its Responder."""
    run = task(connection, steps, **more)["run_id"]
    return work_on(connection, run)


def work_on(connection: Connection, run: UUID) -> dict[str, Any]:
    engine = Engine(connection)
    (claimed,) = [one for one in engine.claim() if one["id"] == run]
    while claimed["status"] != "RESPONDING":
        assert engine.advance(claimed)
    return claimed | {"engine": engine}


def next_step(connection: Connection, run: dict[str, Any], attempt: int | None = None) -> DictRow:
    row = connection.execute("select * from maas_next_step(%s, %s)", (run["id"], attempt or run["attempt"])).fetchone()
    assert row is not None
    return row


def end_step(connection: Connection, run: dict[str, Any], number: int, status: str = "done") -> bool:
    row = connection.execute(
        "select maas_end_step(%s, %s, %s, %s, %s) as ended",
        (run["id"], run["attempt"], number, status, Jsonb({"success": status == "done", "data": number})),
    ).fetchone()
    assert row is not None
    return bool(row["ended"])


def states(connection: Connection, run: UUID) -> list[str]:
    rows = connection.execute("select status from task_steps where run_id = %s order by number", (run,)).fetchall()
    return [row["status"] for row in rows]


def test_kinds_equal_python(connection: Connection) -> None:
    row = connection.execute(
        "select pg_get_constraintdef(oid) as rule from pg_constraint where conname = 'pipeline_runs_kind_check'"
    ).fetchone()
    assert row is not None and all(f"'{kind}'" in row["rule"] for kind in RunKind)


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        (None, "steps: must be an array of 1 to 100 steps"),
        ({}, "steps: must be an array"),
        ([], "steps: must be an array"),
        (asks(*[[]] * 101), "steps: must be an array of 1 to 100"),
        ([7], "step 1: must be an object"),
        ([WRITE | {"run": "now"}], "step 1: run is unknown"),
        ([WRITE | {"title": " "}], "step 1: title"),
        ([WRITE | {"title": "x" * 201}], "step 1: title"),
        ([{"title": "Nothing"}], "step 1: must have a tool, a prompt or both"),
        ([{"title": "Send", "tool": "write_line", "prompt": "x"}], "step 1: a prompt beside a tool"),
        ([WRITE | {"prompt": "Send it.", "depends_on": [1]}], "step 1: arguments"),
        ([{"title": "Think", "prompt": ["a"]}], "step 1: prompt"),
        ([{"title": "Think", "prompt": "x" * 8001}], "step 1: prompt"),
        ([{"title": "Think", "prompt": "x", "arguments": {}}], "step 1: arguments"),
        ([WRITE | {"tool": "fly"}], "step 1: there is no tool fly"),
        ([WRITE | {"tool": 7}], "step 1: there is no tool 7"),
        ([WRITE | {"arguments": []}], "step 1: arguments"),
        ([WRITE | {"arguments": {"a": "x" * 65_536}}], "step 1: arguments"),
        ([WRITE | {"depends_on": 1}], "step 1: depends_on: must be an array"),
        ([WRITE | {"depends_on": ["1"]}], "step 1: depends_on: there is no step"),
        ([WRITE | {"depends_on": [0]}], "step 1: depends_on: there is no step 0"),
        ([WRITE | {"depends_on": [1.5]}], "step 1: depends_on: there is no step 1.5"),
        (asks([], [3]), "step 2: depends_on: there is no step 3"),
        (asks([], [2]), "step 2: depends_on: it cannot depend on itself"),
        (asks([], [3, 1], [2]), "steps: 2, 3 can never begin"),
        (asks([], [1], [5], [3], [4]), "steps: 3, 4, 5 can never begin"),
    ],
)
def test_wrong_steps_are_refused_whole(connection: Connection, steps: Any, problem: str) -> None:
    with pytest.raises(errors.InvalidParameterValue) as caught:
        task(connection, steps)
    assert problem in str(caught.value)
    assert connection.execute("select from pipeline_runs").fetchall() == []


@pytest.mark.parametrize(
    "limits", [{"calls": 0}, {"calls": 1001}, {"price": "1"}, {"seconds": 1.5}, {"seconds": 86401}, {"time": 1}, []]
)
def test_wrong_limits_are_refused(connection: Connection, limits: Any) -> None:
    with pytest.raises(errors.InvalidParameterValue, match="limits"):
        task(connection, [WRITE], p_limits=Jsonb(limits))
    assert connection.execute("select from pipeline_runs").fetchall() == []


def test_a_task_is_its_parents_and_inserted_once(connection: Connection) -> None:
    user, conversation = uuid4(), uuid4()
    connection.execute(
        "insert into pipeline_runs (user_id, user_query, conversation_id, source) values (%s, 'do it', %s, 'http')",
        (user, conversation),
    )
    (parent,) = connection.execute("select id from pipeline_runs").fetchall()
    first = task(connection, [WRITE], user, p_parent=parent["id"])
    assert first["verdict"] == "inserted" and task(connection, [WRITE], user, p_parent=parent["id"]) == first
    run = run_of(connection, first["run_id"])
    assert (run["kind"], run["source"], run["conversation_id"]) == ("task", "http", conversation)
    assert run["queue_key"] != user  # the user's next request does not wait for it
    assert task(connection, [WRITE], uuid4(), p_parent=parent["id"]) == {"verdict": "not_found", "run_id": None}
    with pytest.raises(errors.ForeignKeyViolation, match="not a conversation of this user"):
        task(connection, [WRITE], uuid4(), p_conversation=conversation)
    assert connection.execute("select from task_steps").rowcount == 1


def test_a_user_may_have_so_many_tasks(connection: Connection) -> None:
    user = uuid4()
    verdicts = [task(connection, [WRITE], user, p_queue_limit=2)["verdict"] for _ in range(3)]
    assert verdicts == ["inserted", "inserted", "queue_full"]
    assert task(connection, [WRITE], p_queue_limit=2)["verdict"] == "inserted"


def test_steps_begin_when_all_that_they_depend_on_are_done(connection: Connection) -> None:
    run = begin(connection, asks([2], [], [1, 2], []))
    order = []
    while (step := next_step(connection, run))["verdict"] == "step":
        order.append((step["number"], step["ended"], step["results"] and len(step["results"])))
        assert end_step(connection, run, step["number"]) and not end_step(connection, run, step["number"])
    assert order == [(2, 0, None), (1, 1, 1), (3, 2, 2), (4, 3, None)]
    assert (step["verdict"], step["ended"], step["total"]) == ("over", 4, 4)


@pytest.mark.parametrize("status", ["failed", "in_doubt", "skipped"])
def test_what_depends_on_a_step_that_is_not_done_is_skipped(connection: Connection, status: str) -> None:
    run = begin(connection, asks([], [1], [2], []))
    assert next_step(connection, run)["number"] == 1 and end_step(connection, run, 1, status)
    assert next_step(connection, run)["number"] == 4
    assert states(connection, run["id"]) == [status, "skipped", "skipped", "running"]


def test_the_next_owner_gets_the_step_that_was_running(connection: Connection) -> None:
    """The former one can neither end it nor begin another."""
    run = begin(connection, asks([], []))
    assert next_step(connection, run)["number"] == 1
    connection.execute(
        "update pipeline_runs set attempt = attempt + 1, losses = 1, deaths = 1 where id = %s", (run["id"],)
    )
    assert next_step(connection, run)["verdict"] == "lost" and not end_step(connection, run, 1)
    later = run | {"attempt": run["attempt"] + 1}
    assert next_step(connection, later)["number"] == 1 and end_step(connection, later, 1)
    row = run_of(connection, run["id"])
    assert (row["losses"], row["deaths"]) == (0, 0)  # it advances: no process that was lost counts any more


@pytest.mark.parametrize("state", [-2, 0])
def test_a_task_lets_a_request_go_first_that_nobody_claims(connection: Connection, state: int) -> None:
    """After a step, and not for a request that has come just now, nor for another task."""
    run = begin(connection, asks([], []))
    yielding = "select verdict from maas_next_step(%s, 1, true)"
    assert next_step(connection, run)["number"] == 1 and end_step(connection, run, 1)
    task(connection, asks([]))
    waiting = insert(connection)
    connection.execute("update pipeline_runs set queue_state = %s where id = %s", (state, waiting))
    age = "update pipeline_runs set updated_at = now() - interval '1 s' where id <> %s"
    connection.execute(age, (run["id"],))
    assert connection.execute(yielding, (run["id"],)).fetchone() == {"verdict": "yield"}
    connection.execute(
        "update pipeline_runs set updated_at = clock_timestamp() + interval '1 s' where id = %s", (waiting,)
    )
    assert next_step(connection, run)["number"] == 2  # whoever may not yield goes on
    assert connection.execute(yielding, (run["id"],)).fetchone() == {
        "verdict": "step"
    }  # a step that runs is ended first


def test_a_task_without_steps_says_so(connection: Connection) -> None:
    connection.execute("insert into pipeline_runs (user_id, user_query, kind) values (%s, 'later', 'task')", (uuid4(),))
    (row,) = connection.execute("select id from pipeline_runs").fetchall()
    assert next_step(connection, work_on(connection, row["id"]))["verdict"] == "missing"


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"calls": 2}, "the task has used its 2 calls"),
        ({"price": 90}, "the task has used its 90 micro-dollars"),
        ({"seconds": 1}, "the task has used its 1 seconds"),
    ],
)
def test_a_limit_that_is_reached_skips_the_rest(connection: Connection, limits: dict[str, int], reason: str) -> None:
    connection.execute("insert into model_prices (provider, model, input, output) values ('p', 'm', 30, 20)")
    run = begin(connection, asks([], [], []), p_limits=Jsonb(limits))
    call = {
        "run_id": str(run["id"]),
        "attempt": run["attempt"],
        "stage": "final_responder",
        "provider": "p",
        "model": "m",
        "role_name": "FinalResponder",
        "reply": "r",
        "finish": "stop",
        "attempts": 1,
        "tokens_in": 1,
        "tokens_out": 1,
        "ms": 1,
    }
    for number in (1, 2):
        assert next_step(connection, run)["number"] == number
        connection.execute("select maas_pin_calls(%s, 1, %s)", (run["id"], Jsonb([call | {"round": number}])))
        assert end_step(connection, run, number)
    if "seconds" in limits:
        connection.execute(
            "update pipeline_runs set responding_at = responding_at - interval '2 s' where id = %s", (run["id"],)
        )
    step = next_step(connection, run)
    assert (step["verdict"], step["ended"]) == ("over", 3)
    (row,) = connection.execute(
        "select result from task_steps where run_id = %s and number = 3", (run["id"],)
    ).fetchall()
    assert (row["result"]["error_code"], row["result"]["message"]) == ("over_budget", reason)


def end(connection: Connection, run: dict[str, Any]) -> None:
    run["engine"].step(done=[failed(run, "cancelled")])
    assert run_of(connection, run["id"])["status"] == "FAILED"


@pytest.mark.parametrize(
    ("tool", "is_begun", "is_done", "state"),
    [
        ("send_mail", True, False, "in_doubt"),
        ("send_mail", True, True, "pending"),  # a retry finds its result in the ledger
        ("send_mail", False, False, "pending"),
        ("set_flag", True, False, "pending"),  # may be repeated
        ("read_mail", False, False, "pending"),
    ],
)
def test_a_task_that_is_ended_leaves_no_step_running(
    connection: Connection, tool: str, is_begun: bool, is_done: bool, state: str
) -> None:
    """After a retry, what is done or in doubt stays; the rest begins anew."""
    run = begin(connection, [*asks([]), {"title": "x", "tool": tool, "depends_on": [1]}, *asks([]), *asks([])])
    assert next_step(connection, run)["number"] == 1 and end_step(connection, run, 1)
    assert next_step(connection, run)["call_id"] == "step-2"
    if is_begun:
        connection.execute("select maas_begin_tool(%s, 1, 'step-2', %s, 'h', 'write', false)", (run["id"], tool))
    if is_done:
        connection.execute("select maas_finish_tool(%s, 1, %s, 'h', 'done', '{}', 1)", (run["id"], tool))
    end(connection, run)
    assert states(connection, run["id"]) == ["done", state, "pending", "pending"]
    connection.execute("select maas_retry_run(%s)", (run["id"],))
    again = work_on(connection, run["id"])
    assert next_step(connection, again)["number"] == (3 if state == "in_doubt" else 2)


def test_a_retry_begins_failed_and_skipped_steps_anew(connection: Connection) -> None:
    run = begin(connection, asks([], [1], []))
    assert next_step(connection, run)["number"] == 1 and end_step(connection, run, 1, "failed")
    assert next_step(connection, run)["number"] == 3
    end(connection, run)
    assert states(connection, run["id"]) == ["failed", "skipped", "pending"]
    connection.execute("select maas_retry_run(%s)", (run["id"],))
    assert states(connection, run["id"]) == ["pending"] * 3


def test_the_report_is_an_exchange_of_its_own(connection: Connection) -> None:
    """Nothing is said before the report, and the user's next request neither waits for the task nor loses it."""
    user, conversation = uuid4(), uuid4()
    run = begin(connection, asks([]), user=user, p_conversation=conversation)
    assert connection.execute("select from raw_logs").fetchall() == []
    assert connection.execute("select from lsm_storage").fetchall() == []
    assert connection.execute("select from chat_messages").fetchall() == []
    question = insert(connection, user)
    engine = run["engine"]
    (asked,) = engine.claim()
    assert asked["id"] == question
    engine.finish(asked)
    engine.finish(run, summary="The report is there.")
    logs = connection.execute(
        "select message_type, content, archived_at is not null as kept from raw_logs where run_id = %s order by seq",
        (run["id"],),
    ).fetchall()
    assert [(log["message_type"], log["content"], log["kept"]) for log in logs] == [
        ("user_query", "The report", True),
        ("assistant_response", "an answer", True),
    ]
    (record,) = connection.execute(
        "select summary, is_provisional from lsm_storage where run_id = %s", (run["id"],)
    ).fetchall()
    assert record == {"summary": "The report is there.", "is_provisional": False}
    messages = connection.execute("select role, content from chat_messages where run_id = %s", (run["id"],)).fetchall()
    assert messages == [{"role": "assistant", "content": "an answer"}]


def test_a_task_is_erased_with_its_user(connection: Connection) -> None:
    user = uuid4()
    begin(connection, asks([], []), user=user)
    other = task(connection, asks([]))["run_id"]
    row = connection.execute("select maas_erase(%s) as receipt", (user,)).fetchone()
    assert row is not None and (row["receipt"]["tasks"], row["receipt"]["task_steps"]) == (1, 2)
    assert states(connection, other) == ["pending"]


async def test_programs_get_one_clear_error(connection: Connection, database: str) -> None:
    """Each names what is wrong, and nothing of the task is there."""
    user, step = uuid4(), TaskStep("Send it", "send_mail", {"to": "ann"})
    async with open_database(database, 2, "test") as db:
        for steps, fields, code, words in (
            ([], {}, "invalid_request", "1 to 100 steps"),
            ([TaskStep("Fly", "fly")], {}, "invalid_request", "there is no tool fly"),
            ([TaskStep("Both", "send_mail", prompt="x")], {}, "invalid_request", "a prompt beside a tool"),
            ([TaskStep("Think", prompt="x", depends_on=[1])], {}, "invalid_request", "cannot depend on itself"),
            ([TaskStep("Nul", "send_mail", {"to": "\0"})], {}, "invalid_request", "NUL"),
            ([step], {"limits": TaskLimits(calls=0)}, "invalid_request", "limits: calls"),
            ([step], {"assistant": "nobody"}, "unknown_assistant", "nobody"),
            ([step], {"parent_run_id": uuid4()}, "not_found", "there is no run"),
        ):
            with pytest.raises(MaasError) as caught:
                await insert_task(db, user, "The report", steps, **fields)
            assert caught.value.code == code and words in caught.value.message
        assert connection.execute("select from pipeline_runs").fetchall() == []
        runs = {await insert_task(db, user, "The report", [step]) for _ in range(QUEUE_LIMIT)}
        with pytest.raises(MaasError, match="not finished yet") as caught:
            await insert_task(db, user, "The report", [step])
        assert caught.value.code == "queue_full" and len(runs) == QUEUE_LIMIT
