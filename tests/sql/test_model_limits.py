"""What models may be asked a minute, by all processes together."""

from __future__ import annotations

import asyncio
import time

import psycopg
import pytest
from psycopg.rows import DictRow
from pydantic import SecretStr

from maas import queries
from maas.prompting.rate_limits import RateLimit
from shared.db import Database, open_database
from shared.models import Message, ModelError, Request
from shared.models.options import ModelOptions

Connection = psycopg.Connection[DictRow]
REQUEST = Request(role="Analyzer", system="", messages=(Message("user", "Where is my boat?"),), max_tokens=10)


class Named:
    provider, name = "openai", "gpt"


def take(connection: Connection, requests: float | None, tokens: float | None = None, size: int = 0) -> float:
    row = connection.execute(
        "select maas_take_call('openai:gpt x', %s, %s, %s, 1000) as wait", (requests, tokens, size)
    ).fetchone()
    assert row is not None
    return float(row["wait"])


def test_a_tenth_of_a_minute_at_once_then_evenly(connection: Connection) -> None:
    waits = [take(connection, 60) for _ in range(10)]
    assert waits[:6] == [0] * 6
    assert [round(wait) for wait in waits[6:]] == [1, 2, 3, 4]


def test_a_slow_limit_has_no_burst(connection: Connection) -> None:
    assert [round(take(connection, 2)) for _ in range(3)] == [0, 30, 60]


def test_who_would_wait_too_long_takes_nothing(connection: Connection) -> None:
    take(connection, 1)
    for _ in range(3):
        row = connection.execute("select maas_take_call('openai:gpt x', 1, null, 0, 5) as wait").fetchone()
        assert row is not None and 59 < row["wait"] <= 60


def test_tokens_are_a_limit_of_their_own_and_are_corrected_afterwards(connection: Connection) -> None:
    assert take(connection, None, 6000, 3000) == 0  # half a minute
    assert 23 < take(connection, None, 6000, 100) <= 24
    connection.execute("select maas_charge_tokens('openai:gpt x', 6000, -2100)")
    assert 3 < take(connection, 600, 6000, 0) <= 4
    connection.execute("select maas_charge_tokens('openai:gpt x', 6000, 1000)")
    assert 13 < take(connection, 600, 6000, 0) <= 14


def test_a_pause_counts_for_all_and_is_not_shortened(connection: Connection) -> None:
    version = "select value from engine_settings where key = 'assistants_version'"
    before = connection.execute(version).fetchone()
    for seconds in (20, 5, 20.5):
        connection.execute("select maas_block_model('openai:gpt x', %s)", (seconds,))
    after = connection.execute(version).fetchone()
    assert before is not None and after is not None and int(after["value"]) == int(before["value"]) + 1
    assert 19 < take(connection, None) <= 20


def limit_of(db: Database, key: str = "sk-1", *, is_counted: bool = True) -> RateLimit:
    options = ModelOptions(api_key=SecretStr(key), requests_per_minute=600)
    return RateLimit.of(db, Named, options, is_counted=is_counted)


async def test_two_processes_share_what_is_left(connection: Connection, database: str) -> None:
    """Each key has its own; a replay takes nothing."""
    async with open_database(database, 8, "test") as one, open_database(database, 8, "test") as other:
        await limit_of(one).take(REQUEST, 3, 0)
        began = time.monotonic()
        connection.execute("update model_limits set requests_until = now() + interval '5.9 s'")
        await asyncio.gather(*(limit_of((one, other)[n % 2]).take(REQUEST, 3, 0) for n in range(10)))
        assert time.monotonic() - began > 0.8
        connection.execute("update model_limits set requests_until = now() + interval '1 min'")
        with pytest.raises(ModelError, match="the limits per minute") as caught:
            await limit_of(other).take(REQUEST, 3, 0)
        assert caught.value.code == "rate_limited" and 50 < (caught.value.wait or 0) < 55
        await limit_of(other, "sk-2").take(REQUEST, 3, 0)
        await limit_of(other, is_counted=False).take(REQUEST, 3, 0)
        await limit_of(one).block(ModelError("rate_limited", "slow down", retry_after=1000))
        rows = await other.rows(queries.paused_models)
        assert [row["name"] for row in rows] == [limit_of(other).name]
        assert "sk-1" not in limit_of(other).name
