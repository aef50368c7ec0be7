"""The Assembler: condenses the memory in a draft for this query, and leaves role and query unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from maas import queries
from maas.builtin_model.language import content_words
from maas.engine.drafts import Draft, Payload
from maas.engine.run import Outcome, Run
from maas.engine.stages import Deps, Prompt
from maas.memory.excerpts import question_stems, stems
from maas.memory.health import MemoryReason
from maas.prompt_rows import is_filled, row_name
from maas.prompting.labels import make_labels, read_labels
from maas.prompting.model_calls import ask_or_fall_back, skip_call, with_builtin_model
from maas.prompting.now import now_of
from maas.prompting.prompts import KEEP_NUMBERS, payload_limit, prompt_language, read_profile
from maas.prompting.trimming import FOUND, MIN_CUT_TOKENS, RECENT, by_importance, condense, keep
from shared import tokens
from shared.json import json_object
from shared.marks import numbers_of_lines
from shared.models import Message, Request
from shared.text import clean, defuse, escape, fill, offload, shorten

NAME = "assembler"
MAX_LABELS = 5
MAX_REPLY_TOKENS, MAX_WHOLE_REPLY_TOKENS = 48, 1500
MAX_OFFERED_TOKENS, LABEL_TOKENS = 2000, 8
OFFERED_CHARS = 240  # of a line: enough to see what it is about
KEPT_FOUND, KEPT_RECENT = 20, 6  # the best search results and the newest messages stay, whatever the model says
ANSWER_SHARE = 0.5  # of the words that tell what a question is about: a line with so many stays, too
SCHEMA: dict[str, Any] = {
    "title": "Kept",
    "type": "object",
    "properties": {"keep": {"type": "array", "items": {"type": "string"}, "maxItems": MAX_LABELS}},
    "required": ["keep"],
    "additionalProperties": False,
}
_DATED_LINE = re.compile(r"- (?:\[\d{1,9}\] )?\[(\d{4}-\d\d-\d\d[^\]]{0,400})\] ?(.*)", re.DOTALL)
CLIENT_TITLE = "Earlier messages, as the application sent them along; they are not kept:"


async def run(run: Run, deps: Deps) -> Outcome:
    """Reads: draft_context and sources. Writes: final_context_payload, at most 8000 tokens, and those of the sources
    whose lines it has. Next: READY.
    """
    draft = await run.read_draft()
    chars = draft.chars
    system = draft.system(draft.role)
    empty = Payload(system, "", draft.query)
    room = await offload(chars, empty.room, await payload_limit(deps, run.assistant, run.assistants_version))
    memory = _memory_lines(draft)
    profile = await read_profile(deps.db, run.assistant, run.assistants_version)
    if profile == "off":
        return Outcome(payload=_with_memory(empty, await _client_text(run, draft, room)))
    deps = deps if profile == "full" else with_builtin_model(deps)
    language = await prompt_language(deps, run.assistant, run.assistants_version)
    prompt = Prompt(row_name("Assembler", language), draft.instruction, draft.instruction_version)
    whole = defuse("\n".join(memory))
    client = ""
    if draft.client_lines:
        needed = await offload(len(whole), tokens.count, whole)
        client = await _client_text(run, draft, max(room - needed, room // 2))
        room -= await offload(len(client), tokens.count, client)
    if deps.settings.answers.fast_path and await offload(len(whole), tokens.fits, whole, room):
        skip_call(run, deps, NAME, prompt, "Assembler")  # everything fits
        return Outcome(payload=_with_memory(empty, client, whole))
    is_rewritten = is_filled("Assembler", draft.instruction)
    condensed, is_degraded = await (_rewrite if is_rewritten else _select)(run, deps, prompt, draft, room)
    payload = _with_memory(empty, client, condensed)
    sources = None if is_rewritten or not payload.has_marks else await _sources_on(run, deps, condensed.split("\n"))
    return Outcome(payload=payload, sources=sources, degraded="Assembler" if is_degraded else None)


async def _sources_on(run: Run, deps: Deps, lines: Sequence[str]) -> list[dict[str, Any]]:
    """Return the sources of the draft whose numbers these lines have. A rewritten text may hold any of them."""
    numbers = numbers_of_lines(lines)
    return [one for one in await deps.db.value(queries.run_sources, run.id) or [] if one["number"] in numbers]


async def _select(run: Run, deps: Deps, prompt: Prompt, draft: Draft, room: int) -> tuple[str, bool]:
    """Return the lines that the model chose and those that stay whatever it says, within `room` tokens, and whether
    its reply was of no use: then all lines are ranked by code alone."""
    lines = [defuse(line) for line in _memory_lines(draft)]
    chars = sum(map(len, lines))
    offer = await offload(chars, Offer.of, lines, draft.query)
    text = f"<memory>\n{offer.text}\n</memory>\n{await now_of(run, deps)}\n<query>\n{escape(draft.query)}\n</query>"
    request = Request(
        role="Assembler",
        system=draft.instruction,
        messages=(Message("user", text),),
        json_schema=SCHEMA,
        temperature=0.0,
        max_tokens=MAX_REPLY_TOKENS,
        inputs={"labels": list(offer.labels)},
        needs_thoughts=False,
    )
    budget = deps.settings.models.assembler_timeout
    chosen, is_degraded = await ask_or_fall_back(run, deps, NAME, prompt, request, offer.parse, budget)
    kept = lines if chosen is None else offer.kept(chosen)
    return await offload(chars, condense, kept, room), is_degraded or chosen is None


@dataclass(frozen=True, slots=True)
class Offer:
    """The lines of a draft's memory as a model is asked to choose from them.

    `labels` has the index of each line that is offered; lines of `fixed` stay whatever is chosen.
    """

    lines: Sequence[str]
    labels: Mapping[str, int]
    fixed: frozenset[int]
    text: str

    @classmethod
    def of(cls, lines: Sequence[str], query: str) -> Offer:
        """Offer the dated lines, the best first as far as there is room. Lines of another form always stay."""
        dated = {at: match[2] for at, line in enumerate(lines) if (match := _DATED_LINE.match(line))}
        ranked = [at for at in by_importance(lines) if at in dated]
        shown = sorted(_within_budget(ranked, lines))
        words = [[word for word in content_words(dated[at]) if word.isalpha()] for at in shown]
        labels = dict(zip(make_labels(words), shown, strict=True))
        label_of = {at: label for label, at in labels.items()}
        text = "\n".join(
            f"{label_of[at]}: {_shorten(line)}" if at in label_of else line
            for at, line in enumerate(lines)
            if at in label_of or line in (RECENT, FOUND)
        )
        return cls(lines, labels, frozenset(range(len(lines))) - dated.keys() | _fixed(ranked, lines, query), text)

    def parse(self, reply: str) -> frozenset[int] | None:
        """Return the indexes of the lines that a reply names; None if it is cut or of no use."""
        body = json_object(reply)
        names = body.get("keep") if body else None
        if not isinstance(names, list):
            return None
        chosen = [label for name in names if isinstance(name, str) for label in read_labels(name, self.labels)]
        return frozenset(self.labels[label] for label in chosen) if chosen or not names else None

    def kept(self, chosen: frozenset[int]) -> Sequence[str]:
        """Return the chosen lines and those that stay, in their order; whoever chooses all keeps those not offered."""
        if len(chosen) == len(self.labels):
            return self.lines
        return [line for at, line in enumerate(self.lines) if at in self.fixed | chosen]


def _within_budget(ranked: Sequence[int], lines: Sequence[str]) -> Iterator[int]:
    room = MAX_OFFERED_TOKENS
    for at in ranked:
        room -= tokens.count(_shorten(lines[at])) + LABEL_TOKENS
        if room < 0:
            return
        yield at


def _fixed(ranked: Sequence[int], lines: Sequence[str], query: str) -> set[int]:
    """Return the best search results, the newest messages, and the lines with most of the words of the query."""
    start = lines.index(FOUND) if FOUND in lines else len(lines)
    about = question_stems(query)
    return {
        *[at for at in ranked if at > start][:KEPT_FOUND],
        *[at for at in ranked if at < start][:KEPT_RECENT],
        *(at for at in ranked if about and len(about & stems(lines[at])) >= ANSWER_SHARE * len(about)),
    }


def _shorten(line: str) -> str:
    return shorten(line.removeprefix("- "), OFFERED_CHARS)


async def _rewrite(run: Run, deps: Deps, prompt: Prompt, draft: Draft, room: int) -> tuple[str, bool]:
    """Return the text that a model made of the memory by an operator's prompt, which is sent as one message."""
    memory = _memory_lines(draft)
    text = fill(draft.instruction, {"user_query": escape(draft.query), "memory": "\n".join(memory)})
    has_marks = Payload(draft.role, "", draft.query).has_marks
    request = Request(
        role="Assembler",
        messages=(Message("user", f"{text}\n\n{KEEP_NUMBERS}" if has_marks else text),),
        temperature=0.0,
        max_tokens=MAX_WHOLE_REPLY_TOKENS,
        inputs={"memory": memory, "max_tokens": room},
        needs_thoughts=False,
    )
    budget = deps.settings.models.assembler_timeout
    condensed, is_degraded = await ask_or_fall_back(run, deps, NAME, prompt, request, _parse_text, budget)
    chars = sum(map(len, memory)) + len(condensed)
    return await offload(chars, _trim, defuse(condensed), draft, room), is_degraded


