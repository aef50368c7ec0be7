"""Similarity: how near messages are to a query in meaning, by the cosines of their embeddings.

Models use different ranges of cosines, and so do queries. So a cosine counts by how far it stands out among those of
the user's other messages, in standard deviations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self
from uuid import UUID

import asyncpg
import numpy as np
import structlog
from numpy.typing import NDArray

from maas import queries
from maas.memory.candidates import Candidates, Flags, differs_from_previous
from maas.memory.health import MemoryReason
from maas.memory.query import ParsedQuery, SearchFilter
from shared.db import CONNECTION_LOST, Database
from shared.models.calls import NoVector, QueryEmbedder
from shared.query import Args, Query, Row, array, float4, text, uuid

MAX_NEAREST = 200  # messages of a large memory that are candidates for their meaning alone
NEAR = 1.0  # standard deviations above the mean from which a message is a candidate for its meaning alone
BEST_OF_CONVERSATION = 3
MAX_MISSING, MISSING_SHARE = 20, 10  # messages without a vector: more than 20, and than one of ten, are too many
UUID_BYTES = 16
Numbers = NDArray[np.float64]
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Similarity:
    """How near messages are to the query in meaning, a column each: in standard deviations above the mean.

    `own` is that of the message, `nearby` the sum of its two neighbours in the conversation, `conversation` the mean of
    the three nearest messages of its conversation. What has no vector yet counts as average.
    """

    own: Numbers
    nearby: Numbers
    conversation: Numbers

    @classmethod
    def of(cls, messages: Candidates, cosines: Cosines) -> Self:
        """Align the cosines with the messages, which are sorted by conversation and time."""
        place = {one: at for at, one in enumerate(messages.ids.tolist())}
        at = np.array([place.get(one, -1) for one in cosines.ids.tolist()], np.intp)
        own = np.zeros(len(messages))
        own[at[at >= 0]] = (cosines.values[at >= 0] - cosines.mean) / (cosines.deviation or 1.0)
        is_first = differs_from_previous(messages.conversation)
        nearby = np.zeros(len(messages))
        nearby[1:] = np.where(is_first[1:], 0.0, own[:-1])
        nearby[:-1] += np.where(is_first[1:], 0.0, own[1:])
        return cls(own, nearby, _mean_of_best(own, messages.conversation, is_first))

    def take(self, chosen: Flags) -> Self:
        """Return those of the chosen messages."""
        return type(self)(self.own[chosen], self.nearby[chosen], self.conversation[chosen])


@dataclass(frozen=True, slots=True)
class Cosines:
    """The cosines of some messages, and the mean and the standard deviation of those of all messages of the user."""

    ids: NDArray[np.void]
    values: Numbers
    mean: float
    deviation: float


def _mean_of_best(values: Numbers, conversation: NDArray[np.int64], is_first: Flags) -> Numbers:
    """Return for each message the mean of the three highest values of its conversation."""
    if not len(values):
        return values
    by_value = values[np.lexsort((-values, conversation))]
    starts = np.flatnonzero(is_first)
    lengths = np.diff(starts, append=len(values))
    total = np.zeros(len(starts))
    for place in range(BEST_OF_CONVERSATION):
        total += np.where(lengths > place, by_value[np.minimum(starts + place, len(values) - 1)], 0.0)
    return np.repeat(total / np.minimum(lengths, BEST_OF_CONVERSATION), lengths)


class MeaningReader:
    """Reads how near the messages of one user are to one query in meaning.

    Nothing is near when there is no embedder, when it fails, or when vectors cannot be read in time. `reasons` says
    which of the two last has happened.
    """

    def __init__(
        self,
        db: Database,
        query_embedder: QueryEmbedder | None,
        user_id: UUID,
        query: ParsedQuery,
        filters: SearchFilter,
    ) -> None:
        self._db = db
        self._embedder = query_embedder
        self._user_id = user_id
        self._query = query
        self._filters = filters
        self.reasons: set[MemoryReason] = set()

    @property
    def is_wanted(self) -> bool:
        """Whether messages are compared by meaning at all."""
        return self._embedder is not None

    async def nearest(self, speakers: Iterable[str | None], messages: int) -> tuple[list[UUID], tuple[float, float]]:
        """Return the nearest of so many messages; mean and standard deviation of the cosines of all."""
        row = await self._read(queries.nearest, speakers, self._filters.as_of, MAX_NEAREST)
        if row is not None and self._filters.as_of is None:
            self._note_missing(row["vectors"], messages)
        return (row["ids"], (row["mean"], row["deviation"])) if row is not None and row["ids"] else ([], (0.0, 0.0))

    async def cosines(
        self,
        speakers: Iterable[str | None],
        ids: list[UUID] | None = None,
        spread: tuple[float, float] | None = None,
        messages: int | None = None,
    ) -> Cosines | None:
        """Return the cosines of these messages, or of all of the user; `spread` is the mean and deviation of all.

        `messages` is the number of all messages of the user, where all are asked for.
        """
        row = await self._read(queries.cosines, speakers, ids)
        if row is not None and messages is not None:
            self._note_missing(len(row["ids"] or b"") // UUID_BYTES, messages)
        if row is None or not row["ids"]:
            return None
        values = np.frombuffer(row["cosines"], ">f4").astype(np.float64)
        mean, deviation = spread or (float(values.mean()), float(values.std()))
        return Cosines(np.frombuffer(row["ids"], "V16"), values, mean, deviation)

    def _note_missing(self, vectors: int, messages: int) -> None:
        """Note if many of a user's messages have no vector: the newest few never have, while they are embedded."""
        if messages - vectors > max(MAX_MISSING, messages // MISSING_SHARE):
            self.reasons.add(MemoryReason.VECTORS_BEHIND)

    async def _read(
        self, query: Query[Row, uuid, text, array[float4], *Args], speakers: Iterable[str | None], *args: *Args
    ) -> Row | None:
        if self._embedder is None:
            return None
        end = asyncio.get_running_loop().time() + self._embedder.timeout
        # A speaker's name is in the query, not in what the speaker says.
        try:
            vector = await self._embedder.vector(self._query.without_names(speakers))
        except NoVector as error:
            self.reasons.add(MemoryReason.EMBEDDER_BUSY if error.is_busy else MemoryReason.EMBEDDER_UNAVAILABLE)
            return None
        try:
            async with asyncio.timeout_at(end):
                return await self._db.row(query, self._user_id, self._embedder.model, vector, *args)
        except (TimeoutError, asyncpg.PostgresError, *CONNECTION_LOST) as error:
            log.warning("vector_search_failed", cause=repr(error))
            self.reasons.add(MemoryReason.VECTORS_UNREADABLE)
            return None
