"""Term statistics: counts in the background how many messages of a large memory contain each term."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import asyncpg
import structlog

from maas.memory.retrieval import FULL_READ_MESSAGES
from shared.db import CONNECTION_LOST, Database

POLL_INTERVAL_S = 20.0
OVERLAP = timedelta(minutes=5)  # a transaction may commit messages that are as old as this
log = structlog.get_logger()


async def keep_terms_counted(db: Database) -> None:
    """Count until cancelled, for users whose memory has become large or has grown by a tenth since the last count."""
    while True:
        await count_due_terms(db)
        await asyncio.sleep(POLL_INTERVAL_S)


async def count_due_terms(db: Database) -> int:
    """Count the terms of all users for whom that is due, one user per transaction; return the number of users.

    A failure does not stop the counts of other users; the first one is raised at the end.
    """
    now = await db.value("clock")
    users = [row["user_id"] for row in await db.rows("users_to_count", OVERLAP, FULL_READ_MESSAGES)]
    failure: asyncpg.PostgresError | None = None
    for user_id in users:
        try:
            messages = await db.long_value("count_terms", user_id, FULL_READ_MESSAGES)
        except CONNECTION_LOST:
            raise
        except asyncpg.PostgresError as error:
            log.warning("terms_not_counted", user_id=str(user_id), cause=repr(error))
            failure = failure or error
        else:
            log.info("terms_counted", user_id=str(user_id), turns=messages)
    if failure is not None:
        raise failure
    await db.value("terms_are_counted", now)
    return len(users)
