"""Search: the messages of one user that answer a query, best first.

Candidates are read from Postgres, out of a small memory all, out of a large one those with the rarest terms of the
query. For that, a background task counts how many messages of a large memory contain each term.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

import asyncpg
import structlog
from asyncpg import Range

from maas.memory.embeddings import similar_messages
from maas.memory.query import (
    MAX_TIME,
    NO_FILTER,
    ParsedQuery,
    SearchFilter,
    count_lexemes,
    is_repairable,
    likely_prefixes,
    parse_query,
    repair_terms,
    swaps,
)
from maas.memory.ranking import SCALE, Candidate, Evidence, RankedMessage, rank, weigh
from shared.db import CONNECTION_LOST, Database
from shared.models.calls import QueryEmbedder

FULL_READ_MESSAGES = 2000  # a memory of at most so many messages is read whole by every search
RARE_TERM_MESSAGES = 600  # in a larger one, the messages that the chosen rare terms may occur in together
MAX_REPAIRED_WORDS = 16
MAX_CACHED_STEMS = 20_000
MAX_CACHED_CHARS = 50  # of a word
_stems_by_word: dict[str, str] = {}  # what the dictionaries of Postgres make of a word does not change
COUNT_INTERVAL_S = 20.0
COUNT_OVERLAP = timedelta(minutes=5)  # a transaction may commit messages that are as old as this
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that a search returned.

    `score` is 0 to 1. `coverage` is the share (0 to 1) of the query's weight in the message and its neighbours.
    `record_id` and `summary` are those of the summary that covers the message, None until there is one.
    """

    id: UUID
    score: float
    coverage: float
    text: str
    speaker: str
    occurred_at: datetime
    created_at: datetime
    period: str
    tags: tuple[str, ...]
    record_id: UUID | None
    summary: str | None
    external_id: str | None


async def search(
    db: Database,
    user_id: UUID,
    query: str,
    *,
    limit: int = 10,
    filters: SearchFilter = NO_FILTER,
    query_embedder: QueryEmbedder | None = None,
    is_full: bool = False,
) -> list[Hit]:
    """Return at most `limit` messages of this user, best first.

    Messages are matched by words, and with `query_embedder` also by meaning. With `is_full` the list goes on with
    messages that do not match, unless the memory is a large one.
    """
    ranked = await rank_messages(
        db, user_id, query, limit=limit, filters=filters, query_embedder=query_embedder, is_full=is_full
    )  # fmt: skip
    return await read_hits(db, user_id, ranked)


async def rank_messages(
    db: Database,
    user_id: UUID,
    query: str,
    *,
    limit: int,
    filters: SearchFilter = NO_FILTER,
    query_embedder: QueryEmbedder | None = None,
    is_full: bool = False,
) -> list[RankedMessage]:
    """Rank the messages of this user for a query; return at most `limit`, best first, without their content."""
    similarity = await similar_messages(db, query_embedder, user_id, query, as_of=filters.as_of)
    evidence = await retrieve(db, user_id, query, filters, similarity, is_full=is_full)
    return rank(evidence)[:limit] if evidence is not None else []


async def read_hits(db: Database, user_id: UUID, ranked: Sequence[RankedMessage]) -> list[Hit]:
    """Read the content of ranked messages; those erased meanwhile are left out."""
    if not ranked:
        return []
    rows = {row["id"]: row for row in await db.rows("turns", user_id, [one.message.id for one in ranked])}
    return [
        Hit(
            id=row["id"], score=round(min(max(one.score / SCALE, 0.0), 1.0), 4), coverage=one.coverage,
            text=row["content"], speaker=speaker_of(row),
            occurred_at=row["occurred_at"], created_at=row["created_at"], period=row["period"],
            tags=tuple(row["tags"] or ()), record_id=row["record_id"], summary=row["summary"],
            external_id=row["external_id"],
        )
        for one in ranked
        if (row := rows.get(one.message.id))
    ]  # fmt: skip


def role_of(message_type: str) -> Literal["user", "assistant"]:
    """Return who wrote a message of this type."""
    return "user" if message_type == "user_query" else "assistant"


def speaker_of(row: Mapping[str, Any]) -> str:
    """Return the name of the speaker of a message, or the role of a speaker without a name."""
    return row["speaker"] or role_of(row["message_type"])


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
        if not terms:
            return {}
        longest = sorted(filter(is_repairable, self._query.words), key=len, reverse=True)[:MAX_REPAIRED_WORDS]
        pairs = zip(longest, await self._stems(longest), strict=True)
        misspelt = [(word, stem) for word, stem in pairs if stem in terms]
        swapped_words = [(stem, swapped) for word, stem in misspelt for swapped in swaps(word)]
        stems: dict[str, set[str]] = {stem: set() for _, stem in misspelt}
        swapped_stems = await self._stems([swapped for _, swapped in swapped_words])
        for (stem, _), other in zip(swapped_words, swapped_stems, strict=True):
            stems[stem].add(other)
        if not stems:
            return {}
        prefixes = sorted({prefix for stem in stems for prefix in likely_prefixes(stem)})
        max_chars = max(map(len, stems)) + 1
        return repair_terms(stems, await self._known_lexemes(prefixes, max_chars))

    async def _known_lexemes(self, prefixes: list[str], max_chars: int) -> dict[str, int]:
        """Return the lexemes of the user that begin with one of the prefixes, with their document frequency."""
        if self._size is None:
            rows = await self._db.rows("said_lexemes", self._user_id)
            return count_lexemes((row["lexemes"] for row in rows), prefixes, max_chars)
        rows = await self._db.rows("counted_lexemes", self._user_id, prefixes, max_chars)
        return {row["term"]: row["turns"] for row in rows}

    async def _stems(self, words: Sequence[str]) -> list[str]:
        """Return the lexeme of each word; one run asks for the same words in each of its searches."""
        stems = {word: _stems_by_word[word] for word in words if word in _stems_by_word}
        unknown = [word for word in words if word not in stems]
        rows = await self._db.rows("stems", unknown) if unknown else []
        stems |= {word: row["lexeme"] or "" for word, row in zip(unknown, rows, strict=True)}
        if len(_stems_by_word) + len(unknown) > MAX_CACHED_STEMS:
            _stems_by_word.clear()
        _stems_by_word.update(
            (word, stems[word]) for word in unknown[:MAX_CACHED_STEMS] if len(word) <= MAX_CACHED_CHARS
        )
        return [stems[word] for word in words]


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


async def keep_terms_counted(db: Database) -> None:
    """Count until cancelled, for users whose memory has become large or has grown by a tenth since the last count."""
    while True:
        await count_due_terms(db)
        await asyncio.sleep(COUNT_INTERVAL_S)


async def count_due_terms(db: Database) -> int:
    """Count the terms of all users for whom that is due, one user per transaction; return the number of users.

    A failure does not stop the counts of other users; the first one is raised at the end.
    """
    now = await db.value("clock")
    users = [row["user_id"] for row in await db.rows("users_to_count", COUNT_OVERLAP, FULL_READ_MESSAGES)]
    failure: asyncpg.PostgresError | None = None
    for user_id in users:
        try:
            messages = await db.long_value("count_terms", user_id, FULL_READ_MESSAGES)
        except CONNECTION_LOST:
            raise
        except asyncpg.PostgresError as error:
            log.warning("terms_not_counted", user_id=str(user_id), cause=repr(error))
            failure = failure or error
        else:
            log.info("terms_counted", user_id=str(user_id), turns=messages)
    if failure is not None:
        raise failure
    await db.value("terms_are_counted", now)
    return len(users)
