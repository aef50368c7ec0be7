"""The filler: gives turns their vectors, in the background and in batches, wherever it was stopped before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from uuid import UUID, uuid4

import asyncpg
import structlog

from shared.db import CONNECTION_LOST, Database
from shared.models.policy import once, repeat
from shared.models.types import Embedder, Embeddings, ModelError
from shared.settings import Settings
from shared.text import is_blank

PAGE = 1000
LONGEST_TEXT = 4000  # characters: every provider takes so much, and a turn says what it is about early on
BUDGET = 60.0
LEASE = timedelta(seconds=2 * BUDGET)
EVERY = 2.0
LONGEST_PAUSE = 300.0
PROBE = "Hello"
log = structlog.get_logger()


class LostFill(Exception):
    """Another process fills in the vectors of this model now."""


@dataclass(frozen=True, slots=True)
class Fill:
    """How far a model's vectors go: the turns up to the id `swept_to` (None: all), and those logged before `since`."""

    swept_to: UUID | None
    since: datetime


class Filler:
    """One embedder at work on one database; no connection is held while it is asked."""

    def __init__(self, db: Database, embedder: Embedder, settings: Settings) -> None:
        self.model = f"{embedder.provider}:{embedder.name}"
        self._db = db
        self._embedder = embedder
        self._settings = settings
        self._owner = uuid4()
        self._is_down = False

    async def run(self) -> None:
        """Fill in for ever. What goes wrong is logged once and tried again, ever more seldom."""
        pause = EVERY
        try:
            while True:
                try:
                    pause = 0.0 if await self.step() else EVERY
                    if self._is_down:
                        self._is_down = False
                        log.info("embedding_again", model=self.model)
                except LostFill:
                    pause = EVERY
                except Exception as error:
                    pause = self._pause_after(pause, error)
                await asyncio.sleep(pause)
        finally:
            with suppress(asyncpg.PostgresError, *CONNECTION_LOST):
                await self.release()

    def _pause_after(self, pause: float, error: Exception) -> float:
        if not self._is_down:
            known = isinstance(error, (ModelError, asyncpg.PostgresError, *CONNECTION_LOST))
            log.warning("embedding_down", model=self.model, cause=str(error) or repr(error), exc_info=not known)
        self._is_down = True
        return min(max(pause * 2, EVERY), LONGEST_PAUSE)

    async def step(self) -> bool:
        """Look at one page of turns; whether there is more to do at once. Raises ModelError, LostFill."""
        fill = await self.lease()
        if fill.swept_to is not None:
            await self.sweep(fill)
            return True
        horizon = await self._db.value("log_horizon")
        rows = await self._db.rows("new_turns", self.model, fill.since, PAGE)
        await self._embed([row["id"] for row in rows])
        is_full = len(rows) == PAGE
        await self._save(Fill(None, min(horizon, rows[-1]["created_at"]) if is_full else horizon))
        return is_full

    async def sweep(self, fill: Fill, advance: Callable[[int], None] = lambda turns: None) -> Fill:
        """Look at one page of all turns, telling how many it were; where to go on. Raises ModelError, LostFill."""
        page = await self._db.row("sweep_turns", self.model, fill.swept_to, PAGE)
        assert page is not None
        advance(page["looked_at"] - len(page["missing"]))
        await self._embed(page["missing"], advance)
        after = Fill(page["last"] if page["looked_at"] == PAGE else None, fill.since)
        await self._save(after)
        return after

    async def restart(self) -> Fill:
        """Take the fill from whoever has it, to sweep from the beginning."""
        await self.lease(force=True)
        await self._db.value("restart_sweep", self.model)
        return await self.lease()

    async def lease(self, force: bool = False, length: timedelta = LEASE) -> Fill:
        """How far the fill is, for its owner. Raises LostFill."""
        row = await self._db.row("lease_embeddings", self.model, self._owner, length, force)
        if row is None:
            raise LostFill
        return Fill(row["swept_to"], row["since"])

    async def release(self) -> None:
        """Let another process go on at once."""
        with suppress(LostFill):
            await self.lease(length=timedelta())

    async def _save(self, fill: Fill) -> None:
        await self._db.value("save_fill", self.model, self._owner, fill.swept_to, fill.since)

    async def _embed(self, ids: Sequence[UUID], advance: Callable[[int], None] = lambda turns: None) -> None:
        size = self._embedder.batch
        for start in range(0, len(ids), size):
            await self.lease()
            batch = ids[start : start + size]
            rows = await self._db.rows("texts", batch, LONGEST_TEXT)
            blank = [row["id"] for row in rows if is_blank(row["content"])]
            await self._embed_texts({row["id"]: _text(row) for row in rows if row["id"] not in blank}, blank)
            advance(len(batch))

    async def _embed_texts(self, texts: dict[UUID, str], refused: list[UUID]) -> None:
        try:
            if texts:
                await self._write(list(texts), await self._ask(list(texts.values())))
        except ModelError as error:
            if error.code != "bad_request":
                raise
            await self._ask([PROBE])  # if this fails too, it is not for the texts
            for log_id, text in texts.items():
                try:
                    await self._write([log_id], await self._ask([text]))
                except ModelError as one:
                    if one.code != "bad_request":
                        raise
                    refused.append(log_id)
        if refused:
            log.info("turns_not_embedded", model=self.model, turns=len(refused))
            await self._db.value("write_embeddings", self.model, refused, [], 0)

    async def _ask(self, texts: Sequence[str]) -> Embeddings:
        call = partial(self._embedder.embed, texts, "document")
        limit = self._settings.attempt_timeout
        if self._is_down:
            return await once(self._embedder, call, limit)
        delay = self._settings.retry_delay
        found, _ = await repeat(self._embedder, call, budget=BUDGET, attempt_timeout=limit, first_delay=delay)
        return found

    async def _write(self, ids: Sequence[UUID], found: Embeddings) -> None:
        flat = list(chain.from_iterable(found.vectors))
        await self._db.value("write_embeddings", self.model, ids, flat, found.tokens)


def _text(row: asyncpg.Record) -> str:
    # Its speaker seldom names himself and often names whom he addresses: without the name the wrong one is found.
    return f"{row['speaker']}: {row['content']}" if row["speaker"] else str(row["content"])
