"""Fuzz: everything that a client can send and should not, while users with words of their own are there.

`python -m tests.fuzz [--seconds N] [--seed N] [--out FILE.json]`: half of the time schemathesis sends what the
description allows and forbids, with other seeds each time; then nonsense goes over sockets, with hostile documents and
calls of an MCP server whose replies have no end. The exit status is 1 on any finding: a status of 500 and above, a word
of another user, a reply that never ends, memory that grows, a user without fault who waits; each with the command that
repeats it.
"""

from __future__ import annotations

import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench.command import prepare_output, run_command
from bench.report import console, write_json
from bench.sandbox import notes, open_sandbox
from maas.settings import load_settings
from tests.fuzz.foreign import offer_lies, server_settings
from tests.fuzz.proof import prove
from tests.fuzz.residents import SETTINGS, Resident, settle
from tests.fuzz.storm import Tally, throw
from tests.lying_mcp import lying_server
from tests.stack import Stack

GROWTH = 200.0  # MiB that the server's memory may grow by, once it is warm
ROUND = 60  # seconds of schemathesis with one seed


def resident_mib(pid: int) -> float:
    """Memory of a process that is not swapped out."""
    return _status_mib(pid, "VmRSS")


def peak_mib(pid: int) -> float:
    """The most of it that there was."""
    return _status_mib(pid, "VmHWM")


def _status_mib(pid: int, name: str) -> float:
    found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def fuzz(
    seconds: Annotated[int, typer.Option(min=10, help="how long")] = 600,
    seed: Annotated[int | None, typer.Option(help="repeats the draws of that run")] = None,
    out: Annotated[Path | None, typer.Option(help="file for the findings (JSON)")] = None,
) -> None:
    """Send what should not be sent."""
    path = prepare_output(out) if out else None
    chosen = secrets.randbelow(1_000_000) if seed is None else seed
    console.print(f"seed {chosen}: {seconds} s")
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with open_sandbox(load_settings()) as sandbox, sandbox.database() as dsn:
        logs = sandbox.folder / "logs"
        logs.mkdir()
        with (
            lying_server() as liar,
            Stack(dsn, logs, MAAS_POOL_SIZE="8", MAAS_USER_RATE="0", **SETTINGS) as stack,
        ):
            processes = {
                "server": stack.start_server(),
                "orchestrator": stack.start_orchestrator(**server_settings(liar)),
            }
            offer_lies(stack)
            people = settle(stack, 6, chosen)
            with Progress(*columns, console=notes, transient=True) as progress:
                task, began = progress.add_task("", total=seconds), time.monotonic()

                def is_over(share: float, words: str) -> bool:
                    passed = time.monotonic() - began
                    progress.update(task, description=words, completed=passed)
                    return passed >= seconds * share

                throw(stack.port, people[1:], chosen, lambda count: count >= 100)  # to be warm
                before = {name: resident_mib(process.pid) for name, process in processes.items()}
                rounds = list(
                    prove_again(stack.port, sandbox.folder, people, chosen, min(ROUND, seconds // 2), is_over)
                )
                tally = throw(stack.port, people[1:], chosen + 1, lambda count: is_over(1, "sockets"))
            tally.note_rounds(rounds)
            for name, process in processes.items():
                tally.note_memory(name, before[name], peak_mib(process.pid), GROWTH)
            if not tally.replies:
                tally.findings.append(("sockets", "there was no time to send anything over sockets; give more seconds"))
            if not liar.calls:
                tally.findings.append(("lies", "no tool of the lying server was called"))
            tally.findings += [("log", line) for line in stack.log().splitlines() if "request_crashed" in line][:20]
    report(tally, chosen)
    if path is not None:
        write_json(path, {"seed": chosen, "seconds": seconds, **tally.to_json()})
    sys.exit(1 if tally.findings else 0)


def prove_again(
    port: int, folder: Path, people: Sequence[Resident], seed: int, seconds: int, is_over: Callable[[float, str], bool]
) -> Iterator[tuple[int, str]]:
    """Rounds of schemathesis with a seed each until half of the time is over, as the first of the people."""
    own, *others = people
    words = {"FUZZ_USER": str(own.user_id), "FUZZ_FOREIGN": ",".join(one.secret for one in others)}
    while not is_over(0.5, "schemathesis"):
        seed += 1
        yield prove(f"http://127.0.0.1:{port}", folder, seed, 40, seconds, own.headers, words)


def report(tally: Tally, seed: int) -> None:
    """Print what came back, what was found, and the verdict."""
    table = Table("attack", "replies by status")
    for name in sorted({attack for attack, _ in tally.replies}):
        found = ", ".join(f"{status}: {n}" for (attack, status), n in sorted(tally.replies.items()) if attack == name)
        table.add_row(name, found)
    console.print(table)
    for words in tally.rounds:
        console.print(f"schemathesis: {words}", markup=False)
    for finding, command in tally.findings[:20]:
        console.print(f"{finding}\n  {command[:2_000]}", markup=False)
    memory = ", ".join(f"{name} {before:.0f} -> {after:.0f} MiB" for name, (before, after) in tally.memory.items())
    console.print(
        f"seed {seed}: {tally.replies.total()} requests over sockets, {len(tally.rounds)} rounds of schemathesis; "
        f"memory at most: {memory}; others answered within {tally.slowest_s:.1f} s; "
        f"{len(tally.findings)} findings"
    )


if __name__ == "__main__":
    run_command(fuzz, "fuzz")
