"""Failovers under load: three Postgres servers kept by Patroni lose their leader in every way that a leader is lost.

Clients send requests by HTTP and SQL meanwhile. Nothing accepted may be lost, doubled or overtaken, no run may be
blamed for it, and answers come again within 3 s of the new leader. How long a cluster is without a leader is Patroni's
affair: its `ttl`, of at least 20 s, where the old one falls silent.

`python -m tests.chaos.failover [--seed N] [--out FILE.json]`; the exit status is 1 when anything offends.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import psycopg
import typer

from bench.command import prepare_output, run_command
from bench.report import console, machine, print_table, write_json
from shared.errors import MaasError
from tests.aimock import missing
from tests.chaos.cluster import CHANGING_S, Cluster, missing_programs
from tests.chaos.steps import StepTrial
from tests.chaos.trial import Ended, Plan, Progress, Scene, open_scene, progress_bar
from tests.chaos.verdict import Verdict
from tests.chaos.witness import statements

SILENT_S = 5.0  # how long what was struck stays away, where a new leader does not end it


class Loss(StrEnum):
    """What happens to the cluster."""

    KILL = "leader killed"  # -9 for Patroni and every process of its Postgres
    SWITCHOVER = "switchover"
    FREEZE = "leader frozen"  # its connections stay open and say nothing, as after a power failure
    CUT = "leader cut off from etcd"
    STANDBY = "synchronous standby killed"
    STANDBYS = "both standbys killed"
    LAG = "standby behind"


@dataclass(frozen=True, slots=True)
class Failover:
    """What struck, when, and when another node led; none where the leader stayed."""

    loss: Loss
    struck_at: datetime
    led_at: datetime | None
    node: str


@dataclass(frozen=True, slots=True)
class FailoverFigures:
    """Seconds, median and maximum: until another node led, from then until an answer, and in all."""

    kind: str
    times: int
    to_leader: list[float] | None
    to_answer: list[float] | None
    in_all: list[float] | None


@dataclass(frozen=True, slots=True)
class FailoverOutcome:
    """A trial that is over."""

    ended: Ended
    figures: tuple[FailoverFigures, ...]

    def print(self) -> None:
        """Tables for people."""
        self.ended.verdict.print()
        for row in self.ended.standstill:
            console.print(f"left behind: {row}", markup=False)
        nothing = (None, None)
        rows = [
            (one.kind, one.times, *(one.to_leader or nothing), *(one.to_answer or nothing), *(one.in_all or nothing))
            for one in self.figures
        ]
        spans = ("until another leads", "from then to an answer", "in all")
        heads = [f"{span}, {part}" for span in spans for part in ("p50", "max")]
        print_table("Seconds after each failure", ["failure", "times", *heads], rows)


def draw_losses(seed: int, times: int) -> list[Loss]:
    """Each kind in turn, shuffled; then it begins anew."""
    draw = random.Random(f"{seed} losses")
    found: list[Loss] = []
    while len(found) < times:
        found += draw.sample(list(Loss), len(Loss))
    return found[:times]


class FailoverTrial(StepTrial):
    """A cluster that is struck, one loss after another; nothing of ours is."""

    standstill_s = 3 * CHANGING_S  # requests wait until the cluster is whole again
    step_s = 45.0

    def __init__(self, plan: Plan, scene: Scene, cluster: Cluster, on_progress: Progress) -> None:
        super().__init__(plan, scene, on_progress)
        self.failovers: list[Failover] = []
        self.figures: list[FailoverFigures] = []
        self._cluster = cluster
        self._losses = draw_losses(plan.seed, plan.restarts)

    def steps(self) -> Sequence[Callable[[], Awaitable[None]]]:
        return [partial(self._strike, loss) for loss in self._losses]

    async def ask(self) -> Verdict:
        rows = [(str(one.loss), one.struck_at, one.led_at, one.node) for one in self.failovers]
        await self.witness.tell("chaos_leaders", rows)
        self.figures = [FailoverFigures(**row) for row in await self.witness.rows("failover_figures")]
        return await Verdict.ask(self.witness, "checks", "failover_checks", is_chaos=False)

    async def _strike(self, loss: Loss) -> None:
        lost = asyncio.ensure_future(asyncio.to_thread(self._lose, loss))
        try:
            await asyncio.shield(lost)
        finally:  # also where the trial ends: nobody may be asked before the cluster is whole
            self.failovers.append(await lost)

    def _lose(self, loss: Loss) -> Failover:
        """Strike, wait for the next leader, and mend; returns when the cluster is whole again. Raises NotWithin."""
        cluster = self._cluster
        found = cluster.wait_whole(2 * CHANGING_S)
        leader, standbys = found["leader"], [found["sync"], found["other"]]
        led_at: datetime | None = None
        struck_at = datetime.now(UTC)

        def wait_leader() -> datetime:
            cluster.leader(but=leader)
            return datetime.now(UTC)

        match loss:
            case Loss.KILL:
                leader.kill()
                led_at = wait_leader()
                leader.start()
            case Loss.SWITCHOVER:
                cluster.switch_over()
                led_at = wait_leader()
            case Loss.FREEZE | Loss.CUT:
                with leader.frozen() if loss is Loss.FREEZE else leader.cut_off():
                    led_at = wait_leader()
                    time.sleep(SILENT_S)
            case Loss.STANDBY | Loss.STANDBYS:
                killed = standbys[:1] if loss is Loss.STANDBY else standbys
                for node in killed:
                    node.kill()
                time.sleep(SILENT_S)
                for node in killed:
                    node.start()
            case Loss.LAG:
                with standbys[1].behind():
                    time.sleep(SILENT_S)
        cluster.wait_whole(2 * CHANGING_S)
        return Failover(loss, struck_at, led_at, leader.name)


def hold_failover_trial(plan: Plan, folder: Path, on_progress: Progress = lambda finished: None) -> FailoverOutcome:
    """Run in `folder`, which the unprivileged user of Postgres must be able to enter; leaves no process behind."""
    with Cluster(folder / "cluster") as cluster, open_scene(cluster.dsn, folder / "logs") as scene:
        with psycopg.connect(cluster.dsn, autocommit=True) as connection:
            connection.execute(statements()["failover_tables"].encode())
        trial = FailoverTrial(plan, scene, cluster, on_progress)
        return FailoverOutcome(trial.hold(), tuple(trial.figures))


def chaos_of_failovers(
    failovers: Annotated[int, typer.Option(min=1, help="how often the cluster is struck")] = 21,
    runs: Annotated[int, typer.Option(min=1, help="how many requests")] = 10_000,
    users: Annotated[int, typer.Option(min=1, max=9999, help="of how many users")] = 300,
    seed: Annotated[int | None, typer.Option(help="repeats the draws of that run")] = None,
    out: Annotated[Path | None, typer.Option(help="file for the verdict (JSON)")] = None,
) -> None:
    """Take the leader away from a cluster, in every way and again and again, while requests are answered."""
    if lacking := missing_programs():
        raise MaasError("no_cluster", f"this machine has no {' and no '.join(lacking)}")
    if reason := missing():
        raise MaasError("no_model_server", f"cannot run without its model server: {reason}")
    path = prepare_output(out) if out else None
    plan = Plan(runs, users, secrets.randbelow(1_000_000) if seed is None else seed, failovers)
    console.print(f"seed {plan.seed}: {runs} requests of {users} users, {failovers} failures")
    with tempfile.TemporaryDirectory(prefix="maas-failover-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with progress_bar(runs) as show:
            outcome = hold_failover_trial(plan, folder, show)
    outcome.print()
    verdict = outcome.ended.verdict
    if path is not None:
        figures = [asdict(one) for one in outcome.figures]
        more = {"seed": plan.seed, "runs": runs, "users": users, "failovers": figures}
        write_json(path, verdict.to_json() | more | {"machine": machine(outcome.ended.postgres)})
    console.print(f"seed {plan.seed}: {'holds' if verdict.holds else 'FAILED'} after {outcome.ended.seconds:.0f} s")
    sys.exit(0 if verdict.holds else 1)


if __name__ == "__main__":
    run_command(chaos_of_failovers, "chaos.failover")
