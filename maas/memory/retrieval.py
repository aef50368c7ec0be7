"""Retrieval: reads the candidates of a query from Postgres, out of a small memory all, out of a large one the best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import UUID

from asyncpg import Range

from maas.memory import spelling
from maas.memory.filters import MAX_TIME, SearchFilter
from maas.memory.query import ParsedQuery, parse_query
from maas.memory.ranking import Candidate, Evidence, weigh
from shared.db import Database

FULL_READ_MESSAGES = 2000  # a memory of at most so many messages is read whole by every search
RARE_TERM_MESSAGES = 600  # in a larger one, the messages that the chosen rare terms may occur in together
MAX_REPAIRED_WORDS = 16


async def retrieve(
    db: Database,
    user_id: UUID,
    text: str,
    filters: SearchFilter,
    similarity: Mapping[UUID, float],
    *,
    is_full: bool = False,
) -> Evidence | None:
    """Read everything that `rank` needs; return None when nothing in memory is related to the query.

    The messages of `similarity` (0 to 1, by id) are candidates whatever terms they contain. With `is_full` all messages
    of a small memory are candidates, not only those close to a term.
    """
    row = await db.row("question_terms", user_id, text, filters.as_of or MAX_TIME)
    assert row is not None
    query = parse_query(text, filters.now, filters.zone)
    if not (row["terms"] or similarity or query.dates):
        return None
    terms, names = list(row["terms"] or []), frozenset(row["named"] or [])
    size = row["turns"] if row["is_counted"] and row["turns"] > FULL_READ_MESSAGES else None
    reader = _CandidateReader(db, user_id, query, filters, size, names, list(similarity), is_full)
    candidates, frequency = await reader.read(terms, row["df"] or [])
    unknown = [term for term, df in zip(terms, frequency, strict=True) if not df and term not in names]
    repaired = await reader.repair(unknown)
    if repaired:
        known = dict(zip(terms, frequency, strict=True))
        terms = list(dict.fromkeys(repaired.get(term, term) for term in terms))
        candidates, frequency = await reader.read(terms, [known.get(term) for term in terms])
    if not (any(frequency) or similarity or query.dates):
        return None
    weights = weigh(frequency, row["turns"])
    without_names = [0.0 if term in names else weight for term, weight in zip(terms, weights, strict=True)]
    weights = without_names if any(without_names) else weights  # a speaker's name is seldom in what the speaker says
    return Evidence(query, candidates, weights, frequency, similarity, filters)


class _CandidateReader:
    """Reads the candidates of one query from one user's memory.

    `size` is the number of messages of a large memory, and None for one that is read whole. `names` are the terms that
    are names of speakers, `similar` the messages that are close to the query by their embeddings.
    """

    def __init__(
        self,
        db: Database,
        user_id: UUID,
        query: ParsedQuery,
        filters: SearchFilter,
        size: int | None,
        names: frozenset[str],
        similar: list[UUID],
        is_full: bool,
    ) -> None:
        self._db = db
        self._user_id = user_id
        self._query = query
        self._filters = filters
        self._size = size
        self._names = names
        self._similar = similar
        self._is_full = is_full
        self._times = [Range(band.start, band.end) for band in query.dates if band.worth == 1.0] or None

    async def read(self, terms: list[str], df: Sequence[int | None]) -> tuple[list[Candidate], list[int]]:
        """Return the candidates and the document frequency of each term; a term whose `df` is None counts as rare."""
        ids = None
        if self._size is not None:
            estimates = [1 if count is None else count for count in df]
            rows = await self._db.rows(
                "rare_turns",
                self._user_id,
                terms,
                *self._filters.query_args,
                _rarest(terms, estimates),
                weigh(estimates, self._size),
                self._similar,
                self._times,
            )
            ids = [row["id"] for row in rows]
        name_mask = sum(1 << bit for bit, term in enumerate(terms) if term in self._names)
        candidates = await self._read_candidates(terms, ids, name_mask)
        if name_mask and not any(one.mask & ~name_mask for one in candidates):
            candidates = await self._read_candidates(terms, ids, 0)  # no other term of the query occurs in memory
        masks = Counter(one.mask for one in candidates).items()
        counts = [sum(number for mask, number in masks if mask >> bit & 1) for bit in range(len(terms))]
        return candidates, [max(count, total or 0) for count, total in zip(counts, df, strict=True)]

    async def _read_candidates(self, terms: list[str], ids: list[UUID] | None, ignored_mask: int) -> list[Candidate]:
        rows = await self._db.rows(
            "rank_turns", self._user_id, terms, *self._filters.query_args, list(self._query.hints), self._similar,
            self._times, ids, self._is_full, ignored_mask,
        )  # fmt: skip
        return [Candidate._make(row) for row in rows]

    async def repair(self, terms: Sequence[str]) -> dict[str, str]:
        """Return for terms that do not occur in memory those that were probably meant."""
        longest = sorted(filter(spelling.is_repairable, self._query.words), key=len, reverse=True)[:MAX_REPAIRED_WORDS]
        pairs = zip(longest, await self._stems(longest), strict=True)
        misspelt = [(word, stem) for word, stem in pairs if stem in terms]
        swaps = [(stem, swapped) for word, stem in misspelt for swapped in spelling.swaps(word)]
        stems: dict[str, set[str]] = {stem: set() for _, stem in misspelt}
        for (stem, _), other in zip(swaps, await self._stems([swapped for _, swapped in swaps]), strict=True):
            stems[stem].add(other)
        if not stems:
            return {}
        prefixes = sorted({prefix for stem in stems for prefix in spelling.prefixes(stem)})
        max_chars = max(map(len, stems)) + 1
        return spelling.repair(stems, await self._known_lexemes(prefixes, max_chars))

    async def _known_lexemes(self, prefixes: list[str], max_chars: int) -> dict[str, int]:
        """Return the lexemes of the user that begin with one of the prefixes, with their document frequency."""
        if self._size is None:
            rows = await self._db.rows("said_lexemes", self._user_id)
            return spelling.count_lexemes((row["lexemes"] for row in rows), prefixes, max_chars)
        rows = await self._db.rows("counted_lexemes", self._user_id, prefixes, max_chars)
        return {row["term"]: row["turns"] for row in rows}

    async def _stems(self, words: Sequence[str]) -> list[str]:
        rows = await self._db.rows("stems", words) if words else []
        return [row["lexeme"] or "" for row in rows]


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
