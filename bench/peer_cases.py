"""What else works runs off on Postgres: each peer in its own process, over an empty database of the same server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import distributions
from typing import Any

from bench.peers.work import BEGUN
from bench.processes import ROOT, Deadline, Processes, cpu_seconds, family_seconds
from bench.system import Bench
from shared.errors import MaasError

PEERS = ("spec_literal", "dbos", "absurd", "pgqueuer", "procrastinate")
APART = ROOT / ".venv-peers"
TIMEOUT_S = 300.0
ANSWER = '{"peer"'


@dataclass(frozen=True, slots=True)
class PeerResult:
    """How a peer worked off `runs` runs; microseconds of CPU are those between the first claim and the last end."""

    name: str
    version: str | None
    runs: int
    seconds: float
    concurrency: int
    runs_per_second: float
    postgres_cpu_us_per_run: float
    client_cpu_us_per_run: float


async def best_of(bench: Bench, name: str, runs: int) -> PeerResult:
    """The fastest of the concurrencies that the peer's module names. Raises MaasError."""
    results = [await run_peer(bench, name, runs, number) for number in module_of(name).CONCURRENCIES]
    return max(results, key=lambda result: result.runs_per_second)


async def run_peer(bench: Bench, name: str, runs: int, concurrency: int) -> PeerResult:
    """Let a peer work off so many runs. Raises MaasError: `peer_missing`, or when it fails or takes too long."""
    if not is_installed(name):
        raise MaasError("peer_missing", f"{name} is left out: make bench-engine installs it")
    with (
        bench.sandbox.empty_database() as dsn,
        Processes(bench.sandbox.folder, dsn, bench.settings, PYTHONPATH=str(ROOT)) as processes,
    ):
        peer = processes.spawn(
            name,
            "-m",
            f"bench.peers.{name}",
            dsn,
            "--runs",
            str(runs),
            "--concurrency",
            str(concurrency),
            python=python_of(name),
        )
        deadline = Deadline(TIMEOUT_S, f"{runs} runs by {name}")
        idle = await _wait_for(BEGUN, peer, processes, deadline), _postgres(bench)
        ended = await _wait_for(ANSWER, peer, processes, deadline), _postgres(bench)
        lines = processes.output(peer).splitlines()
    result = json.loads(next(line for line in lines if line.startswith(ANSWER)))
    client, postgres = (1e6 * (now - then) / runs for now, then in zip(ended, idle, strict=True))
    seconds = result["seconds"]
    return PeerResult(name, result["version"], runs, seconds, concurrency, runs / seconds, postgres, client)


def is_installed(name: str) -> bool:
    """Whether the peer's package is where peers are installed; one without a package is our own code."""
    package = module_of(name).PACKAGE
    folders = [str(folder) for folder in APART.glob("lib/python*/site-packages")]
    return package is None or any(distributions(name=package, path=folders))


def python_of(name: str) -> str:
    """The Python that runs the peer."""
    return str(APART / "bin/python") if module_of(name).PACKAGE else sys.executable


def module_of(name: str) -> Any:
    """The peer's module: CONCURRENCIES, RUNS, PACKAGE."""
    return import_module(f"bench.peers.{name}")


def _postgres(bench: Bench) -> float:
    server = bench.sandbox.server
    return family_seconds(server.pid) if server else 0.0


async def _wait_for(words: str, peer: subprocess.Popen[bytes], processes: Processes, deadline: Deadline) -> float:
    """CPU seconds that the peer had used when it printed the words."""
    used = cpu_seconds(peer.pid)
    while words not in processes.output(peer):
        used = cpu_seconds(peer.pid)  # before poll(), after which an ended process is no longer known
        if peer.poll() is not None and words not in processes.output(peer):
            processes.check()
        deadline.check()
        await asyncio.sleep(0.01)
    return used
