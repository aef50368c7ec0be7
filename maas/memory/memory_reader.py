"""The messages of a memory that a search ranks: all of a small one, the promising ones of a large one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from uuid import UUID

import numpy as np
from asyncpg import Range

from maas import queries
from maas.memory.candidates import Candidates, Flags
from maas.memory.dates import fit
from maas.memory.query import ParsedQuery, SearchFilter
from maas.memory.ranking import weigh
from maas.memory.similarity import NEAR, MeaningReader, Similarity
from maas.memory.spelling import lexemes
from shared.db import Database

FULL_READ_MESSAGES = 2000  # a memory of at most so many messages is read whole by every search
RARE_TERM_MESSAGES = 600  # in a larger one, the messages that the chosen rare terms may occur in together


@dataclass(frozen=True, slots=True)
class ReadMemory:
    """What was read: the terms of the query, the candidates, and in how many messages each term occurs.

    `names` are the terms that are names of speakers, `meaning` is the similarity of each candidate. `size` is the
    number of messages in memory.
    """

    terms: list[str]
    names: frozenset[str]
    candidates: Candidates
    meaning: Similarity | None
    frequency: list[int]
    size: int
    is_large: bool
    words_gone: bool
    has_corrections: bool


class MemoryReader:
    """Reads the candidates of one query from one user's memory."""

    def __init__(
        self,
        db: Database,
        user_id: UUID,
        query: ParsedQuery,
        filters: SearchFilter,
        meaning: MeaningReader,
        is_full: bool,
    ) -> None:
        self._db = db
        self._user_id = user_id
        self._query = query
        self._filters = filters
        self._meaning = meaning
        self._is_full = is_full
        self._dates = [band for band in query.dates if band.worth == 1.0]

    async def read(self, terms: list[str] | None = None) -> ReadMemory:
        """Read the memory for these terms, or for those of the query."""
        row = await self._candidates(terms, None)
        terms = terms or row["terms"] or []
        df, size, speakers = row["df"] or [0] * len(terms), row["large_turns"], row["large_speakers"] or ()
        if size is None:
            messages = Candidates.from_row(row, is_whole=True)
            speakers = messages.speakers
            count = len(messages)
            cosines = await self._meaning.cosines(speakers, messages=count) if count else None
        else:
            estimates = [1 if count is None else count for count in df]  # a term that is not counted is rare
            nearest, spread = await self._meaning.nearest(speakers, size)
            rows = await self._db.rows(
                queries.rare_turns,
                self._user_id,
                terms,
                *self._filters.query_args,
                _rarest(terms, estimates),
                weigh(estimates, size),
                nearest,
                [Range(band.start, band.end) for band in self._dates] or None,
            )
            ids = [one["id"] for one in rows]
            messages = Candidates.from_row(await self._candidates(terms, ids), is_whole=False)
            cosines = await self._meaning.cosines(speakers, ids, spread) if nearest else None
        names = frozenset(terms) & await self._names(speakers)
        meaning = Similarity.of(messages, cosines) if cosines is not None else None
        chosen = self._choose(messages, sum(1 << bit for bit, term in enumerate(terms) if term in names), meaning)
        candidates = messages.take(chosen)
        counts = candidates.frequency(len(terms))
        frequency = [max(count, total or 0) for count, total in zip(counts, df, strict=True)]
        if not (any(frequency) or meaning or self._query.dates):
            candidates = candidates.take(np.zeros(len(candidates), np.bool_))
        return ReadMemory(
            terms,
            names,
            candidates,
            meaning.take(chosen) if meaning else None,
            frequency,
            len(messages) if size is None else size,
            size is not None,
            row["words_gone"],
            row["has_corrections"],
        )

    async def _candidates(self, terms: list[str] | None, ids: list[UUID] | None) -> queries.CandidatesRow:
        row = await self._db.row(
            queries.candidates,
            self._user_id,
            self._query.text,
            *self._filters.query_args,
            list(self._query.hints),
            terms,
            FULL_READ_MESSAGES,
            ids,
            self._meaning.is_wanted or bool(self._query.dates),
        )
        assert row is not None
        return row

    async def _names(self, speakers: Iterable[str | None]) -> frozenset[str]:
        """Return the lexemes of the names of speakers."""
        names = [name for name in speakers if name is not None]
        return frozenset(chain.from_iterable(await lexemes(self._db, names))) if names else frozenset()

    def _choose(self, messages: Candidates, name_mask: int, meaning: Similarity | None) -> Flags:
        """Return which messages are ranked. Names count as reasons only where no other term of the query occurs."""
        if self._is_full:
            return np.ones(len(messages), np.bool_)
        is_wanted = meaning.own >= NEAR if meaning is not None else np.zeros(len(messages), np.bool_)
        is_wanted |= fit(self._dates, messages.occurred_at) > 0
        is_anywhere = meaning is not None or bool(self._dates)
        chosen = is_wanted | messages.near(name_mask, in_any_conversation=is_anywhere)
        if name_mask and not (messages.mask[chosen] & ~name_mask).any():
            return is_wanted | messages.near(0, in_any_conversation=True)
        return chosen


def _rarest(terms: Sequence[str], df: Sequence[int]) -> list[str]:
    """Return the rarest terms that occur in at most RARE_TERM_MESSAGES messages together, and at least one."""
    rarest: list[str] = []
    room = RARE_TERM_MESSAGES
    for count, term in sorted(zip(df, terms, strict=True)):
        room -= count
        if rarest and room < 0:
            break
        rarest.append(term)
    return rarest
