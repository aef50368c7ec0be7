"""Search: the messages of one user that answer a query, best first.

Candidates are read from Postgres, out of a small memory all, out of a large one those with the rarest terms of the
query. For that, a background task counts how many messages of a large memory contain each term.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypedDict
from uuid import UUID

from maas import queries
from maas.memory.candidates import Candidates
from maas.memory.corrections import NONE, Correction, read_corrections
from maas.memory.excerpts import asks_again
from maas.memory.health import MemoryReason
from maas.memory.memory_reader import MemoryReader
from maas.memory.origins import Origin
from maas.memory.query import NO_FILTER, SearchFilter, parse_query
from maas.memory.ranking import Evidence, RankedMessage, rank, weigh
from maas.memory.similarity import NEAR, MeaningReader
from maas.memory.spelling import lexemes, repair
from shared.db import CONNECTION_LOST, Database, SlowStatement
from shared.models import gen_ai
from shared.models.calls import QueryEmbedder

if TYPE_CHECKING:
    from typing_extensions import ReadOnly

MAX_ASKED_AGAIN = 10  # earlier copies of a question among the best messages that make room for others


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that a search returned.

    `score` is 0 to 1. `coverage` is the share (0 to 1) of the query's weight in the message and its neighbours.
    `record_id` and `summary` are those of the summary that covers the message, None until there is one. `correction`
    says what corrects the message, and what it corrects; `origins` what it was made from.
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
    correction: Correction = NONE
    origins: tuple[Origin, ...] = ()


async def search(
    db: Database,
    user_id: UUID,
    query: str,
    *,
    limit: int = 10,
    filters: SearchFilter = NO_FILTER,
    query_embedder: QueryEmbedder | None = None,
    is_full: bool = False,
    evidence: Evidence | None = None,
) -> list[Hit]:
    """Return at most `limit` messages of this user, best first.

    Messages are matched by words, and with `query_embedder` also by meaning. With `is_full` the list goes on with
    messages that do not match, unless the memory is a large one. `evidence` of the same query, gathered a moment ago,
    saves reading it again; it may differ in the scope of its filters only. Before a message that is corrected stands
    its correction, whatever the query. That the same was asked before is no answer.
    """
    if evidence is None:
        evidence = await gather_evidence(db, user_id, query, filters, query_embedder, is_full=is_full)
    found = await read_hits(db, user_id, rank(replace(evidence, filters=filters), limit=limit + MAX_ASKED_AGAIN))
    hits = [hit for hit in found if not asks_again(query, hit.text)][:limit]
    return (await put_corrections_first(db, user_id, hits, filters))[:limit] if evidence.has_corrections else hits


async def put_corrections_first(
    db: Database, user_id: UUID, hits: Sequence[Hit], filters: SearchFilter = NO_FILTER
) -> list[Hit]:
    """Put before each hit that is corrected its valid correction, with at least its score, if that is within the time
    of the filter."""
    corrections = await read_corrections(db, user_id, [hit.id for hit in hits], filters.as_of)
    known = {hit.id: replace(hit, correction=corrections.get(hit.id, NONE)) for hit in hits}
    missing = {one.valid_id: known[hit_id] for hit_id, one in corrections.items() if one.valid_id not in (None, *known)}
    if missing:
        ranked = [RankedMessage(one, None, hit.score, hit.coverage) for one, hit in missing.items() if one is not None]
        its_own = await read_corrections(db, user_id, [one.id for one in ranked], filters.as_of)
        for hit in await read_hits(db, user_id, ranked):
            if filters.spans(hit.occurred_at):
                known[hit.id] = replace(hit, correction=its_own.get(hit.id, NONE))
    ordered: dict[UUID, Hit] = {}
    for hit in hits:
        correction = known.get(known[hit.id].correction.valid_id or hit.id)
        if correction is not None and correction.id not in ordered:
            ordered[correction.id] = replace(correction, score=max(correction.score, hit.score))
        ordered.setdefault(hit.id, known[hit.id])
    return list(ordered.values())


async def read_hits(db: Database, user_id: UUID, ranked: Sequence[RankedMessage]) -> list[Hit]:
    """Read the content of ranked messages; those erased meanwhile are left out."""
    if not ranked:
        return []
    rows = {row["id"]: row for row in await db.rows(queries.turns, user_id, [one.id for one in ranked])}
    return [
        Hit(
            id=row["id"],
            score=round(one.score, 4),
            coverage=one.coverage,
            text=row["content"],
            speaker=speaker_of(row),
            occurred_at=row["occurred_at"],
            created_at=row["created_at"],
            period=row["period"],
            tags=tuple(row["tags"] or ()),
            record_id=row["record_id"],
            summary=row["summary"],
            external_id=row["external_id"],
            origins=Origin.from_json(row["origins"]),
        )
        for one in ranked
        if (row := rows.get(one.id))
    ]


class Spoken(TypedDict):
    """The columns of a message that say who wrote it."""

    speaker: str | None
    message_type: ReadOnly[str]


def role_of(message_type: str) -> Literal["user", "assistant"]:
    """Return who wrote a message of this type."""
    return "user" if message_type == "user_query" else "assistant"


def speaker_of(row: Spoken) -> str:
    """Return the name of the speaker of a message, or the role of a speaker without a name."""
    return row["speaker"] or role_of(row["message_type"])


async def gather_evidence(
    db: Database,
    user_id: UUID,
    text: str,
    filters: SearchFilter = NO_FILTER,
    query_embedder: QueryEmbedder | None = None,
    *,
    is_full: bool = False,
) -> Evidence:
    """Read everything that `rank` needs; there are no candidates when nothing in memory is related to the query.

    With `query_embedder`, messages that are near to the query in meaning are candidates whatever terms they contain.
    With `is_full` all messages of a small memory are candidates, not only those that are related.
    """
    with gen_ai.memory("search_memory", user_id, query=text) as operation:
        evidence = await _gather(db, user_id, text, filters, query_embedder, is_full)
        operation.note({"gen_ai.memory.record.count": len(evidence.candidates)})
        return evidence


async def _gather(
    db: Database,
    user_id: UUID,
    text: str,
    filters: SearchFilter,
    query_embedder: QueryEmbedder | None,
    is_full: bool,
) -> Evidence:
    query = parse_query(text, filters.now, filters.zone)
    meaning = MeaningReader(db, query_embedder, user_id, query, filters)
    reader = MemoryReader(db, user_id, query, filters, meaning, is_full)
    memory = await reader.read()
    unknown = [term for term, df in zip(memory.terms, memory.frequency, strict=True) if not df]
    if unknown and memory.size:
        is_counted = memory.is_large
        repaired = await repair(db, user_id, query.words, set(unknown) - memory.names, is_counted=is_counted)
        if repaired:
            memory = await reader.read(list(dict.fromkeys(repaired.get(term, term) for term in memory.terms)))
    weights = weigh(memory.frequency, memory.size)
    without_names = [0.0 if term in memory.names else one for term, one in zip(memory.terms, weights, strict=True)]
    weights = without_names if any(without_names) else weights  # a speaker's name is seldom in what the speaker says
    is_empty = bool(memory.terms) and not memory.size
    return Evidence(
        query,
        memory.candidates,
        memory.terms,
        weights,
        memory.frequency,
        memory.meaning,
        filters,
        is_empty,
        memory.words_gone,
        frozenset(meaning.reasons),
        memory.has_corrections,
        memory.size,
    )


def is_search_failure(error: Exception) -> bool:
    """Whether a search failed for itself: its statement took too long or failed, and the database still answers."""
    return isinstance(error, SlowStatement) or not isinstance(error, CONNECTION_LOST)


def no_evidence(query: str, filters: SearchFilter) -> Evidence:
    """The evidence for a query that could not be searched for: the answer is given without it."""
    parsed = parse_query(query, filters.now, filters.zone)
    reasons = frozenset({MemoryReason.SEARCH_FAILED})
    return Evidence(parsed, Candidates.none(), (), (), (), filters=filters, reasons=reasons)


async def narrow_evidence(db: Database, evidence: Evidence, words: Sequence[str]) -> Evidence | None:
    """Return the evidence for these words of its query alone; None if it must be gathered from memory."""
    query = parse_query(" ".join(words), evidence.filters.now, evidence.filters.zone)
    found = [_term_of(one, evidence.terms) for one in chain.from_iterable(await lexemes(db, words))]
    wanted = set(found)
    weights = [one if term in wanted else 0.0 for term, one in zip(evidence.terms, evidence.term_weights, strict=True)]
    if query.dates or query.hints or None in wanted or not any(weights):
        return None
    is_wanted = [term in wanted for term in evidence.terms]
    frequency = [df if wants else 0 for df, wants in zip(evidence.frequency, is_wanted, strict=True)]
    messages = evidence.candidates.with_terms(sum(1 << bit for bit, wants in enumerate(is_wanted) if wants))
    is_near = messages.near(0, in_any_conversation=True)
    if (similarity := evidence.similarity) is not None:
        is_near |= similarity.own >= NEAR
        similarity = similarity.take(is_near)
    return Evidence(query, messages.take(is_near), evidence.terms, weights, frequency, similarity, evidence.filters)


def _term_of(lexeme: str, terms: Sequence[str]) -> str | None:
    """Return the term that a lexeme is, or that contains it beside signs, as №7 does; None without one."""
    if lexeme in terms:
        return lexeme
    return next((term for term in terms if lexeme in term and not term.isalpha()), None)
