"""What a number of users takes: processes, cores, databases and disk, from the costs in docs/scale.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

# One run of the product with its built-in model on a core of the bench machine; a real model only adds waiting.
POSTGRES_S, ORCHESTRATOR_S, SERVER_S = 0.0026, 0.0035, 0.0003
EMBEDDING_S = 0.005  # of an orchestrator, for the question, with the local embedding model
LOCK_S = 0.00025  # under the lock of the queue, which is one for each database
DISK_BYTES, LOG_BYTES = 19_800, 27_500  # rows and indexes of a run; its write-ahead log
CONNECTIONS_OF_ORCHESTRATOR, CONNECTIONS_OF_SERVER = 9, 15
SHARE_OF_ASSISTANT = 2 / 3  # of the places of an orchestrator, for one assistant
UTILISATION = 0.6  # above it waiting grows fast
HOURS = 24
HOUR_S, DAY_S = 3600, 86_400


@dataclass(frozen=True, slots=True)
class Load:
    """Who asks how much; `busiest_hour` is its share of a day's requests, `answer_s` how long models take for one."""

    users: int
    runs_a_day: float  # of each user
    answer_s: float = 8.0
    busiest_hour: float = 0.1
    days: int = 365  # that words and finished runs are kept
    concurrency: int = 96  # MAAS_CONCURRENCY
    has_embeddings: bool = True

    @property
    def mean_rate(self) -> float:
        """Runs a second, over a day."""
        return self.users * self.runs_a_day / DAY_S

    @property
    def peak_rate(self) -> float:
        """Runs a second, in the busiest hour."""
        return self.users * self.runs_a_day * max(self.busiest_hour, 1 / HOURS) / HOUR_S


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a load takes in its busiest hour. `databases` are complete MaaS, each with some of the users."""

    in_flight: float
    databases: int
    postgres_cores: int  # of all databases together, like those below
    orchestrators: int  # each a core at most
    servers: int
    connections: int
    disk_bytes: float  # when the oldest rows are as old as they get
    log_bytes_a_day: float


def capacity_for(load: Load) -> Capacity:
    """Compute what a load takes, so that nothing is busy for more than UTILISATION of the time."""
    rate, in_flight = load.peak_rate, load.peak_rate * load.answer_s
    orchestrator_s = ORCHESTRATOR_S + EMBEDDING_S * load.has_embeddings
    databases = _needed(rate * LOCK_S)
    # One assistant gets a share of the places; who asks several of them needs fewer.
    places = load.concurrency * SHARE_OF_ASSISTANT
    orchestrators = max(_needed(rate * orchestrator_s), _needed(in_flight / places), databases)
    servers = max(_needed(rate * SERVER_S), databases)
    runs = load.users * load.runs_a_day
    return Capacity(
        in_flight=in_flight,
        databases=databases,
        postgres_cores=max(_needed(rate * POSTGRES_S), databases),
        orchestrators=orchestrators,
        servers=servers,
        connections=orchestrators * CONNECTIONS_OF_ORCHESTRATOR + servers * CONNECTIONS_OF_SERVER,
        disk_bytes=runs * load.days * DISK_BYTES,
        log_bytes_a_day=runs * LOG_BYTES,
    )


def _needed(busy_s: float) -> int:
    """How many of a thing are busy for so many seconds of every second, and one at least."""
    return max(math.ceil(busy_s / UTILISATION), 1)
