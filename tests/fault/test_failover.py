"""A database that takes no changes says so, and a standby that takes over blames nobody for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID, uuid4

import httpx2
import psycopg
import pytest
from psycopg.rows import dict_row

from maas.http.routes import all_routes
from maas.plugins import sql_folders
from maas.prompting.prompts import seed_prompts
from shared.db import Database, open_database
from shared.migrate import migrate
from shared.query import Untyped, Value
from shared.replica import open_replica
from tests.http_calls import call, make
from tests.polling import poll
from tests.sql.attempts import become
from tests.sql.engine import Engine, insert, run_of
from tests.stack import ROOT, Stack, free_port, maas
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
        poll(lambda: stack.rows("select 1 from pg_tables where tablename = 'schema_files'"))
        stack.launch("server.py")
        poll(lambda: _is_alive(stack), what="the server answers")
        question = {"user_id": str(user), "query": "Where is the key?"}
        refused = [stack.client.get("/readyz"), stack.client.post("/v1/runs", json=question)]
        for reply in refused:
            assert (reply.status_code, reply.json()["error"]["code"]) == (503, "database_read_only"), reply.text
            assert reply.headers["Retry-After"] == "1"
        assert stack.client.post("/v1/memories/search", json=question).status_code == 200


async def test_a_read_is_never_older_than_its_call(pair: Pair) -> None:
    """The standby answers once it has what was committed before; the primary, where that takes too long."""
    async with (
        open_database(pair.dsn("primary"), 2, "test") as db,
        open_replica(db, pair.dsn("standby"), 2, "t") as reads,
    ):
        await db.value(_query("create table seen (n int)"))
        await _follow(reads)
        for n in range(20):
            await db.value(_query(f"insert into seen values ({n})"))
            assert await reads.value(_query("select max(n) from seen")) == n
            assert await reads.value(IS_STANDBY)
        _change(pair, "alter system set recovery_min_apply_delay = '200ms'", "select pg_reload_conf()")
        await asyncio.sleep(0.1)
        await db.value(_query("insert into seen values (20)"))
        row = await reads.row(_query("select max(n), pg_is_in_recovery() as is_standby from seen"))
        assert row is not None and tuple(row) == (20, True)
        _change(pair, "alter system reset recovery_min_apply_delay", "select pg_reload_conf()")
        _change(pair, "select pg_wal_replay_pause()")
        await db.value(_query("insert into seen values (21)"))
        started = time.monotonic()
        for _ in range(20):
            row = await reads.row(_query("select max(n), pg_is_in_recovery() as is_standby from seen"))
            assert row is not None and tuple(row) == (21, False)
        async with reads.transaction(isolation="repeatable_read", readonly=True) as snapshot:
            assert await snapshot.value(_query("select max(n) from seen")) == 21
        assert time.monotonic() - started < 2, "only one read in a while waits for a standby that is behind"
        _change(pair, "select pg_wal_replay_resume()")
        await _follow(reads)


async def test_a_standby_that_is_gone_fails_no_read(pair: Pair) -> None:
    async with (
        open_database(pair.dsn("primary"), 2, "test") as db,
        open_replica(db, pair.dsn("standby"), 2, "t") as reads,
    ):
        await _follow(reads)
        _change(pair, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 't'")
        assert await reads.rows(_query("select 1"))
        await _follow(reads)
        cut = _query("select case when pg_is_in_recovery() then pg_terminate_backend(pg_backend_pid()) else false end")
        assert await reads.value(cut) is False
    for address in (
        f"postgresql://maas@127.0.0.1:{free_port()}/x",
        pair.dsn("primary").replace("/postgres", "/template1"),
    ):
        async with open_database(pair.dsn("primary"), 2, "test") as db, open_replica(db, address, 2, "t") as reads:
            assert await reads.value(_query("select current_database()")) == "postgres"


def test_what_is_read_comes_from_the_standby(pair: Pair, tmp_path: Path) -> None:
    """Every route that reads, for what was stored a moment before; nothing falls back to the primary."""
    with Stack(pair.dsn("primary"), tmp_path, MAAS_READ_DATABASE_URL=pair.dsn("standby")) as stack:
        stack.start_server()
        user = uuid4()
        read = {"post_search", "post_context", "post_mem0_search", "post_mem0_list"}
        for route in all_routes():
            if route.method == "GET" or route.handler.__name__ in read:
                answer = call(stack, route, user, make(stack, route.resource, user, "none"))
                assert answer.status < 500, (route.path, answer.body)
        with psycopg.connect(pair.dsn("standby")) as standby:
            names = standby.execute("select distinct application_name from pg_stat_activity").fetchall()
        assert ("maas server reads",) in names
        assert "standby_not_read" not in stack.log()


def test_row_security_holds_on_the_standby(pair: Pair, user: UUID) -> None:
    with psycopg.connect(pair.dsn("primary"), autocommit=True, row_factory=dict_row) as primary:
        insert(primary, user)
        (place,) = primary.execute("select pg_current_wal_lsn() as lsn").fetchall()
    with psycopg.connect(pair.dsn("standby"), row_factory=dict_row) as standby:
        caught_up = "select from pg_last_wal_replay_lsn() lsn where lsn >= %s"
        poll(lambda: standby.execute(caught_up, (place["lsn"],)).fetchone() is not None)
        seen = []
        for who in (user, uuid4()):
            become(standby, "authenticated", who)
            seen.append(len(standby.execute("select id from maas.pipeline_runs").fetchall()))
            standby.rollback()
    assert seen == [1, 0]


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


IS_STANDBY: Untyped = Value("is_standby", "select pg_is_in_recovery()")


def _query(text: str) -> Untyped:
    return Value(text, text)


async def _follow(reads: Database) -> None:
    """Wait until the standby is asked again."""
    async with asyncio.timeout(20):
        while not await reads.value(IS_STANDBY):
            await asyncio.sleep(0.05)


def _change(pair: Pair, *statements: str) -> None:
    with psycopg.connect(pair.dsn("standby"), autocommit=True) as standby:
        for statement in statements:
            standby.execute(statement.encode())


def _is_alive(stack: Stack) -> bool:
    try:
        return stack.client.get("/healthz").status_code == 200
    except httpx2.TransportError:
        return False


def _set_synchronous(stack: Stack, names: str) -> None:
    stack.rows(f"alter system set synchronous_standby_names = '{names}'")
    stack.rows("select pg_reload_conf()")
    poll(lambda: stack.rows("select from pg_settings where name = 'synchronous_standby_names' and setting = %s", names))
