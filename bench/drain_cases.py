"""How many runs a second are worked off, by the engine alone and by the product, beside others that do the like."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal
from uuid import uuid4

from bench.peer_cases import PeerResult, best_of, is_installed, module_of, run_peer
from bench.processes import memory_mb
from bench.report import Figure
from bench.sentences import sentence
from bench.system import Bench, System, open_system
from maas.settings.embeddings import DEFAULT_EMBEDDING_MODEL, NO_EMBEDDING_MODEL

Load = Literal["bare", "noop", "product"]
USERS = {"bare": 2000, "noop": 2000, "product": 200}
CONCURRENCY = {"bare": "384", "noop": "384", "product": "96"}  # of which one assistant gets two thirds
HISTORY = 1_000_000
QUEUED = 100_000
INSERT_MANY = """
insert into pipeline_runs (user_id, user_query, kind)
select *, $3 from unnest($1::uuid[], $2::text[])"""
CLOCK = "select clock_timestamp()"
SPAN = "select extract(epoch from max(archived_at) - $1)::float8 from pipeline_runs where archived_at > $1"
HOLD = "begin; lock table maas.engine_lock in share update exclusive mode"
LET_GO = "commit"
SILENCE = "alter table pipeline_runs disable trigger {}"
ROW_NOTIFIERS = ("on_pipeline_change", "on_pipeline_status_change")
FINISHED = """
insert into pipeline_runs
  (queue_key, user_id, user_query, status, queue_state, seq, archive_status, archived_at, final_answer)
select u, u, 'What is known about garden ' || n || '?', 'COMPLETED', 2, n, 'ARCHIVED', now() - interval '1 day',
  repeat('a', 200)
