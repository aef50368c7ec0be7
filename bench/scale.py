"""How search grows: a million logs of ten thousand users, and two users who have very many.

`python -m bench.scale [--quick] [--keep DIR] --out FILE.json` fills two databases (minutes; `--keep` saves them for the
next time), prints a table, writes the same figures as JSON, the plans of the searches as text and a plot beside it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

import asyncpg
import typer
import uvloop
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.command import prepare_output, run_command
from bench.corpus import Corpus
from bench.fresh_cases import fresh_logs, write_cost
from bench.plans import explain
from bench.plot import plot_growth
from bench.report import Figure, console, hold_gates, machine, print_figures, write_json
from bench.sandbox import notes, server_version
from bench.search_cases import against_small, at_once, by_size, large_users, ordinary_users
from bench.searches import Scale
from bench.tables import Tables, is_loaded, load, open_tables, sizes
from maas.settings import Settings, load_settings
from shared.db import open_database
from shared.errors import MaasError

LOGS, QUICK_LOGS, LEAST_LOGS = 1_000_000, 40_000, 1000
SECONDS = 20.0  # of a series of searches, for a million logs; a smaller table gets less
Case = Callable[[Scale], Awaitable[list[Figure]]]
CASES: dict[str, Case] = {
    "ordinary users": ordinary_users,
    "small table": against_small,
    "large users": large_users,
    "fresh logs": fresh_logs,
    "at once": at_once,
    "by size": by_size,
    "write cost": write_cost,
}


@dataclass(slots=True)
class Result:
    """Figures by case, plans by whose question it was, points of the plot."""

    figures: dict[str, list[Figure]] = field(default_factory=dict)
    plans: dict[str, list[str]] = field(default_factory=dict)
    curve: dict[int, tuple[float, float]] = field(default_factory=dict)


def scale(
    out: Annotated[Path, typer.Option(help="file for the figures (JSON); plans and a plot go beside it")],
    quick: Annotated[bool, typer.Option("--quick", help="a small table, within a minute")] = False,
    keep: Annotated[
        Path | None, typer.Option(help="folder in which the filled databases stay for the next time")
    ] = None,
    logs: Annotated[int | None, typer.Option(min=LEAST_LOGS, help="logs of the ordinary users together")] = None,
    case: Annotated[list[str] | None, typer.Option(help="only cases whose name begins so")] = None,
) -> None:
    """Measure how search grows with the table and with the user."""
    cases = [name for name in CASES if not case or name.startswith(tuple(case))]
    if not cases:
        raise MaasError("bad_parameter", f"--case: there is none of that name; cases are {list(CASES)}")
    settings = load_settings()
    prepare_output(out)
    corpus = Corpus(logs or (QUICK_LOGS if quick else LOGS))
    with open_tables(settings, keep, corpus.logs) as tables:
        about = machine(server_version(tables.full))
        result = uvloop.run(measure(tables, corpus, settings, cases))
    title = (
        f"scale, {corpus.logs:,} logs"
        + ", on {cores} cores (load {load_before} before), Postgres {postgres}, Python {python}"
    )
    print_figures(title.format(**about), result.figures, quick=quick)
    plans, picture = out.with_suffix(".plans.txt"), out.with_suffix(".png")
    plans.write_text("\n\n".join(f"-- {name}\n\n" + "\n\n".join(found) for name, found in result.plans.items()))
    console.print(f"plans: {plans}", markup=False, soft_wrap=True)
    if plot_growth(result.curve, f"A search among {corpus.logs:,} logs", picture):
        console.print(f"plot: {picture}", markup=False, soft_wrap=True)
    figures = {name: [figure.to_json() for figure in found] for name, found in result.figures.items()}
    curve = [{"logs": size, "p50": middle, "p95": tail} for size, (middle, tail) in sorted(result.curve.items())]
    write_json(out, {"machine": about, "quick": quick, "logs": corpus.logs, "figures": figures, "curve": curve})
    hold_gates(result.figures, quick=quick)


async def measure(tables: Tables, corpus: Corpus, settings: Settings, cases: Sequence[str]) -> Result:
    """Fill what is empty, then measure case by case."""
    result = Result()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=notes) as progress:
        result.figures["tables"] = await _fill(tables, corpus, progress)
        async with (
            open_database(tables.small, settings.database.pool_size, "maas bench") as small,
            open_database(tables.full, settings.database.pool_size, "maas bench") as full,
        ):
            seconds = SECONDS * min(1.0, max(0.005, corpus.logs / LOGS))
            measured = Scale(corpus, small, full, tables, seconds, result.curve)
            task = progress.add_task("", total=len(cases))
            for name in cases:
                progress.update(task, description=name)
                result.figures[name] = await CASES[name](measured)
                progress.advance(task)
    await _explain(tables, corpus, result)
    return result


async def _fill(tables: Tables, corpus: Corpus, progress: Progress) -> list[Figure]:
    figures = []
    chosen = set(corpus.sample(corpus.logs // 100))
    for name, dsn, users in (("small", tables.small, chosen), ("full", tables.full, None)):
        if await is_loaded(dsn):
            continue
        task = progress.add_task(f"{name} table, exchanges", total=None)
        timetable = [one for one in corpus.timetable() if users is None or one[1] in users]
        progress.update(task, total=len(timetable))
        began = time.perf_counter()
        await load(dsn, corpus, timetable, partial(progress.advance, task))
        figures.append(Figure(f"filling the {name} table", "s", time.perf_counter() - began))
    return figures + await sizes(tables.full)


async def _explain(tables: Tables, corpus: Corpus, result: Result) -> None:
    asking = {
        "an ordinary user": list(corpus.ordinary),
        "the large user": [corpus.large],
        "the largest": [corpus.largest],
    }
    for name, users in asking.items():
        question = corpus.questions(users, 1)[0]
        try:
            result.plans[f"{name}: {question.text}"] = await explain(tables.full, question)
        except (asyncpg.PostgresError, OSError) as error:
            notes.print(f"no plans: auto_explain cannot be loaded ({error})", markup=False)
            return


if __name__ == "__main__":
    run_command(scale)
