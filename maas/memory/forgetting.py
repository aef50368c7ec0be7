"""Forgetting: one memory with all that was made of it, or a user from every table."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any
from uuid import UUID

from shared.db import Database
from shared.errors import MaasError

PATIENCE = 2.0


async def erase_user(db: Database, user_id: UUID, actor: str) -> dict[str, int]:
    """Remove a user from every table; how many rows of each.

    What is being answered is cancelled and given two seconds, so that a model stops working for it; erasing itself
    waits for no model, and what comes back later finds no row.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            while answering := await db.rows("answering", user_id):
                for row in answering:
                    await db.value("cancel_run", row["id"], actor)
                await asyncio.sleep(0.05)
    return dict(await db.long_value("erase_user", user_id, actor))


async def forget_memory(
    db: Database, memory_id: UUID, user_id: UUID | None, actor: str, *, is_doubtful_too: bool = False
) -> dict[str, Any]:
    """Delete a record or a turn, its words, every record made of them, and answers that repeat them; how much of each.

    `doubtful` are the newest hundred of the runs that were given it and do not clearly repeat it, `doubtful_runs` how
    many there are. With `is_doubtful_too` their answers go, too, also when the memory itself went before.

    Raises MaasError: `not_found`, also for another user's; `in_use` while the words are being recorded.
    """
    counts = dict(await db.long_value("forget", memory_id, user_id, actor, is_doubtful_too))
    verdict = counts.pop("verdict")
    if verdict == "not_found":
        raise MaasError("not_found", f"there is no memory {memory_id}")
    if verdict == "in_use":
        raise MaasError("in_use", f"memory {memory_id} is of a run that is not finished yet; wait for its end")
    return counts
