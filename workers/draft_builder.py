"""The Draft Builder: assembles query, memory, role and instruction into a draft, without a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import asyncpg
import structlog

from maas import queries
from maas.builtin_model.responder import asks
from maas.engine.drafts import MARKS_RULE, Draft, Payload
from maas.engine.run import Outcome, Run
from maas.engine.stages import Deps, Prompt
from maas.memory.context import MemoryContext, build_context
from maas.memory.dates import local
from maas.memory.excerpts import asks_again
from maas.memory.facts import HEADING as FACTS_HEADING
from maas.memory.facts import Known, read_known
from maas.memory.health import MemoryReason
from maas.memory.known_context import Searched
from maas.memory.notes import NOTES_HEADING, Note, newest_notes
from maas.memory.origins import merged
from maas.memory.query import SearchFilter
from maas.memory.ranking import rank
from maas.memory.recent_messages import RecentMessage, cut_evenly, message_line, sufficiently_shown
from maas.memory.relevance import Relevance
from maas.memory.replacements import CorrectedSummary, Replacements
from maas.memory.search import Hit, gather_evidence, is_search_failure
from maas.memory.sources import Sources
from maas.prompting.now import in_zone_of
from maas.prompting.prompts import payload_limit, prompt_language, read_profile, read_prompts, read_role_name, role_text
from maas.prompting.trimming import NEAREST
from maas.runs.client_context import ClientContext, read_client_context, without_known_messages
from shared import tokens
from shared.text import escape, offload, one_line

HEADINGS_TOKENS = 20  # of the headings within <memory>
NUMBER_TOKENS = 4  # of the number of a line
UNNUMBERED_SHARE = 83  # of the room for search results, in per cent: a line of 20 tokens has a number of four
log = structlog.get_logger()


async def run(run: Run, deps: Deps) -> Outcome:
    """Reads: recent messages, notes, memory, analysis_result, prompts. Writes: draft_context. Next: ASSEMBLING.

    What the Analyzer of this claim found is in `cache.evidence`; without it, memory is searched again.
    """
    version, deps = run.assistants_version, await in_zone_of(run, deps)
    role_name = await read_role_name(deps.db, run.assistant, run.user_id, version)
    language = await prompt_language(deps, run.assistant, version)
    prompts = await read_prompts(deps.db, "FinalResponder", role_name, "Assembler", version=version, language=language)
    if await read_profile(deps.db, run.assistant, run.assistants_version) == "off":
        client = await read_client_context(deps.db, run.id, run.user_id)
        return Outcome(draft=_draft(run, prompts, role_name, client), sources=[])
    inputs = await _read_inputs(run, deps)
    draft = _draft(run, prompts, role_name, inputs.client)
    if inputs.has_marks:
        draft = replace(draft, role=f"{draft.role}\n\n{MARKS_RULE}")
    limit = await payload_limit(deps, run.assistant, run.assistants_version)
    room = await offload(len(draft.query) + len(draft.client_system), _memory_room, draft, limit)
    evidence_room = min(limit // 2, room * 2 // 3)
    messages, sources = inputs.messages, Sources(is_numbered=inputs.has_marks)
    shown = await offload(_chars(messages), sufficiently_shown, messages, room - evidence_room)
    for message in messages:
        if message.log_id is not None and not asks_again(run.user_query, message.text):
            sources.add("recent", {message.log_id: 0.0}, message.origins)
    focus = [sources.line(_line_of(hit, deps), "turn", {hit.id: 1.0}, hit.origins) for hit in inputs.corrections]
    focus += _note_lines(inputs.notes, sources)
    facts = await _read_known(run, deps, inputs)
    known = [*shown, *(hit.id for hit in inputs.corrections), *(note.log_id for note in inputs.notes if note.log_id)]
    analysis = run.analysis or {}
    chosen = analysis.get("context_found") or {}
    if analysis.get("needs_context") and chosen.get("lsm_record_id"):
        focus += await _summary_lines(run, deps, chosen, sources, has_corrections=inputs.has_corrections)
    search_room = evidence_room * UNNUMBERED_SHARE // 100 if inputs.has_marks else evidence_room
    context, searched = await _search(run, deps, search_room, [*known, *sources.shown], facts)
    if context.lines and searched and searched.found == "no":
        focus.append(NEAREST)
    for line, hits in zip(context.lines, context.hits_of_lines, strict=True):
        origins = merged(hit.origins for hit in hits)
        focus.append(sources.line(line, "turn", {hit.id: hit.score for hit in hits}, origins))
    focus += _fact_lines(facts, sources)
    used = await offload(sum(map(len, focus)), _count_lines, focus)
    left = max(room - used, room - evidence_room)
    recent = await _recent(run, deps, messages, left - HEADINGS_TOKENS, sources)
    return Outcome(
        draft=replace(draft, recent=recent, focus=tuple(focus)),
        sources=sources.on([*recent, *focus]),
        searched=searched.to_json() if searched else None,
    )


def _line_of(hit: Hit, deps: Deps) -> str:
    return message_line(
        f"{local(hit.occurred_at, deps.settings.engine.zone):%Y-%m-%d}", hit.speaker, hit.text, origins=hit.origins
    )


def _note_lines(notes: Sequence[Note], sources: Sources) -> list[str]:
    for note in notes:  # those that do not fit are sources, too: search does not show them
        if note.log_id is not None:
            sources.add("turn", {note.log_id: 1.0})
    lines = [
        sources.line(note.line, "turn", {note.log_id: 1.0}) if note.log_id else note.line
        for note in newest_notes(notes)
    ]
    return [NOTES_HEADING, *lines] if lines else []


async def _read_known(run: Run, deps: Deps, inputs: _Inputs) -> Known:
    if not inputs.has_facts:
        return Known()
    zone, limit = deps.settings.engine.zone, deps.settings.answers.facts_tokens
    return await read_known(deps.db, run.user_id, run.user_query, limit, zone, run.as_of)


def _fact_lines(known: Known, sources: Sources) -> list[str]:
    """What is known of the user, pinned facts first, then by the question; it stands behind the words."""
    lines = [
        sources.line(one.line, "turn", dict.fromkeys(one.fact.raw_log_ids, 1.0), one.fact.origins)
        for one in known.besides(sources.ids)
    ]
    return [FACTS_HEADING, *lines] if lines else []


async def _summary_lines(
    run: Run, deps: Deps, chosen: Mapping[str, Any], sources: Sources, *, has_corrections: bool
) -> list[str]:
    """Return the chosen summary, behind the corrections of what it says."""
    summary_id, score = UUID(str(chosen["lsm_record_id"])), chosen["relevance_score"]
    replacements = Replacements(deps.db, run.user_id, deps.settings.engine.zone, run.as_of)
    corrected = await replacements.of_summary(summary_id) if has_corrections else CorrectedSummary(())
    lines = [
        sources.line(_line_of(hit, deps), "turn", {hit.id: 1.0}, hit.origins)
        for hit in corrected.corrections
        if not sources.has(hit.id)
    ]
    sources.shown += [hit.id for hit in corrected.corrections]
    period = chosen["period"] + (f", replaced {corrected.replaced}" if corrected.replaced else "")
    summary = sources.line(f"Summary: {escape(one_line(chosen['summary']))}", "summary", {summary_id: score})
    return [*lines, f"Period: {escape(period)}", summary]


async def _search(
    run: Run, deps: Deps, max_tokens: int, shown: Sequence[UUID], facts: Known
) -> tuple[MemoryContext, Searched | None]:
    """Return what memory holds on the query, without what is `shown`, and what the search came to.

    Nothing is returned where the search fails.

    Where the Analyzer's model asked for no memory, only messages that answer the query are returned.
    """
    analysis = run.analysis or {}
    zone, db = deps.settings.engine.zone, deps.db
    filters = SearchFilter(before_seq=run.seq, as_of=run.as_of, scope=analysis.get("time_scope"), zone=zone)
    only: frozenset[UUID] | None = None
    try:
        evidence = run.cache.take_evidence() or await gather_evidence(
            db, run.user_id, run.user_query, filters, deps.query_embedder
        )
        searched = Searched.of(evidence, facts, is_question=asks(run.user_query))
        if not analysis.get("needs_context") or analysis.get("overruled"):
            only = frozenset(one.id for one in (await Relevance.of(db, evidence)).answers(rank(evidence)))
        if only is not None and not only:
            run.log.memory_reasons |= evidence.reasons
            return MemoryContext((), ()), searched
        context = await build_context(
            db,
            run.user_id,
            run.user_query,
            max_tokens,
            filters=filters,
            exclude=frozenset(shown) | facts.unused,
            only=only,
            evidence=evidence,
            outdated=facts.outdated,
        )
    except asyncpg.PostgresError as error:
        if not is_search_failure(error):
            raise
        log.error("search_failed", cause=repr(error))
        context, searched = MemoryContext((), (), frozenset({MemoryReason.SEARCH_FAILED})), None
    run.log.memory_reasons |= context.reasons
    return context, searched


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
        client_format=json.dumps(client.output, ensure_ascii=False) if client.output is not None else "",
    )


def _memory_room(draft: Draft, limit: int) -> int:
    """Return the tokens left in the payload for memory; messages sent by the client take at most half of them.

    Raises MaasError('query_too_long').
    """
    room = Payload(draft.system(draft.role), "", draft.query).room(limit)
    sent = tokens.count("\n".join(draft.client_lines))
    return room - min(sent + HEADINGS_TOKENS, room // 2) if sent else room


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The last messages of the run's conversation, or of its user without one, the notes, and the client's context.

    Messages and notes are in order of time, but a correction stands before what it corrects; `corrections` are those
    of notes. `has_corrections`: some memory of the user is corrected. `has_marks`: the answer may cite lines by their
    numbers. `has_facts`: facts of the user are known.
    """

    messages: list[RecentMessage]
    notes: list[Note]
    client: ClientContext
    corrections: list[Hit]
    has_corrections: bool
    has_marks: bool
    has_facts: bool