from generate_series(1, $1::int) n
cross join lateral (select ('00000000-0000-4000-8000-' || lpad((n % 20000)::text, 12, '0'))::uuid as u) s"""


@dataclass(frozen=True, slots=True)
class Drained:
    """Runs a second, and microseconds of CPU a run."""

    rate: float
    postgres_us: float
    orchestrator_us: float


async def bare_queue(bench: Bench) -> list[Figure]:
    """No logs, records, texts, row notifications: one orchestrator against the orchestrator of the specification."""
    ours = await drain(bench, "bare", 1, bench.pick(15_000, 3000))
    figures = [
        Figure("bare queue, 1 orchestrator", "runs/s", ours.rate, floor=3500, aim=5000, scales=True),
        Figure("CPU of Postgres a bare run", "us", ours.postgres_us),
        Figure("CPU of the orchestrator a bare run", "us", ours.orchestrator_us),
    ]
    for name, floor, aim in (("spec_literal", 10, 15), ("pgqueuer", 0.7, 1.5), ("procrastinate", 8, 12)):
        figures += await _against(bench, name, ours.rate, "a bare run", floor, aim)
    return figures


async def everything_on(bench: Bench) -> list[Figure]:
    """Logs, records, search indexes, texts of 3-12 kB, row notifications; stages that compute nothing."""
    count = bench.pick(8000, 1500)
    one, two = await drain(bench, "noop", 1, count), await drain(bench, "noop", 2, count)
    figures = [
        Figure("everything on, 1 orchestrator", "runs/s", one.rate, floor=1000, aim=1800, scales=True),
        Figure("everything on, 2 orchestrators", "runs/s", two.rate),
        Figure("everything on, 2 against 1", "x", two.rate / one.rate, floor=1.5, aim=1.8),
        Figure("CPU of Postgres a run", "us", one.postgres_us, limit=800),
        Figure("CPU of the orchestrator a run", "us", one.orchestrator_us),
    ]
    for name, floor, aim in (("dbos", 20, 40), ("absurd", 8, 15)):  # at their best, so ours at its best
        figures += await _against(bench, name, max(one.rate, two.rate), "everything on, at best", floor, aim)
    return figures


async def product_path(bench: Bench) -> list[Figure]:
    """The built-in model, search, records, ledger."""
    count = bench.pick(2000, 400)
    one, two = await drain(bench, "product", 1, count), await drain(bench, "product", 2, count)
    by_meaning = await drain(bench, "product", 2, count, embedding_model=DEFAULT_EMBEDDING_MODEL)
    return [
        Figure("product path, 1 orchestrator", "runs/s", one.rate),
        Figure("product path, 2 orchestrators", "runs/s", two.rate, floor=400, aim=600),
        Figure("product path with vectors, 2 orchestrators", "runs/s", by_meaning.rate, floor=300, aim=500),
        Figure("CPU of Postgres a run of the product", "ms", one.postgres_us / 1000),
        Figure("CPU of the orchestrator a run of the product", "ms", one.orchestrator_us / 1000),
    ]


async def grown_table(bench: Bench) -> list[Figure]:
    """A million finished runs beside the queue, against none."""
    count, history = bench.pick(8000, 1500), bench.pick(HISTORY, 100_000)
    empty = await drain(bench, "noop", 1, count)
    grown = await drain(bench, "noop", 1, count, history)
    return [Figure(f"with {history:,} finished runs, against none", "x", grown.rate / empty.rate, floor=0.9, aim=1.0)]


async def long_queue(bench: Bench) -> list[Figure]:
    """The memory of an orchestrator that has 100,000 runs before it."""
    queued = bench.pick(QUEUED, 10_000)
    async with open_system(bench, orchestrators=1, noop=True, MAAS_CONCURRENCY="256") as system:
        await _insert(system, "noop", queued)
        await asyncio.sleep(bench.pick(8, 3))
        (pid,) = system.orchestrator_pids
        return [Figure(f"memory of an orchestrator, {queued:,} queued", "MB", memory_mb(pid), limit=80, aim=40)]


async def drain(
    bench: Bench,
    load: Load,
    orchestrators: int,
    count: int,
    history: int = 0,
    embedding_model: str = NO_EMBEDDING_MODEL,
) -> Drained:
    """Insert so many runs while the engine is held, let it go, and wait until all are archived."""
    async with open_system(
        bench,
        orchestrators=orchestrators,
        noop=load != "product",
        MAAS_CONCURRENCY=CONCURRENCY[load],
        MAAS_EMBEDDING_MODEL=embedding_model,
    ) as system:
        if history:
            await system.connection.execute("set session_replication_role = replica")
            await system.connection.execute(FINISHED, history, timeout=600)
            await system.connection.execute("reset session_replication_role")
            await system.connection.execute("vacuum analyze pipeline_runs", timeout=600)
        if load == "bare":
            for trigger in ROW_NOTIFIERS:
                await system.connection.execute(SILENCE.format(trigger))
        await _insert(system, load, USERS[load] // 4)
        await system.wait_archived()
        await system.connection.execute("checkpoint")
        await system.connection.execute(HOLD)
        await _insert(system, load, count)
        before, began = system.usage(), await system.connection.fetchval(CLOCK)
        await system.connection.execute(LET_GO)
        await system.wait_archived()
        used = system.usage() - before
        seconds = await system.connection.fetchval(SPAN, began)
    return Drained(count / seconds, 1e6 * used.postgres / count, 1e6 * used.orchestrators / count)


async def _insert(system: System, load: Load, count: int) -> None:
    users = [uuid4() for _ in range(USERS[load])]
    kind = "archive" if load == "bare" else "ask"  # the kind of run that leaves no log and no record
    for start in range(0, count, 2000):
        numbers = range(start, min(start + 2000, count))
        await system.connection.execute(
            INSERT_MANY, [users[n % len(users)] for n in numbers], [sentence(n) for n in numbers], kind
        )


async def _against(bench: Bench, name: str, rate: float, what: str, floor: float, aim: float) -> list[Figure]:
    if not is_installed(name):
        return []
    best = await _best(bench, name)
    title = " ".join(filter(None, (name, best.version)))
    return [
        Figure(title, "runs/s", best.runs_per_second),
        Figure(f"CPU of Postgres a run of {name}", "us", best.postgres_cpu_us_per_run),
        Figure(f"{what}, against {title}", "x", rate / best.runs_per_second, floor=floor, aim=aim),
    ]


async def _best(bench: Bench, name: str) -> PeerResult:
    """At the best of its concurrencies, which the first repetition finds."""
    runs = bench.pick(module_of(name).RUNS, module_of(name).RUNS // 5)
    if name not in bench.concurrency:
        best = await best_of(bench, name, runs)
        bench.concurrency[name] = best.concurrency
        return best
    return await run_peer(bench, name, runs, bench.concurrency[name])
