"""/v1/memories and /v1/context: what is remembered about a user, how it is searched, and what it was made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.http.authorize import principal_of, read_body, read_user, user_of
from maas.http.memory_schemas import (
    ContextQuery,
    ContextResult,
    ForgetResult,
    MemoriesAccepted,
    Memory,
    MemoryDay,
    MemoryDays,
    MemoryHistory,
    MemoryPage,
    MemorySources,
    MemoryTotals,
    NewMemories,
    NewMessage,
    SearchQuery,
    to_log,
    to_version,
)
from maas.http.request_input import (
    in_zone,
    read_cursor,
    read_id,
    read_limit,
    read_parameter,
    to_bool,
    to_level,
    to_year,
    write_cursor,
)
from maas.http.schemas import (
    MemoryOrigin,
    Source,
    json_response,
)
from maas.http.state import AppState, app_state
from maas.memory.client_memories import ClientMemory
from maas.memory.corrections import NONE, read_corrections
from maas.memory.dates import time_reader
from maas.memory.erase import forget_memory
from maas.memory.facts import Fact, search_facts
from maas.memory.filters import MAX_HITS, Filters, fitting_memories, parse_filters
from maas.memory.known_context import build_known_context
from maas.memory.query import SearchFilter
from maas.memory.ranking import RankedMessage
from maas.memory.search import Hit, gather_evidence, read_hits, search
from maas.memory.summaries import (
    list_memories,
    read_days,
    read_history,
    read_memory,
    read_sources,
    read_totals,
    search_summaries_without_messages,
)
from maas.memory.transfer.import_ import remember
from shared import tokens
from shared.db import Database
from shared.errors import MaasError

MIN_HITS_OF_SUMMARY = 3


async def post_search(request: Request) -> Response:
    """Search the messages of a user, best match first, and the summaries whose messages retention has deleted."""
    body = await read_body(request, SearchQuery)
    state = app_state(request)
    zone = state.settings.engine.zone
    as_of, since, until = (in_zone(zone, at) for at in (body.as_of, body.since, body.until))
    filters = SearchFilter(as_of=as_of, since=since, until=until, tags=body.tags, scope=body.scope, zone=zone)
    chosen = parse_filters(body.filters, time_reader(zone))
    if chosen.user is not None:
        raise MaasError("bad_parameter", "filters: user_id stands beside them, as a field of the request")
    async with state.shares.reads.hold(body.user_id):
        found = await (_choose(state, body, filters, chosen) if chosen.conditions else _find(state, body, filters))
    return json_response(MemoryPage(results=found, next=None))


async def _choose(state: AppState, body: SearchQuery, within: SearchFilter, chosen: Filters) -> list[Memory]:
    """Return facts and the user's messages that fit, best first, each message with its metadata."""
    evidence = await gather_evidence(state.reads, body.user_id, body.query, within, state.query_embedder)
    hits = await search(state.reads, body.user_id, body.query, limit=MAX_HITS, filters=within, evidence=evidence)
    fitting = await fitting_memories(state.reads, body.user_id, [hit.id for hit in hits], chosen)
    facts = await search_facts(state.reads, body.user_id, body.query, within) if body.facts else []
    results = [_from_fact(fact) for fact in facts if chosen.fits(_as_client_memory(fact))]
    for hit in hits:
        if (memory := fitting.get(hit.id)) is not None:
            results.append(_from_hit(hit).model_copy(update={"metadata": memory.metadata}))
    return results[: body.limit]


def _as_client_memory(fact: Fact) -> ClientMemory:
    return ClientMemory(fact.id, fact.last_said_at, fact.last_said_at, text=fact.statement)


async def _find(state: AppState, body: SearchQuery, filters: SearchFilter) -> list[Memory]:
    evidence = await gather_evidence(state.reads, body.user_id, body.query, filters, state.query_embedder)
    hits = await search(state.reads, body.user_id, body.query, limit=body.limit, filters=filters, evidence=evidence)
    results = _with_summaries(hits) if body.summaries else [_from_hit(hit) for hit in hits]
    covered = {hit.record_id for hit in hits}
    best_coverage = max((hit.coverage for hit in hits), default=0.0)
    rows = []
    if evidence.words_gone:
        rows = await search_summaries_without_messages(state.reads, body.user_id, body.query, body.limit, filters)
        rows = [row for row in rows if row["id"] not in covered]
    before = [_from_row(row) for row in rows if row["score"] > best_coverage]
    after = [_from_row(row) for row in rows if row["score"] <= best_coverage]
    found = [*before, *results, *after][: body.limit]
    if evidence.has_corrections:
        found = await _with_corrections(state.reads, body.user_id, found, filters)
    facts = await search_facts(state.reads, body.user_id, body.query, filters) if body.facts else []
    return [*map(_from_fact, facts), *found][: body.limit]


