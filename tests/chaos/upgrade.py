"""An upgrade under load: two versions of the product over one database, rolled forward and back in both orders.

A former commit makes the database and serves it. Under load this checkout migrates it; orchestrators and then servers
are replaced by this checkout's; servers and then orchestrators by the former ones again, on the new schema; and
forward once more, servers first. Nothing accepted may be lost, doubled or overtaken, no run may fail or lose its
process, and nobody may wait for the migration for more than a second.

`python -m tests.chaos.upgrade [--former COMMIT] [--seed N] [--out FILE.json]`; the exit status is 1 when anything
offends. Both versions run with the packages of this checkout's environment.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import psycopg
import typer

from bench.command import prepare_output, run_command
from bench.report import console, machine, write_json
from shared.errors import MaasError
from shared.postgres import acquire
from tests.aimock import missing
from tests.chaos.steps import StepTrial
from tests.chaos.trial import Ended, Plan, Progress, Scene, open_scene, progress_bar
from tests.chaos.verdict import Happening, Verdict
from tests.chaos.witness import statements
from tests.stack import ROOT

MIGRATE = ("-P", "-c", "from maas.launcher import cli; cli()", "migrate")


class UpgradeTrial(StepTrial):
    """Everything is replaced, one process after another; nothing is struck."""

    step_s = 15.0

    def __init__(self, plan: Plan, scene: Scene, former: Path, on_progress: Progress) -> None:
        super().__init__(plan, scene, on_progress)
        self.checkout = former
        self._former = former
        self._versions: list[tuple[int, str]] = []
        self._migrated: tuple[datetime, datetime] | None = None

    async def prepare(self) -> None:
        self._versions += [(member.process.pid, "former") for member in self.fleet.members]

    def steps(self) -> Sequence[Callable[[], Awaitable[None]]]:
        return (
            self._migrate,
            partial(self._roll, ROOT, is_server_first=False),
            partial(self._roll, self._former, is_server_first=True),
            partial(self._roll, ROOT, is_server_first=True),
        )

    async def ask(self) -> Verdict:
        await self.witness.tell("chaos_versions", self._versions)
        await self.witness.tell("chaos_migrations", [self._migrated] if self._migrated else [])
        verdict = await Verdict.ask(self.witness, "checks", "upgrade_checks", is_chaos=False)
        happened = tuple(Happening(**row) for row in await self.witness.rows("upgrade_happened"))
        return replace(verdict, happened=happened)

    async def _migrate(self) -> None:
        began = datetime.now(UTC)
        await asyncio.to_thread(migrate_by, ROOT, self.witness.dsn)
        self._migrated = began, datetime.now(UTC)
        self.fleet.note("migrated", "postgres")

    async def _roll(self, checkout: Path, *, is_server_first: bool) -> None:
        for member in sorted(self.fleet.members, key=lambda one: one.is_server != is_server_first):
            self.fleet.note("replaced", member.name, member.process.pid)
            await self.fleet.replace(member, checkout)
            self._versions.append((member.process.pid, "new" if checkout == ROOT else "former"))


def migrate_by(checkout: Path, dsn: str) -> None:
    """Run `maas migrate` of a checkout. Raises MaasError('no_migration')."""
    environment = os.environ | {"DATABASE_URL": dsn, "PYTHONPATH": str(checkout)}
    command = [sys.executable, *MIGRATE]
    done = subprocess.run(command, env=environment, cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MaasError("no_migration", f"maas migrate of {checkout.name} said: {(done.stdout + done.stderr)[-2000:]}")


def last_release() -> str:
    """The commit that wrote the newest release into the changelog. Raises MaasError('no_commit')."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (heading,) = re.findall(r"^## \[\d[^\]]*\]", text, re.MULTILINE)[:1]
    command = ["git", "log", "-1", "--format=%h", f"-S{heading}", "--", "CHANGELOG.md"]
    commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    if not commit:
        raise MaasError("no_commit", f"git finds no commit that added {heading}; name one, or fetch the whole history")
    return commit


def check_out(commit: str, folder: Path) -> Path:
    """The files of a commit of this repository. Raises MaasError('no_commit')."""
    folder.mkdir()
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode != 0:
        raise MaasError("no_commit", f"git archive {commit} said: {packed.stderr.decode()[:300].strip()}")
    subprocess.run(["tar", "x"], cwd=folder, input=packed.stdout, check=True)
    return folder


def hold_upgrade_trial(plan: Plan, commit: str, folder: Path, on_progress: Progress = lambda finished: None) -> Ended:
    """Run in `folder`, which the unprivileged user of Postgres must be able to enter; leaves no process behind."""
    former = check_out(commit, folder / "former")
    server = acquire(folder / "data", on_note=lambda note: None)
    try:
        with open_scene(server.dsn, folder / "logs", partial(migrate_by, former)) as scene:
            with psycopg.connect(server.dsn, autocommit=True) as connection:
                connection.execute(statements()["upgrade_tables"].encode())
            return UpgradeTrial(plan, scene, former, on_progress).hold()
    finally:
        server.close(wait=True)


def chaos_of_upgrades(
    former: Annotated[
        str | None, typer.Option(help="the commit to upgrade from, not older than 0.1.0; the last release without it")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="how many requests")] = 2_000,
    users: Annotated[int, typer.Option(min=1, max=9999, help="of how many users")] = 100,
    seed: Annotated[int | None, typer.Option(help="repeats the draws of that run")] = None,
    out: Annotated[Path | None, typer.Option(help="file for the verdict (JSON)")] = None,
) -> None:
    """Upgrade from a former commit while requests are answered, and back, and forward again."""
    if reason := missing():
        raise MaasError("no_model_server", f"cannot run without its model server: {reason}")
    path = prepare_output(out) if out else None
    commit = former or last_release()
    plan = Plan(runs, users, secrets.randbelow(1_000_000) if seed is None else seed)
    console.print(f"seed {plan.seed}: {runs} requests of {users} users, from {commit}")
    with tempfile.TemporaryDirectory(prefix="maas-upgrade-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with progress_bar(runs) as show:
            ended = hold_upgrade_trial(plan, commit, folder, show)
    ended.verdict.print()
    for row in ended.standstill:
        console.print(f"left behind: {row}", markup=False)
    if path is not None:
        more = {"seed": plan.seed, "runs": runs, "users": users, "former": commit}
        write_json(path, ended.verdict.to_json() | more | {"machine": machine(ended.postgres)})
    console.print(f"seed {plan.seed}: {'holds' if ended.verdict.holds else 'FAILED'} after {ended.seconds:.0f} s")
    sys.exit(0 if ended.verdict.holds else 1)


if __name__ == "__main__":
    run_command(chaos_of_upgrades, "chaos.upgrade")
