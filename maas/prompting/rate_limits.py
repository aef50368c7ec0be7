"""Limits of a model that all processes share: requests and tokens a minute, and pauses that its provider asks for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from hashlib import sha256
from random import random

import structlog

from maas import queries
from maas.prompting.memory_room import ROLE_WITH_MEMORY
from shared.db import Database
from shared.models import ModelError, NamedModel, Reply, Request, spec_of
from shared.models.context_window import count_request
from shared.models.options import ModelOptions
from shared.models.retry import MAX_RETRY_AFTER_S

MAX_ANSWER_WAIT_S = 5.0  # of an answer in its place of an orchestrator; one that has to wait longer is put off
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The limit of a model with one key at one server; calls of a replay, which writes nothing, are not counted."""

    db: Database
    name: str
    requests: float | None
    tokens: float | None
    is_counted: bool

    @classmethod
    def of(cls, db: Database, model: NamedModel, options: ModelOptions, *, is_counted: bool) -> RateLimit:
        key = options.api_key.get_secret_value() if options.api_key is not None else ""
        access = sha256(f"{options.base_url or ''} {key}".encode()).hexdigest()[:8]
        name, limits = f"{spec_of(model)} {access}", (options.requests_per_minute, options.tokens_per_minute)
        return cls(db, name, *(limits if is_counted else (None, None)), is_counted)

    async def take(self, request: Request, budget_s: float, blocked_s: float) -> int:
        """Wait until the model may be called, within `budget_s` seconds; return the tokens that were taken.

        Raises ModelError('rate_limited') with `wait` where that is too long.
        """
        size = count_request(request) if self.tokens is not None else 0
        longest_s = min(budget_s, MAX_ANSWER_WAIT_S) if request.role == ROLE_WITH_MEMORY else budget_s
        wait_s = max(blocked_s, 0.0)
        if self.requests is not None or self.tokens is not None:
            wait_s = await self.db.value(queries.take_call, self.name, self.requests, self.tokens, size, longest_s)
        elif wait_s:
            wait_s *= 1 + random() / 4  # jitter, so that not all ask at once
        if wait_s > longest_s:
            error = ModelError("rate_limited", f"{self.name}: the limits per minute allow no call for {wait_s:.1f} s")
            error.wait = wait_s
            raise error
        if wait_s:
            log.info("model_call_delayed", model=self.name, seconds=round(wait_s, 2))
            await asyncio.sleep(wait_s)
        return size

    async def charge(self, taken: int, reply: Reply) -> None:
        """Take what a reply has used beyond the tokens that were taken."""
        used = reply.usage.tokens_in + reply.usage.tokens_out
        if self.tokens is not None and used != taken:
            await self.db.value(queries.charge_tokens, self.name, self.tokens, used - taken)

    async def block(self, error: ModelError) -> None:
        """Have all processes wait as long as a provider demands with 429."""
        if self.is_counted and error.retry_after:
            await self.db.value(queries.block_model, self.name, min(error.retry_after, MAX_RETRY_AFTER_S))