async def _read_inputs(run: Run, deps: Deps) -> _Inputs:
    db, count, conversation_id = deps.db, deps.settings.answers.history_rows, run.conversation_id
    rows = await db.grouped_rows(queries.draft_inputs, run.id, run.user_id, run.seq, 0 if conversation_id else count)
    turns: Sequence[queries.RecentMessagesRow | queries.DraftInputsRow] = [row for row in rows if row["kind"] == "turn"]
    if conversation_id is not None:
        turns = (await db.rows(queries.recent_messages, run.user_id, run.seq, conversation_id, count))[::-1]
    notes = [Note(row["id"], row["content"], row["run_id"]) for row in rows if row["kind"] == "note"]
    run.log.memory_reasons.update(row["content"] for row in rows if row["kind"] == "archive")
    stored = next((row["client"] for row in rows if row["kind"] == "client"), None)
    client = await without_known_messages(db, run.id, run.user_id, stored)
    messages = [RecentMessage.from_row(row, deps.settings.engine.zone) for row in turns]
    corrections: list[Hit] = []
    has_corrections = any(row["kind"] == "corrected" for row in rows)
    if has_corrections:
        replacements = Replacements(db, run.user_id, deps.settings.engine.zone, run.as_of)
        messages, notes, corrections = await replacements.mark(messages, notes)
    marks = next((row["client"] for row in rows if row["kind"] == "marks"), None)
    has_marks = deps.settings.answers.marks if marks is None else marks is True
    has_facts = any(row["kind"] == "facts" for row in rows)
    return _Inputs(messages, notes, client, corrections, has_corrections, has_marks, has_facts)


