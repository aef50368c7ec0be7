"""Telegram's limits of rate: a chat that is refused waits for as long as Telegram says, and delays no other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import structlog

from maas.channels.telegram import queries
from maas.channels.telegram.bot import Bot
from shared.db import CONNECTION_LOST
from shared.errors import MaasError
from shared.vendors import VendorError

DEFAULT_WAIT_S = 1.0
LONG_WAIT_S = 5.0  # a longer one is stored, so that a restart keeps to it
MAX_CHATS = 10_000
MAX_REFUSALS = 9
MAX_SENDS = 20  # of new messages at a time: Telegram accepts 30 a second, and a crash may leave each of them empty
Result = TypeVar("Result")
log = structlog.get_logger()


@dataclass(slots=True)
class _RateLimit:
    """When the next request for a chat may be made, by the clock of the loop, and how often one was refused."""

    free_at: float = 0.0
    refusals: int = 0


class RateLimits:
    """The limits of all chats of a bot."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self._limits: dict[int, _RateLimit] = {}
        self._sends = asyncio.Semaphore(MAX_SENDS)

    def refusals(self, chat_id: int) -> int:
        """How often this chat was refused."""
        return self._of(chat_id).refusals

    def wait(self, chat_id: int, seconds: float) -> None:
        """Make no request for this chat for so many seconds."""
        limit = self._of(chat_id)
        limit.free_at = max(limit.free_at, _now() + seconds)

    async def call(self, chat_id: int, send: Callable[[], Awaitable[Result]]) -> Result:
        """Make a request for a chat as soon as Telegram accepts one. Raises VendorError, but never for the rate."""
        limit = self._of(chat_id)
        while True:
            while (wait_s := limit.free_at - _now()) > 0:
                await asyncio.sleep(wait_s)
            try:
                return await send()
            except VendorError as error:
                if error.code != "rate_limited":
                    raise
                wait_s = DEFAULT_WAIT_S if error.retry_after is None else error.retry_after
            limit.refusals = min(limit.refusals + 1, MAX_REFUSALS)
            self.wait(chat_id, wait_s)
            log.warning("telegram_rate_limited", wait=wait_s)
            if wait_s > LONG_WAIT_S:
                with suppress(MaasError, *CONNECTION_LOST):
                    await self._bot.db.value(queries.telegram_delay, self._bot.id, chat_id, wait_s)

    async def send(self, chat_id: int, send: Callable[[], Awaitable[Result]]) -> Result:
        """Send a new message, as `call`; at most MAX_SENDS at a time."""

        async def send_in_turn() -> Result:
            async with self._sends:
                return await send()

        return await self.call(chat_id, send_in_turn)

    def _of(self, chat_id: int) -> _RateLimit:
        if len(self._limits) > MAX_CHATS:
            self._limits = {key: limit for key, limit in self._limits.items() if limit.free_at > _now()}
        return self._limits.setdefault(chat_id, _RateLimit())


def _now() -> float:
    return asyncio.get_running_loop().time()
