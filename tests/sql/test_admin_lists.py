"""The lists of operators with 10,000 users and many runs: one page reads little."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import DictRow, dict_row

from maas.engine.states import QueueState
from maas.named_queries import query_texts
from maas.runs.lists import RunFilter, list_runs
from shared.db import open_database
from shared.postgres import EmbeddedPostgres
from shared.query import Untyped, Value
from tests.databases import copy_of
from tests.plans import explain, pages, scans_of

Connection = psycopg.Connection[DictRow]
RUNS = """
  insert into maas.pipeline_runs (user_id, user_query, queue_key, status, queue_state, seq, created_at, failed_at,
    error_code)
  select md5((case when n % 4 = 0 then 7 else n % 10000 end)::text)::uuid, 'a question ' || n, gen_random_uuid(),
    case n % 50 when 1 then 'FAILED' else 'COMPLETED' end, 2, n, now() - make_interval(secs => n),
    case n % 50 when 1 then now() end, case when n % 50 <> 1 then null when n % 100 = 1 then 'timeout' else 'rare' end
  from generate_series(1, 60000) n"""
QUEUED = """
  insert into maas.pipeline_runs (user_id, user_query, queue_key, queue_state, seq, created_at, not_before)
  select gen_random_uuid(), 'a question', gen_random_uuid(), case n % 7 when 6 then 0 else n % 7 - 4 end, n,
    now() - make_interval(secs => 60000 + n), case when n % 7 = 6 then now() end from generate_series(1, 105) n"""
CALLS = """
  insert into maas.llm_calls (run_id, try, stage, round, attempt, provider, model, role_name, finish, tokens_in, ms,
    price, created_at)
  select id, 1, 'final_responder', 0, 1, 'p', 'm' || seq % 3, 'Mentor', 'stop', seq, 1, seq, created_at
  from maas.pipeline_runs where queue_state = 2"""
USERS = (
    "insert into maas.user_identities select 'api', 'employee' || n, md5(n::text)::uuid from generate_series(0, 9999) n"
)
ACTIONS = """
  insert into maas.chat_pending_actions (user_id, run_id, call_id, tool_name, args_hash, asked_hash, effect, status,
    created_at, expires_at)
  select md5((n % 10000)::text)::uuid, gen_random_uuid(), 'c', 'send_mail', '', '', 'write',
    case when n <= 5000 then 'pending' else 'done' end, now() - make_interval(secs => n),
    now() - make_interval(secs => n) + interval '3 hours'
  from generate_series(1, 60000) n"""
USAGE = """insert into maas.token_usage select md5(n::text)::uuid, current_date - d, 100, n * d
  from generate_series(0, 9999) n, generate_series(1, 5) d"""

MEMORIES = """
  insert into maas.lsm_storage (user_id, summary, level, time_bucket_start, time_bucket_end, tags, created_at,
    raw_log_ids)
  select md5((n % 10000)::text)::uuid, 'a summary', 0, now(), now(), array['tag' || n % 1000],
    now() - make_interval(secs => n), '{}' from generate_series(1, 20000) n"""
AUDIT = """
  insert into maas.audit (at, actor, action, user_id, details)
  select now() - make_interval(secs => 60000 - n), 'http', 'user_access',
    md5((case when n % 4 = 0 then 7 else n % 10000 end)::text)::uuid, '{}' from generate_series(1, 60000) n"""
KEYS = """
  insert into maas.api_keys (id, name, secret_hash, scopes, user_id, created_at)
  select lpad(to_hex(n), 12, '0'), 'notes', sha256('x'), '{ask}', md5((n % 10000)::text)::uuid,
    now() - make_interval(secs => n) from generate_series(1, 20000) n"""
LARGE = ("pipeline_runs", "llm_calls", "lsm_storage", "audit", "api_keys", "chat_pending_actions")
FLUSH: Untyped = Value("flush", "select pg_stat_force_next_flush() is null")
HEAVY, USUAL = (UUID(hashlib.md5(name.encode()).hexdigest()) for name in ("7", "9"))


@pytest.fixture(scope="module")
def large(postgres: EmbeddedPostgres, template: str) -> Iterator[Connection]:
    """10,000 users with 60,000 runs, a quarter of which are one user's; 1,200 failed, 105 wait, 5,000 actions, too."""
    with (
        copy_of(template, postgres.dsn) as dsn,
        psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection,
    ):
        connection.execute("set session_replication_role = replica")
        for statement in (RUNS, QUEUED, CALLS, USERS, USAGE, ACTIONS, MEMORIES, AUDIT, KEYS):
            connection.execute(statement.encode())
        for _ in range(2):
            connection.execute("select maas.maas_sum_runs(100000, '0 s')")
        connection.execute("vacuum analyze")
        yield connection


