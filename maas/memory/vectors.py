"""Turns that are near a question by meaning, where there are vectors; without any, search is by words alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID

import asyncpg
import structlog

from shared.db import CONNECTION_LOST, Database
from shared.models.questions import Questions
from shared.models.types import Embedder

NEAREST = 200
HINT = "install pgvector 0.7 or newer, then run `maas embed` and start again"
log = structlog.get_logger()


@asynccontextmanager
async def open_questions(db: Database, embedder: Embedder | None, timeout: float) -> AsyncIterator[Questions | None]:
    """What `similar` asks, None without a model or without pgvector; closes the embedder in the end."""
    if embedder is None:
        yield None
        return
    try:
        is_there = await db.value("vectors_are_there")
        if not is_there:
            log.warning("no_vectors", hint=HINT)
        yield Questions(embedder, timeout) if is_there else None
    finally:
        await embedder.close()


async def similar(
    db: Database,
    questions: Questions | None,
    user_id: UUID,
    question: str,
    *,
    as_of: datetime | None = None,
    limit: int = NEAREST,
) -> Mapping[UUID, float]:
    """How near in meaning this user's nearest turns are, by log id: 1 the nearest, 0 the last; never anybody else's.

    Empty whenever that cannot be had in time. Cosines as they are say little: every model has a band of its own.
    `as_of` leaves out what was not known then. Everything else that a search hides is for the search to hide.
    """
    if questions is None:
        return {}
    end = asyncio.get_running_loop().time() + questions.timeout
    if (vector := await questions.vector(question)) is None:
        return {}
    try:
        async with asyncio.timeout_at(end):
            rows = await db.rows("similar_turns", user_id, questions.model, vector, as_of, limit)
    except (TimeoutError, asyncpg.PostgresError, *CONNECTION_LOST) as error:
        log.warning("vectors_not_read", cause=repr(error))
        return {}
    if not rows:
        return {}
    least = rows[-1]["cosine"]
    spread = rows[0]["cosine"] - least
    return {row["log_id"]: (row["cosine"] - least) / spread if spread else 1.0 for row in rows}
