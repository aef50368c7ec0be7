"""Who follows runs or waits for answers in this process; a caller with a user of its own may be some of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from maas.http.callers import Caller
from shared.errors import MaasError

SHARE = 10  # of the followers that a process may have a bound caller may be one in so many


class Followers:
    """Counts by user, or by key where it is bound to names; who is bound to nobody serves many, and is not counted."""

    def __init__(self, most: int) -> None:
        self._most = max(1, most // SHARE)
        self._held: Counter[str] = Counter()

    def check(self, caller: Caller) -> None:
        """Whether the caller may follow or wait once more. Raises MaasError('too_many_followers')."""
        if caller.is_bound and self._held[_name(caller)] >= self._most:
            raise MaasError(
                "too_many_followers",
                f"you follow or wait for {self._most} runs in this process, as many as you may; end one and try again",
                {"retry_after": 1},
            )

    @contextmanager
    def counting(self, caller: Caller) -> Iterator[None]:
        """The caller follows or waits while this is open."""
        name = _name(caller)
        self._held[name] += 1
        try:
            yield
        finally:
            self._held[name] -= 1
            if not self._held[name]:
                del self._held[name]


def _name(caller: Caller) -> str:
    return caller.name if caller.user_id is None else f"user {caller.user_id}"
