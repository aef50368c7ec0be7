"""The Assembler: condenses the memory in a draft for this query, and leaves role and query unchanged."""

from __future__ import annotations

import re
from dataclasses import replace

from maas.builtin_model.assembler import FOUND, RECENT, by_importance, keep
from maas.engine.claims import Outcome, Run
from maas.engine.stages import Deps, Prompt
from maas.prompting.model_calls import ask_or_fall_back, skip_call, with_builtin_model
from maas.prompting.prompts import KEEP_NUMBERS, Draft, Payload, payload_limit, read_profile
from shared import tokens
from shared.models import Message, Request
from shared.text import clean, defuse, escape, fill, offload

NAME = "assembler"
MAX_REPLY_TOKENS = 1500
_DATED_LINE = re.compile(r"- (?:\[\d{1,9}\] )?\[(\d{4}-\d\d-\d\d[^\]]{0,400})\]")
CLIENT_TITLE = "Earlier messages, as the application sent them along; they are not kept:"


async def run(run: Run, deps: Deps) -> Outcome:
    """Reads: draft_context only. Writes: final_context_payload, at most 8000 tokens. Next: READY."""
    chars = len(run.draft or "")
    draft = await offload(chars, Draft.parse, run.draft or "")
    system = draft.system(draft.role)
    empty = Payload(system, "", draft.query)
    room = await offload(chars, empty.room, await payload_limit(deps, run.assistant, run.assistants_version))
    memory = _memory_lines(draft)
    profile = await read_profile(deps.db, run.assistant, run.assistants_version)
    if profile == "off":
        return Outcome(payload=replace(empty, memory=await offload(chars, _client_lines, draft, room)).render())
    deps = deps if profile == "full" else with_builtin_model(deps)
    prompt = Prompt("Assembler", draft.instruction, draft.instruction_version)
    whole = defuse("\n".join(memory))
    client = ""
    if draft.client_lines:
        needed = await offload(len(whole), tokens.count, whole)
        client = await offload(chars, _client_lines, draft, max(room - needed, room // 2))
        room -= await offload(len(client), tokens.count, client)
    if deps.settings.fast_path and await offload(len(whole), tokens.fits, whole, room):
        skip_call(run, deps, NAME, prompt, "Assembler")  # everything fits
        return Outcome(payload=replace(empty, memory=_join(client, whole)).render())
    text = fill(draft.instruction, {"user_query": escape(draft.query), "memory": "\n".join(memory)})
    request = Request(
        role="Assembler",
        messages=(Message("user", f"{text}\n\n{KEEP_NUMBERS}" if empty.has_marks else text),),
        temperature=0.0,
        max_tokens=MAX_REPLY_TOKENS,
        inputs={"user_query": draft.query, "memory": memory, "max_tokens": room},
    )
    budget = deps.settings.assembler_timeout
    condensed, is_degraded = await ask_or_fall_back(run, deps, NAME, prompt, request, _parse, budget)
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
    """Return the newest of the earlier messages sent by the client that fit, under a title, oldest first."""
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
    """Cut a model's reply to `room` tokens: search results stay first, then the newest messages.

    In a reply without headings, recent messages are recognised by the date at the beginning of their line.
    """
    lines = memory.split("\n")
    order = by_importance(lines)
    if RECENT not in lines and FOUND not in lines:
        others = [index for index in order if lines[index] not in draft.focus]
        dates = {index: match[1] for index in others if (match := _DATED_LINE.match(lines[index]))}
        newest = sorted(dates, key=lambda index: (dates[index], index), reverse=True)
        order = [*(index for index in order if index not in dates), *newest]
    return keep(lines, order, room, is_prose=True)


def _parse(reply: str) -> str:
    return clean(reply).strip()
