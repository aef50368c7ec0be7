"""How many requests in a minute: buckets of one server process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from shared.errors import MaasError

MOST = 100_000


class Rates:
    """A bucket for each name, which holds the requests of a minute and fills steadily; MOST at most are remembered.

    Of a bucket only the moment is kept at which it will be full again.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._full_at: dict[str, float] = {}

    def take(self, name: str, per_minute: int, who: str) -> None:
        """Take one request out of the bucket. Raises MaasError('rate_limited') with `retry_after` in seconds."""
        now = self._clock()
        full_at = max(self._full_at.pop(name, now), now) + 60 / per_minute
        wait = full_at - 60 - now
        if wait > 1e-6:
            self._full_at[name] = full_at - 60 / per_minute
            seconds = math.ceil(wait)
            raise MaasError(
                "rate_limited", f"{who} may send {per_minute} requests a minute; try again in {seconds} s",
                {"retry_after": seconds, "per_minute": per_minute},
            )  # fmt: skip
        self._full_at[name] = full_at
        if len(self._full_at) > MOST:
            del self._full_at[next(iter(self._full_at))]  # who was silent for the longest
