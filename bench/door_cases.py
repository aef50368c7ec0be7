"""What a client feels at the door: how fast a request is accepted, and how soon the system is there."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from bench.http_load import post_runs
from bench.processes import ROOT, Deadline, Processes
from bench.report import Figure, percentiles
from bench.system import Bench, free_port, is_ready, open_system

ACCEPT_MS = 100.0
UP = "from main import cli; cli()"


async def post_one_by_one(bench: Bench) -> list[Figure]:
    """POST /v1/runs, one after the other, while an orchestrator answers them."""
    async with open_system(bench, server=True, orchestrators=1) as system:
        await post_runs(system.port, 1, count=5)
        load = await post_runs(system.port, 1, count=200)
    return percentiles("POST, one connection", load.ms, (50, 95, 99), ACCEPT_MS)


async def post_at_once(bench: Bench) -> list[Figure]:
    """POST /v1/runs on 64 connections; nobody answers, so that accepting alone is measured."""
    async with open_system(bench, server=True) as system:
        await post_runs(system.port, 64, count=256)
        before = system.usage()
        load = await post_runs(system.port, 64, seconds=bench.pick(5, 2))
        used = system.usage() - before
    return [
        Figure("POST, 64 connections", "requests/s", load.rate),
        *percentiles("POST, 64 connections", load.ms, (50, 99)),
        *used.figures(len(load.ms)),
        Figure("CPU of the client, which is Python", "% of a core", load.client_cpu),
    ]


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
