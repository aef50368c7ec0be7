"""A picture of where the milliseconds of a run go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path


def plot_stages(stages: Mapping[str, Sequence[float]], title: str, path: Path) -> bool:
    """Milliseconds of each stage as boxes from p5 to p95, written as PNG; False where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.subplots()
    names = list(stages)[::-1]
    axes.boxplot(
        [list(stages[name]) for name in names], orientation="horizontal", tick_labels=names, whis=(5, 95),
        showfliers=False, patch_artist=True, boxprops={"facecolor": "#9ecae1"}, medianprops={"color": "#08306b"},
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlabel("ms (box: middle half, line: median, whiskers: p5 and p95)")
    axes.set_title(title)
    axes.grid(axis="x", which="both", alpha=0.3)
    figure.savefig(path, dpi=120)
    return True
