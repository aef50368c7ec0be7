"""Records: what the Archivist wrote about exchanges, and the way back to the words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from maas.memory.ranking import Ranked
from maas.memory.reach import EVERYTHING, Reach
from shared.db import Database
from shared.errors import MaasError


@dataclass(frozen=True, slots=True)
class Record:
    """A valid record. `score` (0 to 1) says how well it fits the question that it was found for."""

    id: UUID
    period: str
    summary: str
    tags: tuple[str, ...]
    raw_log_ids: tuple[UUID, ...]
    occurred_at: datetime
    score: float = 0.0

    @classmethod
    def from_row(cls, row: Any, score: float = 0.0) -> Record:
        return cls(
            row["id"], row["period"], row["summary"], tuple(row["tags"]), tuple(row["raw_log_ids"]),
            row["occurred_at"], score,
        )  # fmt: skip


async def records_of_turns(
    db: Database, user_id: UUID, turns: Sequence[Ranked], limit: int = 20, as_of: datetime | None = None
) -> list[Record]:
    """The records that cover the turns, best first, then the newest ones with score 0; at most `limit`.

    What was merged is found in the record that it went into; with `as_of`, in that of its exchange.
    """
    scores: dict[UUID, float] = {}
    for one in turns:
        if (record_id := one.turn.record_id) is not None:
            scores.setdefault(record_id, one.coverage)
    beside = max(limit - len(scores), 0)
    if as_of is None:
        rows = await db.rows("records", user_id, list(scores), beside)
    else:
        rows = await db.rows("records_as_of", user_id, list(scores), beside, as_of)
    places = {record_id: place for place, record_id in enumerate(scores)}
    ranked = []
    for row in rows:  # newest first
        best = min((one for one in row["wanted"] if one in places), key=places.__getitem__, default=None)
        place, score = (places[best], scores[best]) if best is not None else (len(places), 0.0)
        ranked.append((place, Record.from_row(row, score)))
    ranked.sort(key=lambda one: one[0])
    return [record for _, record in ranked[:limit]]


async def wordless_records(
    db: Database, user_id: UUID, question: str, limit: int, reach: Reach = EVERYTHING
) -> list[dict[str, Any]]:
    """Records that a search by turns does not find, since retention removed their words; best first.

    `score` is the share of the question's words that stand in the record.
    """
    _, _, *bounds = reach.bounds
    return [dict(row) for row in await db.rows("wordless_records", user_id, question, reach.as_of, *bounds, limit)]


async def list_memories(
    db: Database, user_id: UUID, before: tuple[datetime, UUID] | None = None, limit: int = 50
) -> list[dict[str, Any]]:
    """The valid records of a user, newest first; `before` is created_at and id of the last one of the page before."""
    at, last = before or (None, None)
    return [dict(row) for row in await db.rows("list_memories", user_id, at, last, limit)]


async def read_memory(db: Database, memory_id: UUID, user_id: UUID | None = None) -> dict[str, Any]:
    """A record or a turn by its id, of this user if one is named. Raises MaasError('not_found')."""
    row = await db.row("memory", memory_id)
    if row is None or user_id not in (None, row["user_id"]):
        raise MaasError("not_found", f"there is no memory {memory_id}")
    return dict(row)


async def read_history(db: Database, memory: dict[str, Any]) -> list[dict[str, Any]]:
    """How a memory came about and what became of it: words in the order in which they were said, then records."""
    return [dict(row) for row in await db.rows("history", memory["user_id"], memory["raw_log_ids"])]


async def read_sources(db: Database, memory: dict[str, Any]) -> list[dict[str, Any]]:
    """The raw logs that a memory was made of, in the order in which they were said."""
    return [dict(row) for row in await db.rows("sources", memory["user_id"], memory["raw_log_ids"])]
