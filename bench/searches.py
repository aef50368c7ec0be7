"""Searches under measurement: the product's own function, over a pool as the server has it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.corpus import Corpus, Question
from bench.processes import HAS_PROC, family_seconds
from bench.report import Figure
from bench.tables import Tables
from maas.memory.search import search
from shared.db import Database

LIMIT = 10
ROUNDS = 3
LEAST = 5  # searches that are measured, however slow they are


@dataclass(frozen=True, slots=True)
class Scale:
    """What every case gets; `seconds` bounds a series of searches, `curve` collects p50 and p95 by logs of a user."""

    corpus: Corpus
    small: Database
    full: Database
    tables: Tables
    seconds: float
    curve: dict[int, tuple[float, float]] = field(default_factory=dict)

    def cpu_ms(self) -> float:
        """CPU of Postgres so far; 0 where it is not ours to look at."""
        return 1000 * family_seconds(self.tables.server_pid) if self.tables.server_pid and HAS_PROC else 0.0


@dataclass(slots=True)
class Asked:
    """Milliseconds of each search, how many found the turn that its question was taken from, and CPU a search."""

    ms: list[float] = field(default_factory=list)
    found: int = 0
    postgres_ms: float = 0.0
    caller_ms: float = 0.0

    def figures(self) -> list[Figure]:
        """What is not latency; CPU tells more than latency where others use the machine, too."""
        used = {"Postgres": self.postgres_ms, "the caller": self.caller_ms}
        return [
            Figure("questions whose turn is among the ten found", "%", 100 * self.found / len(self.ms)),
            *(Figure(f"CPU of {who} a search", "ms", ms) for who, ms in used.items() if ms),
        ]


async def ask(
    scale: Scale, questions: Sequence[Question], seconds: float | None = None, db: Database | None = None
) -> Asked:
    """Each question once to warm up, then up to three times measured, as far as the time allows."""
    seconds, db = seconds or scale.seconds, db or scale.full
    end = time.perf_counter() + seconds / 3
    for question in questions:
        await search(db, question.user, question.text, limit=LIMIT)
        if time.perf_counter() > end:
            break
    asked = Asked()
    postgres_ms, caller_s, end = scale.cpu_ms(), time.process_time(), time.perf_counter() + seconds
    for question in itertools.chain.from_iterable([questions] * ROUNDS):
        await ask_once(db, question, asked)
        if time.perf_counter() > end and len(asked.ms) >= LEAST:
            break
    asked.caller_ms = 1000 * (time.process_time() - caller_s) / len(asked.ms)
    asked.postgres_ms = (scale.cpu_ms() - postgres_ms) / len(asked.ms)
    return asked


async def ask_once(db: Database, question: Question, asked: Asked) -> None:
    """Search, and note what came of it."""
    began = time.perf_counter()
    hits = await search(db, question.user, question.text, limit=LIMIT)
    asked.ms.append(1000 * (time.perf_counter() - began))
    asked.found += question.turn in {hit.id for hit in hits}
