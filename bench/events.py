"""How soon, and whether at all, what runs say reaches those who follow them.

`python -m bench.events [--quick] --out FILE.json` puts runs in flight, follows each over a connection of its own, and
has every run say something again and again, all at a steady pace. It counts what arrived, in which order, and how long
after it was said: to be written, committed, rung, read and sent. And how much memory the server took.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID, uuid4

import typer
import uvloop

from bench.command import prepare_output, run_command
from bench.processes import Deadline
from bench.report import Figure, hold_gates, machine, percentiles, print_figures, write_json
from bench.sandbox import open_sandbox, server_version
from bench.sentences import sentence
from bench.system import Bench, System, open_system
from maas.engine.events import EventLog, EventType
from maas.settings import load_settings
from shared.db import open_database

FOLLOWERS, QUICK_FOLLOWERS = 1000, 200
ROUNDS, QUICK_ROUNDS = 20, 5
PACE = 1.0  # seconds in which every run says something once
TIMEOUT_S = 120.0
MEMORY_MB = 300.0
INSERT = """
insert into pipeline_runs (id, user_id, user_query) select id, id, 'Tell me more.' from unnest($1::uuid[]) as u(id)"""
REGISTER = "select maas_register('bench', 1, '{analyzer}', 1, '1 hour')"
CLAIM = "select id, attempt from maas_step($1, '{NEW}', $2) where verdict = 'claimed'"
FAIL = "select maas_step($1, '{NEW}', 0, $2)"


class Follower:
    """One connection that follows one run: the numbers that arrived, and the ms that each took; `last` is a type."""

    def __init__(self, port: int, run_id: UUID) -> None:
        self._port = port
        self._run_id = run_id
        self.received: list[int] = []
        self.ms: list[float] = []
        self.last = ""
        self.is_there = asyncio.Event()

    async def follow(self) -> None:
        """Return at the end of the stream."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            writer.write(f"GET /v1/runs/{self._run_id}/events HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
            while line := await reader.readline():
                if line.startswith(b"event: "):
                    self.last = line[7:].strip().decode()
                    self.is_there.set()
                elif line.startswith(b"data: ") and self.last == "text":
                    said = json.loads(line[6:])
                    self.received.append(said["number"])
                    self.ms.append(1000 * (time.time() - said["at"]))
                elif line.startswith(b"data: ") and self.last in ("done", "error"):
                    return
        finally:
            writer.close()


def events(
    out: Annotated[Path, typer.Option(help="file for the figures (JSON)")],
    quick: Annotated[bool, typer.Option("--quick", help="two hundred followers, within a minute")] = False,
    followers: Annotated[int | None, typer.Option(min=1, help="how many runs are followed")] = None,
) -> None:
    """Follow many runs at once, count what arrives."""
    settings = load_settings()
    prepare_output(out)
    with open_sandbox(settings) as sandbox:
        bench = Bench(sandbox, settings, quick)
        about = machine(server_version(sandbox.server_dsn))
        count = followers or bench.pick(FOLLOWERS, QUICK_FOLLOWERS)
        figures = uvloop.run(measure(bench, count))
    title = "events, on {cores} cores (load {load_before} before), Postgres {postgres}, Python {python}"
    print_figures(title.format(**about), figures, quick=quick)
    cases = {name: [figure.to_json() for figure in found] for name, found in figures.items()}
    write_json(out, {"machine": about, "quick": quick, "followers": count, "figures": cases})
    hold_gates(figures, quick=quick)


async def measure(bench: Bench, count: int) -> dict[str, list[Figure]]:
    """Runs in flight, a follower each, and words for all of them at a steady pace."""
    rounds = bench.pick(ROUNDS, QUICK_ROUNDS)
    expected = count * rounds
    async with open_system(bench, server=True) as system, asyncio.TaskGroup() as group:
        alone = system.server_memory_mb()
        owner, runs = await hold_runs(system, count)
        followers = [Follower(system.port, run_id) for run_id in runs]
        ends = [group.create_task(one.follow()) for one in followers]
        deadline = Deadline(TIMEOUT_S, "the arrival of all followers")
        while not all(one.is_there.is_set() for one in followers):
            await system.pause(deadline)
        used = system.usage()
        await speak(bench, system, runs, rounds)
        deadline = Deadline(TIMEOUT_S, "the delivery of all events")
        while sum(len(one.received) for one in followers) < expected:
            await system.pause(deadline)
        used = system.usage() - used
        memory = system.server_memory_mb()
        await system.connection.execute(FAIL, owner, [_failed(*run) for run in runs.items()])
        await asyncio.gather(*ends)
    received = sum(one.received == list(range(rounds)) for one in followers)
    return {
        f"{count:,} followers, {count / PACE:,.0f} events a second": [
            Figure("events delivered", "", sum(len(one.received) for one in followers), floor=expected),
            Figure("followers that heard all, once, in order", "", received, floor=count),
            Figure("followers that heard the end", "", sum(one.last == "error" for one in followers), floor=count),
            *percentiles("from the word to the client", [ms for one in followers for ms in one.ms], (50, 95)),
            Figure("memory of the server", "MB", memory, limit=MEMORY_MB),
            Figure("memory of a follower", "kB", 1000 * (memory - alone) / count),
            Figure("CPU of the server an event", "ms", 1000 * used.server / expected),
            Figure("CPU of Postgres an event", "ms", 1000 * used.postgres / expected),
        ]
    }


async def hold_runs(system: System, count: int) -> tuple[int, dict[UUID, int]]:
    """An owner, and its runs in flight with the attempt of each."""
    await system.connection.execute(INSERT, [uuid4() for _ in range(count)])
    owner = await system.connection.fetchval(REGISTER)
    runs: dict[UUID, int] = {}
    while len(runs) < count:
        rows = await system.connection.fetch(CLAIM, owner, count - len(runs))
        runs |= {row["id"]: row["attempt"] for row in rows}
    return owner, runs


async def speak(bench: Bench, system: System, runs: Mapping[UUID, int], rounds: int) -> None:
    """Every run says a number in each round, one after another."""
    async with (
        open_database(system.dsn, bench.settings.database.pool_size, "maas bench") as db,
        asyncio.TaskGroup() as group,
    ):
        log = EventLog(db)
        began = time.perf_counter()
        for number in range(rounds):
            for place, (run_id, attempt) in enumerate(runs.items()):
                due = began + PACE * (number + place / len(runs))
                if (pause := due - time.perf_counter()) > 0:
                    await asyncio.sleep(pause)
                said = {"delta": sentence(number), "number": number, "at": time.time()}
                group.create_task(log.add(run_id, attempt, EventType.TEXT, said))


def _failed(run_id: UUID, attempt: int) -> dict[str, Any]:
    return {"id": str(run_id), "attempt": attempt, "outcome": "failed", "code": "bench", "message": "over", "calls": []}


if __name__ == "__main__":
    run_command(events)