@pytest.mark.parametrize("sort", ["last_run", "spend", "errors"])
def test_the_first_page_of_ranked_users(large: Connection, sort: str) -> None:
    """It steps through the users, not through their runs; 8 kB blocks in memory take about a microsecond each."""
    plan = explain(large, "ranked_user_ids", None, sort, None, None, 50)
    assert plan["Plan"]["Actual Rows"] == 50
    assert scans_of(plan["Plan"], "pipeline_runs") <= {"Index Scan", "Index Only Scan", "Bitmap Heap Scan"}, json.dumps(
        plan
    )
    assert pages(plan) < 120_000, json.dumps(plan)


def runs(connection: Connection, *args: object) -> dict[str, Any]:
    return explain(connection, "list_runs", *args, planned_for_values=True)


def test_the_details_of_a_page_of_users(large: Connection) -> None:
    with psycopg.RawCursor(large, row_factory=dict_row) as cursor:
        rows = cursor.execute(query_texts()["ranked_user_ids"].encode(), (None, "spend", None, None, 50)).fetchall()
    plan = explain(large, "admin_users", [row["user_id"] for row in rows])
    assert pages(plan) < 10_000 and "Seq Scan" not in scans_of(plan["Plan"], "pipeline_runs"), json.dumps(plan)


@pytest.mark.parametrize("code", ["rare", "timeout", "nothing"])
def test_runs_of_an_error_code_are_read_by_their_index(large: Connection, code: str) -> None:
    plan = runs(large, *[None] * 4, 50, *[None] * 5, code, None)
    assert "idx_pipeline_runs_error_code" in json.dumps(plan) and pages(plan) < 1_000, json.dumps(plan)


def test_what_failed_of_a_user_with_very_many_is_read_by_its_index(large: Connection) -> None:
    plan = runs(large, HEAVY, "FAILED", *[None] * 2, 50, *[None] * 7)
    assert "idx_pipeline_runs_failed" in json.dumps(plan) and pages(plan) < 100, json.dumps(plan)


@pytest.mark.parametrize("before", [None, "2026-01-01"])
def test_actions_that_wait_are_read_without_those_that_are_decided(large: Connection, before: str | None) -> None:
    plan = explain(large, "admin_actions", None, before and datetime.fromisoformat(before), before and UUID(int=0), 50)
    assert plan["Plan"]["Actual Rows"] == (0 if before else 50)
    assert "idx_chat_pending_actions_pending" in json.dumps(plan) and pages(plan) < 1_000, json.dumps(plan)
    assert scans_of(plan["Plan"], "chat_pending_actions") <= {"Index Scan", "Bitmap Heap Scan"}


def test_actions_of_a_user_that_wait_are_read_by_an_index(large: Connection) -> None:
    users = large.execute("select user_id from maas.chat_pending_actions where status = 'pending' limit 1").fetchall()
    plan = explain(large, "admin_actions", users[0]["user_id"], None, None, 50)
    assert plan["Plan"]["Actual Rows"] == 1 and pages(plan) < 1_000, json.dumps(plan)


def test_runs_of_attributes_are_read_by_their_index(large: Connection) -> None:
    plan = runs(large, *[None] * 4, 50, *[None] * 6, '{"batch": 7}')
    assert "idx_pipeline_runs_attributes" in json.dumps(plan) and pages(plan) < 1_000, json.dumps(plan)


