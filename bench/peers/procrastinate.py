"""Procrastinate: one job that does nothing a run; a lock a user keeps the user's jobs one after another."""

from __future__ import annotations

import asyncio

from bench.peers.work import ANALYZE, Work, begin, run_peer

CONCURRENCIES = (1, 10, 30)
RUNS = 2000
PACKAGE = "procrastinate"
UNIT = "one job with a lock a user"
SETTINGS = {
    "concurrency is": "jobs at a time in one worker",
    "connector": "psycopg, asynchronous",
    "delete_jobs": "never",
}
DONE = """
select count(*) as done, extract(epoch from max(at))::float8 as ended
from procrastinate_events where type = 'succeeded'"""


async def nothing() -> None:
    return


def work_off(work: Work) -> float:
    return asyncio.run(_work_off(work))


async def _work_off(work: Work) -> float:
    from procrastinate import App, PsycopgConnector

    app = App(connector=PsycopgConnector(conninfo=work.dsn))
    task = app.task(name="run")(nothing)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for number in range(work.runs):
            await task.configure(lock=f"user {number % work.users}").defer_async()
        await app.connector.execute_query_async(ANALYZE)
        began = begin()
        await app.run_worker_async(concurrency=work.concurrency, wait=False)
        row = await app.connector.execute_query_one_async(DONE)
    work.check(row["done"])
    return float(row["ended"] - began)


if __name__ == "__main__":
    run_peer("procrastinate", PACKAGE, UNIT, SETTINGS, work_off)
