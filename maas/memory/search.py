"""Search: the messages of one user that answer a query, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from maas.memory.embeddings import similar_messages
from maas.memory.filters import NO_FILTER, SearchFilter
from maas.memory.ranking import SCALE, RankedMessage, rank
from maas.memory.retrieval import retrieve
from shared.db import Database
from shared.models.query_embedder import QueryEmbedder


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that a search returned.

    `score` is 0 to 1. `coverage` is the share (0 to 1) of the query's weight in the message and its neighbours.
    `record_id` and `summary` are those of the summary that covers the message, None until there is one.
    """

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
    query: str,
    *,
    limit: int = 10,
    filters: SearchFilter = NO_FILTER,
    query_embedder: QueryEmbedder | None = None,
    is_full: bool = False,
) -> list[Hit]:
    """Return at most `limit` messages of this user, best first.

    Messages are matched by words, and with `query_embedder` also by meaning. With `is_full` the list goes on with
    messages that do not match, unless the memory is a large one.
    """
    ranked = await rank_messages(
        db, user_id, query, limit=limit, filters=filters, query_embedder=query_embedder, is_full=is_full
    )  # fmt: skip
    return await read_hits(db, user_id, ranked)


async def rank_messages(
    db: Database,
    user_id: UUID,
    query: str,
    *,
    limit: int,
    filters: SearchFilter = NO_FILTER,
    query_embedder: QueryEmbedder | None = None,
    is_full: bool = False,
) -> list[RankedMessage]:
    """Rank the messages of this user for a query; return at most `limit`, best first, without their content."""
    similarity = await similar_messages(db, query_embedder, user_id, query, as_of=filters.as_of)
    evidence = await retrieve(db, user_id, query, filters, similarity, is_full=is_full)
    return rank(evidence)[:limit] if evidence is not None else []


async def read_hits(db: Database, user_id: UUID, ranked: Sequence[RankedMessage]) -> list[Hit]:
    """Read the content of ranked messages; those erased meanwhile are left out."""
    if not ranked:
        return []
    rows = {row["id"]: row for row in await db.rows("turns", user_id, [one.message.id for one in ranked])}
    return [
        Hit(
            id=row["id"], score=round(min(max(one.score / SCALE, 0.0), 1.0), 4), coverage=one.coverage,
            text=row["content"], speaker=row["speaker"] or _speaker(row["message_type"]),
            occurred_at=row["occurred_at"], created_at=row["created_at"], period=row["period"],
            tags=tuple(row["tags"] or ()), record_id=row["record_id"], summary=row["summary"],
            external_id=row["external_id"],
        )
        for one in ranked
        if (row := rows.get(one.message.id))
    ]  # fmt: skip


def _speaker(message_type: str) -> str:
    return "user" if message_type == "user_query" else "assistant"
