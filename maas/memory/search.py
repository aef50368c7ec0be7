"""Recall: the turns of one user that answer a question, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

from maas.memory.ranking import SCALE, Ranked, Turn, rank
from shared.db import Database

Scope = Literal["hot", "warm", "cold"]
HOT = timedelta(days=3)
WARM = timedelta(days=14)
EVERY_TURN = 2**63 - 1
END_OF_TIME = datetime(9999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Hit:
    """A turn that was found. `score` is 0 to 1; `coverage` is the share of the question's weight around it."""

    id: UUID
    score: float
    coverage: float
    text: str
    speaker: str
    occurred_at: datetime
    created_at: datetime
    period: str
    tags: tuple[str, ...]
    record_id: UUID | None
    external_id: str | None


async def search(
    db: Database,
    user_id: UUID,
    question: str,
    *,
    limit: int = 10,
    before_seq: int = EVERY_TURN,
    as_of: datetime | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    tags: Sequence[str] | None = None,
    scope: Scope | None = None,
) -> list[Hit]:
    """At most `limit` turns of this user, best first; never anybody else's.

    The arguments are those of `rank_turns`.
    """
    best = await rank_turns(
        db, user_id, question, limit=limit, before_seq=before_seq, as_of=as_of, since=since, until=until, tags=tags,
        scope=scope,
    )  # fmt: skip
    return await _read(db, user_id, best) if best else []


async def rank_turns(
    db: Database,
    user_id: UUID,
    question: str,
    *,
    limit: int,
    before_seq: int = EVERY_TURN,
    as_of: datetime | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    tags: Sequence[str] | None = None,
    scope: Scope | None = None,
) -> list[Ranked]:
    """Which turns a search finds, without their words.

    `before_seq` hides requests of that turn and later ones. `as_of` shows only what was known then. `since` (inclusive)
    and `until` (exclusive) bound when a turn was said; `tags` asks for turns whose record bears one of them. `scope`
    prefers turns of an age, counted from `as_of` or now, and hides none.
    """
    rows = await db.rows(
        "rank_turns", user_id, question, before_seq, as_of or END_OF_TIME, since, until, list(tags) if tags else None
    )
    if not rows:
        return []
    now = as_of or datetime.now(UTC)
    turns = [
        Turn(
            id=row["id"], conversation=row["conversation"], speaker=row["speaker"],
            is_assistant=row["message_type"] == "assistant_response" and _is_machine(row["speaker"]),
            occurred_at=row["occurred_at"], record_id=row["record_id"], mask=row["mask"],
            mask_before=row["mask_before"], mask_after=row["mask_after"], length=row["length"],
            is_eligible=row["is_eligible"],
            is_preferred=scope is not None and scope_of(row["occurred_at"], now) == scope,
        )
        for row in rows
    ]  # fmt: skip
    return rank(turns, rows[0]["terms"], rows[0]["total"], question)[:limit]


def scope_of(at: datetime, now: datetime) -> Scope:
    """hot up to 3 days, warm up to 14, cold beyond."""
    age = now - at
    return "hot" if age <= HOT else "warm" if age <= WARM else "cold"


async def _read(db: Database, user_id: UUID, best: Sequence[Ranked]) -> list[Hit]:
    rows = {row["id"]: row for row in await db.rows("turns", user_id, [one.turn.id for one in best])}
    return [
        Hit(
            id=row["id"], score=round(min(max(one.score / SCALE, 0.0), 1.0), 4), coverage=one.coverage,
            text=row["content"], speaker=row["speaker"] or _speaker(row["message_type"]),
            occurred_at=row["occurred_at"], created_at=row["created_at"], period=row["period"],
            tags=tuple(row["tags"] or ()), record_id=row["record_id"], external_id=row["external_id"],
        )
        for one in best
        if (row := rows.get(one.turn.id))
    ]  # fmt: skip


def _speaker(message_type: str) -> str:
    return "user" if message_type == "user_query" else "assistant"


def _is_machine(speaker: str | None) -> bool:
    return speaker is None or speaker.casefold() in {"assistant", "ai", "bot"}
