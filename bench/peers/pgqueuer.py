"""PgQueuer: one job that does nothing a run."""

from __future__ import annotations

import asyncio

import asyncpg
import uvloop

from bench.peers.work import ANALYZE, Work, begin, run_peer

CONCURRENCIES = (1, 2, 5)
RUNS = 20_000
PACKAGE = "pgqueuer"
UNIT = "one job"
SETTINGS = {"concurrency is": "queue managers, each with a connection", "driver": "asyncpg", "batch_size": 10}
DONE = "select count(*), extract(epoch from max(created))::float8 from pgqueuer_log where status = 'successful'"


async def nothing(_: object) -> None:
    return


def work_off(work: Work) -> float:
    return uvloop.run(_work_off(work))


async def _work_off(work: Work) -> float:
    from pgqueuer.db import AsyncpgDriver
    from pgqueuer.qm import QueueManager
    from pgqueuer.queries import Queries
    from pgqueuer.types import QueueExecutionMode

    connections = [await asyncpg.connect(work.dsn) for _ in range(work.concurrency)]
    drivers = [AsyncpgDriver(connection) for connection in connections]
    queries = Queries(drivers[0])
    await queries.install()
    await queries.enqueue(["run"] * work.runs, [None] * work.runs, [0] * work.runs)
    managers = [QueueManager(Queries(driver)) for driver in drivers]
    for manager in managers:
        manager.entrypoint("run")(nothing)
    await drivers[0].execute(ANALYZE)
    began = begin()
    mode = QueueExecutionMode.drain
    await asyncio.gather(*(manager.run(batch_size=SETTINGS["batch_size"], mode=mode) for manager in managers))
    connection = await asyncpg.connect(work.dsn)
    done, ended = await connection.fetchrow(DONE)
    work.check(done)
    await connection.close()
    return float(ended - began)


if __name__ == "__main__":
    run_peer("pgqueuer", PACKAGE, UNIT, SETTINGS, work_off)
