"""Searches under measurement: the product's own function, over a pool as the server has it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.corpus import Corpus, Question
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


@dataclass(slots=True)
class Asked:
    """Milliseconds of each search, and how many found the turn that its question was taken from."""

    ms: list[float] = field(default_factory=list)
    found: int = 0

    @property
    def found_percent(self) -> float:
        """Searches that found it among the ten."""
        return 100 * self.found / len(self.ms)


async def ask(db: Database, questions: Sequence[Question], seconds: float) -> Asked:
    """Each question once to warm up, then up to three times measured, as far as the time allows."""
    end = time.perf_counter() + seconds / 3
    for question in questions:
        await search(db, question.user, question.text, limit=LIMIT)
        if time.perf_counter() > end:
            break
    asked = Asked()
    end = time.perf_counter() + seconds
    for question in itertools.chain.from_iterable([questions] * ROUNDS):
        await ask_once(db, question, asked)
        if time.perf_counter() > end and len(asked.ms) >= LEAST:
            break
    return asked


async def ask_once(db: Database, question: Question, asked: Asked) -> None:
    """Search, and note what came of it."""
    began = time.perf_counter()
    hits = await search(db, question.user, question.text, limit=LIMIT)
    asked.ms.append(1000 * (time.perf_counter() - began))
    asked.found += question.turn in {hit.id for hit in hits}
