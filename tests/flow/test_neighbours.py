"""What one user does leaves the others their share: the benchmark in short, held to ratios and not to seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.neighbour_acts import ACTS
from bench.neighbours import measure
from bench.report import Figure
from bench.sandbox import Sandbox
from bench.system import Bench
from maas.settings import load_settings
from shared.postgres import EmbeddedPostgres

SECONDS = 1.5  # of each act
MOST = 30  # times as long as alone; without shares, several acts are beyond 500
TRIED = ("exports", "context", "runs?q", "documents", "SQL INSERT", "70 users")


async def test_a_neighbour_is_answered_whatever_a_user_does(
    postgres: EmbeddedPostgres, template: str, tmp_path: Path
) -> None:
    acts = [act for act in ACTS if any(word in act.name for word in TRIED) and "search" not in act.name]
    assert len(acts) == len(TRIED)
    bench = Bench(Sandbox(tmp_path, postgres.dsn, postgres, template), load_settings(), quick=True)
    figures = await measure(bench, acts, SECONDS)
    slow = {name for name, _ in beyond(ratios_of(figures))}
    if slow:  # a burst of other work on the machine is no neighbour: what lasts is slow again
        figures |= await measure(bench, [act for act in acts if act.name in slow], SECONDS)
    ratios = ratios_of(figures)
    assert len(ratios) == 2 * len(acts) + 1  # and the short documents beside hostile ones
    assert not beyond(ratios)
    memory = {name: figure.value for name, found in figures.items() for figure in found if figure.unit == "MB"}
    assert max(memory.values()) < 400


def ratios_of(figures: Mapping[str, Sequence[Figure]]) -> dict[tuple[str, str], float]:
    return {(name, one.name): one.value for name, found in figures.items() for one in found if one.unit == "x"}


def beyond(ratios: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    return {key: ratio for key, ratio in ratios.items() if ratio > MOST}
