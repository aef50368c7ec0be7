"""What a benchmark says: a table for people, the same figures as JSON."""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from shared.errors import MaasError

# Units of times, rates and what they are compared with: they mean little on a loaded machine or of little work.
TIMINGS = frozenset({"ms", "s", "us", "runs/s", "requests/s", "searches/s", "commits/s", "1/s", "% of a core", "x"})
console = Console(highlight=False, width=None if os.isatty(1) else 160)


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value; where something says so, it must stay below `limit`, or reach `floor`; `aim` is what we want.

    `scales`: it is a rate that the disk bounds, so its floor is meant for a disk of a certain speed.
    """

    name: str
    unit: str
    value: float
    limit: float | None = None
    floor: float | None = None
    aim: float | None = None
    scales: bool = False

    @property
    def holds(self) -> bool:
        """Whether it is within its bounds."""
        return (self.limit is None or self.value < self.limit) and (self.floor is None or self.value >= self.floor)

    def is_held(self, quick: bool = False) -> bool:
        """Whether missing its bounds fails the benchmark: with --quick those of times and rates do not."""
        return not (quick and self.unit in TIMINGS)

    @property
    def gate(self) -> str:
        """What it is held to; empty when nothing says so."""
        words = [f"< {self.limit:g}"] if self.limit is not None else []
        return " ".join(words + ([f">= {self.floor:g}"] if self.floor is not None else []))

    def bound(self, quick: bool = False) -> str | None:
        """Its gate, and whether it fails that; None when there is none."""
        if not self.gate:
            return None
        return self.gate + (" (in full)" if not self.is_held(quick) else "" if self.holds else " MISSED")

    @property
    def wish(self) -> str | None:
        """The aim, and whether it is reached; None when there is none."""
        if self.aim is None:
            return None
        is_reached = self.value <= self.aim if self.limit is not None else self.value >= self.aim
        return f"{self.aim:g}" + (" reached" if is_reached else "")

    def to_json(self, values: Sequence[float] = ()) -> dict[str, object]:
        """With every value that it is the median of."""
        body: dict[str, object] = {"name": self.name, "unit": self.unit, "value": _significant(self.value)}
        if len(values) > 1:
            body["values"] = [_significant(value) for value in values]
        named = (("limit", self.limit), ("floor", self.floor), ("aim", self.aim))
        bounds = {name: value for name, value in named if value is not None}
        if bounds:
            body |= {**bounds, "holds": self.holds}
        return body


def median_of(repetitions: Sequence[Sequence[Figure]]) -> list[tuple[Figure, list[float]]]:
    """Each figure's median over the repetitions, and the values that it was taken from."""
    found = []
    for figures in zip(*repetitions, strict=True):
        values = [figure.value for figure in figures]
        first = figures[0]
        found.append((replace(first, value=statistics.median(values)), values))
    return found


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` (0 to 1) of all do not exceed; NaN of nothing."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan


def percentiles(
    name: str, values: Sequence[float], shares: Sequence[int], limit: float | None = None, aim: float | None = None
) -> list[Figure]:
    """Percentiles in ms, such as p50 and p95; limit and aim are those of p95, or of the last one."""
    bounded = 95 if 95 in shares else shares[-1]
    return [
        Figure(
            f"{name} p{share}", "ms", percentile(values, share / 100), *((limit, None, aim) if share == bounded else ())
        )
        for share in shares
    ]


def machine(postgres: str) -> dict[str, object]:
    """What the figures depend on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    libraries = {name: version(name) for name in ("maas", "asyncpg", "uvicorn", "uvloop", "starlette")}
    return {
        "cores": cores,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "postgres": postgres,
        "load_before": round(os.getloadavg()[0], 2),
        "versions": libraries,
    }


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """The first column to the left, the others to the right; None is an empty cell."""
    console.print(title, style="bold", markup=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    console.print(table, markup=False)


def print_figures(title: str, cases: Mapping[str, Sequence[Figure]], *, quick: bool = False) -> None:
    """The figures of each case, with what they are held to."""
    rows: list[tuple[object, ...]] = []
    for name, figures in ((name, figures) for name, figures in cases.items() if figures):
        rows.append((f"{name}:", None, None, None, None))
        rows += [(f"  {one.name}", one.value, one.unit, one.bound(quick), one.wish) for one in figures]
    print_table(title, ("", "median", "unit", "gate", "aim"), rows)
    if quick:
        console.print("with --quick the gates of times and rates are not held: (in full) says which", markup=False)


def missed_gates(cases: Mapping[str, Sequence[Figure]], *, quick: bool = False) -> list[str]:
    """The figures that are not within their bounds, each with its value and its gate."""
    return [
        f"{name}: {one.name} is {_cell(one.value)} {one.unit}".rstrip() + f", the gate is {one.gate}"
        for name, figures in cases.items()
        for one in figures
        if one.is_held(quick) and not one.holds
    ]


def hold_gates(cases: Mapping[str, Sequence[Figure]], *, quick: bool = False) -> None:
    """Raise MaasError('gate_missed') that names every gate that was missed."""
    if missed := missed_gates(cases, quick=quick):
        raise MaasError("gate_missed", "; ".join(missed))


def write_json(path: Path, value: Mapping[str, object]) -> None:
    """Write the file whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"
    return str(value)


def _significant(value: float) -> float:
    return float(f"{value:.4g}")
