"""What `maas capacity` plans, played through: how long runs wait in the busiest hour, and beyond it.

`python -m bench.simulation --out FILE.json` simulates one of the planned databases, with its share of the users, of the
orchestrators and of the cores: requests come by chance, a user's runs go one after another, orchestrators and cores do
one thing at a time, and the lock of the queue is one. Times are the measured ones of `maas/capacity.py`. A picture goes
beside the figures.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from bench.command import prepare_output, run_command
from bench.plot import plot_waits
from bench.report import console, percentile, print_table, write_json
from maas.capacity import EMBEDDING_S, LOCK_S, ORCHESTRATOR_S, POSTGRES_S, SHARE_OF_ASSISTANT, Load, capacity_for

USERS = (10_000, 1_000_000, 100_000_000)
LOADS = (0.5, 1.0, 1.3, 1.6, 1.8)  # of the busiest hour
SECONDS = 120  # that requests come in
STEPS = ("lock", "postgres", "orchestrator", "model", "orchestrator", "postgres", "lock")
MODEL_SIGMA = 0.5  # of the logarithm of a model's time
MIN_RUNS = 1000
WARM_UP = 0.3  # of the runs, which are not counted


@dataclass(slots=True)
class Machines:
    """So many that each do one thing at a time, in the order of arrival."""

    count: int
    _free_at: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self._free_at = [0.0] * self.count

    def serve(self, now: float, seconds: float) -> float:
        """When it will be done."""
        done = max(now, self._free_at[0]) + seconds
        heapq.heapreplace(self._free_at, done)
        return done


@dataclass(slots=True)
class Run:
    """One request; `step` counts what has been done of it, and its arrival comes before."""

    user: int
    model_s: float
    step: int = -1
    came: float = 0.0
    orchestrator: int = 0


class Simulation:
    """One database with its orchestrators, `times` the load of its busiest hour, until `count` runs are done."""

    def __init__(self, load: Load, times: float, count: int, seed: int = 1) -> None:
        plan = capacity_for(load)
        self._load = load
        self._rate = load.peak_rate * times / plan.databases
        self._users = max(load.users // plan.databases, 1)
        self._random = random.Random(seed)
        self._to_come = count
        self._lock = Machines(1)
        self._postgres = Machines(math.ceil(plan.postgres_cores / plan.databases))
        self._orchestrators = [Machines(1) for _ in range(math.ceil(plan.orchestrators / plan.databases))]
        places = int(load.concurrency * SHARE_OF_ASSISTANT)
        self._free = deque(n for _ in range(places) for n in range(len(self._orchestrators)))
        self._places = len(self._free)
        self._waiting: deque[Run] = deque()
        self._queues: dict[int, deque[Run]] = {}  # of users who have a run in flight
        self._events: list[tuple[float, int, Run]] = []
        self._pushed = 0

    def play(self) -> tuple[list[float], float]:
        """Seconds that each run took beyond its model, in the order of their ends; how much of the places was taken."""
        took: list[float] = []
        held_s = now = 0.0
        self._expect(now)
        while self._events:
            now, _, run = heapq.heappop(self._events)
            if run.step < 0:
                self._arrive(now, run)
            elif run.step < len(STEPS):
                self._push(self._serve(now, run, STEPS[run.step]), run)
            else:
                took.append(now - run.came - run.model_s)
                self._end(run)
            while self._waiting and self._free:
                run = self._waiting.popleft()
                run.orchestrator, run.step = self._free.popleft(), -1
                self._push(now, run)
            held_s += (self._places - len(self._free)) * (self._events[0][0] - now if self._events else 0.0)
        return took, held_s / (self._places * now)

    def _expect(self, now: float) -> None:
        """The next request, if there is one."""
        if self._to_come:
            self._to_come -= 1
            mean = math.log(max(self._load.answer_s, 0.001)) - MODEL_SIGMA**2 / 2
            run = Run(self._random.randrange(self._users), self._random.lognormvariate(mean, MODEL_SIGMA), -2)
            self._push(now + self._random.expovariate(self._rate), run)

    def _arrive(self, now: float, run: Run) -> None:
        run.came = now
        self._expect(now)
        if run.user in self._queues:
            self._queues[run.user].append(run)
        else:
            self._queues[run.user] = deque()
            self._waiting.append(run)

    def _serve(self, now: float, run: Run, step: str) -> float:
        """When this step of the run will be done."""
        if step == "model":
            return now + run.model_s
        if step == "orchestrator":
            seconds = ORCHESTRATOR_S + EMBEDDING_S * self._load.has_embeddings
            return self._orchestrators[run.orchestrator].serve(now, seconds / 2)
        return self._lock.serve(now, LOCK_S / 2) if step == "lock" else self._postgres.serve(now, POSTGRES_S / 2)

    def _end(self, run: Run) -> None:
        self._free.append(run.orchestrator)
        if behind := self._queues[run.user]:
            self._waiting.append(behind.popleft())
        else:
            del self._queues[run.user]

    def _push(self, at: float, run: Run) -> None:
        run.step += 1
        self._pushed += 1
        heapq.heappush(self._events, (at, self._pushed, run))


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds that runs took beyond the time of their models."""

    users: int
    load: float  # times the busiest hour
    databases: int
    orchestrators: int  # of all databases
    p50: float
    p95: float
    p99: float
    places: float  # the share of them that was taken


def simulate(load: Load, times: float, seconds: float = SECONDS) -> Waits:
    """Play `times` the busiest hour of a load for so many seconds."""
    plan = capacity_for(load)
    count = max(int(load.peak_rate * times / plan.databases * seconds), MIN_RUNS)
    took, places = Simulation(load, times, count).play()
    counted = took[int(len(took) * WARM_UP) :]
    p50, p95, p99 = (percentile(counted, share) for share in (0.5, 0.95, 0.99))
    return Waits(load.users, times, plan.databases, plan.orchestrators, p50, p95, p99, places)


def simulation(
    out: Annotated[Path, typer.Option(help="file for the figures (JSON); a plot goes beside it")],
    runs_a_day: Annotated[float, typer.Option(min=0.01, help="requests of each user in a day")] = 10,
    answer_seconds: Annotated[float, typer.Option(min=0, help="how long the models of a request take")] = 8,
    seconds: Annotated[float, typer.Option(min=1, help="that requests come in")] = SECONDS,
) -> None:
    """Simulate what `maas capacity` plans for 10^4, 10^6 and 10^8 users, at and beyond their busiest hour."""
    prepare_output(out)
    waits = [simulate(Load(users, runs_a_day, answer_seconds), times, seconds) for users in USERS for times in LOADS]
    write_json(out, {"waits": [asdict(one) for one in waits]})
    print_table(
        "Seconds beyond the time of the models",
        ("users", "load", "databases", "orchestrators", "p50", "p95", "p99", "places taken"),
        [
            (f"{one.users:,}", f"{one.load:g}x", one.databases, one.orchestrators, *_seconds(one), f"{one.places:.0%}")
            for one in waits
        ],
    )
    curves = {f"{users:,} users": {one.load: one.p95 for one in waits if one.users == users} for users in USERS}
    if plot_waits(curves, out.with_suffix(".svg")):
        console.print(f"plot: {out.with_suffix('.svg')}", markup=False, soft_wrap=True)


def _seconds(one: Waits) -> tuple[str, ...]:
    return tuple(f"{value:.3f}" for value in (one.p50, one.p95, one.p99))


if __name__ == "__main__":
    run_command(simulation)
