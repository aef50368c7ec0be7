"""Vectors of questions, while somebody waits: quickly or not at all."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable

from shared.models.breaker import Breaker
from shared.models.policy import once
from shared.models.types import Embedder, ModelError

LONGEST = 2000  # characters
KEPT = 128  # the stages of one run ask the same


class Questions:
    """Asks an embedder once, for at most `timeout` seconds; one that failed is left alone for a while."""

    def __init__(self, embedder: Embedder, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.model = f"{embedder.provider}:{embedder.name}"
        self.timeout = timeout
        self._embedder = embedder
        self._known: dict[str, array[float]] = {}
        # A wrong key fails every question alike, and nobody else would say so.
        self._breaker = Breaker(self.model, "question", clock, lambda error: error.code != "bad_request")

    async def vector(self, question: str) -> array[float] | None:
        """The vector of a question; None without one, at once where the provider has just failed."""
        question = question[:LONGEST]
        if (known := self._known.get(question)) is not None:
            return known
        try:
            with self._breaker.call(self.timeout) as call:
                self._breaker.admit(call)
                found = await once(
                    self._embedder, lambda limit: self._embedder.embed([question], "question", limit), self.timeout
                )
        except ModelError:
            return None
        vector = self._known[question] = array("f", found.vectors[0])
        if len(self._known) > KEPT:
            del self._known[next(iter(self._known))]
        return vector
