"""What one user does leaves the others their share: the benchmark in short, held to ratios and not to seconds."""

from __future__ import annotations

from pathlib import Path

from bench.neighbour_acts import ACTS
from bench.neighbours import measure
from bench.sandbox import Sandbox
from bench.system import Bench
from shared.postgres import EmbeddedPostgres
from shared.settings import load_settings

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
    ratios = {
        (name, figure.name): figure.value for name, found in figures.items() for figure in found if figure.unit == "x"
    }
    assert len(ratios) == 2 * len(acts) + 1  # and the short documents beside hostile ones
    assert not {key: ratio for key, ratio in ratios.items() if ratio > MOST}
    memory = {name: figure.value for name, found in figures.items() for figure in found if figure.unit == "MB"}
    assert max(memory.values()) < 400
