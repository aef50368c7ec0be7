"""A database that takes no changes says so, and a standby that takes over blames nobody for it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import httpx2
import psycopg
import pytest
from psycopg.rows import dict_row

from maas.plugins import sql_folders
from maas.prompting.prompts import seed_prompts
from shared.migrate import migrate
from tests.polling import poll
from tests.sql.engine import Engine, insert, run_of
from tests.stack import ROOT, Stack, maas
from tests.standby import Pair


@pytest.fixture(scope="module")
def pair(reachable_tmp: Path, pg_bin: Path | None) -> Iterator[Pair]:
    """Both hold the schema of this checkout."""
    with Pair(reachable_tmp / "pair", pg_bin) as pair:
        migrate(pair.dsn("primary"), ROOT / "sql", sql_folders())
        seed_prompts(pair.dsn("primary"))
        yield pair


def test_commits_that_hang(pair: Pair, tmp_path: Path) -> None:
    """The synchronous standby is gone: what is read is answered, and nothing can be kept."""
    with Stack(pair.dsn("primary"), tmp_path) as stack:
        stack.start_server()
        _set_synchronous(stack, "nobody")
        try:
            poll(lambda: not stack.is_ready())
            reply = stack.client.get("/readyz")
            assert (reply.status_code, reply.json()["error"]["code"]) == (503, "commit_timeout")
            assert "synchronous_standby_names" in reply.json()["error"]["message"]
            found = maas(stack, "doctor")
            assert (
                found.returncode == 1 and "database: Postgres answers, but a commit took more than 2 s" in found.stdout
            )
        finally:
            _set_synchronous(stack, "")
        poll(stack.is_ready)


def test_a_request_that_nobody_confirmed_is_sent_again_once(pair: Pair, tmp_path: Path, user: UUID) -> None:
    """It is stored, and its client hears of an error; the key in that error makes it the same request."""
    question = {"user_id": str(user), "query": "Where is the key?"}
    with Stack(pair.dsn("primary"), tmp_path) as stack, ThreadPoolExecutor() as pool:
        stack.start_server()
        _set_synchronous(stack, "nobody")
        try:
            poll(lambda: not stack.is_ready())
            posted = pool.submit(stack.client.post, "/v1/runs", json=question)
            hung = "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"
            poll(lambda: stack.rows(hung))
            reply = posted.result(20)
        finally:
            _set_synchronous(stack, "")
        assert (reply.status_code, reply.json()["error"]["code"]) == (503, "unconfirmed")
        key = {"idempotency-key": reply.json()["error"]["details"]["idempotency_key"]}
        again = [stack.client.post("/v1/runs", json=question, headers=key) for _ in range(2)]
        assert [one.status_code for one in again] == [202, 202]
        stored = [str(row["id"]) for row in stack.rows("select id from pipeline_runs where user_id = %s", user)]
        assert [one.json()["request_id"] for one in again] == stored * 2
        other = stack.client.post("/v1/runs", json=question | {"query": "Who are you?"}, headers=key)
        assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_conflict")


def test_a_standby_answers_what_is_read(pair: Pair, tmp_path: Path, user: UUID) -> None:
    with Stack(pair.dsn("standby"), tmp_path) as stack:
        poll(lambda: stack.rows("select 1 from pg_tables where tablename = 'schema_files'"), 20)
        stack.launch("server.py")
        poll(lambda: _is_alive(stack), 20, "the server answers")
        question = {"user_id": str(user), "query": "Where is the key?"}
        refused = [stack.client.get("/readyz"), stack.client.post("/v1/runs", json=question)]
        for reply in refused:
            assert (reply.status_code, reply.json()["error"]["code"]) == (503, "database_read_only"), reply.text
            assert reply.headers["Retry-After"] == "1"
        assert stack.client.post("/v1/memories/search", json=question).status_code == 200


def test_a_failover_blames_nobody(pair: Pair) -> None:
    """Every session is lost then, and the server that takes over had started long before."""
    with psycopg.connect(pair.dsn("primary"), autocommit=True, row_factory=dict_row) as primary:
        run_id = insert(primary)
        Engine(primary).claim()
        (place,) = primary.execute("select pg_current_wal_lsn() as lsn").fetchall()
    with psycopg.connect(pair.dsn("standby"), autocommit=True, row_factory=dict_row) as standby:
        caught_up = "select from pg_last_wal_replay_lsn() lsn where lsn >= %s"
        poll(lambda: standby.execute(caught_up, (place["lsn"],)).fetchone() is not None)
        pair.fail_over()
        standby.execute("select maas_reap(3)")
        row = run_of(standby, run_id)
        assert (row["queue_state"], row["owner"], row["losses"], row["deaths"]) == (0, None, 0, 0)


def _is_alive(stack: Stack) -> bool:
    try:
        return stack.client.get("/healthz").status_code == 200
    except httpx2.TransportError:
        return False


def _set_synchronous(stack: Stack, names: str) -> None:
    stack.rows(f"alter system set synchronous_standby_names = '{names}'")
    stack.rows("select pg_reload_conf()")
    poll(lambda: stack.rows("select from pg_settings where name = 'synchronous_standby_names' and setting = %s", names))