async def get_memories(request: Request) -> Response:
    """List the summaries of a user, what was said last first: those in force, or all of one level."""
    limit, user_id, db = read_limit(request), read_user(request), app_state(request).reads
    rows = await list_memories(db, user_id, read_cursor(request), limit, read_parameter(request, "level", to_level))
    results = await _with_links(db, user_id, [_from_row(row) for row in rows])
    return json_response(MemoryPage(results=results, next=write_cursor(rows, limit, "occurred_at")))


async def post_memories(request: Request) -> Response:
    """Remember messages without asking for an answer; they can be searched at once and are summarized later."""
    body = await read_body(request, NewMemories)
    messages = body.turns or [NewMessage(role="user", content=body.memory or "", external_id=body.external_id)]
    rows = [
        message.model_dump()
        | {
            "at": message.at or body.at,
            "conversation": body.conversation,
            "client": body.client,
        }
        for message in messages
    ]
    run_id, log_ids = await remember(app_state(request).db, body.user_id, rows)
    return json_response(MemoriesAccepted(request_id=run_id, poll_url=f"/v1/runs/{run_id}", raw_log_ids=log_ids), 202)


async def delete_memory(request: Request) -> Response:
    """Delete a memory: its messages, all summaries made of them, and the answers that repeat them."""
    memory_id = read_id(request, "memory")
    user_id: UUID | None = read_parameter(request, "user_id", UUID)
    is_doubtful_too = read_parameter(request, "doubtful", to_bool, False)
    is_preview = read_parameter(request, "preview", to_bool, False)
    state, actor = app_state(request), principal_of(request).name
    async with state.shares.deletions.hold(user_of(request)):
        counts = await forget_memory(
            state.long_db, memory_id, user_id, actor, is_doubtful_too=is_doubtful_too, is_preview=is_preview
        )
    return json_response(ForgetResult(id=memory_id, **counts))


async def get_memory(request: Request) -> Response:
    """Return one message, one summary or one fact."""
    row = await _read_memory(request)
    (memory,) = await _with_links(app_state(request).reads, row["user_id"], [_from_row(row)])
    return json_response(memory)


async def get_totals(request: Request) -> Response:
    """Count what is remembered of a user."""
    user_id = read_id(request, "user")
    state = app_state(request)
    async with state.shares.reads.hold(user_id):
        totals = await read_totals(state.reads, user_id)
    return json_response(MemoryTotals(**totals))


async def get_days(request: Request) -> Response:
    """Count what is remembered of each day of a year."""
    user_id = read_id(request, "user")
    state = app_state(request)
    year = read_parameter(request, "year", to_year) or datetime.now(state.settings.engine.zone).year
    async with state.shares.reads.hold(user_id):
        days = await read_days(state.reads, user_id, year)
    return json_response(MemoryDays(year=year, results=[MemoryDay(**day) for day in days]))


async def get_sources(request: Request) -> Response:
    """List the messages that a memory was made of."""
    memory = await _read_memory(request)
    rows = await read_sources(app_state(request).reads, memory)
    results = [to_log(row) for row in rows]
    return json_response(MemorySources(results=results, gone=len(memory["raw_log_ids"]) - len(rows)))


async def get_history(request: Request) -> Response:
    """List the messages of a memory and every summary made of them, in the order in which they were made."""
    db = app_state(request).reads
    rows = await read_history(db, await read_memory(db, read_id(request, "memory")))
    results = [to_version(row) for row in rows]
    return json_response(MemoryHistory(results=results))


async def post_context(request: Request) -> Response:
    """Return the best evidence for a query within a token budget, for a client that calls its own model."""
    body = await read_body(request, ContextQuery)
    state = app_state(request)
    zone, facts_tokens = state.settings.engine.zone, state.settings.answers.facts_tokens
    filters = SearchFilter(as_of=in_zone(zone, body.as_of), zone=zone)
    async with state.shares.reads.hold(body.user_id):
        context = await build_known_context(
            state.reads,
            body.user_id,
            body.query,
            body.max_tokens,
            facts_tokens,
            filters=filters,
            query_embedder=state.query_embedder,
            by_day=True,
        )
    text = context.fenced
    sources = [_source(one.fact, "fact", 1.0) for one in context.facts]
    sources += [_source(hit, "turn", hit.score) for hit in context.said.hits]
    result = ContextResult(
        context=text,
        tokens=tokens.count(text),
        sources=sources,
        found=context.is_found,
        confidence=context.confidence,
    )
    return json_response(result)


