"""The Draft Builder: assembles query, memory, role and instruction into a draft, without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import asyncpg
import structlog

from maas.engine.claims import Outcome, Run
from maas.engine.stages import Deps, Prompt
from maas.memory.context import MemoryContext, RecentMessage, build_context, cut_evenly, sufficiently_shown
from maas.memory.health import MemoryReason
from maas.memory.notes import Note, note_lines
from maas.memory.query import SearchFilter
from maas.memory.search import EVIDENCE, is_search_failure
from maas.prompting.prompts import Draft, Payload, payload_limit, read_profile, read_prompts, read_role_name, role_text
from maas.runs.submit import ClientContext, read_client_context, without_known_messages
from shared import tokens
from shared.text import escape, offload, one_line

HEADINGS_TOKENS = 20  # of the headings within <memory>
log = structlog.get_logger()


async def run(run: Run, deps: Deps) -> Outcome:
    """Reads: recent messages, notes, memory, analysis_result, prompts. Writes: draft_context. Next: ASSEMBLING."""
    role_name = await read_role_name(deps.db, run.assistant, run.assistants_version)
    prompts = await read_prompts(deps.db, "FinalResponder", role_name, "Assembler", version=run.assistants_version)
    if await read_profile(deps.db, run.assistant, run.assistants_version) == "off":
        client = await read_client_context(deps.db, run.id, run.user_id)
        return Outcome(draft=_draft(run, prompts, role_name, client).render(), sources=[])
    messages, notes, client = await _read_inputs(run, deps)
    draft = _draft(run, prompts, role_name, client)
    limit = await payload_limit(deps, run.assistant, run.assistants_version)
    room = await offload(len(draft.query) + len(draft.client_system), _memory_room, draft, limit)
    evidence_room = min(limit // 2, room * 2 // 3)
    shown = await offload(_chars(messages), sufficiently_shown, messages, room - evidence_room)
    noted = [note.log_id for note in notes if note.log_id is not None]
    focus = note_lines(notes)
    recent_ids = [message.log_id for message in messages if message.log_id is not None]
    sources: list[dict[str, Any]] = [{"id": str(log), "kind": "recent", "score": 0.0} for log in recent_ids]
    sources += [{"id": str(log), "kind": "turn", "score": 1.0} for log in noted if log not in recent_ids]
    analysis = run.analysis or {}
    if analysis.get("needs_context"):
        chosen = analysis.get("context_found") or {}
        if chosen.get("lsm_record_id"):
            focus += [f"Period: {escape(chosen['period'])}", f"Summary: {escape(one_line(chosen['summary']))}"]
            sources.append({"id": chosen["lsm_record_id"], "kind": "summary", "score": chosen["relevance_score"]})
        context = await _search(run, deps, evidence_room, [*shown, *noted])
        focus += context.lines
        hits = [hit for hit in context.hits if hit.id not in recent_ids]
        sources += [{"id": str(hit.id), "kind": "turn", "score": hit.score} for hit in hits]
    used = await offload(sum(map(len, focus)), _count_lines, focus)
    left = max(room - used, room - evidence_room)
    recent = await _recent(run, deps, messages, left - HEADINGS_TOKENS)
    return Outcome(draft=replace(draft, recent=recent, focus=tuple(focus)).render(), sources=sources)


async def _search(run: Run, deps: Deps, max_tokens: int, shown: Sequence[UUID]) -> MemoryContext:
    """Return what memory holds on the query, without what is `shown`; nothing where the search fails."""
    scope = (run.analysis or {}).get("time_scope")
    filters = SearchFilter(before_seq=run.seq, scope=scope, zone=deps.settings.zone)
    try:
        context = await build_context(
            deps.db, run.user_id, run.user_query, max_tokens, filters=filters, query_embedder=deps.query_embedder,
            exclude=frozenset(shown), evidence=run.carried.pop(EVIDENCE, None),
        )  # fmt: skip
    except asyncpg.PostgresError as error:
        if not is_search_failure(error):
            raise
        log.error("search_failed", cause=repr(error))
        context = MemoryContext((), (), frozenset({MemoryReason.SEARCH_FAILED}))
    run.log.memory_reasons |= context.reasons
    return context


def _draft(run: Run, prompts: Mapping[str, Prompt], role_name: str, client: ClientContext) -> Draft:
    return Draft(
        query=run.user_query,
        recent=(),
        focus=(),
        role=role_text(prompts, role_name),
        instruction=prompts["Assembler"].text,
        role_version=prompts["FinalResponder"].version,
        instruction_version=prompts["Assembler"].version,
        client_system=client.system,
        client_lines=tuple(one.line() for one in client.messages),
    )


def _memory_room(draft: Draft, limit: int) -> int:
    """Return the tokens left in the payload for memory; messages sent by the client take at most half of them.

    Raises MaasError('query_too_long').
    """
    room = Payload(draft.system(draft.role), "", draft.query).room(limit)
    sent = tokens.count("\n".join(draft.client_lines))
    return room - min(sent + HEADINGS_TOKENS, room // 2) if sent else room


async def _read_inputs(run: Run, deps: Deps) -> tuple[list[RecentMessage], list[Note], ClientContext]:
    """Return the last messages of the run's conversation, or of its user without one, the notes, the client's context.

    Messages and notes are in order of time.
    """
    db, count, conversation_id = deps.db, deps.settings.history_rows, run.conversation_id
    rows = await db.grouped_rows("draft_inputs", run.id, run.user_id, run.seq, 0 if conversation_id else count)
    turns: Sequence[Any] = [row for row in rows if row["kind"] == "turn"]
    if conversation_id is not None:
        turns = (await db.rows("recent_messages", run.user_id, run.seq, conversation_id, count))[::-1]
    notes = [Note(row["id"], row["content"], row["run_id"]) for row in rows if row["kind"] == "note"]
    run.log.memory_reasons.update(row["content"] for row in rows if row["kind"] == "archive")
    stored = next((row["client"] for row in rows if row["kind"] == "client"), None)
    client = await without_known_messages(db, run.id, run.user_id, stored)
    return [RecentMessage.from_row(row, deps.settings.zone) for row in turns], notes, client


def _count_lines(lines: Sequence[str]) -> int:
    return sum(tokens.count(line + "\n") for line in lines)  # line by line: those counts are cached


async def _recent(run: Run, deps: Deps, messages: Sequence[RecentMessage], max_tokens: int) -> tuple[str, ...]:
    """Return as lines: the summary of the conversation, the recent messages, and the actions that were not executed.

    Exchanges whose messages do not fit as a whole are first folded into the summary of the conversation.
    """
    if run.conversation_id is None:
        return (await offload(_chars(messages), cut_evenly, messages, max_tokens))[0]
    folded: set[UUID] = set()
    while True:
        before, after = await _summary_and_actions(deps, run.conversation_id, run.user_id)
        used = tokens.count("\n".join([*before, *after]))
        lines, cut = await offload(_chars(messages), cut_evenly, messages, max_tokens - used)
        unfolded = {message.run_id for message in cut if message.run_id is not None and not message.is_folded} - folded
        if run.as_of is not None or not unfolded:
            return (*before, *lines, *after)
        await deps.db.value("fold_conversation", run.conversation_id, deps.settings.history_rows, list(unfolded))
        folded |= unfolded


def _chars(messages: Sequence[RecentMessage]) -> int:
    return sum(len(message.text) for message in messages)


async def _summary_and_actions(deps: Deps, conversation_id: UUID, user_id: UUID) -> tuple[list[str], list[str]]:
    row = await deps.db.row("conversation_summary", conversation_id, user_id)
    texts = {"Earlier in this conversation": row["rolling_summary"], "Actions": row["actions"]} if row else {}
    earlier, actions = ([f"{title}: {escape(one_line(text))}"] if text else [] for title, text in texts.items())
    return earlier, actions
