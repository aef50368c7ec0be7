"""Background tasks that fail: they are seen, they back off, and nobody waits for an answer because of them."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import psycopg
import pytest
from psycopg.rows import DictRow

from maas.engine.supervision import keep_running
from maas.memory.term_counts import count_due_terms
from shared.db import open_database
from tests.polling import apoll, poll
from tests.stack import Stack


def test_a_task_that_fails_stops_nobody(stack: Stack, user: UUID) -> None:
    """Compaction and statistics cannot read their tables: one session goes on and answers, at growing intervals."""
    stack.rows("alter table counted_users rename to counted_users_away")
    stack.rows("alter function maas_due_until rename to maas_due_until_away")
    stack.start_orchestrator(MAAS_COMPACT_EVERY="0.1")

    def failures(task: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in stack.log().splitlines() if '"background_task_failed"' in line]
        return [line for line in lines if line["task"] == task]

    (run,) = stack.rows(
        "insert into pipeline_runs (user_id, user_query) values (%s, 'What is a quark?') returning id", user
    )
    stack.wait_archived(run["id"])
    for task, cause in (("count_terms", "UndefinedTableError"), ("compactor", "UndefinedFunctionError")):
        first, second = poll(lambda task=task: len(failures(task)) > 1 and failures(task)[:2])  # type: ignore[misc]
        assert cause in first["cause"] and "Traceback" in first["exception"]
        assert 0.5 <= first["again_in"] <= 1 <= second["again_in"] <= 2
    counted = """select coalesce(sum(events), 0)::int as n from engine_metrics
                 where name = 'background_failures' and labels->>'task' = %s"""
    poll(lambda: stack.rows(counted, "compactor")[0]["n"] >= 2)
    assert len(stack.rows("select from engines")) == 1
    assert "session_lost" not in stack.log() and "session_failed" not in stack.log()
    # what is mended goes on by itself
    stack.rows("alter table counted_users_away rename to counted_users")
    stack.rows("update engine_settings set value = '-infinity' where key = 'terms_counted_until'")
    poll(lambda: stack.rows("select from engine_settings where key = 'terms_counted_until' and value <> '-infinity'"))


async def test_a_task_whose_own_work_was_cancelled_is_started_again() -> None:
    """That is a failure like any other; to be cancelled itself is the end."""
    failures: list[str] = []

    async def task() -> None:
        work = asyncio.create_task(asyncio.sleep(60))
        work.cancel()
        await work

    running = asyncio.create_task(keep_running("task", task, failures.append))
    await apoll(lambda: failures == ["task"])
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_memory_that_cannot_be_counted_stops_no_other(
    database: str, connection: psycopg.Connection[DictRow]
) -> None:
    """The others are counted first; then it is reported."""
    for user in (uuid4(), uuid4()):
        connection.execute(
            "insert into raw_logs (user_id, run_id, message_type, content, conversation)"
            " select %s, gen_random_uuid(), 'user_query', 'A quark.', '' from generate_series(1, 2100) n",
            (user,),
        )
    damaged, other = (row["id"] for row in connection.execute("select maas_users_to_count('5 min') as id"))
    connection.execute(f"alter table counted_users add constraint damaged check (user_id <> '{damaged}')")
    async with open_database(database, 2, "test") as db:
        with pytest.raises(asyncpg.CheckViolationError):
            await count_due_terms(db)
    assert connection.execute("select user_id from counted_users").fetchall() == [{"user_id": other}]
