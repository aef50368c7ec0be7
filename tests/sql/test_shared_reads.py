"""How a process shares its connections and its reads: lending, grouping, versions of assistants and prompts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast
from uuid import uuid4

import asyncpg
import psycopg
import pytest
from psycopg.rows import DictRow

from maas import queries
from maas.engine.claims import Claims
from maas.engine.run import Outcome, Run
from maas.engine.states import Status
from maas.prompting.prompts import read_profile, read_prompts
from shared import connections
from shared.db import Database, open_database
from tests.sql.engine import Engine, insert

Connection = psycopg.Connection[DictRow]
SIZE = 2


@pytest.fixture
async def db(database: str) -> AsyncIterator[Database]:
    async with open_database(database, SIZE, "test") as db:
        yield db


async def test_many_callers_share_few_connections(db: Database) -> None:
    pids = set(await asyncio.gather(*(db.value(queries.session) for _ in range(40))))
    assert 1 <= len(pids) <= SIZE
    is_open, used = db.connections
    assert is_open == len(pids) and used == 0


async def test_a_cancelled_statement_costs_no_connection(db: Database, connection: Connection) -> None:
    """Neither one that runs, nor a caller that waits for a connection."""
    connection.execute("begin; lock table assistants")
    reads = [asyncio.create_task(db.rows(queries.assistant_definitions)) for _ in range(SIZE + 3)]
    await asyncio.sleep(0.1)
    for read in reads[1:]:
        read.cancel()
    results = await asyncio.gather(*reads[1:], return_exceptions=True)
    assert all(isinstance(one, asyncio.CancelledError) for one in results)
    connection.execute("commit")
    assert await reads[0]
    async with asyncio.timeout(10):
        assert await asyncio.gather(*(db.value(queries.session) for _ in range(10)))
    assert db.connections[1] == 0


async def test_a_failed_statement_costs_no_connection(db: Database) -> None:
    for _ in range(3 * SIZE):
        with pytest.raises(asyncpg.DataError):
            await db.rows(queries.recent_turns, "no uuid", 1, 1)
    assert await db.value(queries.session)


async def test_a_killed_connection_is_replaced(db: Database, connection: Connection) -> None:
    pid = await db.value(queries.session)
    connection.execute("select pg_terminate_backend(%s, 5000)", (pid,))
    await asyncio.sleep(0.1)
    assert await db.value(queries.session) != pid


async def test_unused_connections_return_to_the_pool(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "IDLE_RETURN_S", 0.01)
    await db.value(queries.session)
    await asyncio.sleep(0.1)
    assert db._pool._held == 0
    assert await db.value(queries.session)


async def test_calls_of_one_moment_are_one_statement(db: Database, connection: Connection, engine: Engine) -> None:
    """Every caller gets the rows of its own user, whatever was read beside them."""
    users = [uuid4() for _ in range(5)]
    for number, user in enumerate(users):
        insert(connection, user, f"query {number}")
    runs = {run["user_id"]: run for run in engine.claim()}
    for run in runs.values():
        engine.complete(run, f"answer to {run['user_query']}")
    calls = [db.grouped_rows(queries.exchange_of_run, runs[user]["id"]) for user in users]
    found = [[row["content"] for row in rows] for rows in await asyncio.gather(*calls)]
    assert found == [[f"query {number}", f"answer to query {number}"] for number in range(5)]


async def test_draft_inputs_are_those_of_the_run(db: Database, connection: Connection, engine: Engine) -> None:
    """Messages before it in order of time, the user's notes, the client's context; of nobody else."""
    user, other = uuid4(), uuid4()
    insert(connection, user, "the first")
    (run,) = engine.claim()
    engine.finish(run)
    connection.execute("select maas_add_note(%s, 'no meat')", (run["id"],))
    insert(connection, user, "the second")
    insert(connection, other, "a stranger's")
    runs = {one["user_id"]: one for one in engine.claim()}
    connection.execute(
        """update pipeline_runs set client_context = '{"system": "be brief", "messages": []}' where id = %s""",
        (runs[user]["id"],),
    )
    mine, strangers = await asyncio.gather(
        *(db.grouped_rows(queries.draft_inputs, runs[who]["id"], who, runs[who]["seq"], 10) for who in (user, other))
    )
    assert [row["content"] for row in mine if row["kind"] == "turn"] == ["the first", "an answer"]
    assert [row["content"] for row in mine if row["kind"] == "note"] == ["no meat"]
    assert [row["client"] for row in mine if row["kind"] == "client"] == [{"system": "be brief", "messages": []}]
    assert strangers == []
    newest = await db.grouped_rows(queries.draft_inputs, runs[user]["id"], user, runs[user]["seq"], 1)
    assert [row["content"] for row in newest if row["kind"] == "turn"] == ["an answer"]


async def test_a_changed_prompt_counts_for_the_next_claim(db: Database, connection: Connection, engine: Engine) -> None:
    """Of prompts and assistants, whatever the change; until then nothing is read again."""

    async def texts(run: Run) -> tuple[str, str]:
        version = run.assistants_version
        prompts = await read_prompts(db, "Analyzer", version=version)
        return prompts["Analyzer"].text, await read_profile(db, "mentor", version)

    connection.execute(
        "insert into system_prompts (role_name, prompt_template) values ('Analyzer', 'one') "
        "on conflict (role_name) do update set prompt_template = 'one'"
    )
    first = claim(connection, engine)
    assert await texts(first) == ("one", "full")
    assert claim(connection, engine).assistants_version == first.assistants_version
    connection.execute("update system_prompts set prompt_template = 'two' where role_name = 'Analyzer'")
    second = claim(connection, engine)
    assert await texts(second) == ("two", "full")
    connection.execute("""update assistants set definition = '{"memory": "light"}' where name = 'mentor'""")
    assert await texts(claim(connection, engine)) == ("two", "light")
    assert await texts(second) == ("two", "light")


async def test_a_changed_prompt_counts_for_the_next_stage(db: Database, connection: Connection, engine: Engine) -> None:
    claims = Claims(db, engine.owner, list(Status), False, 64, 8)
    run = claim(connection, engine)
    connection.execute("update assistants set updated_at = now()")
    later, _ = await claims.advance(run, Status.ANALYZED, Outcome(analysis={}))
    assert later.assistants_version not in (None, run.assistants_version)


def claim(connection: Connection, engine: Engine) -> Run:
    insert(connection)
    (row,) = engine.claim()
    return Run.from_row(cast(Any, row))
