"""Pictures: where the milliseconds of a run go, how many runs a second, how latency grows, what recall is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

COLORS = ("#08306b", "#9ecae1", "#fd8d3c", "#74c476", "#756bb1")


def plot_stages(stages: Mapping[str, Sequence[float]], title: str, path: Path) -> bool:
    """Milliseconds of each stage as boxes from p5 to p95, written as PNG; False where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    if not stages:
        return False
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.subplots()
    names = list(stages)[::-1]
    axes.boxplot(
        [list(stages[name]) for name in names],
        orientation="horizontal",
        tick_labels=names,
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        boxprops={"facecolor": "#9ecae1"},
        medianprops={"color": "#08306b"},
    )
    axes.set_xscale("log")
    axes.set_xlabel("ms (box: middle half, line: median, whiskers: p5 and p95)")
    axes.set_title(title)
    axes.grid(axis="x", which="both", alpha=0.3)
    figure.savefig(path, dpi=120)
    return True


def plot_rates(rates: Mapping[str, float], title: str, path: Path) -> bool:
    """One bar a rate, on a logarithmic axis, written as PNG; False where matplotlib is not installed, or of nothing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    if not rates:
        return False
    figure = Figure(figsize=(9, 1.2 + 0.36 * len(rates)), layout="constrained")
    axes = figure.subplots()
    names = list(rates)[::-1]
    bars = axes.barh(names, [rates[name] for name in names], color="#9ecae1", edgecolor="#08306b")
    axes.bar_label(bars, labels=[f"{rates[name]:,.0f}" for name in names], padding=3)
    axes.set_xscale("log")
    axes.set_xlabel("runs/s")
    axes.set_title(title)
    axes.margins(x=0.15)
    figure.savefig(path, dpi=120)
    return True


def plot_growth(curve: Mapping[int, tuple[float, float]], title: str, path: Path) -> bool:
    """p50 and p95 in ms against the rows of a user, both axes logarithmic, written as PNG; False as above."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    if not curve:
        return False
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    axes = figure.subplots()
    rows = sorted(curve)
    for place, (name, color) in enumerate((("p50", "#08306b"), ("p95", "#9ecae1"))):
        axes.plot(rows, [curve[one][place] for one in rows], marker="o", label=name, color=color)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("logs of the user")
    axes.set_ylabel("ms a search")
    axes.set_title(title)
    axes.grid(which="both", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)
    return True


def plot_gains(gains: Mapping[str, Mapping[str, float]], title: str, path: Path) -> bool:
    """Bars: points of recall@10 that each signal buys, a colour a family, written as PNG; False as above."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    if not gains:
        return False
    signals = list(next(iter(gains.values())))[::-1]
    figure = Figure(figsize=(8, 1.6 + 0.5 * len(signals)), layout="constrained")
    axes = figure.subplots()
    thick = 0.8 / len(gains)
    for number, (family, bought) in enumerate(gains.items()):
        places = [place + thick * ((len(gains) - 1) / 2 - number) for place in range(len(signals))]
        axes.barh(places, [bought[one] for one in signals], thick, label=family, color=COLORS[number % len(COLORS)])
    axes.set_yticks(range(len(signals)), signals)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_xlabel("points of turn recall@10 lost when it alone is left out")
    axes.set_title(title)
    axes.grid(axis="x", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)
    return True


def plot_coverage(curves: Mapping[str, Mapping[int, float]], title: str, path: Path) -> bool:
    """Percent of the evidence shown against the tokens of a context, a line a family, as PNG; False as above."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    if not curves:
        return False
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    axes = figure.subplots()
    for number, (family, curve) in enumerate(curves.items()):
        axes.plot(list(curve), list(curve.values()), marker="o", label=family, color=COLORS[number % len(COLORS)])
    budgets = sorted({budget for curve in curves.values() for budget in curve})
    axes.set_xscale("log")
    axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    axes.minorticks_off()
    axes.set_xlabel("tokens")
    axes.set_ylabel("% of the evidence shown")
    axes.set_ylim(0, 102)
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)
    return True


def plot_waits(curves: Mapping[str, Mapping[float, float]], path: Path) -> bool:
    """A curve of seconds over the load, written as SVG; False where matplotlib is not installed."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        return False
    with rc_context({"svg.hashsalt": "maas", "svg.fonttype": "none"}):  # the same figures make the same file
        figure = Figure(figsize=(8, 4), layout="constrained")
        axes = figure.subplots()
        for color, (name, curve) in zip(COLORS[::2], curves.items(), strict=False):
            axes.plot(list(curve), list(curve.values()), marker="o", color=color, label=name)
        axes.set_yscale("log")
        axes.set_xlabel("load, times the busiest hour")
        axes.set_ylabel("s beyond the models, p95")
        axes.grid(which="major", alpha=0.3)
        axes.legend()
        figure.savefig(path, metadata={"Date": None})
    return True
