"""Embeddings of messages: searching for similar ones, and computing those that are missing in the background."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from uuid import UUID, uuid4

import asyncpg
import structlog

from maas import queries
from maas.settings.models import ModelSettings
from shared.db import CONNECTION_LOST, Database
from shared.models import Embedder, Embeddings, ModelError, gen_ai, spec_of
from shared.models.calls import QueryEmbedder
from shared.models.retry import once, repeat
from shared.text import is_blank

PGVECTOR_HINT = "install pgvector 0.7 or newer, then run `maas embed` and start again"
PAGE_SIZE = 1000
READ_SIZE = 64  # texts that are read at once
FRESH = timedelta(minutes=1)  # more than it takes to embed so many
MAX_TEXT_CHARS = 4000  # every provider accepts so much, and a message names its subject early
CALL_BUDGET_S = 60.0
LEASE = timedelta(seconds=2 * CALL_BUDGET_S)
POLL_INTERVAL_S = 2.0
MAX_BACKOFF_S = 300.0
PROBE_TEXT = "Hello"
log = structlog.get_logger()


@asynccontextmanager
async def open_query_embedder(
    db: Database, embedder: Embedder | None, timeout: float
) -> AsyncIterator[QueryEmbedder | None]:
    """Yield what a search by meaning needs, None without an embedder or pgvector; then close the embedder.

    `timeout` is the seconds of one query. A local model is loaded before, because a question would not wait for that.
    """
    if embedder is None:
        yield None
        return
    try:
        has_vectors = await db.value(queries.vectors_are_there)
        if has_vectors:
            try:
                await embedder.open()
            except ModelError as error:  # each question tries again
                log.warning("embedding_down", model=spec_of(embedder), cause=str(error))
        else:
            log.warning("vectors_unavailable", hint=PGVECTOR_HINT)
        yield QueryEmbedder(embedder, timeout) if has_vectors else None
    finally:
        await embedder.close()


class BackfillTaken(Exception):
    """Another process holds the lease on the embeddings of this model."""


@dataclass(frozen=True, slots=True)
class BackfillProgress:
    """How far the embeddings of a model are complete.

    `scanned_to` is the id up to which all messages were checked, None when every one was. Messages logged before
    `since` are complete, too.
    """

    scanned_to: UUID | None
    since: datetime


class EmbeddingBackfill:
    """Computes missing embeddings of one model; holds no database connection while the provider is called."""

    def __init__(self, db: Database, embedder: Embedder, settings: ModelSettings) -> None:
        self.model = f"{embedder.provider}:{embedder.name}"
        self._db = db
        self._embedder = embedder
        self._settings = settings
        self._owner = uuid4()
        self._is_down = False
        self._leased_at = -math.inf

    async def run(self) -> None:
        """Compute embeddings until cancelled. A failure is logged once and retried with a growing delay."""
        delay_s = POLL_INTERVAL_S
        try:
            while True:
                try:
                    delay_s = 0.0 if await self.step() else POLL_INTERVAL_S
                    if self._is_down:
                        self._is_down = False
                        log.info("embedding_recovered", model=self.model)
                except BackfillTaken:
                    delay_s = POLL_INTERVAL_S
                except Exception as error:
                    delay_s = self._backoff(delay_s, error)
                await asyncio.sleep(delay_s)
        finally:
            with suppress(asyncpg.PostgresError, *CONNECTION_LOST):
                await self.release()

    def _backoff(self, delay_s: float, error: Exception) -> float:
        if not self._is_down:
            is_expected = isinstance(error, (ModelError, asyncpg.PostgresError, *CONNECTION_LOST))
            log.warning("embedding_down", model=self.model, cause=str(error) or repr(error), exc_info=not is_expected)
        self._is_down = True
        return min(max(delay_s * 2, POLL_INTERVAL_S), MAX_BACKOFF_S)

    async def step(self) -> bool:
        """Complete one page of messages; return whether more are waiting. Raises ModelError, BackfillTaken."""
        progress = await self.lease()
        if progress.scanned_to is not None:
            await self.scan(progress)
            return True
        horizon = await self._db.value(queries.log_horizon)
        rows = await self._db.rows(queries.new_turns, self.model, progress.since, PAGE_SIZE)
        await self._embed([row["id"] for row in rows])
        is_full = len(rows) == PAGE_SIZE
        await self._save(BackfillProgress(None, min(horizon, rows[-1]["created_at"]) if is_full else horizon))
        return is_full

    async def scan(
        self, progress: BackfillProgress, on_done: Callable[[int], None] = lambda count: None
    ) -> BackfillProgress:
        """Complete the next page of all messages and return the new progress. Raises ModelError, BackfillTaken.

        `on_done` is called with the number of messages that have become complete.
        """
        page = await self._db.row(queries.sweep_turns, self.model, progress.scanned_to, PAGE_SIZE)
        assert page is not None
        on_done(page["looked_at"] - len(page["missing"]))
        await self._embed(page["missing"], on_done)
        after = BackfillProgress(page["last"] if page["looked_at"] == PAGE_SIZE else None, progress.since)
        await self._save(after)
        return after

    async def restart(self) -> BackfillProgress:
        """Take the lease, also from another process, and begin the scan of all messages again."""
        await self.lease(force=True)
        await self._db.value(queries.restart_sweep, self.model)
        return await self.lease()

    async def lease(self, force: bool = False, length: timedelta = LEASE) -> BackfillProgress:
        """Take or extend the lease and return the progress. Raises BackfillTaken."""
        row = await self._db.row(queries.lease_embeddings, self.model, self._owner, length, force)
        if row is None:
            raise BackfillTaken
        self._leased_at = asyncio.get_running_loop().time()
        return BackfillProgress(row["swept_to"], row["since"])

    async def release(self) -> None:
        """End the lease, so that another process can continue at once."""
        with suppress(BackfillTaken):
            await self.lease(length=timedelta())

    async def _save(self, progress: BackfillProgress) -> None:
        await self._db.value(queries.save_fill, self.model, self._owner, progress.scanned_to, progress.since)

    async def _embed(self, ids: Sequence[UUID], on_done: Callable[[int], None] = lambda count: None) -> None:
        done: set[UUID] = set()
        for start in range(0, len(ids), READ_SIZE):
            # What was said just now is asked about first; there may be an import of hours before it.
            fresh = [row["id"] for row in await self._db.rows(queries.fresh_turns, self.model, FRESH, READ_SIZE)]
            await self._embed_some(fresh)
            done.update(fresh)
            some = ids[start : start + READ_SIZE]
            await self._embed_some([one for one in some if one not in done])
            on_done(len(some))

    async def _embed_some(self, ids: Sequence[UUID]) -> None:
        rows = await self._db.rows(queries.texts, ids, MAX_TEXT_CHARS) if ids else []
        blank = [row["id"] for row in rows if is_blank(row["content"])]
        texts = [(row["id"], row["content"]) for row in rows if row["id"] not in blank]
        for first in range(0, max(len(texts), 1), self._embedder.batch):
            await self._extend_lease()
            await self._embed_texts(dict(texts[first : first + self._embedder.batch]), [] if first else blank)

    async def _extend_lease(self) -> None:
        """Extend the lease when a quarter of it is over. Raises BackfillTaken."""
        if asyncio.get_running_loop().time() > self._leased_at + LEASE.total_seconds() / 4:
            await self.lease()

    async def _embed_texts(self, texts: dict[UUID, str], refused: list[UUID]) -> None:
        try:
            if texts:
                await self._write(list(texts), await self._request(list(texts.values())))
        except ModelError as error:
            if error.code != "bad_request":
                raise
            await self._request([PROBE_TEXT])  # fails, too, where the cause is not in the texts
            for log_id, text in texts.items():
                try:
                    await self._write([log_id], await self._request([text]))
                except ModelError as refusal:
                    if refusal.code != "bad_request":
                        raise
                    refused.append(log_id)
        if refused:
            log.info("messages_not_embedded", model=self.model, messages=len(refused))
            await self._db.value(queries.write_embeddings, self.model, refused, [], 0)

    async def _request(self, texts: Sequence[str]) -> Embeddings:
        call = partial(self._embedder.embed, texts, "document")
        timeout_s = self._settings.attempt_timeout
        delay_s = self._settings.retry_delay
        with gen_ai.embedding(self._embedder) as operation:
            if self._is_down:
                embeddings = await once(self._embedder, call, timeout_s)
            else:
                embeddings, _ = await repeat(
                    self._embedder, call, budget=CALL_BUDGET_S, attempt_timeout=timeout_s, first_delay=delay_s
                )
            operation.embedded(embeddings)
        return embeddings

    async def _write(self, ids: Sequence[UUID], embeddings: Embeddings) -> None:
        flat = list(chain.from_iterable(embeddings.vectors))
        await self._db.value(queries.write_embeddings, self.model, ids, flat, embeddings.tokens)
