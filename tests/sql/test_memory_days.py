"""Messages of a user by days, and of conversations that files brought, are read by the indexes of their user."""

from __future__ import annotations

import re
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from maas.named_queries import query_texts
from tests.plans import explain_text
from tests.sql.attempts import Connection

USER = UUID(int=7)
LOGS = """
  insert into maas.raw_logs (user_id, run_id, message_type, content, conversation, occurred_at, is_remembered)
  select case n % 10 when 0 then $1 else gen_random_uuid() end, gen_random_uuid(), 'user_query', 'words', 'a',
    timestamptz '2020-01-01' + n * interval '1 hour', n % 20 > 0
  from generate_series(1, 40000) n"""


@pytest.fixture
def said(connection: Connection) -> Connection:
    """40,000 messages of four and a half years, a tenth of them of one user, who is to remember half of his."""
    with psycopg.RawCursor(connection) as cursor:
        cursor.execute("set session_replication_role = replica")
        cursor.execute(LOGS, (USER,))
        cursor.execute("analyze maas.raw_logs")
    return connection


def days(connection: Connection, user: UUID, year: int) -> list[DictRow]:
    with psycopg.RawCursor(connection, row_factory=psycopg.rows.dict_row) as cursor:
        return cursor.execute(query_texts()["memory_days"].encode(), (user, year)).fetchall()


def test_days_are_read_by_the_index_of_their_user(said: Connection) -> None:
    plan = explain_text(said, "memory_days", USER, 2022)
    assert "Index Scan using idx_raw_logs_user_id on raw_logs" in plan and "Seq Scan on raw_logs" not in plan, plan
    assert "Rows Removed by Filter: 438" in plan, plan  # those not to be remembered, and no other year's


def test_days_have_what_is_remembered_of_their_user(said: Connection) -> None:
    counted = days(said, USER, 2022)
    assert [row["day"].year for row in counted] == [2022] * len(counted)
    assert sum(row["messages"] for row in counted) == 438
    assert days(said, uuid4(), 2022) == []


def test_midnight_is_that_of_the_zone(said: Connection) -> None:
    said.execute("update maas.engine_settings set value = 'Pacific/Auckland' where key = 'timezone'")
    said.execute("delete from maas.raw_logs where user_id = %s", (USER,))
    for at in ("2022-12-31 10:59:59Z", "2022-12-31 11:00:00Z"):
        said.execute(
            "insert into maas.raw_logs (user_id, run_id, message_type, content, conversation, occurred_at)"
            " values (%s, gen_random_uuid(), 'user_query', 'words', 'a', %s)",
            (USER, at),
        )
    assert [(str(row["day"]), row["messages"]) for row in days(said, USER, 2022)] == [("2022-12-31", 1)]
    assert [(str(row["day"]), row["messages"]) for row in days(said, USER, 2023)] == [("2023-01-01", 1)]


BROUGHT = """
  insert into maas.raw_logs (user_id, run_id, message_type, content, conversation, external_id, origins)
  select case n % 10 when 0 then $1 else gen_random_uuid() end, gen_random_uuid(), 'user_query', 'words',
    'conversation ' || n % 400, n::text, '[{"kind": "import", "name": "messages"}]'
  from generate_series(1, 40000) n"""


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("imported_conversations", (USER, None, None, 50)),
        ("imported_messages", (USER, "conversation 10", None, 50, 1, False)),
        ("imported_messages", (USER, "conversation 10", uuid4(), 25, 25, True)),
    ],
)
def test_what_files_brought_is_read_by_the_index_of_its_user(
    connection: Connection, query: str, arguments: tuple[object, ...]
) -> None:
    with psycopg.RawCursor(connection, row_factory=psycopg.rows.dict_row) as cursor:
        cursor.execute("set session_replication_role = replica")
        cursor.execute(BROUGHT, (USER,))
        cursor.execute("analyze maas.raw_logs")
    plan = explain_text(connection, query, *arguments)
    assert "Seq Scan on raw_logs" not in plan and re.search(r"idx_raw_logs_(external_id|user_id|search)", plan), plan
    removed = sum(int(found) for found in re.findall(r"Rows Removed by Filter: (\d+)", plan))
    assert removed < 4000, plan  # no words of others
