"""The search of runs and of conversations reads by indexes, whoever searches and however common the words are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from maas.named_queries import query_texts
from shared.postgres import EmbeddedPostgres
from tests.databases import copy_of
from tests.plans import explain_text

Connection = psycopg.Connection[DictRow]
USER = UUID(int=7)
RUNS = """
  insert into maas.pipeline_runs (user_id, user_query, queue_key, status, queue_state, final_answer, seq, created_at)
  select case n % 2 when 0 then '00000000-0000-0000-0000-000000000007' else md5((n % 100)::text)::uuid end,
    'a tulip ' || n, gen_random_uuid(), 'COMPLETED', 2, 'a rose, rare' || n / 2 % 500, n,
    now() - make_interval(secs => n)
  from generate_series(1, 12000) n"""
LOGS = """insert into maas.raw_logs (user_id, run_id, message_type, content, conversation)
  select user_id, id, t.type, case t.type when 'user_query' then user_query else final_answer end, 'c'
  from maas.pipeline_runs cross join (values ('user_query'), ('assistant_response')) t(type)"""

DIALOGUES = """insert into maas.chat_conversations (id, user_id, title)
  select distinct md5(user_id::text || seq % 50)::uuid, user_id, 'Garden' from maas.pipeline_runs"""
MESSAGES = """insert into maas.chat_messages (conversation_id, user_id, run_id, role, content)
  select md5(user_id::text || seq % 50)::uuid, user_id, id, 'user', user_query from maas.pipeline_runs"""


@pytest.fixture(scope="module")
def large(postgres: EmbeddedPostgres, template: str) -> Iterator[Connection]:
    """A database with 12,000 finished runs, half of which are one user's."""
    with (
        copy_of(template, postgres.dsn) as dsn,
        psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection,
    ):
        connection.execute("set session_replication_role = replica")
        for statement in (RUNS, LOGS, DIALOGUES, MESSAGES, "analyze"):
            connection.execute(statement)
        yield connection


def asked(user: UUID | None, text: str, most: int) -> tuple[object, ...]:
    return (user, None, None, None, 20, None, None, None, None, None, text, most, None, None)


def search(connection: Connection, user: UUID | None, text: str, most: int) -> list[DictRow]:
    with psycopg.RawCursor(connection, row_factory=dict_row) as cursor:
        return cursor.execute(query_texts()["search_runs"].encode(), asked(user, text, most)).fetchall()


@pytest.mark.parametrize("user", [USER, None])
@pytest.mark.parametrize("text", ["rare77", "tulip rare77", "tulip", "tulip rose", "nowhere", "tulip nowhere", "?"])
def test_a_search_reads_by_indexes(large: Connection, user: UUID | None, text: str) -> None:
    plan = explain_text(large, "search_runs", *asked(user, text, 1000), planned_for_values=True)
    assert "idx_raw_logs_search" in plan and not re.search(r"Seq Scan on (raw_logs|pipeline_runs)", plan), plan
    steps = re.findall(r"Index Scan using idx_raw_logs_message_type on raw_logs \S+ \(actual .*loops=(\d+)\)", plan)
    assert all(int(loops) <= 200 for loops in steps), plan


@pytest.mark.parametrize("user", [USER, None])
@pytest.mark.parametrize("text", ["rare77", "tulip rare77", "tulip", "rose TUL", "nowhere", "tulip nowhere", "rar"])
def test_common_words_find_the_same_runs(large: Connection, user: UUID | None, text: str) -> None:
    """Whether a word is collected or looked for run by run."""
    results = [[row["id"] for row in search(large, user, text, most)] for most in (0, 3, 1000, 100_000)]
    assert results == results[:1] * 4
    assert ("nowhere" in text) == (results[0] == [])


@pytest.mark.parametrize("text", ["rare77", "garden rare77", "nowhere"])
def test_conversations_are_found_by_the_index_of_words(large: Connection, text: str) -> None:
    arguments = (USER, None, None, 20, text, False)
    plan = explain_text(large, "list_conversations", *arguments)
    assert "idx_raw_logs_search" in plan and not re.search(r"Seq Scan on (raw_logs|chat_messages)", plan), plan
    with psycopg.RawCursor(large, row_factory=dict_row) as cursor:
        found = cursor.execute(query_texts()["list_conversations"].encode(), arguments).fetchall()
    assert bool(found) == (text != "nowhere")
