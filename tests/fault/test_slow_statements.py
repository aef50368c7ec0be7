"""One statement that takes too long holds up nobody else, and ends as one clear error."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from maas import queries
from maas.http.errors import STATUS
from maas.memory.erase import erase_user
from maas.runs.submit import LARGE_REQUEST_CHARS, Submission, Submitter
from shared.db import SlowStatement, open_database

Connection = psycopg.Connection[DictRow]
STEP_S = 0.05


async def test_statement_beyond_the_limit_is_one_clear_error(database: str, connection: Connection) -> None:
    async with open_database(database, 2, "test", statement_timeout=0.2) as db:
        with connection.transaction():
            connection.execute("lock table pipeline_runs")
            with pytest.raises(SlowStatement) as caught:
                await db.row(queries.run, uuid4())
            with pytest.raises(SlowStatement):
                async with db.transaction() as transaction:
                    await transaction.row(queries.run, uuid4())
        assert await db.row(queries.run, uuid4()) is None
    assert (STATUS[caught.value.code], caught.value.details) == (503, {"retry_after": 5})
    assert "MAAS_STATEMENT_TIMEOUT" in caught.value.message


async def test_what_goes_through_all_of_a_user_has_no_such_limit(database: str, connection: Connection) -> None:
    async with open_database(database, 2, "test", statement_timeout=0.2) as db:
        user, runs = uuid4(), Submitter(db)
        await runs.submit(Submission(user, "hello"))
        with connection.transaction():
            connection.execute("lock table lsm_storage")
            erasing = asyncio.create_task(erase_user(db, user, "test"))
            while not connection.execute("select from pg_locks where not granted").fetchall():
                await asyncio.sleep(STEP_S)
            await asyncio.sleep(0.4)
            assert not erasing.done()
        assert (await erasing)["pipeline_runs"] == 1


async def test_large_request_keeps_no_small_one_waiting(database: str, connection: Connection) -> None:
    connection.execute(
        "create function be_slow() returns trigger language plpgsql as 'begin perform pg_sleep(5); return new; end'"
    )
    connection.execute(
        "create trigger be_slow before insert on pipeline_runs for each row"
        f" when (length(new.user_query) >= {LARGE_REQUEST_CHARS}) execute function be_slow()"
    )
    async with open_database(database, 4, "test", statement_timeout=0.5) as db:
        runs = Submitter(db)
        large = [asyncio.create_task(runs.submit(Submission(uuid4(), "a" * LARGE_REQUEST_CHARS))) for _ in range(2)]
        small = [asyncio.create_task(runs.submit(Submission(uuid4(), "hello"))) for _ in range(20)]
        await asyncio.wait(small, timeout=10)
        assert not any(task.done() for task in large)
        assert all(task.done() and task.exception() is None for task in small)
        for task in large:
            with pytest.raises(SlowStatement):
                await task
