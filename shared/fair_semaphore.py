"""A semaphore with a share for each owner: what is scarce in one process is lent fairly, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager

from shared.errors import MaasError

MAX_WAITING_EACH = 32  # callers of one owner; the next is refused at once


class FairSemaphore:
    """Lends at most `places` at a time, and at most `places_each` to one owner.

    A free place goes to the owners that wait in turn, whatever the number of calls that one of them has waiting. A call
    waits `wait_s` seconds at most. `subject` names what is lent in errors ("exports").
    """

    def __init__(
        self, subject: str, places: int, places_each: int, wait_s: float, waiting_each: int = MAX_WAITING_EACH
    ) -> None:
        self.subject = subject
        self.places = places
        self.places_each = min(places_each, places)
        self.wait_s = wait_s
        self._waiting_each = waiting_each
        self._held: Counter[Hashable] = Counter()
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}  # in the order in which owners are served
        self.used = 0
        self.refused = 0

    @property
    def waiting(self) -> int:
        """The number of calls that wait."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def hold(self, owner: Hashable) -> AsyncIterator[None]:
        """Hold a place for the block.

        Raises MaasError with `retry_after` in seconds: share_used where the owner itself holds its share, else busy.
        """
        await self.acquire(owner)
        try:
            yield
        finally:
            self.release(owner)

    @contextmanager
    def hold_now(self, owner: Hashable) -> Iterator[None]:
        """Hold a place for the block without waiting for one. Raises like `hold`."""
        if not self._is_free(owner):
            raise self._refusal(owner)
        self._take(owner)
        try:
            yield
        finally:
            self.release(owner)

    async def acquire(self, owner: Hashable) -> None:
        """Take a place, which `release` gives back. Raises like `hold`."""
        if self._is_free(owner):
            self._take(owner)
            return
        queue = self._waiting.setdefault(owner, deque())
        if len(queue) >= self._waiting_each or self.wait_s <= 0:
            self._forget(owner)
            raise self._refusal(owner)
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(place)
        try:
            async with asyncio.timeout(self.wait_s):
                await place
        except BaseException as error:
            if place.done() and not place.cancelled():
                self.release(owner)  # it was lent at the moment at which the caller gave up
            else:
                self._forget(owner)
            if isinstance(error, TimeoutError):
                raise self._refusal(owner) from error
            raise

    def release(self, owner: Hashable) -> None:
        """Give a place back; the owner whose turn it is takes it."""
        self.used -= 1
        self._held[owner] -= 1
        if not self._held[owner]:
            del self._held[owner]
        self._lend()

    def _is_free(self, owner: Hashable) -> bool:
        return self.used < self.places and self._held[owner] < self.places_each

    def _take(self, owner: Hashable) -> None:
        self.used += 1
        self._held[owner] += 1

    def _lend(self) -> None:
        while self.used < self.places:
            owner = next((one for one in self._waiting if self._held[one] < self.places_each), None)
            if owner is None:
                return
            queue = self._waiting.pop(owner)
            place = queue.popleft()
            if queue:
                self._waiting[owner] = queue  # behind the others
            if not place.done():  # else its caller was cancelled a moment ago
                self._take(owner)
                place.set_result(None)

    def _forget(self, owner: Hashable) -> None:
        """Drop the calls of an owner that have given up."""
        if queue := deque(one for one in self._waiting.get(owner, ()) if not one.done()):
            self._waiting[owner] = queue
        else:
            self._waiting.pop(owner, None)

    def _refusal(self, owner: Hashable) -> MaasError:
        self.refused += 1
        retry_after = {"retry_after": max(1, math.ceil(self.wait_s / 2))}
        if self._held[owner] >= self.places_each:
            count = "one" if self.places_each == 1 else str(self.places_each)
            return MaasError(
                "share_used",
                f"{self.subject}: at most {count} at a time; wait until one ends, then try again",
                retry_after,
            )
        return MaasError("busy", f"{self.subject}: all slots of this process are in use; try again", retry_after)
