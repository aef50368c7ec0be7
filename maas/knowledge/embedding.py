"""Embedding: the vectors of chunks, computed in the background where a model for them is configured."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from itertools import chain

import asyncpg
import structlog

from maas import queries
from shared.db import CONNECTION_LOST, Database
from shared.models import Embedder, ModelError, gen_ai, spec_of
from shared.models.retry import repeat

BATCH_CHUNKS = 64
CALL_BUDGET_S, ATTEMPT_TIMEOUT_S, FIRST_DELAY_S = 60.0, 30.0, 1.0
LEASE = timedelta(seconds=2 * CALL_BUDGET_S)
POLL_INTERVAL_S = 5.0
MAX_BACKOFF_S = 300.0
MAX_TEXT_CHARS = 2500
log = structlog.get_logger()


async def keep_chunks_embedded(db: Database, embedder: Embedder) -> None:
    """Embed chunks until cancelled; a failure is logged once, and tried again with growing pauses."""
    pause_s, is_down = POLL_INTERVAL_S, False
    while True:
        try:
            if not await embed_some(db, embedder):
                await asyncio.sleep(POLL_INTERVAL_S)
            pause_s, is_down = POLL_INTERVAL_S, False
        except (ModelError, asyncpg.PostgresError, *CONNECTION_LOST) as error:
            if not is_down:
                log.warning("chunks_not_embedded", model=spec_of(embedder), cause=str(error) or repr(error))
            is_down = True
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, MAX_BACKOFF_S)


async def embed_chunks(db: Database, embedder: Embedder) -> int:
    """Embed all chunks that have no vector of this model, and return their number. Raises ModelError."""
    total = 0
    while count := await embed_some(db, embedder):
        total += count
    return total


async def embed_some(db: Database, embedder: Embedder) -> int:
    """Embed the next chunks of one document; no connection is held during the call. Raises ModelError.

    Returns their number, 0 when no chunk waits.
    """
    model = spec_of(embedder)
    rows = await db.rows(queries.claim_embedding, model, LEASE, min(BATCH_CHUNKS, embedder.batch))
    if not rows:
        return 0
    texts = [f"{row['heading']}\n{row['text']}"[:MAX_TEXT_CHARS] for row in rows]
    with gen_ai.embedding(embedder) as operation:
        result, _ = await repeat(
            embedder,
            partial(embedder.embed, texts, "document"),
            budget=CALL_BUDGET_S,
            attempt_timeout=ATTEMPT_TIMEOUT_S,
            first_delay=FIRST_DELAY_S,
        )
        operation.embedded(result)
    numbers, vectors = [row["number"] for row in rows], list(chain.from_iterable(result.vectors))
    await db.value(queries.embed_chunks, model, rows[0]["document_id"], rows[0]["version"], numbers, vectors)
    return len(rows)
