"""Shares of an orchestrator's places: no assistant and no user takes them all, so nobody waits for others."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from tests.sql.engine import ALL, Engine, failed, rows_read, run_of

Connection = psycopg.Connection[DictRow]
PLACES, ASSISTANT, USER = 12, 8, 3


class Orchestrator:
    """Steps as an orchestrator does: with the runs that it holds, and again as long as there is more."""

    def __init__(self, connection: Connection) -> None:
        self.engine = Engine(connection)
        self.held: dict[UUID, dict[str, Any]] = {}

    def step(self, *ended: dict[str, Any]) -> list[UUID]:
        """End runs and claim what may be claimed; the runs claimed, in order."""
        done, claimed = [failed(run) for run in ended], list[UUID]()
        for run in ended:
            del self.held[run["id"]]
        while True:
            rows = self.engine.connection.execute(
                "select verdict, id, (claimed).* from maas_step(%s, %s, %s, %s, false, %s, %s::uuid[], %s, %s)",
                (
                    self.engine.owner,
                    ALL,
                    PLACES - len(self.held),
                    Jsonb(done),
                    [run["assistant"] for run in self.held.values()],
                    [run["user_id"] for run in self.held.values()],
                    ASSISTANT,
                    USER,
                ),
            ).fetchall()
            for row in sorted((row for row in rows if row["verdict"] == "claimed"), key=lambda row: row["seq"]):
                self.held[row["id"]] = row
                claimed.append(row["id"])
            if all(row["verdict"] != "more" for row in rows) or len(self.held) == PLACES:
                return claimed
            done = []


@pytest.fixture
def orchestrator(connection: Connection) -> Orchestrator:
    connection.execute("insert into assistants (name, role_name) values ('second', 'Mentor'), ('third', 'Mentor')")
    return Orchestrator(connection)


def add(connection: Connection, assistant: str, count: int, user: UUID | None = None) -> list[UUID]:
    """So many runs of one assistant, each of another user; of kind task if they are of one user."""
    rows = connection.execute(
        """insert into pipeline_runs (user_id, user_query, assistant, kind)
           select coalesce(%s::uuid, gen_random_uuid()), 'q', %s, %s from generate_series(1, %s) returning id""",
        (user, assistant, "task" if user else "ask", count),
    ).fetchall()
    return [row["id"] for row in rows]


def test_an_assistant_holds_its_share(connection: Connection, orchestrator: Orchestrator) -> None:
    """What it leaves free goes to the runs of others at once, in their order; its own next run takes a freed place."""
    slow = add(connection, "mentor", 30)
    assert orchestrator.step() == slow[:ASSISTANT]
    assert orchestrator.step() == []
    quick = [*add(connection, "second", 1), *add(connection, "third", 1), *add(connection, "second", 4)]
    assert orchestrator.step() == quick[:4]
    assert orchestrator.step(orchestrator.held[slow[2]]) == [slow[ASSISTANT]]
    assert orchestrator.step(orchestrator.held[quick[0]]) == [quick[4]]


def test_shares_hold_within_one_claim(connection: Connection, orchestrator: Orchestrator) -> None:
    """A backlog that is there at the start: the earliest of each assistant, up to its share."""
    slow, quick = add(connection, "mentor", 20), add(connection, "second", 20)
    assert orchestrator.step() == [*slow[:ASSISTANT], *quick[: PLACES - ASSISTANT]]


def test_a_user_holds_a_share(connection: Connection, orchestrator: Orchestrator) -> None:
    """Whatever the kinds and assistants of its runs; the others get the places that it would have taken."""
    user = uuid4()
    tasks = add(connection, "mentor", 20, user)
    more = add(connection, "second", 20, user)
    others = add(connection, "mentor", 2)
    assert orchestrator.step() == [*tasks[:USER], *others]
    assert orchestrator.step() == []
    assert orchestrator.step(orchestrator.held[tasks[0]]) == [tasks[USER]]
    connection.execute("update pipeline_runs set cancel_requested_at = now() where id = any(%s)", (tasks[USER + 1 :],))
    assert orchestrator.step(orchestrator.held[tasks[1]]) == [more[0]]


def test_runs_whose_time_has_come_hide_no_others(connection: Connection, orchestrator: Orchestrator) -> None:
    """Deferred runs of an assistant that has its share become runnable, and the due run of another is claimed."""
    slow = add(connection, "mentor", 40)
    quick = add(connection, "second", 1)
    assert orchestrator.step() == [*slow[:ASSISTANT], *quick]
    end = {"outcome": "deferred", "wait": 0.0, "time_left": 60.0, "calls": []}
    orchestrator.engine.step(0, [{"id": str(quick[0]), "attempt": 1, **end}])
    del orchestrator.held[quick[0]]
    connection.execute(
        "update pipeline_runs set not_before = now() - interval '1 minute' where queue_state = 0 and id = any(%s)",
        (slow,),
    )
    assert orchestrator.step() == quick
    assert {run_of(connection, run)["not_before"] for run in slow} == {None}


def test_a_step_reads_no_runs_of_a_full_assistant(connection: Connection, orchestrator: Orchestrator) -> None:
    """Thousands of them may be runnable: a step passes them by with a probe of the index."""
    add(connection, "mentor", PLACES)
    orchestrator.step()
    connection.execute("set session_replication_role = replica")
    connection.execute(
        """insert into pipeline_runs (queue_key, user_id, user_query, queue_state, seq)
           select u, u, 'q', 0, n from (select gen_random_uuid() u, n from generate_series(1, 5000) n) s"""
    )
    connection.execute("reset session_replication_role")
    connection.execute("analyze pipeline_runs")
    (quick,) = add(connection, "third", 1)
    before = rows_read(connection)
    assert orchestrator.step() == [quick]
    assert rows_read(connection) - before <= 30
