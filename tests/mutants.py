"""How many small changes of six core modules the tests notice: each is made in a copy of the tree, one at a time.

`python -m tests.mutants --out FILE` prints a table and writes the changes that no test noticed. cosmic-ray makes them,
from an environment of its own; `--count` of each module are drawn by `--seed`. Left as they are: what Python does not
execute, such as annotations; numbers with a name, which benchmarks decide and not tests; `is` in the place of `==`.
"""

from __future__ import annotations

import ast
import random
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from bench.command import prepare_output, run_command
from bench.report import console, print_table, write_json

ROOT = Path(__file__).resolve().parent.parent
COSMIC_RAY = ROOT / ".venv-mutants" / "bin" / "cosmic-ray"
UNIT = "tests/unit/test_{}.py"
SUBJECTS = {  # the module, and the tests of it
    "maas/memory/ranking.py": ("ranking", "relevance"),
    "maas/memory/relevance.py": ("relevance",),
    "maas/memory/dates.py": ("dates", "ranking"),
    "maas/facts/replies.py": ("fact_replies",),
    "maas/prompting/trimming.py": ("trimming", "assembler"),
    "shared/models/retry.py": ("retry", "breaker", "text_calls"),
}
KILLED = 0.85
TIMEOUT_S = 60.0
WORKERS = 2
CONFIG = """[cosmic-ray]
module-path = ["{module}"]
timeout = {timeout}
excluded-modules = []
test-command = "{command}"

[cosmic-ray.distributor]
name = "local"
"""


@dataclass(frozen=True, slots=True)
class Survivor:
    """A change that no test noticed."""

    module: str
    line: int
    change: str
    diff: str


@dataclass(frozen=True, slots=True)
class Tried:
    """The changes of a module: how many were made, and those that no test noticed."""

    module: str
    made: int
    survivors: tuple[Survivor, ...]

    @property
    def killed(self) -> float:
        return 1 - len(self.survivors) / self.made if self.made else 1.0


def mutants(
    out: Annotated[Path, typer.Option(help="file for the changes that no test noticed (JSON)")],
    module: Annotated[str | None, typer.Option(help="only this module, such as maas/memory/ranking.py")] = None,
    count: Annotated[int, typer.Option(min=1, help="changes of each module")] = 60,
    seed: Annotated[int, typer.Option(help="of the draw")] = 1,
) -> None:
    """Change the modules and run their tests; exit status 1 where less than 85 % of the changes are noticed."""
    prepare_output(out)
    chosen = [name for name in SUBJECTS if module in (None, name)]
    if not chosen:
        raise typer.BadParameter(f"--module: there are {', '.join(SUBJECTS)}")
    with ThreadPoolExecutor(WORKERS) as workers:
        tried = list(workers.map(lambda name: _try(name, count, seed), chosen))
    made, survivors = sum(one.made for one in tried), [lost for one in tried for lost in one.survivors]
    rows = [(one.module, one.made, 100 * one.killed) for one in tried]
    print_table("changes that the tests notice", ("module", "made", "noticed %"), rows)
    share = 1 - len(survivors) / max(made, 1)
    console.print(f"of all: {share:.0%}; those that no test noticed are in {out}", markup=False, soft_wrap=True)
    write_json(out, {"made": made, "noticed": share, "survivors": [asdict(one) for one in survivors]})
    if share < KILLED:
        raise typer.Exit(1)


def _try(module: str, count: int, seed: int) -> Tried:
    with TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        _copy(tree)
        tests = " ".join(UNIT.format(name) for name in SUBJECTS[module])
        pytest = f"{ROOT / '.venv' / 'bin' / 'pytest'} -x -q -p no:cacheprovider -p no:xdist {tests}"
        (tree / "mutants.toml").write_text(CONFIG.format(module=module, timeout=TIMEOUT_S, command=pytest))
        subprocess.run(pytest.split(), cwd=tree, check=True, capture_output=True)  # they pass before any change
        subprocess.run([COSMIC_RAY, "init", "mutants.toml", "session"], cwd=tree, check=True, capture_output=True)
        session = tree / "session"
        _draw(session, tree / module, count, seed)
        subprocess.run([COSMIC_RAY, "exec", "mutants.toml", "session"], cwd=tree, check=True, capture_output=True)
        with closing(sqlite3.connect(session)) as db:
            (made,) = db.execute("select count(*) from work_results").fetchone()
            rows = db.execute(
                "select start_pos_row, operator_name, diff from work_results join mutation_specs using (job_id) "
                "where test_outcome = 'SURVIVED' order by 1"
            ).fetchall()
        return Tried(module, made, tuple(Survivor(module, line, change, diff) for line, change, diff in rows))


def _copy(tree: Path) -> None:
    """The files that git knows, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def _draw(session: Path, source: Path, count: int, seed: int) -> None:
    """Leave so many changes in a session, none in a line that is not executed."""
    quiet = set(_quiet_lines(ast.parse(source.read_text())))
    with closing(sqlite3.connect(session)) as db:
        rows = db.execute(
            "select job_id, start_pos_row, operator_name from mutation_specs "
            "order by start_pos_row, start_pos_col, operator_name, occurrence"
        ).fetchall()
        able = [job for job, line, change in rows if line not in quiet and not change.endswith(("_Is", "_IsNot"))]
        kept = set(random.Random(seed).sample(able, min(count, len(able))))
        for table in ("mutation_specs", "work_items"):
            db.executemany(f"delete from {table} where job_id = ?", [(job,) for job, *_ in rows if job not in kept])
        db.commit()


def _quiet_lines(tree: ast.Module) -> Iterator[int]:
    """The lines of decorators, signatures and bare annotations, and of numbers with a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from range(node.lineno, node.body[0].lineno)
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield from (one.lineno for one in node.decorator_list)
        if isinstance(node, ast.AnnAssign) and (node.value is None or _is_number(node.value)):
            yield node.lineno
        if isinstance(node, ast.Assign) and _is_number(node.value):
            yield node.lineno


def _is_number(node: ast.expr) -> bool:
    """Whether it is a number, or several."""
    if isinstance(node, ast.Tuple):
        return all(map(_is_number, node.elts))
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


if __name__ == "__main__":
    run_command(mutants)
