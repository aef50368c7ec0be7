"""Recall: the turns of one user that answer a question, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from maas.memory.evidence import gather
from maas.memory.ranking import SCALE, Ranked, rank
from maas.memory.reach import EVERYTHING, Reach
from maas.memory.vectors import similar
from shared.db import Database
from shared.models.questions import Questions


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
    summary: str | None
    external_id: str | None


async def search(
    db: Database,
    user_id: UUID,
    question: str,
    *,
    limit: int = 10,
    reach: Reach = EVERYTHING,
    questions: Questions | None = None,
    is_full: bool = False,
) -> list[Hit]:
    """At most `limit` turns of this user, best first; never anybody else's.

    By words, and with `questions` by meaning too. With `is_full` what is not near the question follows what is.
    """
    best = await rank_turns(
        db, user_id, question, limit=limit, reach=reach, questions=questions, is_full=is_full
    )  # fmt: skip
    return await read_hits(db, user_id, best)


async def rank_turns(
    db: Database,
    user_id: UUID,
    question: str,
    *,
    limit: int,
    reach: Reach = EVERYTHING,
    questions: Questions | None = None,
    is_full: bool = False,
) -> list[Ranked]:
    """Which turns a search finds, without their words."""
    meaning = await similar(db, questions, user_id, question, as_of=reach.as_of)
    evidence = await gather(db, user_id, question, reach, meaning, is_full=is_full)
    return rank(evidence)[:limit] if evidence is not None else []


async def read_hits(db: Database, user_id: UUID, best: Sequence[Ranked]) -> list[Hit]:
    """The words of ranked turns, in their order."""
    if not best:
        return []
    rows = {row["id"]: row for row in await db.rows("turns", user_id, [one.turn.id for one in best])}
    return [
        Hit(
            id=row["id"], score=round(min(max(one.score / SCALE, 0.0), 1.0), 4), coverage=one.coverage,
            text=row["content"], speaker=row["speaker"] or _speaker(row["message_type"]),
            occurred_at=row["occurred_at"], created_at=row["created_at"], period=row["period"],
            tags=tuple(row["tags"] or ()), record_id=row["record_id"], summary=row["summary"],
            external_id=row["external_id"],
        )
        for one in best
        if (row := rows.get(one.turn.id))
    ]  # fmt: skip


def _speaker(message_type: str) -> str:
    return "user" if message_type == "user_query" else "assistant"
