"""What happens to a run: how soon it is taken, how many are done, how long each stage takes."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from bench.processes import HAS_PROC, Deadline
from bench.report import Figure, percentile, percentiles
from bench.sentences import sentence
from bench.system import PATIENCE, Bench, System, open_system
from maas.pipeline.doorbell import EVENTS
from shared.db import connect
from shared.errors import MaasError

DISPATCH_MS = 10.0
TRACE_MS = 50.0
STAGE_MS = 3000.0
IDLE_PERCENT = 1.0
USERS = 200
RATE = 50
GAP = 0.005
INSERT = "insert into pipeline_runs (id, user_id, user_query) values ($1, $2, $3)"
INSERT_MANY = "insert into pipeline_runs (user_id, user_query) select * from unnest($1::uuid[], $2::text[])"
CLAIMS = """
select (extract(epoch from r.analyzing_at - r.created_at) * 1000)::float8 as claim,
  (extract(epoch from l.created_at - r.created_at) * 1000)::float8 as trace
from pipeline_runs r left join lsm_storage l on l.run_id = r.id where r.id = any($1::uuid[])"""
CLOCK = "select clock_timestamp()"
SPAN = "select extract(epoch from max(archived_at) - $1)::float8 from pipeline_runs"
STAGES = {
    "claim": ("created_at", "analyzing_at"),
    "analyzer": ("analyzing_at", "analyzed_at"),
    "draft builder": ("analyzed_at", "assembling_at"),
    "assembler": ("assembling_at", "ready_at"),
    "final responder": ("responding_at", "completed_at"),
    "archivist": ("completed_at", "archived_at"),
    "insert to COMPLETED": ("created_at", "completed_at"),
    "insert to archived": ("created_at", "archived_at"),
}
TIMES = "select * from pipeline_runs where created_at > $1"


class Ear:
    """Hears `pipeline_events` and keeps when each was heard, by run and status."""

    def __init__(self) -> None:
        self.heard: dict[tuple[UUID, str], float] = {}
        self._archived: dict[UUID, asyncio.Event] = {}

    def expect(self, run: UUID) -> asyncio.Event:
        """What is set when the run is archived."""
        self._archived[run] = asyncio.Event()
        return self._archived[run]

    def hear(self, _: Any, __: int, ___: str, payload: str) -> None:
        now = time.perf_counter()
        event = json.loads(payload)
        run = UUID(event["id"])
        self.heard.setdefault((run, event["status"]), now)
        if event["archive_status"] == "ARCHIVED" and run in self._archived:
            self._archived[run].set()


async def react(bench: Bench) -> list[Figure]:
    """Single inserts on an idle machine, each 5 ms after the exchange before it is archived."""
    count = bench.pick(500, 100)
    ear = Ear()
    inserted: dict[UUID, float] = {}
    async with open_system(bench, orchestrators=1) as system:
        listener = await connect(system.dsn)
        await listener.add_listener(EVENTS, ear.hear)
        for number in range(-20, count):
            run = uuid4()
            archived = ear.expect(run)
            await system.connection.execute(INSERT, run, uuid4(), sentence(abs(number)))
            inserted[run] = time.perf_counter()
            await _wait(system, archived)
            await asyncio.sleep(GAP)
        await listener.close()
        runs = list(inserted)[20:]  # the first ones warm up
        rows = await system.connection.fetch(CLAIMS, runs)
    if missing := sum(row["trace"] is None for row in rows):
        raise MaasError("bench_no_trace", f"{missing} of {count} runs left no record")
    event_to_claim = [1000 * (ear.heard[run, "ANALYZING"] - ear.heard[run, "NEW"]) for run in runs]
    until_visible = [1000 * max(0.0, ear.heard[run, "ANALYZING"] - inserted[run]) for run in runs]
    return [
        *percentiles("claim: its clock - the insert's", [row["claim"] for row in rows], (50, 95), DISPATCH_MS),
        *percentiles("claim: event of the insert heard, to event of the claim", event_to_claim, (50, 95), DISPATCH_MS),
        *percentiles(
            "signal 1: clock of the record - the insert's", [row["trace"] for row in rows], (50, 95), TRACE_MS
        ),
        *percentiles("signal 1: insert committed, to record committed", until_visible, (50, 95), TRACE_MS),
    ]


async def drain(bench: Bench) -> list[Figure]:
    """Runs of 200 users inserted at once, until all are archived; by one orchestrator and by two."""
    one = await _drain(bench, 1)
    two = await _drain(bench, 2)
    return [*one, *two, Figure("two orchestrators against one", "x", two[0].value / one[0].value)]


async def _drain(bench: Bench, orchestrators: int) -> list[Figure]:
    count = bench.pick(2000, 500)
    users = [uuid4() for _ in range(USERS)]
    async with open_system(bench, orchestrators=orchestrators) as system:
        await system.connection.execute(INSERT_MANY, users[:20], [sentence(number) for number in range(20)])
        await system.wait_archived()
        before = system.usage()
        await system.connection.execute(
            INSERT_MANY,
            [users[number % USERS] for number in range(count)],
            [sentence(number) for number in range(count)],
        )
        inserted_at = await system.connection.fetchval(CLOCK)
        await system.wait_archived()
        seconds = await system.connection.fetchval(SPAN, inserted_at)
        used = system.usage() - before
    by = "1 orchestrator" if orchestrators == 1 else f"{orchestrators} orchestrators"
    return [Figure(f"runs archived, {by}", "runs/s", count / seconds), *used.figures(count, by)]


async def rest(bench: Bench) -> list[Figure]:
    """What an orchestrator costs that has nothing to do."""
    seconds = bench.pick(10, 5)
    async with open_system(bench, orchestrators=1) as system:
        await asyncio.sleep(1)
        before, began = system.usage(), time.perf_counter()
        await asyncio.sleep(seconds)
        used, took = system.usage() - before, time.perf_counter() - began
    figures = [
        ("CPU of an idle orchestrator", used.orchestrators, IDLE_PERCENT),
        ("CPU of Postgres beside it", used.postgres, None),
    ]
    measured = figures[: 2 if bench.sandbox.server else 1] if HAS_PROC else []
    return [Figure(name, "% of a core", 100 * seconds_used / took, limit) for name, seconds_used, limit in measured]


async def open_loop(bench: Bench) -> list[Figure]:
    """Inserts at a fixed rate, whether the earlier ones are done or not; each by another user."""
    seconds = bench.pick(10, 3)
    async with (
        open_system(bench, orchestrators=1) as system,
        asyncpg.create_pool(system.dsn, min_size=4, max_size=16) as pool,
    ):
        for number in range(20):
            await pool.execute(INSERT, uuid4(), uuid4(), sentence(number))
        await system.wait_archived()
        start = await system.connection.fetchval(CLOCK)
        began = time.perf_counter()
        inserts = []
        for number in range(RATE * seconds):
            await asyncio.sleep(max(0.0, began + number / RATE - time.perf_counter()))
            inserts.append(asyncio.create_task(pool.execute(INSERT, uuid4(), uuid4(), sentence(number))))
        await asyncio.gather(*inserts)
        offered = len(inserts) / (time.perf_counter() - began)
        await system.wait_archived()
        rows = await system.connection.fetch(TIMES, start)
    stages = {
        name: [1000 * (row[end] - row[begin]).total_seconds() for row in rows] for name, (begin, end) in STAGES.items()
    }
    for name, values in stages.items():
        bench.stages.setdefault(name, []).extend(values)
    return [
        Figure("offered", "runs/s", offered),
        *percentiles("insert to claim", stages["claim"], (50, 99)),
        *percentiles("insert to COMPLETED", stages["insert to COMPLETED"], (50, 99)),
        *percentiles("insert to archived", stages["insert to archived"], (50, 99)),
        Figure("stage Analyzer p95", "ms", percentile(stages["analyzer"], 0.95), STAGE_MS),
        Figure("stage Assembler p95", "ms", percentile(stages["assembler"], 0.95), STAGE_MS),
    ]


async def _wait(system: System, event: asyncio.Event) -> None:
    deadline = Deadline(PATIENCE, "one run")
    while not event.is_set():
        try:
            async with asyncio.timeout(1):
                await event.wait()
        except TimeoutError:
            await system.pause(deadline)
