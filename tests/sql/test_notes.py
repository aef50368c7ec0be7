"""Notes in SQL: a run that is executed again after a crash says the same, and an erased one writes nothing."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
from psycopg.rows import DictRow

from tests.sql.engine import insert

Connection = psycopg.Connection[DictRow]


def verdict(connection: Connection, function: str, run: UUID, words: str) -> str:
    row = connection.execute(f"select maas_{function}_note(%s, %s) as verdict".encode(), (run, words)).fetchone()
    assert row is not None
    return str(row["verdict"])


def notes(connection: Connection, user: UUID) -> list[str]:
    rows = connection.execute("select content from user_notes where user_id = %s", (user,)).fetchall()
    return [row["content"] for row in rows]


def test_the_same_run_says_the_same(connection: Connection) -> None:
    user = uuid4()
    first, second, third = (insert(connection, user) for _ in range(3))
    assert [verdict(connection, "add", first, "tea") for _ in range(2)] == ["noted", "noted"]
    assert verdict(connection, "add", second, "Tea.") == "known"
    assert notes(connection, user) == ["tea"]
    assert [verdict(connection, "drop", second, "TEA") for _ in range(2)] == ["forgotten", "forgotten"]
    assert verdict(connection, "drop", third, "tea") == "unknown"
    assert notes(connection, user) == []


def test_nobody_touches_anothers_notes(connection: Connection) -> None:
    mine, theirs = uuid4(), uuid4()
    verdict(connection, "add", insert(connection, theirs), "tea")
    run = insert(connection, mine)
    assert verdict(connection, "drop", run, "tea") == "unknown"
    assert verdict(connection, "add", run, "tea") == "noted"
    assert (notes(connection, mine), notes(connection, theirs)) == (["tea"], ["tea"])


def test_an_erased_run_writes_nothing(connection: Connection) -> None:
    user = uuid4()
    run = insert(connection, user)
    connection.execute("select maas_erase(%s)", (user,))
    verdict(connection, "add", run, "tea")
    verdict(connection, "drop", run, "tea")
    assert connection.execute("select from user_notes").rowcount == 0
