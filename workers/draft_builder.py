"""The Draft Builder puts query, history, role and instruction together, by code alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from maas.memory.context import build_context
from maas.memory.notes import note_lines, read_notes
from maas.memory.reach import Reach
from maas.memory.recent import RecentRow, cut_evenly, well_shown
from maas.pipeline.answering import payload_limit
from maas.pipeline.client_context import ClientContext, read_client_context
from maas.pipeline.draft import Draft, Payload
from maas.pipeline.profiles import read_profile
from maas.pipeline.prompts import Prompt, read_prompts, read_role_name, role_text
from maas.pipeline.runs import Outcome, Run
from maas.pipeline.stages import Deps
from shared import tokens
from shared.offload import offload
from shared.text import escape, one_line

HEADINGS_TOKENS = 20  # of the parts of <memory>


async def run(run: Run, deps: Deps) -> Outcome:
    """Reads: the last turns before this run, analysis_result, prompts. Writes: draft_context. Next: ASSEMBLING."""
    role_name = await read_role_name(deps.db, run.assistant)
    prompts = await read_prompts(deps.db, "FinalResponder", role_name, "Assembler")
    client = await read_client_context(deps.db, run.id, run.user_id)
    draft = _draft(run, prompts, role_name, client)
    if await read_profile(deps.db, run.assistant) == "off":
        return Outcome(draft=draft.render(), sources=[])
    limit = await payload_limit(deps, run.assistant)
    room = await offload(len(draft.query) + len(draft.client_system), _memory_room, draft, limit)
    evidence_room = min(limit // 2, room * 2 // 3)
    rows = await _last_rows(run, deps)
    shown = await offload(_chars(rows), well_shown, rows, room - evidence_room)
    notes = await read_notes(deps.db, run.user_id)
    told = [note.log_id for note in notes if note.log_id is not None]
    focus = note_lines(notes)
    recent_ids = [row.log_id for row in rows if row.log_id is not None]
    sources: list[dict[str, Any]] = [{"id": str(log), "kind": "recent", "score": 0.0} for log in recent_ids]
    sources += [{"id": str(log), "kind": "turn", "score": 1.0} for log in told if log not in recent_ids]
    analysis = run.analysis or {}
    if analysis.get("needs_context"):
        found = analysis.get("context_found") or {}
        if found.get("lsm_record_id"):
            focus += [f"Period: {escape(found['period'])}", f"Summary: {escape(one_line(found['summary']))}"]
            sources.append({"id": found["lsm_record_id"], "kind": "summary", "score": found["relevance_score"]})
        context = await build_context(
            deps.db, run.user_id, run.user_query, evidence_room,
            reach=Reach(before_seq=run.seq, scope=analysis.get("time_scope"), zone=deps.settings.zone),
            questions=deps.questions, without=frozenset([*shown, *told]),
        )  # fmt: skip
        focus += context.lines
        found_only = [hit for hit in context.hits if hit.id not in recent_ids]
        sources += [{"id": str(hit.id), "kind": "turn", "score": hit.score} for hit in found_only]
    used = await offload(sum(map(len, focus)), _count_lines, focus)
    left = max(room - used, room - evidence_room)
    recent = await _recent(run, deps, rows, left - HEADINGS_TOKENS)
    return Outcome(draft=replace(draft, recent=recent, focus=tuple(focus)).render(), sources=sources)


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
    """Tokens of the payload for memory beside what a client sent along. Raises MaasError('query_too_long')."""
    room = Payload(draft.system(draft.role), "", draft.query).room(limit)
    sent = tokens.count("\n".join(draft.client_lines))
    return room - min(sent + HEADINGS_TOKENS, room // 2) if sent else room


async def _last_rows(run: Run, deps: Deps) -> list[RecentRow]:
    """The last rows of the run's conversation, or of its user, oldest first."""
    count = deps.settings.history_rows
    if run.conversation_id is not None:
        rows = await deps.db.rows("recent_messages", run.user_id, run.seq, run.conversation_id, count)
    else:
        rows = await deps.db.rows("recent_turns", run.user_id, run.seq, count)
    return [RecentRow.from_row(row, deps.settings.zone) for row in reversed(rows)]


def _count_lines(lines: Sequence[str]) -> int:
    return sum(tokens.count(line + "\n") for line in lines)  # one by one they were just counted


async def _recent(run: Run, deps: Deps, rows: Sequence[RecentRow], max_tokens: int) -> tuple[str, ...]:
    """What was said before the last rows, these rows, and the actions that were not carried out, as lines.

    Exchanges that are shown cut are folded into the summary of the conversation first.
    """
    if run.conversation_id is None:
        return (await offload(_chars(rows), cut_evenly, rows, max_tokens))[0]
    folded: set[UUID] = set()
    while True:
        before, after = await _summary_and_actions(deps, run.conversation_id, run.user_id)
        beside = tokens.count("\n".join([*before, *after]))
        lines, cut = await offload(_chars(rows), cut_evenly, rows, max_tokens - beside)
        unfolded = {row.run_id for row in cut if row.run_id is not None and not row.is_folded} - folded
        if run.as_of is not None or not unfolded:
            return (*before, *lines, *after)
        await deps.db.value("fold_conversation", run.conversation_id, deps.settings.history_rows, list(unfolded))
        folded |= unfolded


def _chars(rows: Sequence[RecentRow]) -> int:
    return sum(len(row.text) for row in rows)


async def _summary_and_actions(deps: Deps, conversation_id: UUID, user_id: UUID) -> tuple[list[str], list[str]]:
    row = await deps.db.row("conversation_summary", conversation_id, user_id)
    told = {"Earlier in this conversation": row["rolling_summary"], "Actions": row["actions"]} if row else {}
    earlier, actions = ([f"{title}: {escape(one_line(text))}"] if text else [] for title, text in told.items())
    return earlier, actions
