"""What it costs to ask who calls, and what reads cost where every one is asked.

`python -m bench.access [--quick] --out FILE.json` posts requests by turns to three servers over one database, of which
one lets everybody in, one asks for keys and one for tokens. Then it reads from two that ask for keys, 500 times a
second whether or not they keep up, as a chat would: a latency counts from when its request was due. Every figure is
held to its gate.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import jwt
import typer
import uvloop

from bench.command import prepare_output, run_command
from bench.http_load import Caller
from bench.processes import Deadline, Processes, cpu_seconds, family_seconds
from bench.report import Figure, hold_gates, machine, percentile, percentiles, print_figures, write_json
from bench.sandbox import open_sandbox, server_version
from bench.sentences import sentence
from bench.system import Bench, free_port, is_ready
from maas import queries
from maas.settings import load_settings
from maas.users import NewKey, create_key
from shared.db import Database, open_database
from shared.errors import MaasError

SECRET = "a secret of the benchmark, long enough"
SETTINGS = {"none": {}, "keys": {}, "jwt": {"MAAS_JWT_SECRET": SECRET}}
POSTS, QUICK_POSTS = 3000, 400
POSTERS = 8
COST_MS, READ_MS = 0.3, 50.0
RATE, SECONDS, QUICK_SECONDS, WARM_UP = 500, 30, 3, 2
CONNECTIONS = 64
SHARERS = 2  # server processes that read, on one port
LOOKS = 12  # each connection finds one of them
READERS, QUICK_READERS = 20, 4
TURNS, QUICK_TURNS = 200, 100
MIX = (  # what a chat asks for while it is used: where an answer is, what was said; now and then what is remembered
    "run", "messages", "run", "conversation", "run", "memories", "run", "messages", "run", "conversation", "search",
    "run", "messages", "run", "conversation", "run", "memories", "messages", "conversation", "context",
)  # fmt: skip
ASKED = 3  # requests in the dialogue of each reader
BATCH = 100
TIMEOUT_S = 180.0


@dataclass(frozen=True, slots=True)
class Reader:
    """A user, what opens their memory at each server, and what there is to be read."""

    user_id: str
    shown: dict[str, str | None]
    run_id: str = ""
    conversation_id: str = ""

    def question(self, number: int) -> tuple[str, str, object]:
        """Name, path and body of a read; a GET has no body."""
        said = {"user_id": self.user_id, "query": sentence(number)}
        reads: dict[str, tuple[str, object]] = {
            "run": (f"/v1/runs/{self.run_id}", None),
            "memories": (f"/v1/memories?user_id={self.user_id}", None),
            "search": ("/v1/memories/search", said),
            "messages": (f"/v1/conversations/{self.conversation_id}/messages", None),
            "conversation": (f"/v1/conversations/{self.conversation_id}", None),
            "context": ("/v1/context", said),
        }
        name = MIX[number % len(MIX)]
        return name, *reads[name]


@dataclass(frozen=True, slots=True)
class Server:
    """Server processes on one port."""

    port: int
    pids: tuple[int, ...]


def access(
    out: Annotated[Path, typer.Option(help="file for the figures (JSON)")],
    quick: Annotated[bool, typer.Option("--quick", help="less of everything, within a minute")] = False,
) -> None:
    """Measure access control."""
    settings = load_settings()
    prepare_output(out)
    with open_sandbox(settings) as sandbox:
        about = machine(server_version(sandbox.server_dsn))
        figures = uvloop.run(measure(Bench(sandbox, settings, quick)))
    title = "access, on {cores} cores (load {load_before} before), Postgres {postgres}, Python {python}"
    print_figures(title.format(**about), figures, quick=quick)
    cases = {name: [figure.to_json() for figure in found] for name, found in figures.items()}
    write_json(out, {"machine": about, "quick": quick, "figures": cases})
    hold_gates(figures, quick=quick)


async def measure(bench: Bench) -> dict[str, list[Figure]]:
    """Both parts, each over a database of its own."""
    async with open_servers(bench, tuple(SETTINGS)) as (db, servers):
        posts = await post_by_turns(db, servers, bench.pick(POSTS, QUICK_POSTS))
    async with open_servers(bench, ("keys",), SHARERS, orchestrators=1) as (db, servers):
        readers = await fill(bench, db, servers["keys"].port)
        await read_steadily(bench, servers["keys"], readers, WARM_UP)  # connections are opened, statements prepared
        reads = await read_steadily(bench, servers["keys"], readers, bench.pick(SECONDS, QUICK_SECONDS))
    return {"POST, by turns": posts, f"{RATE} mixed reads a second, with keys, {SHARERS} servers on one port": reads}


@asynccontextmanager
async def open_servers(
    bench: Bench, modes: Sequence[str], sharers: int = 1, orchestrators: int = 0
) -> AsyncIterator[tuple[Database, dict[str, Server]]]:
    """For each mode so many servers on one port, over one fresh database, ready. Raises MaasError."""
    servers = {}
    usual = {"MAAS_MODEL": "extractive:builtin", "MAAS_USER_QUEUE_LIMIT": "100000"}
    with bench.sandbox.database() as dsn, Processes(bench.sandbox.folder, dsn, bench.settings, **usual) as processes:
        for mode in modes:
            port = free_port()
            shared = {"MAAS_AUTH": mode, "MAAS_PORT": str(port), "MAAS_SHARE_PORT": "on"}
            started = [processes.start("server.py", **shared, **SETTINGS[mode]) for _ in range(sharers)]
            servers[mode] = Server(port, tuple(process.pid for process in started))
        for _ in range(orchestrators):
            processes.start("main.py")
        deadline = Deadline(TIMEOUT_S, "the start of the processes")
        for server in servers.values():
            while not all([await is_ready(server.port, orchestrators) for _ in range(LOOKS)]):
                deadline.check()
                processes.check()
                await asyncio.sleep(0.02)
        async with open_database(dsn, 2, "maas bench") as db:
            yield db, servers


async def new_reader(db: Database) -> Reader:
    """A user with a key and a token of their own."""
    user_id = uuid4()
    token = jwt.encode({"sub": str(user_id), "role": "authenticated", "exp": time.time() + 3600}, SECRET, "HS256")
    key = await create_key(db, NewKey("bench", user_id=user_id), "bench")
    return Reader(str(user_id), {"none": None, "keys": key, "jwt": token})


async def post_by_turns(db: Database, servers: Mapping[str, Server], count: int) -> list[Figure]:
    """The same requests to each server, one after another on one connection each, each time another one first."""
    readers = [await new_reader(db) for _ in range(POSTERS)]
    ms: dict[str, list[float]] = {mode: [] for mode in servers}
    async with AsyncExitStack() as stack:
        callers = {mode: await stack.enter_async_context(Caller(one.port)) for mode, one in servers.items()}
        orders = cycle([[*servers][start:] + [*servers][:start] for start in range(len(servers))])
        for number, order in zip(range(-POSTERS, count), orders, strict=False):  # the first of each are not counted
            reader = readers[number % POSTERS]
            for mode in order:
                callers[mode].key = reader.shown[mode]
                began = time.perf_counter()
                status = await callers[mode].post("/v1/runs", {"user_id": reader.user_id, "query": sentence(number)})
                if number >= 0:
                    ms[mode].append((time.perf_counter() - began) * 1000)
                if status != 202:
                    raise MaasError("bench_refused", f"POST /v1/runs answered {status} instead of 202")
    figures = [figure for mode in servers for figure in percentiles(f"POST, MAAS_AUTH={mode}", ms[mode], (50, 99))]
    free = percentile(ms["none"], 0.5)
    added = ((mode, percentile(ms[mode], 0.5) - free) for mode in ("keys", "jwt"))
    return figures + [Figure(f"{mode} add to p50", "ms", cost, limit=COST_MS) for mode, cost in added]


async def fill(bench: Bench, db: Database, port: int) -> list[Reader]:
    """Users with much to remember and a dialogue each, all of it archived."""
    readers = [await new_reader(db) for _ in range(bench.pick(READERS, QUICK_READERS))]
    turns = bench.pick(TURNS, QUICK_TURNS)
    filled = []
    async with Caller(port) as caller:
        for place, reader in enumerate(readers):
            caller.key = reader.shown["keys"]
            whose: dict[str, Any] = {"user_id": reader.user_id}
            for first in range(0, turns, BATCH):
                said = [{"role": "user", "content": sentence(place * turns + first + one)} for one in range(BATCH)]
                await caller.post_for("/v1/memories", whose | {"turns": said, "conversation": f"talk {first}"})
            opened = await caller.post_for("/v1/conversations", whose)
            asked = [
                await caller.post_for(
                    "/v1/runs", whose | {"query": sentence(place + one), "conversation_id": opened["id"]}
                )
                for one in range(ASKED)
            ]
            filled.append(Reader(reader.user_id, reader.shown, asked[-1]["request_id"], opened["id"]))
    deadline = Deadline(TIMEOUT_S, "the archiving of what is to be read")
    while (row := await db.row(queries.queue)) is None or (
        row["inbox"] + row["waiting"] + row["runnable"] + row["in_flight"] > 0
    ):
        deadline.check()
        await asyncio.sleep(0.05)
    return filled


async def read_steadily(bench: Bench, server: Server, readers: Sequence[Reader], seconds: int) -> list[Figure]:
    """So many reads a second, each by the key of its user, each when it is due."""
    ms: dict[str, list[float]] = {}
    numbers = iter(range(RATE * seconds))
    before = _cpu(bench, server)
    began = time.perf_counter()

    async def read() -> None:
        async with Caller(server.port) as caller:
            for number in numbers:
                turn, place = divmod(number, len(readers))
                reader = readers[place]
                name, path, body = reader.question(turn + place)  # each is at another point of the mix
                caller.key = reader.shown["keys"]
                due = began + number / RATE
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                status = await caller.post(path, body) if body is not None else (await caller.get(path))[0]
                ms.setdefault(name, []).append((time.perf_counter() - due) * 1000)
                if status != 200:
                    raise MaasError("bench_refused", f"{path} answered {status} instead of 200")

    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(read())
    took = time.perf_counter() - began
    used = [now - then for now, then in zip(_cpu(bench, server), before, strict=True)]
    everything = [one for found in ms.values() for one in found]
    return [
        Figure("answered", "1/s", len(everything) / took),
        *percentiles("all reads", everything, (50, 99), READ_MS),
        *(figure for name in sorted(ms) for figure in percentiles(name, ms[name], (50, 99))),
        *(
            Figure(f"CPU of {who} a read", "ms", 1000 * seconds / len(everything))
            for who, seconds in zip(("the servers", "Postgres", "the client"), used, strict=True)
        ),
    ]


def _cpu(bench: Bench, server: Server) -> tuple[float, float, float]:
    """Seconds that the servers, Postgres and this process have used; 0 for a Postgres that is not ours."""
    postgres = bench.sandbox.server.pid if bench.sandbox.server else None
    return sum(map(cpu_seconds, server.pids)), family_seconds(postgres) if postgres else 0.0, time.process_time()


if __name__ == "__main__":
    run_command(access)
