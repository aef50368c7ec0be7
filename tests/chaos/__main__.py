"""Chaos: clients send requests while processes are killed, stopped and cut off, Postgres restarts and the model fails.

`python -m tests.chaos [--seed N] [--out FILE.json]` prints what happened and what SQL found; the exit status is 1
when anything was lost, came twice or out of order, and when there was no chaos.

The same seed draws the same requests, the same blows to the same processes in the same order, the same faults of
the model by number of the call, and the same moments for restarts. Which run is hit by which is a matter of the
machine's timing, and differs from run to run.
"""

from __future__ import annotations

import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from bench.command import prepare_output, run_command
from bench.report import console, machine, write_json
from shared.errors import MaasError
from tests.aimock import missing
from tests.chaos.trial import Ended, Plan, hold_trial, progress_bar
from tests.polling import NotWithin


def chaos(
    runs: Annotated[int, typer.Option(min=1, help="how many requests")] = 10_000,
    users: Annotated[int, typer.Option(min=1, max=9999, help="of how many users")] = 300,
    seed: Annotated[int | None, typer.Option(help="repeats the draws of that run; the timing is the machine's")] = None,
    restarts: Annotated[int, typer.Option(min=0, help="restarts of Postgres")] = 3,
    out: Annotated[Path | None, typer.Option(help="file for the verdict (JSON)")] = None,
    keep: Annotated[Path | None, typer.Option(help="new folder that keeps logs and database")] = None,
) -> None:
    """Break everything while requests are answered, and let SQL say what became of them."""
    if reason := missing():
        raise MaasError("no_model_server", f"cannot run without its model server: {reason}")
    path = prepare_output(out) if out else None
    plan = Plan(runs, users, secrets.randbelow(1_000_000) if seed is None else seed, restarts, has_acts=True)
    console.print(f"seed {plan.seed}: {runs} requests of {users} users")
    with _folder(keep) as folder, progress_bar(runs) as show:
        try:
            ended = hold_trial(plan, folder, show)
        except NotWithin as error:
            raise MaasError("chaos_broke_off", f"seed {plan.seed} broke off: {error}") from error
    report(plan, ended)
    if path is not None:
        write_json(path, to_json(plan, ended))
    sys.exit(0 if ended.verdict.holds else 1)


def report(plan: Plan, ended: Ended) -> None:
    """Print the verdict, and the seed once more."""
    ended.verdict.print()
    for row in ended.standstill:
        console.print(f"left behind: {row}", markup=False)
    rate = plan.runs / ended.seconds
    console.print(f"{ended.seconds:.0f} s, {rate:.1f} runs/s, {ended.calls} model calls")
    word = "nothing lost, nothing twice, nothing out of order" if ended.verdict.holds else "FAILED"
    console.print(f"seed {plan.seed}: {word}")


def to_json(plan: Plan, ended: Ended) -> dict[str, object]:
    """The same figures."""
    return {
        "seed": plan.seed,
        "runs": plan.runs,
        "users": plan.users,
        "restarts": plan.restarts,
        "seconds": round(ended.seconds, 1),
        "model_calls": ended.calls,
        **ended.verdict.to_json(),
        "left_behind": list(ended.standstill),
        "machine": machine(ended.postgres),
    }


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    # Not /tmp, which is often memory: what a commit costs is part of the timing.
    disk = Path("/var/tmp")
    folder = keep or Path(tempfile.mkdtemp(prefix="maas-chaos-", dir=disk if disk.is_dir() else None))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)  # the server runs as another user when we are root
    try:
        yield folder
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    run_command(chaos, "chaos")
