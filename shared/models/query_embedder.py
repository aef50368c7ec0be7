"""Embeddings of search queries: cached, within a short timeout or not at all."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable

from shared.models.breaker import Breaker
from shared.models.retry import once
from shared.models.types import Embedder, ModelError

MAX_QUERY_CHARS = 2000
MAX_CACHED_QUERIES = 128  # the stages of one run embed the same query


class QueryEmbedder:
    """Embeds queries in one attempt of at most `timeout` seconds, behind a circuit breaker."""

    def __init__(self, embedder: Embedder, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.model = f"{embedder.provider}:{embedder.name}"
        self.timeout = timeout
        self._embedder = embedder
        self._cache: dict[str, array[float]] = {}
        # A wrong key makes every query fail, so it opens the circuit, too.
        self._breaker = Breaker(self.model, "question", clock, lambda error: error.code != "bad_request")

    async def vector(self, query: str) -> array[float] | None:
        """Return the vector of a query, or None if the embedder fails; at once while its circuit is open."""
        query = query[:MAX_QUERY_CHARS]
        if (cached := self._cache.get(query)) is not None:
            return cached
        try:
            with self._breaker.call(self.timeout) as call:
                self._breaker.admit(call)
                result = await once(
                    self._embedder, lambda limit: self._embedder.embed([query], "question", limit), self.timeout
                )
        except ModelError:
            return None
        vector = self._cache[query] = array("f", result.vectors[0])
        if len(self._cache) > MAX_CACHED_QUERIES:
            del self._cache[next(iter(self._cache))]
        return vector
