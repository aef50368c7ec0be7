"""The view `memories`: what HTTP, MCP and the command line list and filter, as an application filters it in SQL."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from maas.memory.client_memories import list_client_memories
from maas.memory.dates import time_reader
from maas.memory.filters import parse_filters
from shared.db import open_database
from tests.sql.attempts import ANN, BEN, become
from tests.sql.attempts import Connection as Session

Connection = psycopg.Connection[DictRow]
VISIT = {"agent_id": "vet", "app_id": "clinic", "run_id": "monday", "metadata": {"topic": "pets", "n": 3}}
ODD = {"agent_id": 7, "app_id": ["clinic"], "metadata": ["x"]}
SAID: tuple[tuple[str, str, dict[str, Any] | None], ...] = (
    ("I adopted a greyhound called Comet.", "2026-03-01T10:00:00Z", VISIT),
    ("I like green tea.", "2026-03-02T10:00:00Z", {"agent_id": "cook", "metadata": {"topic": "tea", "n": 1}}),
    ("Meine Tochter heißt Ägir.", "2026-03-03T10:00:00Z", {"run_id": "tuesday"}),
    ("I live in Oslo.", "2026-03-04T10:00:00Z", None),
    ("I said something odd.", "2026-03-05T10:00:00Z", ODD),
)
FILTERS: tuple[tuple[dict[str, Any], str], ...] = (  # of HTTP, and the condition that docs/sql.md shows for it
    ({"agent_id": "vet"}, "agent_id = 'vet'"),
    ({"agent_id": "*"}, "agent_id is not null"),
    ({"agent_id": {"ne": "vet"}}, "agent_id is distinct from 'vet'"),
    ({"run_id": {"in": ["monday", "tuesday"]}}, "run_id in ('monday', 'tuesday')"),
    ({"app_id": {"icontains": "CLIN"}}, "app_id ilike '%CLIN%'"),
    ({"OR": [{"agent_id": "cook"}, {"run_id": "tuesday"}]}, "agent_id = 'cook' or run_id = 'tuesday'"),
    ({"NOT": [{"agent_id": "vet"}, {"run_id": "tuesday"}]}, "(agent_id = 'vet' or run_id = 'tuesday') is not true"),
    ({"AND": [{"agent_id": "vet"}, {"metadata": {"n": {"gt": 2}}}]}, "agent_id = 'vet' and (metadata->>'n')::int > 2"),
    ({"metadata": {"topic": "tea"}}, 'metadata @> \'{"topic": "tea"}\''),
    ({"metadata": {"topic": "*"}}, "metadata ? 'topic'"),
    ({"categories": "Comet"}, "'Comet' = any(categories)"),
    ({"categories": {"in": ["Comet", "tea"]}}, "categories && array['Comet', 'tea']"),
    ({"categories": {"ne": "Comet"}}, "'Comet' <> all(categories)"),
    ({"categories": "*"}, "categories <> '{}'"),
    ({"keywords": {"contains": "Nova"}}, "memory like '%Nova%'"),
    ({"keywords": "ägir"}, "memory ilike '%ägir%'"),
    (
        {"created_at": {"gte": "2026-03-02", "lt": "2026-03-04"}},
        "created_at >= '2026-03-02 00:00Z' and created_at < '2026-03-04 00:00Z'",
    ),
    ({"updated_at": {"gt": "2026-04-01"}}, "updated_at > '2026-04-01 00:00Z'"),
)


@pytest.fixture
def user(connection: Connection) -> UUID:
    """Five memories: the first is corrected twice and summarized; beside them an answer and what is not remembered."""
    user = uuid4()
    rows = [{"role": "user", "content": text, "at": at, "client": client} for text, at, client in SAID]
    rows += [{"role": "assistant", "content": "Noted.", "at": "2026-03-06T10:00:00Z", "client": None}]
    connection.execute("select maas_import(%s, 'words', %s)", (user, Jsonb(rows)))
    first = memories(connection, user)[-1]["id"]
    for name in ("Nova", "Vega"):
        connection.execute("select maas_correct(%s, %s, %s)", (user, first, f"I adopted a greyhound called {name}."))
    connection.execute(
        """with made as (
             insert into lsm_storage (user_id, time_bucket_start, time_bucket_end, tags, summary)
             values (%s, now(), now(), '{Comet,Pets}', 'A dog.') returning id)
           update raw_logs set record_id = (select id from made) where id = %s""",
        (user, first),
    )
    connection.execute(
        """insert into raw_logs (user_id, run_id, message_type, content, conversation, is_remembered)
           values (%s, gen_random_uuid(), 'user_query', 'A secret.', 'c', false)""",
        (user,),
    )
    return user


def memories(connection: Connection, user: UUID, condition: str = "true") -> list[DictRow]:
    query = f"select * from memories where user_id = %s and ({condition.replace('%', '%%')}) order by created_at desc"
    return connection.execute(query.encode(), (user,)).fetchall()


def test_a_row_is_what_was_said_as_it_reads_now(connection: Connection, user: UUID) -> None:
    rows = memories(connection, user)
    assert [row["memory"] for row in rows[:-1]] == [text for text, *_ in reversed(SAID[1:])]
    first, odd = rows[-1], rows[0]
    assert first["memory"] == "I adopted a greyhound called Vega." and first["categories"] == ["Comet", "Pets"]
    assert {name: first[name] for name in VISIT} == VISIT
    assert first["created_at"] == datetime(2026, 3, 1, 10, tzinfo=UTC) < first["updated_at"]
    assert [odd[name] for name in ("agent_id", "app_id", "run_id", "metadata", "categories")] == [None] * 4 + [[]]


@pytest.mark.parametrize(("filters", "condition"), FILTERS, ids=[json.dumps(one) for one, _ in FILTERS])
async def test_a_condition_finds_what_a_filter_of_http_finds(
    connection: Connection, database: str, user: UUID, filters: dict[str, Any], condition: str
) -> None:
    fits = parse_filters(filters, time_reader(UTC)).fits
    async with open_database(database, 1, "test") as db:
        listed = await list_client_memories(db, user, with_words=True)
    rows = {row["id"]: row for row in memories(connection, user)}
    assert {one.id: (one.text, one.created_at, one.updated_at, list(one.categories)) for one in listed} == {
        key: (row["memory"], row["created_at"], row["updated_at"], row["categories"]) for key, row in rows.items()
    }
    assert [row["id"] for row in memories(connection, user, condition)] == [one.id for one in listed if fits(one)]


def test_the_memories_of_one_user_are_found_by_its_index(connection: Connection, user: UUID) -> None:
    plan = connection.execute(
        "explain (costs off) select memory from memories where user_id = %s and agent_id = 'vet'", (user,)
    ).fetchall()
    text = "\n".join(row["QUERY PLAN"] for row in plan)
    assert "Seq Scan on raw_logs" not in text and "Seq Scan on memory_corrections" not in text, text


def test_each_role_sees_what_it_may(known: Session) -> None:
    with known.transaction(force_rollback=True):
        become(known, "authenticated", ANN)
        assert {row["user_id"] for row in known.execute("select user_id from memories")} == {ANN}
        assert not known.execute("select from memories where user_id = %s", (BEN,)).fetchall()
    with known.transaction(force_rollback=True):
        become(known, "maas_app", None)
        assert {row["user_id"] for row in known.execute("select user_id from memories")} >= {ANN, BEN}
    for role in ("anon", "maas_ops"):
        with known.transaction(force_rollback=True), pytest.raises(errors.InsufficientPrivilege):
            become(known, role, None)
            known.execute("select from memories")


def test_nothing_is_written_through_it(known: Session) -> None:
    for statement in (
        "update memories set memory = 'x'",
        "delete from memories",
        "insert into memories default values",
    ):
        with known.transaction(force_rollback=True), pytest.raises(psycopg.Error):
            become(known, "maas_app", None)
            known.execute(statement.encode())
