"""What happens to a run: how soon it is taken, answered and recorded, alone and under load."""

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
from bench.system import TIMEOUT_S, Bench, System, open_system
from maas.engine.listener import RUN_CHANNEL
from shared.db import connect
from shared.errors import MaasError

DISPATCH_MS = 10.0
TRACE_MS = 50.0
STAGE_MS = 3000.0
IDLE_PERCENT = 1.0
PRODUCT_RATE = 50
GAP = 0.005
INSERT = "insert into pipeline_runs (id, user_id, user_query) values ($1, $2, $3)"
INSERT_MANY = "insert into pipeline_runs (user_id, user_query) select * from unnest($1::uuid[], $2::text[])"
CLAIMS = """
select (extract(epoch from r.analyzing_at - r.created_at) * 1000)::float8 as claim,
  (extract(epoch from l.created_at - r.created_at) * 1000)::float8 as trace
from pipeline_runs r left join lsm_storage l on l.run_id = r.id where r.id = any($1::uuid[])"""
CLOCK = "select clock_timestamp()"
INBOX = "select exists (select from pipeline_runs where queue_state = -2)"
UNFINISHED_OF = "select exists (select from pipeline_runs where id = any($1::uuid[]) and queue_state < 2)"
RESPONDING = "select count(*) from pipeline_runs where queue_state = 1 and status = 'RESPONDING'"
TAKEN_OVER = "select count(*) from pipeline_runs where claimed_at > $1"
TAKEOVER = "select extract(epoch from max(claimed_at) - $1)::float8 from pipeline_runs where claimed_at > $1"
MILESTONES = {"claimed": "analyzing_at", "COMPLETED": "completed_at", "archived": "archived_at"}
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
TIMES = "select * from pipeline_runs where id = any($1::uuid[])"


class Ear:
    """Listens to `pipeline_events` and keeps when each event arrived, by run and status."""

    def __init__(self) -> None:
        self.received: dict[tuple[UUID, str], float] = {}
        self._archived: dict[UUID, asyncio.Event] = {}

    def expect(self, run: UUID) -> asyncio.Event:
        """What is set when the run is archived."""
        self._archived[run] = asyncio.Event()
        return self._archived[run]

    def hear(self, _: Any, __: int, ___: str, payload: str) -> None:
        now = time.perf_counter()
        event = json.loads(payload)
        run = UUID(event["id"])
        self.received.setdefault((run, event["status"]), now)
        if event["archive_status"] == "ARCHIVED" and run in self._archived:
            self._archived[run].set()


async def react(bench: Bench) -> list[Figure]:
    """Single inserts on an idle machine, each 5 ms after the exchange before it is archived."""
    count = bench.pick(500, 100)
    ear = Ear()
    inserted: dict[UUID, float] = {}
    async with open_system(bench, orchestrators=1) as system:
        listener = await connect(system.dsn)
        await listener.add_listener(RUN_CHANNEL, ear.hear)
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
    event_to_claim = [1000 * (ear.received[run, "ANALYZING"] - ear.received[run, "NEW"]) for run in runs]
    until_visible = [1000 * max(0.0, ear.received[run, "ANALYZING"] - inserted[run]) for run in runs]
    return [
        *percentiles("claim: its clock - the insert's", [row["claim"] for row in rows], (50, 95), DISPATCH_MS),
        *percentiles("claim: event of the insert heard, to event of the claim", event_to_claim, (50, 95), DISPATCH_MS),
        *percentiles(
            "signal 1: clock of the record - the insert's", [row["trace"] for row in rows], (50, 95), TRACE_MS
        ),
        *percentiles("signal 1: insert committed, to record committed", until_visible, (50, 95), TRACE_MS),
    ]


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


async def offered_50(bench: Bench) -> list[Figure]:
    """50 runs/s, each of another user, whether the earlier ones are done or not."""
    return _latencies(await _offer(bench, 50), 50, {"claimed": (10, 2), "COMPLETED": (30, 9), "archived": (None, None)})


async def offered_300(bench: Bench) -> list[Figure]:
    """300 runs/s."""
    return _latencies(
        await _offer(bench, 300), 300, {"claimed": (30, 10), "COMPLETED": (150, 50), "archived": (180, 60)}
    )


async def offered_to_the_product(bench: Bench) -> list[Figure]:
    """The same with the product's stages and its built-in model, and where the time goes."""
    rows = await _offer(bench, PRODUCT_RATE, noop=False)
    stages = {
        name: [1000 * (row[end] - row[begin]).total_seconds() for row in rows] for name, (begin, end) in STAGES.items()
    }
    for name, values in stages.items():
        bench.stages.setdefault(name, []).extend(values)
    return [
        *_latencies(rows, PRODUCT_RATE, dict.fromkeys(MILESTONES, (None, None)), ", product"),
        Figure("stage Analyzer p95", "ms", percentile(stages["analyzer"], 0.95), limit=STAGE_MS),
        Figure("stage Assembler p95", "ms", percentile(stages["assembler"], 0.95), limit=STAGE_MS),
    ]


