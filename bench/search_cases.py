"""How long a search takes, by what its user has said and by what all others have said."""

from __future__ import annotations

import asyncio
import itertools
import time
from random import Random

import asyncpg

from bench.report import Figure, percentile, percentiles
from bench.searches import Asked, Scale, ask, ask_once

QUESTIONS = 300
CALLERS = 16
ORDINARY_MS, ORDINARY_AIM = 15.0, 5.0
RATIO, RATIO_AIM = 3.0, 1.3
LARGEST_MS, LARGEST_AIM = 50.0, 15.0
BUCKETS = (10, 30, 100, 300, 1000, 3000, 10_000)
FAULTS = (asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError, OSError)


async def ordinary_users(scale: Scale) -> list[Figure]:
    """Questions of users of usual size, one with more logs asking more often."""
    corpus = scale.corpus
    asked = await ask(scale, corpus.questions(list(corpus.ordinary), QUESTIONS))
    return [
        *percentiles(f"{corpus.logs:,} logs", asked.ms, (50, 95), ORDINARY_MS, ORDINARY_AIM),
        *asked.figures(),
    ]


async def against_small(scale: Scale) -> list[Figure]:
    """The same users and questions in a table that holds only them and in the full one, by turns."""
    corpus = scale.corpus
    logs = corpus.logs // 100
    questions = corpus.questions(corpus.sample(logs), QUESTIONS)
    small, full = Asked(), Asked()
    for _ in range(2):
        small.ms += (await ask(scale, questions, scale.seconds / 2, scale.small)).ms
        full.ms += (await ask(scale, questions, scale.seconds / 2)).ms
    middle, tail = (percentile(full.ms, share) / percentile(small.ms, share) for share in (0.5, 0.95))
    return [
        *percentiles(f"table of {logs:,} logs", small.ms, (50, 95)),
        *percentiles(f"the same users among {corpus.logs:,}", full.ms, (50, 95)),
        Figure("against the small table, p50", "x", middle, limit=RATIO, aim=RATIO_AIM),
        Figure("against the small table, p95", "x", tail, limit=RATIO, aim=RATIO_AIM),
    ]


async def large_users(scale: Scale) -> list[Figure]:
    """Questions of the two users who have said very much."""
    corpus = scale.corpus
    figures = []
    for user, limit, aim in ((corpus.large, None, None), (corpus.largest, LARGEST_MS, LARGEST_AIM)):
        asked = await ask(scale, corpus.questions([user], QUESTIONS))
        figures += percentiles(f"user of {corpus.logs_of(user):,} logs", asked.ms, (50, 95), limit, aim)
        figures += asked.figures()
    return figures


async def at_once(scale: Scale) -> list[Figure]:
    """Sixteen callers over the pool of one server."""
    corpus = scale.corpus
    questions = itertools.cycle(corpus.questions(list(corpus.ordinary), QUESTIONS))
    asked, faults = Asked(), []
    began = time.perf_counter()

    async def call() -> None:
        while time.perf_counter() < began + scale.seconds:
            try:
                await ask_once(scale.full, next(questions), asked)
            except FAULTS as fault:
                faults.append(fault)

    await asyncio.gather(*(call() for _ in range(CALLERS)))
    rate = len(asked.ms) / (time.perf_counter() - began)
    name = f"{CALLERS} callers"
    return [
        Figure(name, "searches/s", rate),
        *percentiles(name, asked.ms, (50, 95)),
        Figure(f"{name}: errors", "", len(faults), limit=1),
    ]


async def by_size(scale: Scale) -> list[Figure]:
    """Users of like size, from the smallest to the largest: the points of the plot."""
    corpus, rng = scale.corpus, Random(scale.corpus.seed)
    for low, high in itertools.pairwise(BUCKETS):
        users = [user for user in corpus.ordinary if low <= corpus.logs_of(user) < high]
        if users:
            await _add_point(scale, rng.sample(users, min(len(users), 20)))
    for user in (corpus.large, corpus.largest):
        await _add_point(scale, [user])
    return [Figure(f"users of about {rows:,} logs p95", "ms", tail) for rows, (_, tail) in sorted(scale.curve.items())]


async def _add_point(scale: Scale, users: list[int]) -> None:
    asked = await ask(scale, scale.corpus.questions(users, QUESTIONS // 5), scale.seconds / 3)
    rows = sum(map(scale.corpus.logs_of, users)) // len(users)
    scale.curve[rows] = (percentile(asked.ms, 0.5), percentile(asked.ms, 0.95))
