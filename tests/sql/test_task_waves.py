"""Steps that wait for their user: once all is decided, what they held up begins, once, in the task or after it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from maas.conversations.actions import decide_actions
from shared.db import open_database
from shared.errors import MaasError
from tests.polling import poll
from tests.sql.engine import Engine, failed, one

Connection = psycopg.Connection[DictRow]
USER = uuid4()
INVITE = {"title": "Invite", "tool": "send_mail", "prompt": "One each.", "depends_on": [1]}
WAVES = [
    {"title": "Find", "prompt": "Who?"},
    INVITE,
    {"title": "Same title", "prompt": "Sum up.", "depends_on": [1, 2]},
    {"title": "Same title", "prompt": "Something else."},
]


@pytest.fixture(autouse=True)
def tools(connection: Connection) -> None:
    connection.execute(
        "insert into tools (name, domain, description, parameters, effect, version, is_idempotent) "
        "values ('send_mail', 'mail', 'Send', '{}', 'dangerous', '1', false)"
    )


def step(connection: Connection, run: dict[str, Any]) -> DictRow:
    return one(connection, "select * from maas_next_step(%s, %s)", run["id"], run["attempt"])


def end(connection: Connection, run: dict[str, Any], number: int, actions: list[UUID] | None = None) -> None:
    body = Jsonb({"success": not actions, "data": f"of {number}"})
    query = "select maas_end_step(%s, %s, %s, %s, %s, %s) as ended"
    status = "waiting" if actions else "done"
    assert one(connection, query, run["id"], run["attempt"], number, status, body, actions)["ended"]


def propose(connection: Connection, run: dict[str, Any], call: str) -> UUID:
    query = "select maas_propose_action(%s, %s, 'send_mail', %s, 'dangerous', '1') as id"
    return UUID(str(one(connection, query, run["id"], call, Jsonb({"to": call}))["id"]))


def decide(connection: Connection, action: UUID, word: str) -> None:
    query = "select verdict from maas_decide_action(%s, %s, %s, 'web')"
    assert one(connection, query, action, USER, word)["verdict"] == "decided"


def claim(connection: Connection, action: UUID) -> None:
    decide(connection, action, "approve")
    assert one(connection, "select id from maas_claim_action(%s)", action)


def execute(connection: Connection, action: UUID, status: str = "done") -> None:
    claim(connection, action)
    assert one(connection, "select maas_finish_action(%s, %s, %s)", action, status, Jsonb({"data": {"sent": 1}}))


def states(connection: Connection, run: UUID) -> list[tuple[int, str]]:
    rows = connection.execute("select number, status from task_steps where run_id = %s order by number", (run,))
    return [(row["number"], row["status"]) for row in rows]


def later(connection: Connection, run: dict[str, Any]) -> list[UUID]:
    """The tasks that go on with this one."""
    return [
        row["run_id"] for row in connection.execute("select run_id from tasks where parent_run_id = %s", (run["id"],))
    ]


@pytest.fixture
def run(connection: Connection) -> dict[str, Any]:
    """A task whose first step is done and whose second one is executed."""
    query = "select run_id from maas_insert_task(%s, 'The meeting', %s)"
    run_id = one(connection, query, USER, Jsonb(WAVES))["run_id"]
    engine = Engine(connection)
    (claimed,) = [row for row in engine.claim() if row["id"] == run_id]
    while claimed["status"] != "RESPONDING":
        assert engine.advance(claimed)
    claimed["engine"] = engine
    assert step(connection, claimed)["number"] == 1
    end(connection, claimed, 1)
    assert step(connection, claimed)["number"] == 2
    return claimed


@pytest.fixture
def actions(connection: Connection, run: dict[str, Any]) -> list[UUID]:
    return [propose(connection, run, call) for call in ("step-2-1", "step-2-2")]


def go_on(connection: Connection, run: dict[str, Any], actions: list[UUID]) -> None:
    """The step waits, what is independent is done, and the task ends."""
    end(connection, run, 2, actions)
    assert step(connection, run)["number"] == 4
    end(connection, run, 4)
    over = step(connection, run)
    assert (over["verdict"], over["ended"], over["total"]) == ("over", 2, 4)
    run["engine"].complete(run, "report")


def test_the_next_wave_begins_when_all_is_decided(
    connection: Connection, run: dict[str, Any], actions: list[UUID]
) -> None:
    go_on(connection, run, actions)
    assert states(connection, run["id"]) == [(1, "done"), (2, "waiting"), (3, "pending"), (4, "done")]
    execute(connection, actions[0])
    assert later(connection, run) == []
    decide(connection, actions[1], "reject")
    (wave,) = later(connection, run)
    assert states(connection, wave) == [(1, "done"), (2, "done"), (3, "pending")]
    assert states(connection, run["id"])[2] == (3, "skipped")
    claimed = next(row for row in run["engine"].claim() if row["id"] == wave)
    while claimed["status"] != "RESPONDING":
        assert run["engine"].advance(claimed)
    begun = step(connection, claimed)
    assert (begun["number"], begun["title"], begun["ended"], begun["total"]) == (3, "Same title", 2, 3)
    results = begun["results"]
    assert results["1. Find"]["data"] == "of 1"
    assert results["2. Invite"]["calls"] == {"done": 1, "rejected": 1}
    assert [call["result"] for call in results["2. Invite"]["data"]] == [{"sent": 1}, None]


@pytest.mark.parametrize("is_noted", [False, True])
def test_what_is_decided_early_goes_on_in_the_task(
    connection: Connection, run: dict[str, Any], actions: list[UUID], is_noted: bool
) -> None:
    """Before or after the step says that it waits."""
    if is_noted:
        end(connection, run, 2, actions)
    for action in actions:
        execute(connection, action)
    if not is_noted:
        end(connection, run, 2, actions)
    assert step(connection, run)["number"] == 3
    end(connection, run, 3)
    assert step(connection, run)["number"] == 4
    end(connection, run, 4)
    run["engine"].complete(run, "report")
    assert later(connection, run) == []


@pytest.mark.parametrize(
    ("ends", "state"),
    [("reject", "skipped"), ("expire", "skipped"), ("failed", "failed"), ("in_doubt", "in_doubt")],
)
def test_what_is_not_done_begins_nothing(
    connection: Connection, run: dict[str, Any], actions: list[UUID], ends: str, state: str
) -> None:
    go_on(connection, run, actions)
    if ends == "expire":
        connection.execute("select set_config('maas.now', (now() + interval '1 hour')::text, false)")
        assert one(connection, "select maas_expire_actions() as n")["n"] == 2
    elif ends == "reject":
        for action in actions:
            decide(connection, action, "reject")
    else:
        execute(connection, actions[0])
        execute(connection, actions[1], ends)
    assert states(connection, run["id"]) == [(1, "done"), (2, state), (3, "skipped"), (4, "done")]
    assert later(connection, run) == []


def test_a_decision_stands_where_nothing_can_go_on(
    connection: Connection, run: dict[str, Any], actions: list[UUID]
) -> None:
    """The assistant is gone: what was executed is recorded all the same, and the rest is skipped."""
    go_on(connection, run, actions)
    decide(connection, actions[0], "reject")
    claim(connection, actions[1])
    connection.execute("update assistants set is_active = false where name = 'mentor'")
    assert one(connection, "select maas_finish_action(%s, 'done', '{}') as done", actions[1])["done"]
    assert later(connection, run) == []
    assert states(connection, run["id"])[1:3] == [(2, "done"), (3, "skipped")]


def test_a_decision_while_the_task_ends(
    database: str, connection: Connection, run: dict[str, Any], actions: list[UUID]
) -> None:
    """The end of the task waits for the decision, is seen waiting, and goes on with what it held up."""
    end(connection, run, 2, actions)
    assert step(connection, run)["number"] == 4
    end(connection, run, 4)
    decide(connection, actions[0], "reject")
    claim(connection, actions[1])
    with (
        psycopg.connect(database, row_factory=dict_row) as deciding,
        psycopg.connect(database, autocommit=True, row_factory=dict_row) as ending,
        ThreadPoolExecutor(1) as pool,
    ):
        deciding.execute("select maas_finish_action(%s, 'done', '{}')", (actions[1],))
        run["engine"].connection = ending
        ended = pool.submit(run["engine"].complete, run, "report")
        waits = f"select from pg_locks where pid = {ending.info.backend_pid} and not granted"
        poll(lambda: connection.execute(waits.encode()).fetchone() is not None, what="the end of the task waits")
        deciding.commit()
        ended.result()
    assert len(later(connection, run)) == 1


def test_a_call_of_several_that_was_cut_short_is_in_doubt(connection: Connection, run: dict[str, Any]) -> None:
    """A retry makes it no second time."""
    begin = "select maas_begin_tool(%s, %s, 'step-2-1', 'send_mail', 'h', 'dangerous', false)"
    connection.execute(begin.encode(), (run["id"], run["attempt"]))
    run["engine"].step(done=[failed(run, "cancelled")])
    assert states(connection, run["id"])[1] == (2, "in_doubt")


async def test_a_wave_is_decided_at_once(
    connection: Connection, database: str, run: dict[str, Any], actions: list[UUID]
) -> None:
    """All of it as it was shown, or nothing: not where one is changed, another's, or decided."""
    go_on(connection, run, actions)
    rows = connection.execute("select id, fingerprint from v_actions order by place desc").fetchall()
    shown = [(row["id"], row["fingerprint"]) for row in rows]
    async with open_database(database, 2, "test") as db:
        for wrong, user, limit, code in (
            ((shown[0][0], "0" * 32), USER, None, "changed"),
            ((uuid4(), "0" * 32), USER, None, "not_found"),
            (shown[0], uuid4(), None, "not_found"),
            (shown[0], USER, 1, "queue_full"),
        ):
            with pytest.raises(MaasError) as caught:
                await decide_actions(db, [wrong, shown[1]], user, "approve", "web", limit)
            assert caught.value.code == code
        assert {row["status"] for row in connection.execute("select status from v_actions")} == {"pending"}
        decided = await decide_actions(db, shown, USER, "approve", "web", 100)
        assert [(row["id"], row["status"]) for row in decided] == [(action, "approved") for action, _ in shown]
        with pytest.raises(MaasError, match="already"):
            await decide_actions(db, shown, USER, "approve", "web")
    assert connection.execute("select from pipeline_runs where kind = 'action'").rowcount == 2
