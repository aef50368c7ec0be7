"""A row that the database refuses fails alone, not with the whole batch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from uuid import uuid4

import asyncpg
import psycopg
import pytest
from psycopg.rows import DictRow

from maas import queries
from maas.engine.claims import ClaimEnd, Claims
from maas.engine.listener import NotifyListener
from maas.engine.run import Outcome, Run
from maas.engine.states import NEXT, Status
from maas.named_queries import query_texts
from shared.db import open_database
from tests.sql.engine import insert, run_of

Connection = psycopg.Connection[DictRow]


@pytest.fixture
async def claims(database: str) -> AsyncIterator[Claims]:
    """The engine's side of an owner that is alive."""
    async with AsyncExitStack() as stack:
        listener = await NotifyListener.open(database, "test")
        stack.push_async_callback(listener.close)
        owner = await listener.connection.fetchval(
            query_texts()[queries.register_engine], "test", 1, ["analyzer"], 8, timedelta(seconds=60)
        )
        db = await stack.enter_async_context(open_database(database, 4, "test"))
        yield Claims(db, owner, [status for status in Status if status is not Status.FAILED], False, 8, 8)


async def two_runs(connection: Connection, claims: Claims, until: Status) -> list[Run]:
    for _ in range(2):
        insert(connection, uuid4())
    runs = []
    for run in (await claims.step(8, ())).claimed:
        while run.status is not until:
            outcome = Outcome(answer="ok" if run.status is Status.RESPONDING else None)
            run, _ = await claims.advance(run, NEXT[run.status], outcome)
        runs.append(run)
    return runs


async def test_bad_answer_fails_alone(connection: Connection, claims: Claims) -> None:
    good, bad = await two_runs(connection, claims, Status.RESPONDING)
    results = await asyncio.gather(
        claims.advance(good, Status.COMPLETED, Outcome(answer="fine")),
        claims.advance(bad, Status.COMPLETED, Outcome(answer="a\x00b")),
        return_exceptions=True,
    )
    assert isinstance(results[0], tuple) and results[0][0].status is Status.COMPLETED
    assert isinstance(results[1], asyncpg.DataError)
    assert run_of(connection, good.id)["final_answer"] == "fine"
    assert run_of(connection, bad.id)["status"] == "RESPONDING"


async def test_bad_record_fails_alone(connection: Connection, claims: Claims) -> None:
    """The others are archived, the bad one is released and its words are owed."""
    good, bad = await two_runs(connection, claims, Status.COMPLETED)
    ends = []
    for run, summary in ((good, "They talked."), (bad, "a\x00b")):
        logs = connection.execute("select id from raw_logs where run_id = %s order by seq", (run.id,)).fetchall()
        record = {"log_ids": [str(log["id"]) for log in logs], "tags": ["Talk"], "summary": summary, "degraded": False}
        ends.append(ClaimEnd(run, "archived", record=record))
    await claims.step(8, ends)
    assert [run_of(connection, run.id)["archive_status"] for run in (good, bad)] == ["ARCHIVED", "FAILED"]
    assert [run_of(connection, run.id)["queue_state"] for run in (good, bad)] == [2, 2]
    owed = connection.execute("select distinct run_id from raw_logs where archive_owed").fetchall()
    assert [row["run_id"] for row in owed] == [bad.id]


async def test_bad_error_message_fails_alone(connection: Connection, claims: Claims) -> None:
    good, bad = await two_runs(connection, claims, Status.ANALYZING)
    await claims.step(
        8, [ClaimEnd(good, "failed", code="x", message="fine"), ClaimEnd(bad, "failed", code="x", message="\x00")]
    )
    assert [run_of(connection, run.id)["error_code"] for run in (good, bad)] == ["x", "bad_data"]
    assert [run_of(connection, run.id)["queue_state"] for run in (good, bad)] == [2, 2]
