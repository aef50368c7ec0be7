"""The writer of events: in order, of runs in these hands only, and beside others who write for the same run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import psycopg
import pytest
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from maas.engine.events import MAX_TEXT_CHARS, EventLog, EventType, RunEvents
from maas.engine.run import LostRun
from shared.db import open_database
from tests.polling import apoll
from tests.sql.engine import Engine, insert, released

Connection = psycopg.Connection[DictRow]
TEXT = EventType.TEXT


@pytest.fixture
async def events(database: str) -> AsyncIterator[EventLog]:
    async with open_database(database, 3, "test") as db:
        yield EventLog(db)


def stored(connection: Connection, run_id: UUID) -> list[dict[str, Any]]:
    return connection.execute(
        "select n, type, payload from run_events where run_id = %s order by n", (run_id,)
    ).fetchall()


def claimed(engine: Engine) -> tuple[UUID, dict[str, Any]]:
    run_id = insert(engine.connection)
    (run,) = engine.claim()
    return run_id, run


async def test_text_is_gathered(connection: Connection, engine: Engine, events: EventLog) -> None:
    """Small pieces of one moment are one row; what is more than a row holds goes at once."""
    run_id, _ = claimed(engine)
    async with RunEvents(events, run_id, 1) as said:
        for _ in range(50):
            said.text("ab ")
        await apoll(lambda: stored(connection, run_id))
        said.text("x" * MAX_TEXT_CHARS)
        await asyncio.sleep(0)
        said.text("tail")
    deltas = [row["payload"]["delta"] for row in stored(connection, run_id)]
    assert (deltas[0], "".join(deltas)) == ("ab " * 50, "ab " * 50 + "x" * MAX_TEXT_CHARS + "tail")
    assert len(deltas) <= 3


async def test_what_code_adds_at_the_end(connection: Connection, engine: Engine, events: EventLog) -> None:
    """It follows what was streamed, also once all of that is written; after another text nothing is added."""
    run_id, _ = claimed(engine)
    async with RunEvents(events, run_id, 1) as said:
        said.begin()
        said.text("An answer.\n")
        await apoll(lambda: said._writing is not None and said._writing.done())
        await said.extend("An answer.", "An answer.\n\nWhat waits.")
        await said.extend("Another answer.", "Another answer.\n\nWhat waits.")
    assert "".join(row["payload"]["delta"] for row in stored(connection, run_id)) == "An answer.\n\nWhat waits."


async def test_a_full_row_waits_for_no_clock(
    connection: Connection, engine: Engine, events: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maas.engine.events.GATHER_S", 3600)
    run_id, _ = claimed(engine)
    async with RunEvents(events, run_id, 1) as said:
        said.text("x" * MAX_TEXT_CHARS)
        assert len(await apoll(lambda: stored(connection, run_id))) == 1


async def test_order_is_kept_over_many_runs(connection: Connection, engine: Engine, events: EventLog) -> None:
    """Two events of one run in one batch, and batches one after another."""
    runs = [insert(connection) for _ in range(20)]
    engine.claim()
    adds = [events.add(run_id, 1, TEXT, {"delta": str(number)}) for number in range(10) for run_id in runs]
    await asyncio.gather(*adds)
    for run_id in runs:
        rows = stored(connection, run_id)
        assert [(row["n"], row["payload"]["delta"]) for row in rows] == [(n + 1, str(n)) for n in range(10)]


async def test_nothing_of_a_lost_run(connection: Connection, engine: Engine, events: EventLog) -> None:
    """Given back, taken over, erased, never there; a run in the same batch that is held is written."""
    run_id, run = claimed(engine)
    kept, _ = claimed(engine)
    engine.step(capacity=0, done=[released(run)])
    for lost, attempt in ((run_id, 1), (uuid4(), 1), (kept, 2)):
        late, held = await asyncio.gather(
            events.add(lost, attempt, TEXT, {}), events.add(kept, 1, TEXT, {}), return_exceptions=True
        )
        assert isinstance(late, LostRun)
        assert held is None
    engine.claim()
    with pytest.raises(LostRun):
        async with RunEvents(events, run_id, 1) as said:
            said.text("too late")
            await said.flush()
    connection.execute("select maas_erase(user_id) from pipeline_runs where id = %s", (kept,))
    with pytest.raises(LostRun):
        await events.add(kept, 1, TEXT, {})
    assert stored(connection, run_id) == []


async def test_a_writer_that_lost_its_run_learns_it_at_the_next_piece(engine: Engine, events: EventLog) -> None:
    run_id, _ = claimed(engine)
    said = RunEvents(events, run_id, 7)
    said.text("x" * MAX_TEXT_CHARS)

    def goes_on() -> bool:
        try:
            said.text("y")
        except LostRun:
            return False
        return True

    await apoll(lambda: not goes_on())


async def test_nobody_waits_for_the_table(
    connection: Connection, engine: Engine, events: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events are taken while the table is locked, up to a limit; then they stand in it in their order."""
    monkeypatch.setattr("maas.engine.events.MAX_WAITING", 20)
    run_id, _ = claimed(engine)
    async with RunEvents(events, run_id, 1) as said:
        with connection.transaction():
            connection.execute("lock table run_events in exclusive mode")
            for number in range(5):
                said.text(f"before {number}")
                async with asyncio.timeout(5):
                    await said.emit(EventType.TOOL_START, {"number": number})
            ahead = asyncio.create_task(_run_ahead(said))
            await asyncio.sleep(0.3)
            assert not ahead.done()
        await ahead
    numbers = [row["payload"]["number"] for row in stored(connection, run_id) if row["type"] == EventType.TOOL_START]
    assert numbers == [*range(5), *range(100)]
    assert [row["type"] for row in stored(connection, run_id)][:4] == ["text", "tool_start"] * 2


