"""A figure of the engine: how fast it accepts, reacts and works, by the real processes over a real database.

`python -m bench.engine [--quick] --out FILE.json` prints a table, writes the same figures as JSON and, where matplotlib
is installed, a PNG beside it. Every figure is the median of its case's repetitions, with --quick of one; what is
compared with each other is measured in turns. It exits with 1 and names every gate that was missed; with --quick, which
is for a loaded machine, too, the gates of times and rates are shown and not held.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import asyncpg
import psycopg
import typer
import uvloop
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.calibration import calibrate
from bench.command import prepare_output, run_command
from bench.drain_cases import bare_queue, everything_on, grown_table, long_queue, product_path
from bench.http_cases import post_at_once, post_one_by_one, start_installed
from bench.peer_cases import PEERS, is_installed
from bench.plot import plot_rates, plot_stages
from bench.report import Figure, console, machine, median_of, missed_gates, print_figures, write_json
from bench.run_cases import hot_user, offered_50, offered_300, offered_to_the_product, react, rest, takeover
from bench.sandbox import notes, open_sandbox
from bench.system import Bench
from maas.settings import load_settings
from shared.errors import MaasError

Measured = list[tuple[Figure, list[float]]]


@dataclass(frozen=True, slots=True)
class Case:
    """Something to measure, and how often."""

    name: str
    run: Callable[[Bench], Awaitable[list[Figure]]]
    repetitions: int = 5
    is_quick: bool = False


CASES = (
    Case("accept", post_one_by_one, 3, is_quick=True),
    Case("accept at once", post_at_once, 5, is_quick=True),
    Case("react", react, 3, is_quick=True),
    Case("bare queue", bare_queue),
    Case("everything on", everything_on),
    Case("product path", product_path, 5, is_quick=True),
    Case("50 runs/s offered", offered_50),
    Case("300 runs/s offered", offered_300),
    Case("product, 50 runs/s offered", offered_to_the_product, 3, is_quick=True),
    Case("a hot user", hot_user),
    Case("a grown table", grown_table, 3),
    Case("a long queue", long_queue, 3),
    Case("takeover", takeover, 3),
    Case("start", start_installed, 3, is_quick=True),
    Case("rest", rest, 3, is_quick=True),
)
CALIBRATION = 2300.0  # commits/s that the floors of rates are meant for
QUICK_SECONDS = 42.0  # no case begins later, and none takes a quarter of a minute
SERVER = "select current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit')"


@dataclass(slots=True)
class Result:
    """Figures and failures by case, and the cases that there was no time for."""

    figures: dict[str, Measured] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    @property
    def cases(self) -> dict[str, list[Figure]]:
        """The medians by case."""
        return {name: [figure for figure, _ in found] for name, found in self.figures.items()}


def engine(
    out: Annotated[Path, typer.Option(help="file for the figures (JSON); a plot goes beside it")],
    quick: Annotated[bool, typer.Option("--quick", help="less of everything, within a minute")] = False,
    case: Annotated[list[str] | None, typer.Option(help="only cases whose name begins so")] = None,
) -> None:
    """Measure the engine."""
    cases = [one for one in CASES if (one.name.startswith(tuple(case)) if case else one.is_quick or not quick)]
    if not cases:
        raise MaasError("bad_parameter", f"--case: there is none of that name; cases are {[one.name for one in CASES]}")
    for name in PEERS:
        if not quick and not is_installed(name):
            notes.print(f"left out: the comparison with {name}; make bench-engine installs it", markup=False)
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
    _report(about, result, quick)
    rates = {
        figure.name: figure.value for found in result.figures.values() for figure, _ in found if figure.unit == "runs/s"
    }
    for picture, is_drawn in (
        (out.with_suffix(".png"), plot_rates(rates, "Runs a second", out.with_suffix(".png"))),
        (
            out.with_suffix(".stages.png"),
            plot_stages(bench.stages, "A run of the product at 50 runs/s", out.with_suffix(".stages.png")),
        ),
    ):
        if is_drawn:
            console.print(f"plot: {picture}", markup=False, soft_wrap=True)
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
    failures = [f"{name}: {cause}" for name, cause in result.failures.items()]
    if wrong := failures + missed_gates(result.cases, quick=quick):
        raise MaasError("bench_failed", "; ".join(wrong))


async def measure(bench: Bench, cases: Sequence[Case], until: float) -> Result:
    """Calibrate before, between and after; measure case by case, of which none begins after `until`."""
    result = Result()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=notes) as progress:
        total = sum(1 if bench.quick else case.repetitions for case in cases)
        task = progress.add_task("calibration", total=total)
        calibrations = [await calibrate(bench.sandbox, bench.pick(3, 1))]
        for case in cases:
            if time.monotonic() > until:
                result.left_out.append(case.name)
                continue
            progress.update(task, description=case.name)
            found = []
            try:
                for _ in range(1 if bench.quick else case.repetitions):
                    found.append(await case.run(bench))
                    progress.advance(task)
                result.figures[case.name] = median_of(found)
            except (MaasError, OSError, asyncpg.PostgresError) as error:
                result.failures[case.name] = str(error) or repr(error)
            if not bench.quick:
                calibrations.append(await calibrate(bench.sandbox, 2))
    result.figures = {"calibration": median_of(calibrations)} | result.figures
    if on_our_disk := scaled(result.figures):
        # Their floors are meant for that disk: what is held to them are the scaled rates.
        result.figures = {name: [_without_floor(*one) for one in found] for name, found in result.figures.items()}
        result.figures["scaled"] = on_our_disk
    return result


def scaled(measured: Mapping[str, Measured]) -> Measured:
    """The rates that depend on the disk, as they would be on one that does 2,300 commits/s by the calibration."""
    if not measured["calibration"]:
        return []
    unit, _ = measured["calibration"][0]
    return [
        (
            replace(
                figure,
                name=f"{figure.name}, on a disk of {CALIBRATION:,.0f} commits/s",
                aim=None,
                value=figure.value * CALIBRATION / unit.value,
            ),
            [],
        )
        for found in measured.values()
        for figure, _ in found
        if figure.scales
    ]


def _without_floor(figure: Figure, values: list[float]) -> tuple[Figure, list[float]]:
    return (replace(figure, floor=None) if figure.scales else figure), values


def _report(about: Mapping[str, object], result: Result, quick: bool) -> None:
    title = "engine, on {cores} cores (load {load_before} before), Postgres {postgres}, fsync {fsync}, Python {python}"
    print_figures(title.format(**about), result.cases, quick=quick)
    if result.left_out:
        console.print(f"left out, the minute is over: {', '.join(result.left_out)}; without --quick they are measured")


if __name__ == "__main__":
    run_command(engine)
