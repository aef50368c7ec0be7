"""Calls at once of one model in one process: questions go before the background, and neither waits for ever."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from shared.models import Model

MAX_QUESTIONS_IN_A_ROW = 8  # while a call of the background waits


class Places:
    """Lends at most `places` at a time, in the order of asking; to questions first."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._questions: deque[asyncio.Future[None]] = deque()
        self._others: deque[asyncio.Future[None]] = deque()
        self._in_a_row = 0

    @asynccontextmanager
    async def hold(self, is_question: bool) -> AsyncIterator[None]:
        """Hold a place for the block."""
        await self._take(self._questions if is_question else self._others)
        try:
            yield
        finally:
            self._free += 1
            self._lend()

    async def _take(self, queue: deque[asyncio.Future[None]]) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(place)
        self._lend()
        try:
            await place
        except BaseException:
            if place.done() and not place.cancelled():  # it was lent at the moment at which the caller gave up
                self._free += 1
            else:
                queue.remove(place)
            self._lend()
            raise

    def _lend(self) -> None:
        while self._free and (queue := self._next()) is not None:
            place = queue.popleft()
            if not place.done():
                self._free -= 1
                place.set_result(None)

    def _next(self) -> deque[asyncio.Future[None]] | None:
        if not self._others:
            self._in_a_row = 0
        elif not self._questions or self._in_a_row >= MAX_QUESTIONS_IN_A_ROW:
            self._in_a_row = 0
            return self._others
        if not self._questions:
            return None
        self._in_a_row += bool(self._others)
        return self._questions


_places: WeakKeyDictionary[Model, Places] = WeakKeyDictionary()


@asynccontextmanager
async def place_at(model: Model, is_question: bool, calls: int | None) -> AsyncIterator[None]:
    """Hold one of the places of a model that takes `calls` at once; None for any number."""
    if calls is None:
        yield
        return
    if model not in _places:
        _places[model] = Places(calls)
    async with _places[model].hold(is_question):
        yield
