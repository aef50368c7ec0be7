"""How often terms occur in large memories, counted beforehand."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import asyncpg
import structlog

from maas import queries
from maas.memory.memory_reader import FULL_READ_MESSAGES
from shared.db import CONNECTION_LOST, Database

COUNT_INTERVAL_S = 20.0
COUNT_OVERLAP = timedelta(minutes=5)  # a transaction may commit messages that are as old as this
log = structlog.get_logger()


async def keep_terms_counted(db: Database) -> None:
    """Count until cancelled, for users whose memory has become large or has grown by a tenth since the last count."""
    while True:
        await count_due_terms(db)
        await asyncio.sleep(COUNT_INTERVAL_S)


async def count_due_terms(db: Database) -> int:
    """Count the terms of all users for whom that is due, one user per transaction; return the number of users.

    A failure does not stop the counts of other users; the first one is raised at the end.
    """
    now = await db.value(queries.clock)
    users = [row["user_id"] for row in await db.rows(queries.users_to_count, COUNT_OVERLAP, FULL_READ_MESSAGES)]
    failure: asyncpg.PostgresError | None = None
    for user_id in users:
        try:
            messages = await db.long_value(queries.count_terms, user_id, FULL_READ_MESSAGES)
        except CONNECTION_LOST:
            raise
        except asyncpg.PostgresError as error:
            log.warning("terms_not_counted", user_id=str(user_id), cause=repr(error))
            failure = failure or error
        else:
            log.info("terms_counted", user_id=str(user_id), messages=messages)
    if failure is not None:
        raise failure
    await db.value(queries.terms_are_counted, now)
    return len(users)
