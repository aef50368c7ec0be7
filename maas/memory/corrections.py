"""Corrections: messages that say what is right instead of a memory, which stays readable and is found behind them.

Of several corrections of one memory, and of corrections of these, the newest is valid.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from maas import queries
from maas.memory.query import MAX_TIME
from shared.db import Database
from shared.errors import MaasError
from shared.models import gen_ai


@dataclass(frozen=True, slots=True)
class Correction:
    """What is known of a memory that is corrected, or that is a correction itself.

    `corrected_by` and `corrects` are memories. `valid_id` is the message to be read instead, of the time `valid_from`;
    with `is_own` it corrects the memory itself, without it a summary that covers the memory.
    """

    corrected_by: UUID | None = None
    corrects: UUID | None = None
    valid_id: UUID | None = None
    valid_from: datetime | None = None
    is_own: bool = False

    @property
    def replaced_at(self) -> datetime | None:
        """When the memory itself was replaced; None while it is valid."""
        return self.valid_from if self.is_own else None


NONE = Correction()


async def correct(db: Database, user_id: UUID, memory_id: UUID, text: str) -> tuple[UUID, UUID]:
    """Add a statement of the user that corrects a memory; return the id of its run and its own.

    The text of the newest correction of this memory again is that correction. Raises MaasError('not_found').
    """
    with gen_ai.memory("update_memory", user_id, record_id=memory_id, count=1):
        row = await db.row(queries.correct, user_id, memory_id, text)
        if row is None:
            raise MaasError("not_found", f"there is no memory {memory_id}")
        return row["run_id"], row["log_id"]


async def read_corrections(
    db: Database, user_id: UUID, ids: Collection[UUID], as_of: datetime | None = None
) -> dict[UUID, Correction]:
    """Return those of these messages and summaries that are corrected or are corrections, as known at a moment."""
    if not ids:
        return {}
    rows = await db.rows(queries.corrections, user_id, list(ids), as_of or MAX_TIME)
    return {
        row["id"]: Correction(row["corrected_by"], row["corrects"], row["valid_id"], row["valid_from"], row["is_own"])
        for row in rows
    }


async def corrections_under(
    db: Database, user_id: UUID, summary_id: UUID, as_of: datetime | None = None
) -> list[tuple[UUID, datetime, bool]]:
    """Return the valid corrections of a summary and of what it was made of, newest first: message, time, is its own."""
    rows = await db.rows(queries.corrections_under, user_id, summary_id, as_of or MAX_TIME)
    return [(row["valid_id"], row["valid_from"], row["is_own"]) for row in rows]
