"""Two databases of one corpus: a small one of some users, and the full one in which the same users stand among all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import asyncpg
import psycopg
from psycopg import sql

from bench.corpus import Corpus, Exchange
from bench.report import Figure
from bench.sandbox import beside, notes, open_sandbox
from maas.cli.up import prepare_database
from maas.settings import Settings
from shared.db import connect
from shared.errors import MaasError
from shared.postgres import acquire

CHUNK = 2000
TABLES = {
    "pipeline_runs": (
        "id", "seq", "user_id", "user_query", "queue_key", "conversation_id", "status", "final_answer", "queue_state",
        "archive_status", "created_at", "updated_at", "completed_at", "archived_at",
    ),
    "raw_logs": (
        "id", "user_id", "run_id", "message_type", "content", "conversation", "occurred_at", "known_at", "archived_at",
        "archived_run_id", "record_id", "created_at",
    ),
    "lsm_storage": (
        "id", "user_id", "run_id", "time_bucket_start", "time_bucket_end", "tags", "summary", "raw_log_ids",
        "occurred_at", "known_at", "created_at",
    ),
}  # fmt: skip
SEARCH_INDEXES = """
select c.relname as name, pg_get_indexdef(c.oid) as definition
from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
where i.indrelid = any($1::text[]::regclass[]) and a.amname = 'gin' order by 1"""
SIZES = """
select c.relname as name, pg_relation_size(c.oid) + coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0) as bytes
from pg_class c left join pg_index i on i.indexrelid = c.oid
where c.oid = 'raw_logs'::regclass or i.indrelid = 'raw_logs'::regclass order by 2 desc"""
COUNT = "select reltuples::int from pg_class where oid = 'raw_logs'::regclass"
MARK = "create table bench_loaded ()"
MARKED = "select to_regclass('bench_loaded') is not null"
# What search keeps beside the rows is brought up to date here, by functions of its own, before statistics are taken.
MAINTENANCE = (
    "select maas_count_terms(u, 2000) from maas_users_to_count('0') u",
    "vacuum (analyze) term_df",
    "vacuum (analyze) raw_logs",
    "vacuum (analyze) lsm_storage",
    "vacuum (analyze) pipeline_runs",
)


@dataclass(frozen=True, slots=True)
class Tables:
    """Addresses of both databases, and the process of the server when it is ours."""

    small: str
    full: str
    server_pid: int | None


@contextmanager
def open_tables(settings: Settings, keep: Path | None, logs: int) -> Iterator[Tables]:
    """Two migrated databases; with `keep` those of an earlier time, in an embedded server there. Raises MaasError."""
    with ExitStack() as stack:
        if keep is None:
            sandbox = stack.enter_context(open_sandbox(settings))
            small, full = stack.enter_context(sandbox.database()), stack.enter_context(sandbox.database())
            yield Tables(small, full, sandbox.server.pid if sandbox.server else None)
            return
        if settings.database.database_url is not None:
            raise MaasError("bad_parameter", "--keep names a folder for the embedded server; unset DATABASE_URL")
        server = acquire(keep, on_note=notes.print)
        stack.callback(server.close, wait=True)
        small, full = _keep(server.dsn, f"scale_small_{logs}"), _keep(server.dsn, f"scale_full_{logs}")
        yield Tables(small, full, server.pid)


def _keep(server_dsn: str, name: str) -> str:
    """A database that was filled to its end and is migrated to this version, or an empty one."""
    dsn = beside(server_dsn, name)
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        is_there = admin.execute("select from pg_database where datname = %s", [name]).fetchone() is not None
        if is_there and not asyncio.run(is_loaded(dsn)):
            admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))
            is_there = False
        if not is_there:
            admin.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    applied, _ = prepare_database(dsn)
    if applied and is_there:
        with psycopg.connect(dsn, autocommit=True) as connection:
            for statement in MAINTENANCE:
                connection.execute(statement)
    return dsn


async def is_loaded(dsn: str) -> bool:
    """Whether the database was filled to its end before."""
    connection = await connect(dsn)
    try:
        return bool(await connection.fetchval(MARKED))
    finally:
        await connection.close()


async def load(
    dsn: str, corpus: Corpus, timetable: list[tuple[datetime, int, int]], on_loaded: Callable[[int], object]
) -> None:
    """Fill an empty database with the exchanges of a timetable: runs, logs and records, as if all had been archived."""
    connections = [await asyncpg.connect(dsn) for _ in TABLES]
    connection = connections[0]
    try:
        for table in TABLES:
            await connection.execute(f"alter table {table} disable trigger user")
        indexes = await connection.fetch(SEARCH_INDEXES, list(TABLES))
        for index in indexes:
            await connection.execute(f"drop index {index['name']}")

        def make(start: int) -> list[Exchange]:
            return [corpus.exchange(user, number) for _, user, number in timetable[start : start + CHUNK]]

        upcoming = asyncio.create_task(asyncio.to_thread(make, 0))
        for start in range(0, len(timetable), CHUNK):
            exchanges = await upcoming
            upcoming = asyncio.create_task(asyncio.to_thread(make, start + CHUNK))
            await _copy(connections, start, exchanges)
            on_loaded(len(exchanges))
        await upcoming
        await connection.execute("select setval('run_seq', $1::bigint)", len(timetable) + 1)
        await connection.execute("set maintenance_work_mem = '512MB'")
        for index in indexes:
            await connection.execute(index["definition"])
        for table in TABLES:
            await connection.execute(f"alter table {table} enable trigger user")
        await maintain(connection)
        await connection.execute(MARK)
    finally:
        for each in connections:
            await each.close()


async def sizes(dsn: str) -> list[Figure]:
    """Bytes a log row, of the table and of each of its indexes."""
    connection = await connect(dsn)
    try:
        count = await connection.fetchval(COUNT)
        return [Figure(row["name"], "bytes a log", row["bytes"] / count) for row in await connection.fetch(SIZES)]
    finally:
        await connection.close()


async def maintain(connection: asyncpg.Connection) -> None:
    """Bring statistics, visibility and whatever search keeps beside the rows up to date; flush what is pending."""
    for statement in MAINTENANCE:
        await connection.execute(statement)
    await connection.execute("checkpoint")


async def _copy(connections: Sequence[asyncpg.Connection], start: int, exchanges: list[Exchange]) -> None:
    runs, logs, records = [], [], []
    for seq, one in enumerate(exchanges, start + 1):
        end = one.at + timedelta(seconds=2)
        runs.append(
            (
                one.run,
                seq,
                one.user,
                one.query,
                one.user,
                one.conversation,
                "COMPLETED",
                one.answer,
                2,
                "ARCHIVED",
                one.at,
                end,
                end,
                end,
            )
        )
        for id_, kind, content, at in (
            (one.query_id, "user_query", one.query, one.at),
            (one.answer_id, "assistant_response", one.answer, end),
        ):
            logs.append(
                (id_, one.user, one.run, kind, content, str(one.conversation), at, at, end, one.run, one.record, at)
            )
        records.append(
            (
                one.record,
                one.user,
                one.run,
                one.at.date(),
                end.date(),
                one.query.split()[:2],
                f"{one.query[:100]}: {one.answer[:100]}",
                [one.query_id, one.answer_id],
                end,
                end,
                end,
            )
        )
    async with asyncio.TaskGroup() as group:
        for connection, (table, columns), rows in zip(connections, TABLES.items(), (runs, logs, records), strict=True):
            group.create_task(connection.copy_records_to_table(table, records=rows, columns=columns))
