"""/v1/memories and /v1/context: what is remembered of a user, and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from maas.http.access import caller, read_user
from maas.http.bodies import (
    ContextQuery,
    ContextReply,
    Forgotten,
    MadeMemory,
    Memory,
    MemoryHistory,
    MemoryPage,
    NewMemories,
    NewTurn,
    RawLog,
    Remembered,
    SearchQuery,
    Source,
    Sources,
)
from maas.http.parameters import read_cursor, read_id, read_limit, read_parameter, read_switch, write_cursor
from maas.http.reading import read_body
from maas.http.rooms import rooms
from maas.http.sending import send
from maas.memory.context import build_context
from maas.memory.forgetting import forget_memory
from maas.memory.intake import remember
from maas.memory.reach import Reach
from maas.memory.records import list_memories, read_history, read_memory, read_sources, wordless_records
from maas.memory.search import Hit, search
from shared import tokens

TURNS_OF_A_SUMMARY = 3


async def post_search(request: Request) -> Response:
    """The turns of a user that fit a question, best first; records of those whose words are gone."""
    body = await read_body(request, SearchQuery)
    parts = rooms(request)
    zone = parts.settings.zone
    as_of, since, until = (_in(zone, at) for at in (body.as_of, body.since, body.until))
    reach = Reach(as_of=as_of, since=since, until=until, tags=body.tags, scope=body.scope, zone=zone)
    hits = await search(
        parts.db, body.user_id, body.query, limit=body.limit, reach=reach, questions=parts.questions
    )  # fmt: skip
    results = _with_summaries(hits) if body.summaries else [_turn(hit) for hit in hits]
    known = {hit.record_id for hit in hits}
    best = max((hit.coverage for hit in hits), default=0.0)
    records = [
        row for row in await wordless_records(parts.db, body.user_id, body.query, body.limit, reach)
        if row["id"] not in known
    ]  # fmt: skip
    before = [_memory(row) for row in records if row["score"] > best]
    after = [_memory(row) for row in records if row["score"] <= best]
    return send(MemoryPage(results=[*before, *results, *after][: body.limit], next=None))


async def get_memories(request: Request) -> Response:
    """The records of a user, newest first."""
    limit = read_limit(request)
    rows = await list_memories(rooms(request).db, read_user(request), read_cursor(request), limit)
    return send(MemoryPage(results=[_memory(row) for row in rows], next=write_cursor(rows, limit)))


async def post_memories(request: Request) -> Response:
    """Remember without asking: found at once, recorded in the background."""
    body = await read_body(request, NewMemories)
    turns = body.turns or [NewTurn(role="user", content=body.memory or "", external_id=body.external_id)]
    rows = [turn.model_dump() | {"at": turn.at or body.at, "conversation": body.conversation} for turn in turns]
    run_id, log_ids = await remember(rooms(request).db, body.user_id, rows)
    return send(Remembered(request_id=run_id, poll_url=f"/v1/runs/{run_id}", raw_log_ids=log_ids), 202)


async def delete_memory(request: Request) -> Response:
    """Forget a record or a turn: its words, every record made of them, and answers that repeat them."""
    memory_id = read_id(request, "memory")
    user_id: UUID | None = read_parameter(request, "user_id", UUID)
    is_all = read_parameter(request, "doubtful", read_switch, False)
    actor = caller(request).name
    counts = await forget_memory(rooms(request).db, memory_id, user_id, actor, is_doubtful_too=is_all)
    return send(Forgotten(id=memory_id, **counts))


async def get_memory(request: Request) -> Response:
    """One record or one turn."""
    return send(_memory(await _read(request)))


async def get_sources(request: Request) -> Response:
    """The words that a memory was made of."""
    memory = await _read(request)
    rows = await read_sources(rooms(request).db, memory)
    results = [
        RawLog(role="user" if row["message_type"] == "user_query" else "assistant",
               **{name: row[name] for name in RawLog.model_fields if name in row})
        for row in rows
    ]  # fmt: skip
    return send(Sources(results=results, gone=len(memory["raw_log_ids"]) - len(rows)))


async def get_history(request: Request) -> Response:
    """The words of a memory and every record that was made of them, in that order."""
    db = rooms(request).db
    rows = await read_history(db, await read_memory(db, read_id(request, "memory")))
    results = [
        MadeMemory(made_into=row["superseded_by"], **{n: row[n] for n in MadeMemory.model_fields if n in row})
        for row in rows
    ]
    return send(MemoryHistory(results=results))


async def post_context(request: Request) -> Response:
    """The best evidence for a question within a token budget, for those who call their own model."""
    body = await read_body(request, ContextQuery)
    parts = rooms(request)
    zone = parts.settings.zone
    reach = Reach(as_of=_in(zone, body.as_of), zone=zone)
    context = await build_context(
        parts.db, body.user_id, body.query, body.max_tokens, reach=reach, questions=parts.questions, is_full=True
    )
    text = context.fenced
    return send(
        ContextReply(
            context=text,
            tokens=tokens.count(text),
            sources=[Source(id=hit.id, kind="turn", score=hit.score) for hit in context.hits],
        )
    )


def _in(zone: tzinfo, at: datetime | None) -> datetime | None:
    """A time that came without an offset is one of `zone`."""
    return at.replace(tzinfo=zone) if at and not at.tzinfo else at


async def _read(request: Request) -> dict[str, Any]:
    """The memory in the path, of the user who is named, if one is."""
    user_id: UUID | None = read_parameter(request, "user_id", UUID)
    return await read_memory(rooms(request).db, read_id(request, "memory"), user_id)


def _memory(row: dict[str, object]) -> Memory:
    fields = {name: row[name] for name in Memory.model_fields if name in row}
    fields.setdefault("kind", "summary")
    fields.setdefault("memory", row.get("summary"))
    return Memory.model_validate(fields)


def _turn(hit: Hit) -> Memory:
    return Memory(
        id=hit.id, kind="turn", memory=hit.text, score=hit.score, speaker=hit.speaker, period=hit.period,
        tags=list(hit.tags), raw_log_ids=[hit.id], occurred_at=hit.occurred_at, created_at=hit.created_at,
    )  # fmt: skip


def _with_summaries(hits: Sequence[Hit]) -> list[Memory]:
    """Turns; where one record covers several, it stands in the place of the best, with their ids in rank order."""
    covered: dict[UUID, list[Hit]] = {}
    for hit in hits:
        if hit.record_id is not None and hit.summary:
            covered.setdefault(hit.record_id, []).append(hit)
    results = []
    for hit in hits:
        turns = covered.get(hit.record_id, []) if hit.record_id else []
        if len(turns) < TURNS_OF_A_SUMMARY:
            results.append(_turn(hit))
        elif hit is turns[0]:
            whole = {"id": hit.record_id, "kind": "summary", "memory": hit.summary, "speaker": None}
            results.append(_turn(hit).model_copy(update=whole | {"raw_log_ids": [one.id for one in turns]}))
    return results
