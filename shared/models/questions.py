"""Vectors of questions, while somebody waits: quickly or not at all."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable

import structlog

from shared.models.policy import once
from shared.models.types import Embedder, ModelError

LONGEST = 2000  # characters
KEPT = 128  # the stages of one run ask the same
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0
_log = structlog.get_logger()


class Questions:
    """Asks an embedder once, for at most `timeout` seconds; one that failed is left alone for a while."""

    def __init__(self, embedder: Embedder, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.model = f"{embedder.provider}:{embedder.name}"
        self.timeout = timeout
        self._embedder = embedder
        self._clock = clock
        self._known: dict[str, array[float]] = {}
        self._pause = 0.0
        self._silent_until = clock()

    async def vector(self, question: str) -> array[float] | None:
        """The vector of a question; None without one. Warns once when the provider fails, until it answers again."""
        question = question[:LONGEST]
        if (known := self._known.get(question)) is not None:
            return known
        if self._clock() < self._silent_until:
            return None
        try:
            found = await once(
                self._embedder, lambda limit: self._embedder.embed([question], "question", limit), self.timeout
            )
        except ModelError as error:
            if error.code != "bad_request" and self._clock() >= self._silent_until:
                self._be_silent(error)
            return None
        if self._pause:
            self._pause = 0.0
            _log.info("questions_embedded_again", model=self.model)
        vector = self._known[question] = array("f", found.vectors[0])
        if len(self._known) > KEPT:
            del self._known[next(iter(self._known))]
        return vector

    def _be_silent(self, error: ModelError) -> None:
        if not self._pause:
            _log.warning("questions_not_embedded", model=self.model, code=error.code, cause=error.message)
        self._pause = min(self._pause * 2 or FIRST_PAUSE, LONGEST_PAUSE)
        self._silent_until = self._clock() + self._pause
