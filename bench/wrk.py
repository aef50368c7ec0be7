"""wrk, a compiled HTTP client, so that the client takes less of the machine than what is measured."""

from __future__ import annotations

import asyncio
import json
import resource
import shutil
from pathlib import Path

from bench.http_load import Load
from bench.processes import ROOT
from bench.sentences import sentence
from shared.errors import MaasError

SCRIPT = ROOT / "bench" / "post_runs.lua"
QUERIES = 100
TIMEOUT_S = 1  # seconds for the last answers


def find_wrk() -> str | None:
    """The program, if it is in the path."""
    return shutil.which("wrk")


async def post_runs_by_wrk(
    program: str, folder: Path, port: int, connections: int, seconds: int, rate: int = 0
) -> Load:
    """POST /v1/runs on so many connections: each when the last is answered, or so many a second. Raises MaasError."""
    queries = folder / "queries.txt"
    queries.write_text("".join(f"{json.dumps(sentence(number))}\n" for number in range(QUERIES)))
    threads = str(connections if rate else 1)
    before = _cpu_of_ended()
    process = await asyncio.create_subprocess_exec(
        program,
        "-t",
        threads,
        "-c",
        str(connections),
        "-d",
        f"{seconds + TIMEOUT_S}s",
        "-s",
        str(SCRIPT),
        f"http://127.0.0.1:{port}",
        "--",
        str(seconds),
        str(rate),
        threads,
        str(queries),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    lines = output.decode(errors="replace").splitlines()
    if process.returncode or not lines or not lines[-1].startswith("{"):
        raise MaasError("bench_wrk", f"wrk ended with status {process.returncode}: {' '.join(lines[-3:])}")
    found = json.loads(lines[-1])
    if found["refused"] or found["lost"]:
        refused = f"{found['refused']} requests were answered otherwise than 202, {found['lost']} not at all"
        raise MaasError("bench_refused", f"POST /v1/runs: {refused}")
    cpu = 100 * (_cpu_of_ended() - before) / found["seconds"]
    return Load("wrk", found["accepted"], found["seconds"], found["ms"], cpu)


def _cpu_of_ended() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
