"""Retention: words and finished runs go when they are old; records of them stay."""

from __future__ import annotations

import asyncio
import random

import structlog

from shared.db import Database

EVERY = 60.0  # seconds between looks
PAUSE = 0.05  # between batches: live work goes first
log = structlog.get_logger()


async def keep_for(db: Database, days: int) -> None:
    """Remove, for ever, what is older than so many days; one of many processes does it."""
    while True:
        await sweep(db, days)
        await asyncio.sleep(EVERY * (0.5 + random.random()))


async def sweep(db: Database, days: int) -> dict[str, int]:
    """Remove what is due now, a batch of one user a transaction; how much of each kind went."""
    total: dict[str, int] = {}
    while counts := await db.long_value("sweep", days):
        if not any(counts.values()):
            break
        total = {name: total.get(name, 0) + count for name, count in counts.items()}
        await db.value("add_metrics", [
            {"name": "words_swept", "events": counts["logs"]}, {"name": "runs_swept", "events": counts["runs"]},
        ])  # fmt: skip
        await asyncio.sleep(PAUSE)
    if total:
        log.info("swept", days=days, **total)
    return total
