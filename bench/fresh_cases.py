"""What new rows cost: the searches that come right after them, and the indexes of search when they are written."""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

import asyncpg

from bench.corpus import Exchange, Question
from bench.report import Figure, percentiles
from bench.search_cases import LARGEST_AIM, LARGEST_MS, ORDINARY_AIM, ORDINARY_MS, QUESTIONS
from bench.searches import Scale, ask
from bench.tables import SEARCH_INDEXES, maintain
from shared.db import connect

WRITE_MS = 0.3
WRITE_KB = 40.0
ROUNDS = 3
INSERT = """
insert into raw_logs (id, user_id, run_id, message_type, content, conversation) values ($1, $2, $3, $4, $5, $6)"""
FORGET = "delete from raw_logs where id = any($1::uuid[])"
NO_VACUUM = "alter table raw_logs set (autovacuum_enabled = off)"
VACUUM = "alter table raw_logs reset (autovacuum_enabled)"
NO_TRIGGERS = "alter table raw_logs disable trigger user"
FLUSH = "select gin_clean_pending_list($1::text::regclass)"
WAL = "select pg_current_wal_insert_lsn() - '0/0'"

Row = tuple[UUID, UUID, UUID, str, str, str]


async def fresh_logs(scale: Scale) -> list[Figure]:
    """Searches while what fresh logs add to the search index is still pending there, as far as the index lets it."""
    corpus = scale.corpus
    async with _fresh_logs(scale) as connection:
        name = f"after {len(_rows(scale)):,} fresh logs"
        largest = await ask(scale, corpus.questions([corpus.largest], QUESTIONS))
        users = await ask(scale, corpus.questions(list(corpus.ordinary), QUESTIONS))
        said = [Question(one.user, one.query, one.query_id) for one in _exchanges(scale)[:QUESTIONS]]
        fresh = await ask(scale, said)
        pages = await _flush(connection)
    size = corpus.logs_of(corpus.largest)
    return [
        *percentiles(f"{name}, {corpus.logs:,} logs", users.ms, (50, 95), ORDINARY_MS, ORDINARY_AIM),
        *percentiles(f"{name}, user of {size:,} logs", largest.ms, (50, 95), LARGEST_MS, LARGEST_AIM),
        Figure("fresh logs found by their own words", "%", 100 * fresh.found / len(fresh.ms), floor=100),
        Figure("pages that were pending in the search index", "", pages),
    ]


async def write_cost(scale: Scale) -> list[Figure]:
    """One log a statement, with and without the search indexes, in transactions that are rolled back.

    A round begins with a checkpoint, so that the pages which the first change after it puts into the log are shared
    by as many rows as a round writes.
    """
    rows = _rows(scale)
    connection = await connect(scale.tables.full)
    try:
        await _write(connection, rows[: len(rows) // 4], is_indexed=True)  # warms up
        indexed, bare = [], []
        for _ in range(ROUNDS):
            indexed.append(await _write(connection, rows, is_indexed=True))
            bare.append(await _write(connection, rows, is_indexed=False))
        await maintain(connection)
    finally:
        await connection.close()
    added = [(ms - bare_ms, kb - bare_kb) for (ms, kb), (bare_ms, bare_kb) in zip(indexed, bare, strict=True)]
    return [
        *_middle("a log row, search indexes on", indexed),
        *_middle("what the search indexes add to a row", added, WRITE_MS, WRITE_KB),
    ]


def _middle(
    name: str, rounds: Sequence[tuple[float, float]], ms: float | None = None, kb: float | None = None
) -> list[Figure]:
    return [
        Figure(name, "ms", statistics.median(one for one, _ in rounds), limit=ms),
        Figure(name, "kB of WAL", statistics.median(one for _, one in rounds), limit=kb),
    ]


async def _write(connection: asyncpg.Connection, rows: Sequence[Row], is_indexed: bool) -> tuple[float, float]:
    """Milliseconds and kB of WAL that a row took."""
    await connection.execute("checkpoint")
    transaction = connection.transaction()
    await transaction.start()
    try:
        if not is_indexed:
            await connection.execute(NO_TRIGGERS)
            for name in await _indexes(connection):
                await connection.execute(f"drop index {name}")
        position, began = await connection.fetchval(WAL), time.perf_counter()
        for row in rows:
            await connection.execute(INSERT, *row)
        took = time.perf_counter() - began
        written = await connection.fetchval(WAL) - position
        return 1000 * took / len(rows), float(written) / 1000 / len(rows)
    finally:
        await transaction.rollback()


@asynccontextmanager
async def _fresh_logs(scale: Scale) -> AsyncIterator[asyncpg.Connection]:
    """The rows are there while the context lasts, and no autovacuum flushes what is pending."""
    rows = _rows(scale)
    ids = [row[0] for row in rows]
    connection = await connect(scale.tables.full)
    try:
        await connection.execute(NO_VACUUM)
        await connection.execute(FORGET, ids)  # a killed benchmark left them in a kept folder
        await _flush(connection)
        for row in rows:
            await connection.execute(INSERT, *row)
        yield connection
    finally:
        await connection.execute(FORGET, ids)
        await connection.execute(VACUUM)
        await maintain(connection)
        await connection.close()


def _exchanges(scale: Scale) -> list[Exchange]:
    """Fresh ones: 2,000 for a million logs."""
    return scale.corpus.fresh(scale.corpus.logs // 500)


def _rows(scale: Scale) -> list[Row]:
    """Their logs, twice as many."""
    return [
        row
        for one in _exchanges(scale)
        for row in (
            (one.query_id, one.user, one.run, "user_query", one.query, str(one.conversation)),
            (one.answer_id, one.user, one.run, "assistant_response", one.answer, str(one.conversation)),
        )
    ]


async def _indexes(connection: asyncpg.Connection) -> list[str]:
    return [row["name"] for row in await connection.fetch(SEARCH_INDEXES, ["raw_logs"])]


async def _flush(connection: asyncpg.Connection) -> int:
    """How many pages were pending."""
    return sum([await connection.fetchval(FLUSH, name) for name in await _indexes(connection)])
