"""The words of large memories are counted in the background, so that a search knows which of its terms are rare."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import structlog

from maas.memory.evidence import WHOLE
from shared.db import Database

EVERY = 20.0  # seconds
OVERLAP = timedelta(minutes=5)  # a transaction may be as old when it commits its turns
log = structlog.get_logger()


async def count_terms(db: Database) -> None:
    """Count anew, for ever, the words of users whose memory has grown large, or by a tenth since it was counted."""
    while True:
        await count_due(db)
        await asyncio.sleep(EVERY)


async def count_due(db: Database) -> int:
    """Count what is due now, one user a transaction; how many users that were."""
    now = await db.value("clock")
    users = [row["user_id"] for row in await db.rows("users_to_count", OVERLAP, WHOLE)]
    for user_id in users:
        turns = await db.value("count_terms", user_id, WHOLE)
        log.info("terms_counted", user_id=str(user_id), turns=turns)
    await db.value("terms_are_counted", now)
    return len(users)
