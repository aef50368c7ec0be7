"""The words of large memories are counted in the background, so that a search knows which of its terms are rare."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import asyncpg
import structlog

from maas.memory.evidence import WHOLE
from shared.db import CONNECTION_LOST, Database

EVERY = 20.0  # seconds
OVERLAP = timedelta(minutes=5)  # a transaction may be as old when it commits its turns
log = structlog.get_logger()


async def count_terms(db: Database) -> None:
    """Count anew, for ever, the words of users whose memory has grown large, or by a tenth since it was counted."""
    while True:
        await count_due(db)
        await asyncio.sleep(EVERY)


async def count_due(db: Database) -> int:
    """Count what is due now, one user a transaction; how many users that were.

    A user whose words cannot be counted stops no other; the first failure is raised when all others are counted.
    """
    now = await db.value("clock")
    users = [row["user_id"] for row in await db.rows("users_to_count", OVERLAP, WHOLE)]
    failure: asyncpg.PostgresError | None = None
    for user_id in users:
        try:
            turns = await db.long_value("count_terms", user_id, WHOLE)
        except CONNECTION_LOST:
            raise
        except asyncpg.PostgresError as error:
            log.warning("terms_not_counted", user_id=str(user_id), cause=repr(error))
            failure = failure or error
        else:
            log.info("terms_counted", user_id=str(user_id), turns=turns)
    if failure is not None:
        raise failure
    await db.value("terms_are_counted", now)
    return len(users)
