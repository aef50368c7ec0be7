"""Deletion: of one memory, of a user, and of everything older than the retention period."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

import structlog

from maas import queries
from shared.db import Database
from shared.errors import MaasError
from shared.models import gen_ai
from shared.transaction import Transaction

CANCEL_TIMEOUT_S = 2.0
CANCEL_POLL_INTERVAL_S = 0.05
ERASE_PAUSE_S = 0.01  # between transactions
MAX_LATE_CALLS = 100  # of maas_erase that met new runs
ERASURE_POLL_INTERVAL_S = 30.0
SILENCE_S = 60.0
PURGE_INTERVAL_S = 60.0
MAX_ANSWERS = 100
PURGE_PAUSE_S = 0.05  # between batches, so that requests are not held up
log = structlog.get_logger()


async def erase_user(
    db: Database, user_id: UUID, actor: str, on_progress: Callable[[int], None] = lambda deleted: None
) -> dict[str, int]:
    """Delete a user from every table; return the number of rows by table.

    Runs in progress are cancelled first and have two seconds to end, so that models stop working for them. A run that
    takes longer is not waited for: when it ends, it finds no row to write to. Rows are deleted in short transactions;
    `on_progress` is called after each with the number of rows deleted so far. If this process ends, an orchestrator
    goes on.

    Raises MaasError('in_use') when requests of this user keep coming in.
    """
    with gen_ai.memory("delete_memory_store", user_id):
        return await _erase(db, user_id, actor, on_progress)


async def _erase(db: Database, user_id: UUID, actor: str, on_progress: Callable[[int], None]) -> dict[str, int]:
    with suppress(TimeoutError):
        async with asyncio.timeout(CANCEL_TIMEOUT_S):
            while rows := await db.rows(queries.answering, user_id):
                for row in rows:
                    await db.value(queries.cancel_run, row["id"], actor)
                await asyncio.sleep(CANCEL_POLL_INTERVAL_S)
    known_late: int | None = None
    while (receipt := await db.long_value(queries.erase_user, user_id, actor)) is None:
        progress = await db.row(queries.erasure, user_id)
        if progress is not None:
            on_progress(progress["deleted"])
            known_late = progress["late_calls"] if known_late is None else known_late
            if progress["late_calls"] - known_late >= MAX_LATE_CALLS:
                raise MaasError(
                    "in_use", "requests of this user keep coming in; stop the clients that send them, then erase again"
                )
        await asyncio.sleep(ERASE_PAUSE_S)
    return dict(receipt)


async def keep_erasing(db: Database) -> None:
    """Finish until cancelled the erasures whose process has ended or failed."""
    while True:
        await finish_erasures(db)
        await asyncio.sleep(ERASURE_POLL_INTERVAL_S)


async def finish_erasures(db: Database) -> int:
    """Finish the erasures that nobody has gone on with for `SILENCE_S` seconds; return their number."""
    finished = 0
    user_id: UUID | None = None
    while (row := await _resume(db, user_id)) is not None or user_id is not None:
        user_id = row["user_id"] if row is not None and row["receipt"] is None else None
        if row is not None and row["receipt"] is not None:
            log.info("user_erased", user_id=str(row["user_id"]))
            finished += 1
        await asyncio.sleep(ERASE_PAUSE_S)
    return finished


async def _resume(db: Database, user_id: UUID | None) -> queries.ResumeErasureRow | None:
    async with db.transaction() as transaction:
        await transaction.allow_long_statements()
        return await transaction.row(queries.resume_erasure, SILENCE_S, user_id)


class _Undone(Exception):
    """Ends a transaction whose result is wanted, and not its effect."""


async def forget_memory(
    db: Database,
    memory_id: UUID,
    user_id: UUID | None,
    actor: str,
    *,
    is_doubtful_too: bool = False,
    is_preview: bool = False,
) -> dict[str, Any]:
    """Delete a summary or a message, every summary made of it, and the answers that repeat it; return the counts.

    In the result `repeating` lists the newest hundred of these answers, `doubtful` those of the answers that were given
    the memory and may repeat it, and `doubtful_runs` counts the latter. With `is_doubtful_too` they are deleted, too,
    also in a second call, when the memory itself is already gone. With `is_preview` nothing is deleted.

    Raises MaasError: `not_found`, also for a memory of another user; `in_use` while the messages are being archived.
    """
    arguments = (queries.forget, memory_id, user_id, actor, is_doubtful_too)
    with gen_ai.memory("delete_memory", user_id, record_id=memory_id) as operation:
        operation.note({"maas.preview": is_preview or None})
        counts = await _forget(db, is_preview, lambda transaction: transaction.value(*arguments))
        verdict = counts.pop("verdict")
        if verdict == "not_found":
            raise MaasError("not_found", f"there is no memory {memory_id}")
        if verdict == "in_use":
            raise MaasError("in_use", f"memory {memory_id} is of a run that is not finished yet; wait for its end")
    return counts


async def forget_conversation(
    db: Database, conversation_id: UUID, actor: str, *, is_doubtful_too: bool = False, is_preview: bool = False
) -> dict[str, Any]:
    """Delete a conversation with its requests, and forget its messages as `forget_memory` does; return the counts.

    `messages` counts those that it showed, `images` those that no other request has.

    Raises MaasError: `not_found`; `in_use` while a request of it is not finished or being archived.
    """
    arguments = (queries.forget_conversation, conversation_id, actor, is_doubtful_too)
    with gen_ai.memory("delete_memory", None) as operation:
        operation.note({"gen_ai.conversation.id": str(conversation_id), "maas.preview": is_preview or None})
        counts = await _forget(db, is_preview, lambda transaction: transaction.value(*arguments))
        verdict = counts.pop("verdict")
        if verdict == "not_found":
            raise MaasError("not_found", f"there is no conversation {conversation_id}")
        if verdict == "in_use":
            cause = "a request of this conversation is not finished yet: wait for its end, or cancel it"
            raise MaasError("in_use", cause)
    return counts


async def _forget(db: Database, is_preview: bool, delete: Callable[[Transaction], Awaitable[Any]]) -> dict[str, Any]:
    counts: dict[str, Any] = {}
    with suppress(_Undone):
        async with db.transaction() as transaction:
            await transaction.allow_long_statements()
            counts |= await delete(transaction)
            if is_preview:
                raise _Undone
    return counts


async def answers_from(
    db: Database, user_id: UUID | None, origin: Mapping[str, str]
) -> tuple[list[queries.AnswersFromRow], int]:
    """Return the newest hundred answers made from an origin, such as `{"kind": "document", "id": ...}`, and how many
    there are; `user_id` None: of all users."""
    rows = await db.rows(queries.answers_from, user_id, dict(origin), MAX_ANSWERS)
    return rows, rows[0]["total"] if rows else 0


async def forget_origin(
    db: Database, user_id: UUID | None, origins: Sequence[Mapping[str, str]], actor: str
) -> Counter[str]:
    """Forget the answers made from these origins, their summaries and what repeats them; return the counts.

    `user_id` None: of all users. Each answer is forgotten in a transaction of its own, so that no user waits for those
    of others. `in_use` counts answers that are being archived: they can be forgotten afterwards.
    """
    total: Counter[str] = Counter()
    for origin in origins:
        for row in await db.rows(queries.memories_from, user_id, dict(origin)):
            counts = await db.long_value(queries.forget, row["id"], row["user_id"], actor, False)
            if counts["verdict"] == "forgotten":
                total.update(answers=1, logs=counts["logs"], records=counts["records"])
            elif counts["verdict"] == "in_use":
                total.update(in_use=1)
    return total


async def keep_purging(db: Database, days: int) -> None:
    """Purge until cancelled what is older than `days`; of several processes one at a time does so."""
    while True:
        await purge_expired(db, days)
        await asyncio.sleep(PURGE_INTERVAL_S * (0.5 + random.random()))


async def purge_expired(db: Database, days: int) -> dict[str, int]:
    """Delete messages and finished runs older than `days`, and keep their summaries; return the counts by kind.

    Each transaction deletes a batch, of whatever users.
    """
    total: dict[str, int] = {}
    while counts := await db.long_value(queries.sweep, days):
        if not any(counts.values()):
            break
        total = {name: total.get(name, 0) + count for name, count in counts.items()}
        await db.value(
            queries.add_metrics,
            [
                {"name": "words_swept", "events": counts["logs"]},
                {"name": "runs_swept", "events": counts["runs"]},
            ],
        )
        await asyncio.sleep(PURGE_PAUSE_S)
    if total:
        log.info("expired_data_deleted", days=days, **total)
    return total
