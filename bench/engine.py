"""A figure of the engine: how fast it accepts, reacts and works, by the real processes over a real database.

`python -m bench.engine [--quick] --out FILE.json` prints a table, writes the same figures as JSON and, where matplotlib
is installed, a PNG beside it. Every figure is the median of three repetitions, with --quick of one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import asyncpg
import psycopg
import typer
import uvloop
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.calibration import calibrate
from bench.command import prepare_output, run_command
from bench.door_cases import post_at_once, post_one_by_one, start_installed
from bench.peer_cases import compare
from bench.plot import plot_stages
from bench.report import Figure, console, machine, median_of, print_table, write_json
from bench.run_cases import RATE, drain, open_loop, react, rest
from bench.sandbox import notes, open_sandbox
from bench.system import Bench
from shared.errors import MaasError
from shared.settings import load_settings

Case = Callable[[Bench], Awaitable[list[Figure]]]
Measured = list[tuple[Figure, list[float]]]
CASES: tuple[tuple[str, Case], ...] = (
    ("accept", post_one_by_one),
    ("accept at once", post_at_once),
    ("react", react),
    ("work off", drain),
    (f"open loop, {RATE} runs/s", open_loop),
    ("start", start_installed),
    ("rest", rest),
    ("compare", compare),
)
QUICK_SECONDS = 42.0  # no case begins later, and none takes a quarter of a minute
SERVER = "select current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit')"


@dataclass(slots=True)
class Result:
    """Figures and failures by case, and the cases that there was no time for."""

    figures: dict[str, Measured] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def engine(
    out: Annotated[Path, typer.Option(help="file for the figures (JSON); a plot goes beside it")],
    quick: Annotated[bool, typer.Option("--quick", help="less of everything, within a minute")] = False,
    case: Annotated[list[str] | None, typer.Option(help="only cases whose name begins so")] = None,
) -> None:
    """Measure the engine."""
    cases = [(name, run) for name, run in CASES if not case or name.startswith(tuple(case))]
    if not cases:
        raise MaasError("bad_parameter", f"--case: there is none of that name; cases are {[name for name, _ in CASES]}")
    settings = load_settings()
    prepare_output(out)
    until = time.monotonic() + QUICK_SECONDS if quick else math.inf
    with open_sandbox(settings) as sandbox:
        with psycopg.connect(sandbox.server_dsn) as connection:
            row = connection.execute(SERVER).fetchone()
        assert row is not None
        about = machine(row[0]) | {"fsync": row[1], "synchronous_commit": row[2]}
        bench = Bench(sandbox, settings, quick)
        result = uvloop.run(measure(bench, cases, until))
    _report(about, result)
    if bench.stages and plot_stages(bench.stages, f"A run at {RATE} runs/s, stage by stage", out.with_suffix(".png")):
        console.print(f"plot: {out.with_suffix('.png')}", markup=False, soft_wrap=True)
    figures = {name: [figure.to_json(values) for figure, values in found] for name, found in result.figures.items()}
    write_json(
        out,
        {
            "machine": about,
            "quick": quick,
            "figures": figures,
            "failures": result.failures,
            "left_out": result.left_out,
        },
    )
    if result.failures:
        raise MaasError("bench_failed", "; ".join(f"{name}: {cause}" for name, cause in result.failures.items()))


async def measure(bench: Bench, cases: list[tuple[str, Case]], until: float) -> Result:
    """Calibrate, then measure case by case; none begins after `until` on the monotonic clock."""
    repetitions = bench.pick(3, 1)
    result = Result()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=notes) as progress:
        task = progress.add_task("calibration", total=repetitions * (1 + len(cases)))
        calibrations = [await calibrate(bench.sandbox, bench.pick(3, 1))]
        progress.advance(task)
        for name, run in cases:
            if time.monotonic() > until or (bench.quick and run is compare):
                result.left_out.append(name)
                continue
            progress.update(task, description=name)
            found = []
            try:
                for _ in range(repetitions):
                    found.append(await run(bench))
                    progress.advance(task)
                result.figures[name] = median_of(found)
            except (MaasError, OSError, asyncpg.PostgresError) as error:
                result.failures[name] = str(error) or repr(error)
        while len(calibrations) < repetitions:
            progress.update(task, description="calibration")
            calibrations.append(await calibrate(bench.sandbox, bench.pick(3, 1)))
            progress.advance(task)
    result.figures = {"calibration": median_of(calibrations)} | result.figures
    result.figures["ratios"] = ratios(result.figures)
    return result


def ratios(measured: dict[str, Measured]) -> Measured:
    """Rates as a share of the durable inserts that the same machine did: comparable where rates are not."""
    if not measured["calibration"]:
        return []
    unit, _ = measured["calibration"][0]
    return [
        (Figure(f"{figure.name}, against {unit.name}", "x", figure.value / unit.value), [])
        for name, found in measured.items() if name != "calibration"
        for figure, _ in found if figure.unit in ("runs/s", "requests/s") and figure.name != "offered"
    ]  # fmt: skip


def _report(about: Mapping[str, object], result: Result) -> None:
    title = "engine, on {cores} cores (load {load_before} before), Postgres {postgres}, fsync {fsync}, Python {python}"
    rows: list[tuple[object, ...]] = []
    for name, found in ((name, found) for name, found in result.figures.items() if found):
        rows.append((f"{name}:", None, None, None))
        for figure, _ in found:
            rows.append((f"  {figure.name}", figure.value, figure.unit, figure.bound))
    print_table(title.format(**about), ("", "median", "unit", "bound"), rows)
    if result.left_out:
        console.print(f"left out, the minute is over: {', '.join(result.left_out)}; without --quick they are measured")


if __name__ == "__main__":
    run_command(engine)
