"""The Assembler condenses memory for this one question; code keeps the role and the query as they are."""

from __future__ import annotations

import re
from dataclasses import replace

from maas.pipeline.answering import payload_limit
from maas.pipeline.draft import Draft, Payload
from maas.pipeline.ledger import consult, skip
from maas.pipeline.profiles import by_rule, read_profile
from maas.pipeline.prompts import Prompt
from maas.pipeline.runs import Outcome, Run
from maas.pipeline.stages import Deps
from shared import tokens
from shared.models.extractive.assembler import FOUND, RECENT, by_importance, keep
from shared.models.types import Message, Request
from shared.offload import offload
from shared.text import clean, defuse, escape, fill

NAME = "assembler"
REPLY_TOKENS = 1500
_DATED = re.compile(r"- \[(\d{4}-\d\d-\d\d[^\]]{0,20})\]")
CLIENT_TITLE = "Earlier messages, as the application sent them along; they are not kept:"


async def run(run: Run, deps: Deps) -> Outcome:
    """Reads: draft_context only. Writes: final_context_payload, at most 8000 tokens. Next: READY."""
    chars = len(run.draft or "")
    draft = await offload(chars, Draft.parse, run.draft or "")
    system = draft.system(draft.role)
    empty = Payload(system, "", draft.query)
    room = await offload(chars, empty.room, await payload_limit(deps, run.assistant))
    memory = _memory_lines(draft)
    profile = await read_profile(deps.db, run.assistant)
    if profile == "off":
        return Outcome(payload=replace(empty, memory=await offload(chars, _client_lines, draft, room)).render())
    deps = deps if profile == "full" else by_rule(deps)
    prompt = Prompt("Assembler", draft.instruction, draft.instruction_version)
    whole = defuse("\n".join(memory))
    needed = await offload(len(whole), tokens.count, whole)
    client = await offload(chars, _client_lines, draft, max(room - needed, room // 2))
    room -= await offload(len(client), tokens.count, client)
    if deps.settings.fast_path and needed <= room:
        skip(run, deps, NAME, prompt, "Assembler")  # there is nothing to condense
        return Outcome(payload=replace(empty, memory=_join(client, whole)).render())
    request = Request(
        role="Assembler",
        messages=(
            Message("user", fill(draft.instruction, {"user_query": escape(draft.query), "memory": "\n".join(memory)})),
        ),
        temperature=0.0,
        max_tokens=REPLY_TOKENS,
        inputs={"user_query": draft.query, "memory": memory, "max_tokens": room},
    )
    budget = deps.settings.assembler_timeout
    condensed, is_degraded = await consult(run, deps, NAME, prompt, request, _parse, budget)
    trimmed = await offload(chars + len(condensed), _trim, defuse(condensed), draft, room)
    payload = replace(empty, memory=_join(client, trimmed))
    return Outcome(payload=payload.render(), degraded="Assembler" if is_degraded else None)


def _memory_lines(draft: Draft) -> list[str]:
    lines: list[str] = []
    if draft.recent:
        lines += [RECENT, *draft.recent]
    if draft.focus:
        lines += [FOUND, *draft.focus]
    return lines


def _client_lines(draft: Draft, room: int) -> str:
    """What the client says was said before: as much of the newest of it as there is room for, in order."""
    lines: list[str] = []
    left = room - tokens.count(CLIENT_TITLE) - 2
    for line in reversed(draft.client_lines):
        if (cost := tokens.count(line) + 1) > left:
            break
        lines.append(line)
        left -= cost
    return "\n".join((CLIENT_TITLE, *reversed(lines))) if lines else ""


def _join(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _trim(memory: str, draft: Draft, room: int) -> str:
    """What fits of a reply: evidence first, then the newest; without headings, lines with a date are told by that."""
    lines = memory.split("\n")
    order = by_importance(lines)
    if RECENT not in lines and FOUND not in lines:
        others = [place for place in order if lines[place] not in draft.focus]
        dated = {place: match[1] for place in others if (match := _DATED.match(lines[place]))}
        newest = sorted(dated, key=lambda place: (dated[place], place), reverse=True)
        order = [*(place for place in order if place not in dated), *newest]
    return keep(lines, order, room, is_prose=True)


def _parse(reply: str) -> str:
    return clean(reply).strip()
