"""What a client sees over HTTP: how fast a request is accepted, and how soon the system is there."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from bench.http_load import Load, post_runs
from bench.processes import ROOT, Deadline, Processes
from bench.report import Figure, percentiles
from bench.sandbox import notes
from bench.system import Bench, System, free_port, is_ready, open_system
from bench.wrk import find_wrk, post_runs_by_wrk
from shared.errors import MaasError

ACCEPT_MS = 100.0
ACCEPT_RATE = 3000.0
CONNECTIONS = 64
RATE = 1000
ROWS = "select count(*) from pipeline_runs"
UP = "from main import cli; cli()"


async def post_one_by_one(bench: Bench) -> list[Figure]:
    """POST /v1/runs, one after the other, while an orchestrator answers them."""
    async with open_system(bench, server=True, orchestrators=1) as system:
        await post_runs(system.port, 1, count=5)
        load = await post_runs(system.port, 1, count=200)
    return percentiles("POST, one connection", load.ms, (50, 95, 99), ACCEPT_MS)


async def post_at_once(bench: Bench) -> list[Figure]:
    """POST /v1/runs on 64 connections; nobody answers, so that accepting alone is measured."""
    if find_wrk() is None:
        notes.print(
            "no wrk in the path, make bench-engine installs it: the load is made by Python, at the server's cost"
        )
    async with open_system(bench, server=True) as system:
        await post_runs(system.port, CONNECTIONS, count=4 * CONNECTIONS)
        before = system.usage()
        load = await post_for(bench, system, bench.pick(5, 2))
        used = system.usage() - before
        steady = await post_for(bench, system, bench.pick(5, 2), RATE)
    name, at_rate = f"POST, {CONNECTIONS} connections, by {load.client}", f"POST, {RATE} a second, by {steady.client}"
    return [
        Figure(name, "requests/s", load.rate, floor=ACCEPT_RATE, aim=2 * ACCEPT_RATE, scales=True),
        *percentiles(name, load.ms, (50, 99)),
        *used.figures(load.accepted),
        Figure(f"CPU of the client, {load.client}", "% of a core", load.client_cpu),
        Figure(f"{at_rate}: accepted", "1/s", steady.rate),
        *percentiles(at_rate, steady.ms, (50, 99), ACCEPT_MS, ACCEPT_MS / 5),
    ]


async def post_for(bench: Bench, system: System, seconds: int, rate: int = 0) -> Load:
    """A load by wrk, or by Python where there is no wrk. Raises MaasError unless each accepted request is a row."""
    rows = await system.connection.fetchval(ROWS)
    if program := find_wrk():
        load = await post_runs_by_wrk(program, bench.sandbox.folder, system.port, CONNECTIONS, seconds, rate)
    else:
        load = await post_runs(system.port, CONNECTIONS, seconds=seconds, rate=rate)
    if (rows := await system.connection.fetchval(ROWS) - rows) != load.accepted:
        raise MaasError("bench_lost_runs", f"{load.accepted} requests were accepted, but {rows} rows came of them")
    return load


async def start_installed(bench: Bench) -> list[Figure]:
    """`maas up` until /readyz counts an orchestrator: on an empty folder, then on the same one again."""
    folder = bench.sandbox.folder / f"up-{time.monotonic_ns()}"
    folder.mkdir()
    folder.chmod(0o755)
    first = await _up(bench, folder)
    return [
        Figure("maas up, empty folder", "s", first),
        Figure("maas up, prepared folder", "s", await _up(bench, folder)),
    ]


async def _up(bench: Bench, folder: Path) -> float:
    port = free_port()
    deadline = Deadline(60, "`maas up`")
    with Processes(folder, "", bench.settings, MAAS_DATA_DIR=str(folder), MAAS_PORT=str(port)) as processes:
        began = time.perf_counter()
        processes.spawn("up", "-c", UP, "up", PYTHONPATH=str(ROOT))
        while not await is_ready(port, orchestrators=1):
            deadline.check()
            processes.check()
            await asyncio.sleep(0.01)
        took = time.perf_counter() - began
    while any(folder.rglob("postmaster.pid")):  # the server ends a little after the last who used it
        deadline.check()
        await asyncio.sleep(0.02)
    return took