async def _read_memory(request: Request) -> queries.MemoryRow:
    """Return the memory in the path; it must belong to the user in the query, if there is one."""
    user_id: UUID | None = read_parameter(request, "user_id", UUID)
    return await read_memory(app_state(request).reads, read_id(request, "memory"), user_id)


def _from_row(row: Mapping[str, object]) -> Memory:
    fields = {name: row[name] for name in Memory.model_fields if name in row}
    fields.setdefault("kind", "summary")
    fields.setdefault("memory", row.get("summary"))
    return Memory.model_validate(fields)


async def _with_links(
    db: Database, user_id: UUID, memories: Sequence[Memory], as_of: datetime | None = None
) -> list[Memory]:
    """Return the memories with what corrects them and what they correct."""
    corrections = await read_corrections(db, user_id, [one.id for one in memories], as_of)
    links = [corrections.get(one.id, NONE) for one in memories]
    return [
        one.model_copy(update={"corrected_by": link.corrected_by, "corrects": link.corrects})
        for one, link in zip(memories, links, strict=True)
    ]


async def _with_corrections(
    db: Database, user_id: UUID, memories: Sequence[Memory], filters: SearchFilter
) -> list[Memory]:
    """Put the corrections of summaries before them; those of messages are there."""
    summaries = [one.id for one in memories if one.kind == "summary"]
    corrections = await read_corrections(db, user_id, summaries, filters.as_of)
    found = {one.id for one in memories}
    scores = {link.valid_id: one.score or 0.0 for one in reversed(memories) if (link := corrections.get(one.id))}
    wanted = [RankedMessage(one, None, score, 0.0) for one, score in scores.items() if one and one not in found]
    hits = {hit.id: _from_hit(hit) for hit in await read_hits(db, user_id, wanted) if filters.spans(hit.occurred_at)}
    ordered: dict[UUID, Memory] = {}
    for one in memories:
        if (link := corrections.get(one.id)) is not None and (hit := hits.get(link.valid_id or one.id)) is not None:
            ordered.setdefault(hit.id, hit)
        ordered[one.id] = one
    return await _with_links(db, user_id, list(ordered.values()), filters.as_of)


def _from_hit(hit: Hit) -> Memory:
    return Memory(
        id=hit.id,
        kind="turn",
        level=None,
        memory=hit.text,
        score=hit.score,
        speaker=hit.speaker,
        period=hit.period,
        tags=list(hit.tags),
        raw_log_ids=[hit.id],
        occurred_at=hit.occurred_at,
        created_at=hit.created_at,
        corrected_by=hit.correction.corrected_by,
        corrects=hit.correction.corrects,
        origins=_origins_of(hit),
        metadata=None,
    )


def _from_fact(fact: Fact) -> Memory:
    return Memory(
        id=fact.id,
        kind="fact",
        level=None,
        memory=fact.statement,
        score=1.0,
        speaker=fact.said_by,
        period=fact.period,
        tags=[],
        raw_log_ids=list(fact.raw_log_ids),
        occurred_at=fact.last_said_at,
        created_at=fact.created_at,
        corrected_by=None,
        corrects=None,
        origins=_origins_of(fact),
        metadata=None,
    )


def _source(one: Hit | Fact, kind: Literal["turn", "fact"], score: float) -> Source:
    return Source(id=one.id, kind=kind, score=score, number=None, origins=_origins_of(one))


def _origins_of(one: Hit | Fact) -> list[MemoryOrigin]:
    return [MemoryOrigin.model_validate(origin.to_json()) for origin in one.origins]


def _with_summaries(hits: Sequence[Hit]) -> list[Memory]:
    """Replace MIN_HITS_OF_SUMMARY or more hits of one summary by the summary, at the rank of the best of them."""
    hits_of: dict[UUID, list[Hit]] = {}
    for hit in hits:
        if hit.record_id is not None and hit.summary:
            hits_of.setdefault(hit.record_id, []).append(hit)
    results = []
    for hit in hits:
        covered = hits_of.get(hit.record_id, []) if hit.record_id else []
        if len(covered) < MIN_HITS_OF_SUMMARY:
            results.append(_from_hit(hit))
        elif hit is covered[0]:
            summary = {"id": hit.record_id, "kind": "summary", "memory": hit.summary, "speaker": None}
            results.append(_from_hit(hit).model_copy(update=summary | {"raw_log_ids": [one.id for one in covered]}))
    return results
