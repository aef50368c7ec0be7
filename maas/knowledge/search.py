"""Search: the passages that answer a query, best first, among a user's documents and everybody's.

Candidates are the chunks that hold one of the query's rarest terms, and where there are vectors those that are near to
the query in meaning. They are scored by the weight of the terms in the chunk, in its headings, and in the document as a
whole, and by their meaning.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypedDict
from uuid import UUID

import asyncpg
import structlog

from maas import queries
from shared.db import CONNECTION_LOST, Database
from shared.errors import MaasError
from shared.models import gen_ai
from shared.models.calls import NoVector, QueryEmbedder
from shared.text import is_blank

Mode = Literal["mix", "local", "global", "hybrid"]
DATA_SOURCE = "knowledge"  # as traces name it
MIN_QUERY_CHARS = 3
MAX_QUERY_CHARS = 2000
RARE_CHUNKS = 2000  # that the chosen rare terms may occur in together
CANDIDATES = 150
MAX_TOTAL = 1000
MAX_PER_DOCUMENT = 3  # among the passages of `global`
MAX_COMPARED = 20_000  # chunks whose vectors are all compared with the query; among more, words alone are used
NEAREST = 50  # chunks that may be candidates for their meaning alone
NEAR = 2.5  # standard deviations above the mean in meaning: from there on a chunk is a candidate
MAX_NEARNESS = 5.0  # from there on more is no better
Key = tuple[UUID, int]  # a document and the number of a chunk
_Candidate: TypeAlias = "queries.KnowledgeCandidatesRow | queries.KnowledgeChunksRow"
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of the query's terms in each place; 1.0 is as much as holding all of them in the chunk."""

    chunk: float
    heading: float
    document: float  # in the name, the headings and the beginning of the document
    together: float  # in all candidates of the document
    meaning: float  # of a chunk that stands out in meaning by MAX_NEARNESS
    length: float  # taken off for the logarithm of how much longer than usual the chunk is


