"""Strangers: a hundred thousand attempts to read what is somebody else's, by every way to it; none may succeed.

`python -m tests.fuzz.strangers [--attempts N] [--seed N] [--out FILE.json]` prints what was tried and what came
through. Every tenth attempt is by the owner, and must succeed: a way that lets nobody in proves nothing.
"""

from __future__ import annotations

import random
import secrets
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import httpx2
import psycopg
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench.command import prepare_output, run_command
from bench.report import console, write_json
from bench.sandbox import notes, open_sandbox
from maas.settings import load_settings
from tests.fuzz.imports import KEPT_ALIVE, Planted, plant
from tests.fuzz.protocols import AgentRoute, McpRoute, OpenAIRoute
from tests.fuzz.residents import SETTINGS, Resident, settle
from tests.fuzz.roles import SqlRoute
from tests.fuzz.routes import AttackRoute, HttpRoute, NamingRoute, Tried
from tests.stack import Stack

CONTROL = 10  # one attempt in so many is by the owner
Progressed = Callable[[int], None]


@dataclass(slots=True)
class Tally:
    """Attempts by route and target; `breaches` are strangers who read, `shut` owners who did not."""

    strangers: Counter[tuple[str, str]] = field(default_factory=Counter)
    owners: Counter[tuple[str, str]] = field(default_factory=Counter)
    breaches: list[str] = field(default_factory=list)
    shut: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return not self.breaches and not self.shut and self.strangers.total() > 0 and self.owners.total() > 0

    def add(self, route: str, tried: Tried, is_own: bool) -> None:
        (self.owners if is_own else self.strangers)[route, tried.target] += 1
        if tried.is_read is not is_own:
            (self.shut if is_own else self.breaches).append(tried.request)

    def to_json(self) -> dict[str, object]:
        """The same figures."""
        return {
            "attempts": self.strangers.total(),
            "read": len(self.breaches),
            "controls": self.owners.total(),
            "controls_shut": len(self.shut),
            "findings": [*self.breaches, *self.shut][:100],
            "by_door": {" ".join(name): count for name, count in sorted(self.strangers.items())},
        }


@contextmanager
def open_routes(url: str, dsn: str) -> Iterator[list[AttackRoute]]:
    """Every way there is, for one thread."""
    with (
        httpx2.Client(base_url=url, timeout=120, trust_env=False, limits=KEPT_ALIVE) as client,
        psycopg.connect(dsn, autocommit=True) as connection,
    ):
        yield [
            HttpRoute(client),
            NamingRoute(client),
            OpenAIRoute(client),
            AgentRoute(client),
            McpRoute(client),
            SqlRoute(connection),
        ]


def intrude(
    stack: Stack, residents: Sequence[Resident], attempts: int, seed: int, on_progress: Progressed = lambda done: None
) -> Tally:
    """Try `attempts` times as somebody else, and one more in ten as the owner; the same seed tries the same."""
    tally, lock, workers = Tally(), threading.Lock(), 4

    def work(number: int) -> None:
        draw = random.Random(seed * workers + number)
        with open_routes(f"http://127.0.0.1:{stack.port}", stack.dsn) as routes:
            for count in range(number, attempts, workers):
                caller, owner = draw.sample(residents, 2)
                pairs = [(caller, owner)] + ([(owner, owner)] if count % CONTROL == 0 else [])
                for one, other in pairs:
                    route = draw.choice(routes)
                    tried = route.attempt(draw, one, other)
                    with lock:
                        tally.add(route.name, tried, one is other)
                on_progress(1)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))
    return tally


def strangers(
    attempts: Annotated[int, typer.Option(min=1, help="how many")] = 100_000,
    residents: Annotated[int, typer.Option(min=4, max=200, help="among so many users")] = 20,
    imports: Annotated[int, typer.Option(min=1, help="files that name what is somebody else's")] = 10_000,
    seed: Annotated[int | None, typer.Option(help="repeats the attempts of that run")] = None,
    out: Annotated[Path | None, typer.Option(help="file for the figures (JSON)")] = None,
) -> None:
    """Try to read what is somebody else's, and to change it by what one imports."""
    path = prepare_output(out) if out else None
    chosen = secrets.randbelow(1_000_000) if seed is None else seed
    columns = (TextColumn("tried"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with open_sandbox(load_settings()) as sandbox, sandbox.database() as dsn:
        logs = sandbox.folder / "logs"
        logs.mkdir()
        with Stack(dsn, logs, MAAS_POOL_SIZE="8", MAAS_USER_RATE="0", **SETTINGS) as stack:
            stack.start_server()
            orchestrator = stack.start_orchestrator()
            people = settle(stack, residents, chosen)
            with Progress(*columns, console=notes, transient=True) as progress:
                task = progress.add_task("", total=attempts)
                tally = intrude(stack, people, attempts, chosen, lambda done: progress.advance(task, done))
                task = progress.add_task("", total=imports)
                planted = plant(stack, orchestrator, people, imports, chosen, lambda done: progress.advance(task, done))
    report(tally, planted, chosen)
    if path is not None:
        write_json(path, {"seed": chosen, "residents": residents, **tally.to_json(), "imports": planted.to_json()})
    sys.exit(0 if tally.holds and planted.holds else 1)


def report(tally: Tally, planted: Planted, seed: int) -> None:
    """Print what was tried by each way, and the verdict."""
    table = Table("route", "target", "strangers", "owners")
    for name in sorted(tally.strangers.keys() | tally.owners.keys()):
        table.add_row(*name, str(tally.strangers[name]), str(tally.owners[name]))
    for (held, status), count in sorted(planted.files.items()):
        table.add_row("import", f"{held}: {status}", str(count), "")
    console.print(table)
    for finding in [*tally.breaches, *tally.shut, *planted.findings, *planted.shut][:20]:
        console.print(finding, markup=False)
    console.print(
        f"seed {seed}: {tally.strangers.total()} attempts, {len(tally.breaches)} came through; "
        f"{tally.owners.total()} by the owners, {len(tally.shut)} were shut out"
    )
    console.print(
        f"{planted.files.total()} files with ids of others, {len(planted.findings)} came through; "
        f"{planted.controls} honest ones, {len(planted.shut)} were shut out"
    )


if __name__ == "__main__":
    run_command(strangers, "strangers")
