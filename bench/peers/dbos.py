"""DBOS Transact: a workflow of four recorded steps that do nothing, on a queue without limits."""

from __future__ import annotations

import threading
import time
from typing import Any

import psycopg

from bench.peers.work import ANALYZE, Work, begin, run_peer

CONCURRENCIES = (8, 32, 128)
RUNS = 250
PACKAGE = "dbos"
UNIT = "workflow of four steps"
SETTINGS = {"concurrency is": "max_executor_threads", "polling_interval_sec": 0.1}
QUEUE = "runs"
STEPS = ("analyze", "assemble", "respond", "archive")
DONE = "select count(*), max(completed_at) / 1000.0::float8 from dbos.workflow_status where status = 'SUCCESS'"


def nothing() -> None:
    return


def work_off(work: Work) -> float:
    from dbos import DBOS, DBOSClient
    from sqlalchemy import create_engine

    url = work.dsn.replace("postgresql://", "postgresql+psycopg://", 1)
    config: dict[str, Any] = {"name": "peer", "system_database_url": url, "max_executor_threads": work.concurrency}
    DBOS(config=config | {"log_level": "ERROR"})
    steps = [DBOS.step(name=name)(nothing) for name in STEPS]

    def run() -> None:
        for step in steps:
            step()

    DBOS.workflow(name="run")(run)
    DBOS.launch()
    DBOS.register_queue(QUEUE, polling_interval_sec=SETTINGS["polling_interval_sec"])
    while not any(thread.name == f"queue-worker-{QUEUE}" for thread in threading.enumerate()):
        time.sleep(0.02)
    client = DBOSClient(system_database_url=url)
    with create_engine(url).begin() as inserting:
        for _ in range(work.runs):
            client.enqueue_in_transaction(inserting, {"queue_name": QUEUE, "workflow_name": "run"})
        inserting.exec_driver_sql(ANALYZE)
        began = begin()
    done, ended = 0, began
    with psycopg.connect(work.dsn, autocommit=True) as connection:
        while done < work.runs:
            time.sleep(0.05)
            done, ended = connection.execute(DONE).fetchone() or (0, began)
    work.check(done)
    DBOS.destroy()
    return ended - began


if __name__ == "__main__":
    run_peer("dbos", PACKAGE, UNIT, SETTINGS, work_off)