FIRST_PAGES: dict[str, tuple[str, list[object], int]] = {  # the query, its parameters, and how many rows it finds
    "runs": ("list_runs", [*[None] * 4, 50, *[None] * 7], 50),
    "runs of a user with very many": ("list_runs", [HEAVY, *[None] * 3, 50, *[None] * 7], 50),
    "runs of a user": ("list_runs", [USUAL, *[None] * 3, 50, *[None] * 7], 6),
    "runs that failed of a user with very many": ("list_runs", [HEAVY, "FAILED", *[None] * 2, 50, *[None] * 7], 0),
    "runs that failed": ("list_runs", [None, "FAILED", *[None] * 2, 50, *[None] * 7], 50),
    "users": ("user_ids", [None, UUID(int=0), 50], 50),
    "names": ("names_of_users", [[HEAVY, USUAL]], 2),
    "memories": ("admin_memories", [*[None] * 5, 50], 50),
    "memories of a user": ("admin_memories", [USUAL, *[None] * 4, 50], 2),
    "memories of a tag": ("admin_memories", [None, "tag5", *[None] * 3, 50], 20),
    "audit": ("admin_audit", [None, None, None, 50], 50),
    "audit of a user with very many": ("admin_audit", [HEAVY, None, None, 50], 50),
    "keys": ("admin_keys", [None, None, 50], 50),
    "keys of a user": ("list_own_keys", [USUAL], 2),
    **{
        f"runs that are {state}": ("list_queued_runs", [*[None] * 4, 50, *[None] * 7, state, None], 15)
        for state in ("inbox", "waiting", "runnable", "deferred", "in_flight", "paused", "scheduled")
    },
}
PLANNED_FOR_VALUES = ("list_runs", "list_queued_runs", "admin_memories")  # as the server reads them


@pytest.mark.parametrize("page", FIRST_PAGES)
def test_a_first_page_reads_little_whatever_there_is(large: Connection, page: str) -> None:
    """8 kB blocks in memory take about a microsecond each, and their number does not grow with the table."""
    name, args, found = FIRST_PAGES[page]
    plan = explain(large, name, *args, planned_for_values=name in PLANNED_FOR_VALUES)
    assert plan["Plan"]["Actual Rows"] == found
    assert pages(plan) < 3_000, json.dumps(plan)
    assert all("Seq Scan" not in scans_of(plan["Plan"], table) for table in LARGE), json.dumps(plan)


@pytest.mark.parametrize("only", [RunFilter(), RunFilter(user_id=HEAVY), RunFilter(queue=QueueState.SCHEDULED)])
async def test_the_server_reads_lists_by_plans_for_their_filters(large: Connection, only: RunFilter) -> None:
    read = b"select heap_blks_hit + heap_blks_read as n from pg_statio_user_tables where relname = 'pipeline_runs'"
    (before,) = large.execute(read).fetchall()
    info = large.info
    dsn = f"postgresql://{info.user}:{info.password}@{info.host}:{info.port}/{info.dbname}"
    async with open_database(dsn, 1, "test") as db:
        assert len(await list_runs(db, only)) == (15 if only.queue else 50)
        await db.value(FLUSH)
    (after,) = large.execute(read).fetchall()
    assert 0 < after["n"] - before["n"] < 700


@pytest.mark.parametrize("by", ["day", "user", "assistant", "model", "stage", None])
def test_figures_of_all_runs_are_read_from_sums_of_days(large: Connection, by: str | None) -> None:
    """Neither runs nor their calls are read but those that are not among the sums; the first row has the sum of all."""
    span = (datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
    plan = explain(large, "admin_spending", *span, by, 50) if by else explain(large, "admin_metrics", *span)
    assert pages(plan) < 5_000, json.dumps(plan)
    assert all("Seq Scan" not in scans_of(plan["Plan"], table) for table in ("pipeline_runs", "llm_calls"))
    with psycopg.RawCursor(large, row_factory=dict_row) as cursor:
        name, args = ("admin_spending", (*span, by, 50)) if by else ("admin_metrics", span)
        rows = cursor.execute(query_texts()[name].encode(), args).fetchall()
    assert (rows[0]["total"] if by else rows[-1]["price"]) == 60_000 * 60_001 // 2