def _count_lines(lines: Sequence[str]) -> int:
    return sum(tokens.count(line + "\n") for line in lines)  # line by line: those counts are cached


async def _recent(
    run: Run, deps: Deps, messages: Sequence[RecentMessage], max_tokens: int, sources: Sources
) -> tuple[str, ...]:
    """Return as lines: the summary of the conversation, the recent messages, and the actions that were not executed.

    Exchanges whose messages do not fit as a whole are first folded into the summary of the conversation.
    """
    max_tokens -= len(messages) * NUMBER_TOKENS if sources.is_numbered else 0
    if run.conversation_id is None:
        lines, _ = await offload(_chars(messages), cut_evenly, messages, max_tokens)
        return sources.number(lines, messages)
    folded: set[UUID] = set()
    while True:
        before, after = await _summary_and_actions(deps, run.conversation_id, run)
        used = tokens.count("\n".join([*before, *after]))
        lines, cut = await offload(_chars(messages), cut_evenly, messages, max_tokens - used)
        unfolded = {message.run_id for message in cut if message.run_id is not None and not message.is_folded} - folded
        if run.as_of is not None or not unfolded:
            return (*before, *sources.number(lines, messages), *after)
        await deps.db.value(
            queries.fold_conversation, run.conversation_id, deps.settings.answers.history_rows, list(unfolded)
        )
        folded |= unfolded


def _chars(messages: Sequence[RecentMessage]) -> int:
    return sum(len(message.text) for message in messages)


async def _summary_and_actions(deps: Deps, conversation_id: UUID, run: Run) -> tuple[list[str], list[str]]:
    row = await deps.db.row(queries.conversation_summary, conversation_id, run.user_id, run.seq)
    texts = {"Earlier in this conversation": row["rolling_summary"], "Actions": row["actions"]} if row else {}
    earlier, actions = ([f"{title}: {escape(one_line(text))}"] if text else [] for title, text in texts.items())
    return earlier, actions