async def hot_user(bench: Bench) -> list[Figure]:
    """What 1,000 others feel of one user who has 10,000 runs waiting."""
    waiting, others = bench.pick(10_000, 2000), bench.pick(1000, 200)
    without = _milliseconds(await _offer(bench, 100, count=others), "claimed")
    beside = _milliseconds(await _offer(bench, 100, count=others, waiting=waiting), "claimed")
    middle, tail = (percentile(beside, share) / percentile(without, share) for share in (0.5, 0.99))
    return [
        Figure(f"claim beside a user with {waiting:,} waiting, against without, p50", "x", middle, limit=1.5, aim=1.1),
        Figure(f"claim beside a user with {waiting:,} waiting, against without, p99", "x", tail),
    ]


async def takeover(bench: Bench) -> list[Figure]:
    """kill -9 of one of two orchestrators with runs in flight, until the other has claimed them all."""
    seconds = []
    async with open_system(bench, orchestrators=1, noop=True, BENCH_ANSWER_SECONDS="1") as system:
        for _ in range(bench.pick(5, 2)):
            users = [uuid4() for _ in range(16)]
            await system.connection.execute(INSERT_MANY, users, [sentence(n) for n in range(16)])
            deadline = Deadline(TIMEOUT_S, "the claim of 16 runs")
            while await system.connection.fetchval(RESPONDING) < 16:
                await system.pause(deadline)
            await system.start(server=False, orchestrators=1)
            began = await system.connection.fetchval(CLOCK)
            system.kill_first()
            while await system.connection.fetchval(TAKEN_OVER, began) < 16:
                await system.pause(deadline)
            seconds.append(await system.connection.fetchval(TAKEOVER, began))
            await system.wait_archived()
    return [
        Figure("takeover after kill -9, median", "s", percentile(seconds, 0.5), limit=2, aim=0.5),
        Figure("takeover after kill -9, slowest", "s", max(seconds), limit=2),
    ]


async def _offer(
    bench: Bench, rate: int, *, noop: bool = True, count: int | None = None, waiting: int = 0
) -> list[asyncpg.Record]:
    """Rows of the runs that were inserted at this rate, when all are archived; `waiting`: those of one user beside."""
    count = count or rate * bench.pick(10, 3)
    async with (
        open_system(bench, orchestrators=1, noop=noop) as system,
        asyncpg.create_pool(system.dsn, min_size=4, max_size=16) as pool,
    ):
        for number in range(20):
            await pool.execute(INSERT, uuid4(), uuid4(), sentence(number))
        await system.wait_archived()
        if waiting:
            user = uuid4()
            await system.connection.execute(INSERT_MANY, [user] * waiting, [sentence(n) for n in range(waiting)])
            deadline = Deadline(TIMEOUT_S, "the acceptance of the runs")
            while await system.connection.fetchval(INBOX):
                await system.pause(deadline)
        ids = [uuid4() for _ in range(count)]
        began = time.perf_counter()
        inserts = []
        for number, run in enumerate(ids):
            await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
            inserts.append(asyncio.create_task(pool.execute(INSERT, run, uuid4(), sentence(number))))
        await asyncio.gather(*inserts)
        deadline = Deadline(TIMEOUT_S, "the archiving of the offered runs")
        while await system.connection.fetchval(UNFINISHED_OF, ids):
            await system.pause(deadline)
        return list(await system.connection.fetch(TIMES, ids))


def _milliseconds(rows: list[asyncpg.Record], milestone: str) -> list[float]:
    end = MILESTONES[milestone]
    return [1000 * (row[end] - row["created_at"]).total_seconds() for row in rows]


def _latencies(
    rows: list[asyncpg.Record], rate: int, bounds: dict[str, tuple[float | None, float | None]], what: str = ""
) -> list[Figure]:
    figures = []
    for milestone, (limit, aim) in bounds.items():
        values = _milliseconds(rows, milestone)
        name = f"{rate} runs/s{what}: insert to {milestone}"
        figures.append(Figure(f"{name} p50", "ms", percentile(values, 0.5)))
        figures.append(Figure(f"{name} p99", "ms", percentile(values, 0.99), limit=limit, aim=aim))
    return figures


async def _wait(system: System, event: asyncio.Event) -> None:
    deadline = Deadline(TIMEOUT_S, "one run")
    while not event.is_set():
        try:
            async with asyncio.timeout(1):
                await event.wait()
        except TimeoutError:
            await system.pause(deadline)
