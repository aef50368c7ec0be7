"""The Draft Builder puts query, history, role and instruction together, by code alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from maas.memory.context import build_context, turn_line
from maas.memory.notes import note_lines, read_notes
from maas.memory.reach import Reach
from maas.pipeline.client_context import ClientContext, read_client_context
from maas.pipeline.draft import Draft
from maas.pipeline.profiles import read_profile
from maas.pipeline.prompts import Prompt, read_prompts, read_role_name, role_text
from maas.pipeline.runs import Outcome, Run
from maas.pipeline.stages import Deps
from shared import tokens
from shared.text import escape, one_line

RECENT_TOKENS = 2000


async def run(run: Run, deps: Deps) -> Outcome:
    """Reads: the last turns before this run, analysis_result, prompts. Writes: draft_context. Next: ASSEMBLING."""
    role_name = await read_role_name(deps.db, run.assistant)
    prompts = await read_prompts(deps.db, "FinalResponder", role_name, "Assembler")
    client = await read_client_context(deps.db, run.id, run.user_id)
    if await read_profile(deps.db, run.assistant) == "off":
        return Outcome(draft=_draft(run, prompts, role_name, client).render(), sources=[])
    recent, shown = _recent(await _last_turns(run, deps))
    if run.conversation_id is not None:
        recent = (*await _earlier(deps, run.conversation_id, run.user_id), *recent)
    notes = await read_notes(deps.db, run.user_id)
    told = [note.log_id for note in notes if note.log_id is not None and note.log_id not in shown]
    focus = note_lines(notes)
    sources: list[dict[str, Any]] = [{"id": str(log), "kind": "recent", "score": 0.0} for log in shown]
    sources += [{"id": str(log), "kind": "turn", "score": 1.0} for log in told]
    analysis = run.analysis or {}
    if analysis.get("needs_context"):
        found = analysis.get("context_found") or {}
        if found.get("lsm_record_id"):
            focus += [f"Period: {escape(found['period'])}", f"Summary: {escape(one_line(found['summary']))}"]
            sources.append({"id": found["lsm_record_id"], "kind": "summary", "score": found["relevance_score"]})
        context = await build_context(
            deps.db, run.user_id, run.user_query, deps.settings.payload_tokens // 2,
            reach=Reach(before_seq=run.seq, scope=analysis.get("time_scope")), questions=deps.questions,
            without=frozenset([*shown, *told]),
        )  # fmt: skip
        focus += context.lines
        sources += [{"id": str(hit.id), "kind": "turn", "score": hit.score} for hit in context.hits]
    return Outcome(draft=_draft(run, prompts, role_name, client, recent, tuple(focus)).render(), sources=sources)


def _draft(
    run: Run,
    prompts: Mapping[str, Prompt],
    role_name: str,
    client: ClientContext,
    recent: tuple[str, ...] = (),
    focus: tuple[str, ...] = (),
) -> Draft:
    return Draft(
        query=run.user_query,
        recent=recent,
        focus=focus,
        role=role_text(prompts, role_name),
        instruction=prompts["Assembler"].text,
        role_version=prompts["FinalResponder"].version,
        instruction_version=prompts["Assembler"].version,
        client_system=client.system,
        client_lines=tuple(one.line() for one in client.messages),
    )


async def _earlier(deps: Deps, conversation_id: UUID, user_id: UUID) -> list[str]:
    """What was said before the last turns, and which actions were not carried out, as lines."""
    row = await deps.db.row("conversation_summary", conversation_id, user_id)
    said = {"Earlier in this conversation": row["rolling_summary"], "Actions": row["actions"]} if row else {}
    return [f"{title}: {escape(one_line(text))}" for title, text in said.items() if text]


async def _last_turns(run: Run, deps: Deps) -> Sequence[Any]:
    rows = deps.settings.history_rows
    if run.conversation_id is not None:
        return await deps.db.rows("recent_messages", run.user_id, run.seq, run.conversation_id, rows)
    return await deps.db.rows("recent_turns", run.user_id, run.seq, rows)


def _recent(newest_first: Sequence[Any]) -> tuple[tuple[str, ...], tuple[UUID, ...]]:
    """The turns as lines, oldest first, and the ids of their logs; the oldest are left out when they do not fit."""
    lines: list[str] = []
    room = RECENT_TOKENS
    for row in newest_first:
        speaker = row["speaker"] or ("user" if row["message_type"] == "user_query" else "assistant")
        line = turn_line(f"{row['occurred_at']:%Y-%m-%d %H:%M}", speaker, row["content"])
        room -= tokens.count(line)
        if room < 0:
            break
        lines.append(line)
    shown = newest_first[: len(lines)][::-1]
    return tuple(reversed(lines)), tuple(row["id"] for row in shown if row["id"] is not None)
