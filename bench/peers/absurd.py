"""Absurd: a task of four checkpointed steps that do nothing; its command line tool brings the schema."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg

from bench.peers.work import ANALYZE, Work, begin, run_peer

CONCURRENCIES = (4, 8, 16)
RUNS = 800
PACKAGE = "absurd-sdk"
UNIT = "task of four steps"
SETTINGS = {"concurrency is": "workers, each with a connection", "client": "asynchronous", "tasks of a worker": 10}
QUEUE = "runs"
STEPS = ("analyze", "assemble", "respond", "archive")
ENQUEUE = "select count(*) from generate_series(1, %s) n, absurd.spawn_task(%s, 'run', to_jsonb(n), '{}')"
DONE = """
select count(*), extract(epoch from max(r.completed_at))::float8
from absurd.t_runs t join absurd.r_runs r on r.run_id = t.last_attempt_run where t.state = 'completed'"""


async def nothing() -> None:
    return


async def run(_: object, context: Any) -> None:
    for name in STEPS:
        await context.step(name, nothing)


def work_off(work: Work) -> float:
    return asyncio.run(_work_off(work))


async def _work_off(work: Work) -> float:
    from absurd_sdk import AsyncAbsurd
    from absurdctl import BUNDLED_SCHEMA_SQL

    workers = [AsyncAbsurd(work.dsn, queue_name=QUEUE) for _ in range(work.concurrency)]
    for worker in workers:
        worker.register_task(name="run")(run)
    async with await psycopg.AsyncConnection.connect(work.dsn, autocommit=True) as connection:
        await connection.execute(BUNDLED_SCHEMA_SQL)
        await workers[0].create_queue(QUEUE)
        await connection.execute(ENQUEUE, (work.runs, QUEUE))
        await connection.execute(ANALYZE)
        began = begin()
        async with asyncio.TaskGroup() as working:
            for number, worker in enumerate(workers):
                tasks = SETTINGS["tasks of a worker"]
                working.create_task(worker.start_worker(worker_id=f"worker {number}", concurrency=tasks))
            done, ended = 0, began
            while done < work.runs:
                await asyncio.sleep(0.05)
                done, ended = await (await connection.execute(DONE)).fetchone() or (0, began)
            for worker in workers:
                worker.stop_worker()
        for worker in workers:
            await worker.close()
    work.check(done)
    return ended - began


if __name__ == "__main__":
    run_peer("absurd", PACKAGE, UNIT, SETTINGS, work_off)
