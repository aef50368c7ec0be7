"""The named reads of memory: whose rows, in which order, and what is hidden."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast
from uuid import UUID, uuid4

import numpy as np
import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from maas.memory.candidates import Candidates
from maas.named_queries import query_texts
from tests.sql.engine import Engine, insert

Connection = psycopg.Connection[DictRow]
Read = Callable[..., list[dict[str, Any]]]
LAST = 2**63 - 1


@pytest.fixture
def read(connection: Connection) -> Read:
    """A named query with its $1 placeholders."""

    def run(name: str, *args: object) -> list[dict[str, Any]]:
        with psycopg.RawCursor(connection, row_factory=dict_row) as cursor:
            return cursor.execute(query_texts()[name].encode(), args).fetchall()

    return run


def candidates(read: Read, user: UUID, question: str, before: int = LAST, known_at: str = "9999-01-01") -> Candidates:
    """The messages of a memory that contain a term of the question or are close to one that does."""
    (row,) = read("candidates", user, question, before, known_at, None, None, None, [], None, 2000, None, False)
    messages = Candidates.from_row(cast(Any, row), is_whole=True)
    return messages.take(messages.near(0, in_any_conversation=False))


def near(read: Read, user: UUID, question: str, before: int = LAST) -> list[UUID]:
    return ids(candidates(read, user, question, before))


def ids(messages: Candidates) -> list[UUID]:
    return [message_id for message_id, _ in messages.ids_at(np.arange(len(messages)))]


def test_a_search_as_of_then_counts_what_was_known_then(connection: Connection, read: Read) -> None:
    """How rare a term is depends on how many turns there were."""
    user = uuid4()
    turns = [
        {"role": "user", "content": f"kayak {year}", "at": f"{year}-01-01T00:00:00Z"} for year in range(2020, 2024)
    ]
    connection.execute("select maas_import(%s, 'four', %s)", (user, json.dumps(turns)))
    counts = [len(candidates(read, user, "kayak", known_at=f"{year}-06-01")) for year in (2019, 2021, 2023)]
    assert counts == [0, 2, 4]


def test_archive_input(connection: Connection, engine: Engine, read: Read) -> None:
    """This run's words and those owed of earlier ones, in order, no others."""
    user, other = uuid4(), uuid4()
    first, second, third = (insert(connection, user, word) for word in ("first", "second", "third"))
    stranger = insert(connection, other, "stranger")
    runs = {run["id"]: run for run in engine.claim()}
    for run in runs.values():
        engine.complete(run)
    owed = {"outcome": "archive_failed", "calls": []}
    done = [{"id": str(run["id"]), "attempt": run["attempt"]} | owed for run in runs.values()]
    (run,) = engine.step(done=done)["claimed"]
    assert run["id"] == second
    engine.complete(run)
    found = [(row["content"], row["message_type"]) for row in read("exchange_of_run", [second])]
    assert sorted(found) == [
        ("an answer", "assistant_response"),
        ("an answer", "assistant_response"),
        ("first", "user_query"),
        ("second", "user_query"),
    ]
    assert {first, stranger} == set(runs)
    assert third != second
    engine.step(done=[engine.archived(run)])
    assert [row["content"] for row in read("exchange_of_run", [second])] == ["first", "an answer"]


def test_waiting_and_later_queries_are_hidden(connection: Connection, engine: Engine, read: Read) -> None:
    """A run sees neither itself nor what comes after it, in search and in history."""
    user = uuid4()
    for number in range(3):
        insert(connection, user, f"the kayak number {number}")
    (run,) = engine.claim()
    assert near(read, user, "kayak", run["seq"]) == []
    assert read("recent_turns", user, run["seq"], 10) == []
    (following,) = engine.finish(run)["claimed"]
    assert len(near(read, user, "kayak", following["seq"])) == 2  # the first query, and the answer beside it
    history = read("recent_turns", user, following["seq"], 10)
    assert [row["content"] for row in history] == ["an answer", "the kayak number 0"]
    assert len(read("recent_turns", user, following["seq"], 1)) == 1


@pytest.mark.parametrize(
    "question", ["kayak", "' or true --", "kayak:*", "!!&|()<->", "\\", "'", "к" * 3000, "%", "kayak\t\n"]
)
def test_nobody_reads_anothers_turns(connection: Connection, read: Read, question: str) -> None:
    """Whatever is asked, whatever ids are given."""
    mine, theirs = uuid4(), uuid4()
    log = connection.execute(
        "select id from raw_logs where run_id = %s", (insert(connection, theirs, "a kayak"),)
    ).fetchone()
    assert log is not None
    connection.execute("update pipeline_runs set queue_state = 2")
    assert near(read, mine, question) == []
    assert read("turns", mine, [log["id"]]) == []
    assert ("kayak" in question and ":" not in question) <= (near(read, theirs, question) == [log["id"]])


def test_search_knows_both_languages(connection: Connection, read: Read) -> None:
    user = uuid4()
    for text in ("Мы купили зелёные палатки", "we were buying tents", "ничего общего"):
        insert(connection, user, text)
    connection.execute("update pipeline_runs set queue_state = 2")
    assert len(near(read, user, "зеленая палатка")) >= 1
    assert len(near(read, user, "buy a tent")) >= 1
    found = candidates(read, user, "палатку")
    masks = dict(zip(ids(found), found.mask.tolist(), strict=True))
    assert sum(mask != 0 for mask in masks.values()) == 1
