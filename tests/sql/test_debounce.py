"""Requests with a debounce: those of a conversation that come within it are one run, every text once and in order."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import psycopg
import pytest
from psycopg import errors, sql
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from maas.runs.submit import Submission, Submitter
from shared.db import open_database
from shared.errors import MaasError
from tests.sql.attempts import ANN, BEN, become
from tests.sql.engine import Engine, run_of

Connection = psycopg.Connection[DictRow]
WAIT_S = 30


def ask(connection: Connection, query: str, **columns: Any) -> UUID:
    """The id of the run of a request to the view; of ANN unless it says who."""
    columns = {"user_id": ANN, "user_query": query, "debounce": WAIT_S} | columns
    statement = sql.SQL("insert into run_requests ({}) values ({}) returning id").format(
        sql.SQL(", ").join(map(sql.Identifier, columns)), sql.SQL(", ").join(map(sql.Placeholder, columns))
    )
    row = connection.execute(statement, columns).fetchone()
    assert row is not None
    return UUID(str(row["id"]))


def pass_time(connection: Connection) -> None:
    """Let the wait of all of them end."""
    connection.execute("update pipeline_runs set run_at = now() where queue_state = -4")


def texts(connection: Connection) -> list[str]:
    return [row["user_query"] for row in connection.execute("select user_query from pipeline_runs order by seq")]


def test_requests_of_a_conversation_are_one_run(connection: Connection, engine: Engine) -> None:
    dialogue = uuid4()
    runs = {ask(connection, word, conversation_id=dialogue) for word in ("one", "two", "three")}
    assert len(runs) == 1 and texts(connection) == ["one\ntwo\nthree"]
    for table in ("raw_logs", "chat_messages"):
        rows = connection.execute(f"select run_id, content from {table}").fetchall()
        assert rows == [{"run_id": runs.copy().pop(), "content": "one\ntwo\nthree"}]
    assert engine.claim(1) == []
    pass_time(connection)
    assert [run["id"] for run in engine.claim(9)] == list(runs)
    assert ask(connection, "later", conversation_id=dialogue) not in runs


def test_each_one_puts_the_start_off_and_the_first_one_bounds_it(connection: Connection) -> None:
    run_id = ask(connection, "one")
    connection.execute("update pipeline_runs set created_at = created_at - interval '295 s', run_at = now() + '1 s'")
    ask(connection, "two")
    row = run_of(connection, run_id)
    assert (row["run_at"] - row["created_at"]).total_seconds() == 10 * WAIT_S
    assert row["debounce"] == WAIT_S


@pytest.mark.parametrize(
    "other",
    [{"conversation_id": UUID(int=7)}, {"user_id": BEN}, {"mode": "plan"}, {"priority": -1}, {"is_remembered": False}],
    ids=str,
)
def test_what_is_not_alike_is_a_run_of_its_own(connection: Connection, other: dict[str, Any]) -> None:
    assert ask(connection, "one") != ask(connection, "two", **other)
    assert texts(connection) == ["one", "two"]


def test_another_request_of_the_conversation_ends_the_wait(connection: Connection, engine: Engine) -> None:
    """In the order in which they were sent, although the second one waits for less."""
    first = ask(connection, "one", debounce=60)
    second = ask(connection, "two", debounce=1, mode="plan")
    assert [run["id"] for run in engine.claim(9)] == [first]
    assert run_of(connection, second)["queue_state"] == -4


def test_the_whole_keeps_the_limits_of_one_request(connection: Connection) -> None:
    """What has no room begins the next run, so nothing is lost."""
    half = "x" * 40_000
    assert len({ask(connection, half), ask(connection, half), ask(connection, "the end")}) == 2
    assert [len(text) for text in texts(connection)] == [40_000, 40_008]


def test_metadata_of_all_are_kept(connection: Connection) -> None:
    run_id = ask(connection, "one", metadata=Jsonb({"first": 1, "both": 1}))
    ask(connection, "two", metadata=Jsonb({"both": 2}))
    assert run_of(connection, run_id)["metadata"] == {"first": 1, "both": 2}


def test_what_is_sent_again_is_joined_once(connection: Connection, engine: Engine) -> None:
    """By its key and by its id, before and after it was answered, with and without the debounce."""
    one = ask(connection, "one", idempotency_key="1")
    two = ask(connection, "two", idempotency_key="2")
    named = uuid4()
    assert one == two == ask(connection, "three", id=named)
    for again in ({"idempotency_key": "2"}, {"idempotency_key": "2", "debounce": None}):
        assert ask(connection, "two", **again) == one
    assert ask(connection, "one", idempotency_key="1") == ask(connection, "three", id=named) == one
    assert texts(connection) == ["one\ntwo\nthree"]
    pass_time(connection)
    engine.claim(1)
    assert ask(connection, "two", idempotency_key="2") == ask(connection, "one", idempotency_key="1") == one
    for changed in ({"idempotency_key": "2"}, {"idempotency_key": "1"}, {"id": named}):
        with pytest.raises(errors.UniqueViolation):
            ask(connection, "changed", **changed)
    connection.execute(
        "insert into pipeline_runs (id, user_id, user_query, debounce) values (%s, %s, 'three', 5)", (named, ANN)
    )
    assert texts(connection) == ["one\ntwo\nthree"]


def test_a_cancelled_one_takes_nothing_in(connection: Connection) -> None:
    first = ask(connection, "one")
    connection.execute("select maas.maas_cancel_run(%s, null)", (first,))
    assert ask(connection, "two") != first


@pytest.mark.parametrize("seconds", [0, -1, 61, float("nan"), float("inf")])
def test_what_is_refused(connection: Connection, seconds: float) -> None:
    with pytest.raises(errors.CheckViolation, match="debounce"):
        ask(connection, "one", debounce=seconds)
    with pytest.raises(errors.CheckViolation, match="debounce"):
        ask(connection, "one", run_at="2999-01-01")
    assert texts(connection) == []


def test_a_user_sees_and_joins_own_ones_only(connection: Connection) -> None:
    bens = ask(connection, "of Ben", user_id=BEN, idempotency_key="k")
    with connection.transaction():
        become(connection, "authenticated", ANN)
        assert ask(connection, "one", user_id=None) == ask(connection, "two", user_id=None)
        assert connection.execute("select id from debounced_requests where run_id = %s", (bens,)).fetchall() == []
        with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
            ask(connection, "of Ben", user_id=BEN, idempotency_key="k")
        connection.execute("reset role")
    assert texts(connection) == ["of Ben", "one\ntwo"]


def test_an_open_transaction_holds_up_neither_the_engine_nor_requests_that_do_not_wait(
    connection: Connection, database: str, engine: Engine
) -> None:
    first = ask(connection, "one")
    with psycopg.connect(database, row_factory=dict_row) as other:
        other.execute("set search_path = maas")
        assert ask(other, "two") == first
        connection.execute("set lock_timeout = '2 s'")
        plain = ask(connection, "at once", debounce=None)
        assert [run["id"] for run in engine.claim(9)] == [plain]
    assert texts(connection)[0] == "one\ntwo"


async def test_fifty_at_once_are_one_run(database: str, connection: Connection) -> None:
    """By two servers, each sent to both of them under its key: every text once."""
    user = uuid4()
    async with open_database(database, 4, "one") as one, open_database(database, 4, "two") as two:
        servers = [Submitter(one), Submitter(two)]

        async def send(number: int) -> UUID:
            request = Submission(user, f"text {number}", idempotency_key=f"k{number}", caller="key:a", debounce=WAIT_S)
            first, second = await asyncio.gather(*(server.submit(request) for server in servers))
            assert first == second
            return first

        runs = await asyncio.gather(*(send(number) for number in range(50)))
        with pytest.raises(MaasError, match="another body"):
            await servers[0].submit(Submission(user, "other", idempotency_key="k7", caller="key:a", debounce=WAIT_S))
    assert len(set(runs)) == 1
    (text,) = texts(connection)
    assert sorted(text.splitlines()) == sorted(f"text {number}" for number in range(50))


async def test_sessions_of_sql_join_at_once(database: str, connection: Connection) -> None:
    """Those of two users, the texts of a session in their order."""

    async def send(number: int) -> None:
        session = await asyncpg.connect(database)
        for part in range(5):
            await session.execute(
                "insert into maas.run_requests (user_id, user_query, debounce) values ($1, $2, 30)",
                ANN if part % 2 else BEN,
                f"{number} {part}",
            )
        await session.close()

    await asyncio.gather(*(send(number) for number in range(10)))
    found = texts(connection)
    assert len(found) == 2
    parts = [line for text in found for line in text.splitlines()]
    assert sorted(parts) == sorted(f"{number} {part}" for number in range(10) for part in range(5))
    for text in found:
        for number in range(10):
            sent = [line for line in text.splitlines() if line.startswith(f"{number} ")]
            assert sent == sorted(sent)