WEIGHTS: Mapping[Mode, Weights] = {
    "local": Weights(1.0, 0.2, 0.0, 0.1, 0.0, 0.05),
    "global": Weights(0.4, 0.5, 0.6, 0.4, 0.0, 0.0),
    "hybrid": Weights(1.0, 0.3, 0.2, 0.2, 0.0, 0.05),
    "mix": Weights(1.0, 0.3, 0.2, 0.2, 0.6, 0.05),
}
USUAL_TERMS = 80


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that was found. `score` is 0 to 1, `page` None for formats without pages."""

    document_id: UUID
    chunk: int
    name: str
    heading: str
    page: int | None
    position: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Found:
    """The best passages, and how many chunks answer the query: those nearly as good as the best one in words, those
    near in meaning, and never fewer than the passages; at most MAX_TOTAL."""

    passages: list[Passage]
    total: int


async def search_knowledge(
    db: Database,
    user_id: UUID,
    query: str,
    *,
    mode: Mode = "mix",
    limit: int = 10,
    query_embedder: QueryEmbedder | None = None,
) -> Found:
    """Return at most `limit` passages of this user's documents and everybody's. Raises MaasError('invalid_request')."""
    if len(query) < MIN_QUERY_CHARS or is_blank(query):
        raise MaasError("invalid_request", f"query: must have at least {MIN_QUERY_CHARS} characters")
    with gen_ai.retrieval(DATA_SOURCE, query, limit):
        return await _search(db, user_id, query, mode, limit, query_embedder)


async def _search(
    db: Database, user_id: UUID, query: str, mode: Mode, limit: int, query_embedder: QueryEmbedder | None
) -> Found:
    rows = await db.rows(queries.knowledge_terms, user_id, query[:MAX_QUERY_CHARS])
    terms = [row["term"] for row in rows]
    if not rows or not (total := int(rows[0]["total"])):
        return Found([], 0)
    frequency = [int(row["chunks"]) for row in rows]
    weights = [math.log(1 + (max(total, df) - df + 0.5) / (df + 0.5)) if df else 0.0 for df in frequency]
    candidates: list[_Candidate] = [*await _candidates(db, user_id, terms, frequency, weights)]
    count = candidates[0]["total"] or len(candidates) if candidates else 0
    nearness: dict[Key, float] = {}
    if query_embedder is not None and WEIGHTS[mode].meaning and total <= MAX_COMPARED:
        known = [_key(row) for row in candidates]
        nearness = await _nearness(db, user_id, query, query_embedder, known)
        if missing := [key for key in nearness.keys() - set(known) if nearness[key] >= NEAR]:
            documents, numbers = zip(*missing, strict=True)
            candidates += await db.rows(queries.knowledge_chunks, user_id, terms, documents, numbers)
            count += len(missing)
    passages = await _read(db, user_id, _rank(candidates, weights, mode, nearness)[:limit])
    return Found(passages, min(max(count, len(passages)), MAX_TOTAL))


async def _read(db: Database, user_id: UUID, ranked: Sequence[tuple[Key, float]]) -> list[Passage]:
    """The passages with these scores; one whose document was removed meanwhile is left out."""
    keys = [key for key, _ in ranked]
    rows = await db.rows(queries.passages, user_id, [one[0] for one in keys], [one[1] for one in keys]) if keys else []
    found = {_key(row): row for row in rows}
    return [
        Passage(
            row["document_id"],
            row["number"],
            row["name"],
            row["heading"],
            row["page"],
            row["position"],
            row["text"],
            score,
        )
        for key, score in ranked
        if (row := found.get(key)) is not None
    ]


async def _nearness(
    db: Database, user_id: UUID, query: str, embedder: QueryEmbedder, known: Sequence[Key]
) -> dict[Key, float]:
    """How far the nearest chunks and the known ones stand out in meaning, in standard deviations; empty on failure."""
    documents, numbers = [one[0] for one in known], [one[1] for one in known]
    try:
        vector = await embedder.vector(query)
        rows = await db.rows(queries.nearest_chunks, user_id, embedder.model, vector, documents, numbers, NEAREST)
    except (NoVector, asyncpg.PostgresError) as error:
        if isinstance(error, CONNECTION_LOST):
            raise
        log.info("knowledge_search_lexical_only", cause=str(error))
        return {}
    return {_key(row): row["nearness"] for row in rows}


class _Keyed(TypedDict):
    document_id: UUID
    number: int


def _key(row: _Keyed) -> Key:
    return row["document_id"], row["number"]


async def _candidates(
    db: Database, user_id: UUID, terms: Sequence[str], frequency: Sequence[int], weights: Sequence[float]
) -> list[queries.KnowledgeCandidatesRow]:
    """The best chunks that hold one of the rarest terms; if even these are frequent, rather all terms of the query."""
    known = [term for term, df in zip(terms, frequency, strict=True) if df]
    if not known:
        return []
    rare = _rare(terms, frequency)
    if len(known) > 1 and min(df for df in frequency if df) > RARE_CHUNKS:
        rows = await db.rows(queries.knowledge_candidates, user_id, terms, weights, known, True, CANDIDATES)
        if rows:
            return rows
    return await db.rows(queries.knowledge_candidates, user_id, terms, weights, rare, False, CANDIDATES)


def _rare(terms: Sequence[str], frequency: Sequence[int]) -> list[str]:
    """The rarest known terms that occur in RARE_CHUNKS chunks together, at least one."""
    chosen: list[str] = []
    left = RARE_CHUNKS
    for df, term in sorted((df, term) for df, term in zip(frequency, terms, strict=True) if df):
        if chosen and df > left:
            break
        chosen.append(term)
        left -= df
    return chosen


def _rank(
    rows: Sequence[_Candidate], weights: Sequence[float], mode: Mode, nearness: Mapping[Key, float]
) -> list[tuple[Key, float]]:
    whole = sum(weights) or 1.0
    of = WEIGHTS[mode]
    best = of.chunk + of.heading + of.document + of.together + (of.meaning if nearness else 0.0)

    def share(mask: int) -> float:
        return sum(weight for bit, weight in enumerate(weights) if mask >> bit & 1) / whole

    together: defaultdict[UUID, int] = defaultdict(int)
    for row in rows:
        together[row["document_id"]] |= row["mask"]
    scored = []
    for row in rows:
        score = (
            of.chunk * share(row["mask"])
            + of.heading * share(row["heading_mask"])
            + of.document * share(row["document_mask"])
            + of.together * share(together[row["document_id"]])
            + of.meaning * min(max(nearness.get(_key(row), 0.0), 0.0), MAX_NEARNESS) / MAX_NEARNESS
            - of.length * math.log(max(row["tsv_length"], 1) / USUAL_TERMS)
        )
        scored.append((score, row))
    scored.sort(key=lambda one: (-one[0], *_key(one[1])))
    ranked = [(_key(row), round(min(max(score / best, 0.0), 1.0), 4)) for score, row in scored]
    return _spread(ranked) if mode == "global" else ranked


def _spread(ranked: Sequence[tuple[Key, float]]) -> list[tuple[Key, float]]:
    """The best of each document first, so that one document does not hide the others."""
    count: defaultdict[UUID, int] = defaultdict(int)
    first: list[tuple[Key, float]] = []
    later: list[tuple[Key, float]] = []
    for one in ranked:
        document_id = one[0][0]
        count[document_id] += 1
        (first if count[document_id] <= MAX_PER_DOCUMENT else later).append(one)
    return first + later