def _memory_lines(draft: Draft) -> list[str]:
    lines: list[str] = []
    if draft.recent:
        lines += [RECENT, *draft.recent]
    if draft.focus:
        lines += [FOUND, *draft.focus]
    return lines


async def _client_text(run: Run, draft: Draft, room: int) -> str:
    """The newest of the earlier messages sent by the client that fit, under a title; the run says if not all do."""
    text, is_whole = await offload(draft.chars, _client_lines, draft, room)
    if not is_whole:
        run.log.memory_reasons.add(MemoryReason.CLIENT_MESSAGES_CUT)
    return text


def _client_lines(draft: Draft, room: int) -> tuple[str, bool]:
    """Return them, oldest first, and whether that is all; of the first one that does not fit its beginning is kept."""
    lines: list[str] = []
    left = room - tokens.count(CLIENT_TITLE) - 2
    for line in reversed(draft.client_lines):
        if (cost := tokens.count(line) + 1) > left:
            lines += [begun] if left >= MIN_CUT_TOKENS and (begun := tokens.fit(line, left - 1)) else []
            return _under_title(lines), False
        lines.append(line)
        left -= cost
    return _under_title(lines), True


def _under_title(lines: Sequence[str]) -> str:
    return "\n".join((CLIENT_TITLE, *reversed(lines))) if lines else ""


def _with_memory(payload: Payload, *parts: str) -> Payload:
    return replace(payload, memory=defuse("\n".join(part for part in parts if part)))


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


def _parse_text(reply: str) -> str:
    return clean(reply).strip()
