"""What every peer is given and what it prints."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version

BEGUN = "the work begins"
# What autovacuum would have done by itself a minute later; without it some claim queries are planned blindly.
ANALYZE = "analyze"


@dataclass(frozen=True, slots=True)
class Work:
    """So many runs, one user after the other, to be worked off over an empty database."""

    dsn: str
    runs: int
    concurrency: int
    users: int

    def check(self, done: int) -> None:
        """End the process when the database does not count every run as done."""
        if done != self.runs:
            sys.exit(f"only {done} of {self.runs} runs were done")


def begin() -> float:
    """Seconds since the epoch; tells who measures that everything is enqueued and that the work begins."""
    print(BEGUN, file=sys.stderr, flush=True)
    return time.time()


def run_peer(
    name: str, package: str | None, unit: str, settings: Mapping[str, object], work_off: Callable[[Work], float]
) -> None:
    """Parse the arguments, work off, print; `work_off` returns seconds: first possible claim to last end."""
    parser = argparse.ArgumentParser(prog=f"python -m bench.peers.{name}")
    parser.add_argument("dsn", help="address of an empty database")
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--concurrency", type=int, required=True)
    parser.add_argument("--users", type=int, default=200)
    work = Work(**vars(parser.parse_args()))
    seconds = work_off(work)
    result = {
        "peer": name,
        "version": version(package) if package else None,
        "runs": work.runs,
        "seconds": round(seconds, 4),
        "unit": unit,
        "settings": {"concurrency": work.concurrency, **settings},
    }
    print(json.dumps(result))
