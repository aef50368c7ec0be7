"""What happens, to whom and when, drawn from one seed: the same seed draws the same sequences."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from uuid import UUID


class Blow(StrEnum):
    """What a process of ours suffers."""

    KILL = "kill"  # -9, and started anew
    STOP = "stop"  # silent for longer than its lease, and continued
    TERMINATE = "terminate"  # all its database connections
    SEVER = "sever"  # one of them


class ModelFault(StrEnum):
    """What a model call suffers."""

    RESET = "reset"  # the connection, before anything is answered
    HANG = "hang"  # no answer at all
    CUT = "cut"  # the connection, in the middle of the answer
    HALF = "half"  # an answer that is whole for HTTP, and half a JSON object
    RATE_LIMIT = "429"  # with Retry-After
    SERVER_ERROR = "500"


class Way(StrEnum):
    """How a request is sent."""

    HTTP = "http"
    SQL = "sql"
    SQL_ROWS = "sql, several rows"


@dataclass(frozen=True, slots=True)
class Strike:
    """At `at` seconds the first process in `order` that is not stopped already is struck."""

    at: float
    blow: Blow
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Storm:
    """From `at` on, for `seconds`, every model call suffers `fault`."""

    at: float
    seconds: float
    fault: ModelFault


@dataclass(frozen=True, slots=True)
class Restart:
    """When this share of the runs is finished the postmaster is ended: at once, or with kill -9."""

    share: float
    is_kill: bool


@dataclass(frozen=True, slots=True)
class Request:
    """One run to be; `id` is used by clients that name it, `mark` stands in its query."""

    number: int
    user: int
    id: UUID

    @property
    def mark(self) -> str:
        return f"run {self.number:06} of user {self.user:04}"

    @property
    def user_id(self) -> UUID:
        return UUID(int=self.user + 1)

    @property
    def query(self) -> str:
        return f"{self.mark}: what did I say before, and what should I do next?"


@dataclass(frozen=True, slots=True)
class Batch:
    """Requests of one HTTP call or one transaction; some transactions are rolled back and begun again."""

    way: Way
    requests: tuple[Request, ...]
    rolls_back: bool


# Shares of all model calls.
FAULT_SHARES = {
    ModelFault.RESET: 0.02,
    ModelFault.HANG: 0.01,
    ModelFault.CUT: 0.02,
    ModelFault.HALF: 0.01,
    ModelFault.RATE_LIMIT: 0.02,
    ModelFault.SERVER_ERROR: 0.02,
}


def strikes(seed: int, processes: int, every: float = 1.0) -> Iterator[Strike]:
    """One strike every so many seconds. Each blow comes in turn to each process, both shuffled; then it begins anew."""
    draw = random.Random(f"{seed} strikes")
    number = count(1)
    while True:
        turns = {blow: draw.sample(range(processes), processes) for blow in Blow}
        for turn in range(processes):
            for blow in draw.sample(list(Blow), len(Blow)):
                first = turns[blow][turn]
                others = draw.sample([other for other in range(processes) if other != first], processes - 1)
                yield Strike(next(number) * every, blow, (first, *others))


def storms(seed: int, every: float = 15.0) -> Iterator[Storm]:
    """Short outages of the model, one in each period of `every` seconds."""
    draw = random.Random(f"{seed} storms")
    for number in count():
        at = (number + draw.uniform(0.2, 0.9)) * every
        yield Storm(at, draw.uniform(0.5, 1.5), draw.choice(list(ModelFault)))


def restarts(seed: int, times: int) -> tuple[Restart, ...]:
    """Restarts of Postgres, one in each of `times` equal parts of the run."""
    draw = random.Random(f"{seed} restarts")
    return tuple(Restart((part + draw.uniform(0.2, 0.7)) / times, draw.random() < 0.5) for part in range(times))


def model_faults(seed: int) -> Iterator[ModelFault | None]:
    """What the first model call suffers, the second, and so on; mostly nothing."""
    draw = random.Random(f"{seed} model")
    kinds = [None, *FAULT_SHARES]
    weights = [1 - sum(FAULT_SHARES.values()), *FAULT_SHARES.values()]
    while True:
        yield draw.choices(kinds, weights)[0]


def batches(seed: int, runs: int, users: int) -> list[Batch]:
    """All requests of a run, in the order in which they are sent: half over HTTP, half over SQL."""
    draw = random.Random(f"{seed} requests")
    found: list[Batch] = []
    number = 0
    while number < runs:
        way = draw.choices(list(Way), [9, 3, 1])[0]
        size = min(draw.randint(2, 10), runs - number) if way is Way.SQL_ROWS else 1
        requests = tuple(
            Request(number + n, draw.randrange(users), UUID(int=draw.getrandbits(128), version=4)) for n in range(size)
        )
        found.append(Batch(way, requests, way is not Way.HTTP and draw.random() < 0.1))
        number += size
    return found