async def _run_ahead(said: RunEvents) -> None:
    for number in range(100):
        await said.emit(EventType.TOOL_START, {"number": number})


async def test_what_cannot_be_stored_fails_alone(connection: Connection, engine: Engine, events: EventLog) -> None:
    """NUL and lone surrogates are dropped; a type that is too long is refused without the others."""
    run_id, _ = claimed(engine)
    await events.add(run_id, 1, TEXT, {"a\x00": ["b\ud800", {"c": "\x00"}], "n": 1})
    bad, good = await asyncio.gather(
        events.add(run_id, 1, "t" * 51, {}),
        events.add(run_id, 1, TEXT, {"delta": "good"}),
        return_exceptions=True,
    )
    assert isinstance(bad, asyncpg.DataError)
    assert good is None
    assert [row["payload"] for row in stored(connection, run_id)] == [
        {"a": ["b", {"c": ""}], "n": 1},
        {"delta": "good"},
    ]


async def test_two_who_write_at_once_take_two_numbers(
    database: str, connection: Connection, engine: Engine, events: EventLog
) -> None:
    """A cancel that is not committed yet has taken the next number: the writer waits and takes the one behind."""
    run_id, _ = claimed(engine)
    with psycopg.connect(database) as other:
        other.execute("select maas_add_event(%s, 'cancel_requested', %s)", (run_id, Jsonb({})))
        adding = asyncio.create_task(events.add(run_id, 1, TEXT, {"delta": "mine"}))
        waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%maas_add_events%'"
        await apoll(lambda: connection.execute(waiting).fetchall() != [])
        other.commit()
        await adding
    assert [(row["n"], row["type"]) for row in stored(connection, run_id)] == [(1, "cancel_requested"), (2, "text")]


async def test_an_operator_who_notes_something_waits_for_the_writer(
    database: str, connection: Connection, engine: Engine
) -> None:
    """The other way round: a cancel never fails because text is being written."""
    run_id, _ = claimed(engine)
    one = {"run_id": str(run_id), "attempt": 1, "type": "text", "payload": {}}
    with psycopg.connect(database) as writer, psycopg.connect(database, autocommit=True) as operator:
        writer.execute("select maas_add_events(%s)", (Jsonb([one]),))
        cancelling = asyncio.create_task(asyncio.to_thread(operator.execute, "select maas_cancel_run(%s)", (run_id,)))
        waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%maas_cancel_run%'"
        await apoll(lambda: connection.execute(waiting).fetchall() != [])
        writer.commit()
        await cancelling
    assert [(row["n"], row["type"]) for row in stored(connection, run_id)] == [(1, "text"), (2, "cancel_requested")]


async def test_followers_are_rung_once_a_run(database: str, engine: Engine, events: EventLog) -> None:
    run_id, _ = claimed(engine)
    with psycopg.connect(database, autocommit=True) as listener:
        listener.execute("listen run_events")
        await asyncio.gather(*(events.add(run_id, 1, TEXT, {"delta": str(n)}) for n in range(5)))
        payloads = [one.payload for one in listener.notifies(timeout=0.5, stop_after=2)]
    assert set(payloads) == {str(run_id)}
