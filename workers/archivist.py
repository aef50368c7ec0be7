"""The Archivist: summarizes an exchange into memory; the user's next request waits for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, tzinfo
from typing import Any, Self, TypeAlias

from maas import queries
from maas.builtin_model.statements import check_summary, holds_statement, with_lost_facts
from maas.builtin_model.summaries import archive
from maas.engine.run import Outcome, Run
from maas.engine.stages import Deps
from maas.facts import replies
from maas.facts.rules import FoundFact, find_facts
from maas.memory.dates import local
from maas.memory.facts import HELD, Fact
from maas.memory.facts import find_facts as read_facts
from maas.memory.origins import Origin, foreign, mark_of, merged, with_mark
from maas.memory.relative_days import with_dates
from maas.memory.search import role_of, speaker_of
from maas.prompt_rows import PromptLanguage, is_filled
from maas.prompting.model_calls import ask_or_fall_back, with_builtin_model
from maas.prompting.now import now_line, weekday_name, zone_of
from maas.prompting.prompts import prompt_language, read_profile, read_prompts
from shared.json import json_object
from shared.models import Message, Request, spec_of
from shared.text import clean, escape, fill, one_line, sentences, shorten

NAME = "archivist"
MAX_SENTENCES = 4
MAX_SUMMARY_CHARS, MAX_READ_CHARS = 2000, 8000
MAX_TAGS = 8
MAX_TAG_CHARS = 50
MAX_EXCHANGE_MESSAGES = 8
MAX_MESSAGE_CHARS = 12_000
MAX_MESSAGES_BEFORE, MAX_CHARS_BEFORE = 2, 800  # that say what the exchange speaks of
MAX_KNOWN = 10  # facts that the model is shown, by number
MAX_REPLY_TOKENS, MAX_FACTS_TOKENS = 800, 800
MIN_REPLY_TOKENS, CHARS_PER_TOKEN = 250, 2  # of each: both are about as long as the exchange at most
_PROPERTIES = {"summary": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}
SCHEMA = {
    "title": "Record",
    "type": "object",
    "properties": _PROPERTIES,
    "required": list(_PROPERTIES),
    "additionalProperties": False,
}
SCHEMA_WITH_FACTS = SCHEMA | {
    "properties": _PROPERTIES | {"facts": replies.SCHEMA},
    "required": [*_PROPERTIES, "facts"],
}


_Log: TypeAlias = "queries.ImportedTurnsRow | queries.RecordedExchangeRow | queries.ExchangeOfRunRow"


async def run(run: Run, deps: Deps) -> Outcome:
    """Reads: the messages of this run and those of earlier runs that were not archived, prompt Archivist.

    Writes: a summary in memory, the rolling summary of the conversation. Next: ARCHIVED.
    The messages before are shown for reference. Text recalled from memory is not read, so that nothing is remembered
    twice.
    """
    if run.kind == "archive":
        upcoming = await deps.db.rows(queries.imported_turns, run.id, 2 * MAX_EXCHANGE_MESSAGES)
        exchange = first_exchange(upcoming)
        if not exchange:
            return Outcome()
        return Outcome(record=await _summarize(run, deps, exchange), has_more=True)
    if run.as_of is None and run.conversation_id is not None:
        await deps.db.value(queries.fold_conversation, run.conversation_id, deps.settings.answers.history_rows, [])
    logs: Sequence[_Log]
    if run.as_of:
        logs = await deps.db.rows(queries.recorded_exchange, run.id)
    else:
        logs = await deps.db.grouped_rows(queries.exchange_of_run, run.id)
    if not logs:  # not to be remembered, just erased, or summarized with the next exchange before a retry
        return Outcome()
    profile = await read_profile(deps.db, run.assistant, run.assistants_version)
    return Outcome(record=await _summarize(run, deps if profile == "full" else with_builtin_model(deps), logs))


def first_exchange(messages: Sequence[queries.ImportedTurnsRow]) -> Sequence[queries.ImportedTurnsRow]:
    """Return the leading messages of one conversation, up to the last answer before the user's next message."""
    for end, message in enumerate(messages):
        before = messages[end - 1]
        is_next = before["message_type"] == "assistant_response" and message["message_type"] == "user_query"
        if end and (message["conversation"] != before["conversation"] or is_next or end == MAX_EXCHANGE_MESSAGES):
            return messages[:end]
    return messages


@dataclass(frozen=True, slots=True)
class _Line:
    """A message as the Archivist sees it, in the time zone of its user; `dated` has dates before words for a day."""

    at: datetime
    role: str
    speaker: str
    mark: str
    text: str
    dated: str

    @classmethod
    def of(cls, log: _Log | queries.MessagesBeforeRow, zone: tzinfo, max_chars: int = MAX_MESSAGE_CHARS) -> Self:
        at, text = local(log["occurred_at"], zone), shorten(log["content"], max_chars)
        mark = mark_of(foreign(Origin.from_json(log["origins"])))
        return cls(at, role_of(log["message_type"]), speaker_of(log), mark, text, with_dates(text, at.date()))

    @property
    def is_users(self) -> bool:
        """Whether the person said it, and no tool or document."""
        return self.role == "user" and not self.mark

    def plain(self) -> str:
        when = ", ".join(part for part in (f"{self.at:%Y-%m-%d %H:%M}", self.mark) if part)
        return f"[{when}] {escape(self.speaker)}: {escape(self.text)}"

    def in_language(self, language: PromptLanguage) -> str:
        """The line with its weekday, and with dates."""
        weekday = weekday_name(self.at.date(), language)
        when = ", ".join(part for part in (f"{weekday} {self.at:%Y-%m-%d %H:%M}", self.mark) if part)
        return f"[{when}] {escape(self.speaker)}: {escape(self.dated)}"


async def _summarize(run: Run, deps: Deps, logs: Sequence[_Log]) -> dict[str, Any]:
    language = await prompt_language(deps, run.assistant, run.assistants_version)
    version = run.assistants_version
    prompts = await read_prompts(deps.db, "Archivist", "Facts", version=version, language=language)
    prompt = prompts["Archivist"]
    zone = await zone_of(run, deps)
    lines = [_Line.of(log, zone) for log in logs]
    is_by_rule = deps.is_by_rule("Archivist")
    before: list[_Line] = []
    known: list[Fact] = []
    schema, max_tokens = SCHEMA, _room_for(lines, MAX_REPLY_TOKENS)
    if is_filled("Archivist", prompt.text):
        days = sorted(f"{one.at:%Y-%m-%d}" for one in lines)
        content = "\n".join(one.plain() for one in lines)
        system = ""
        text = fill(prompt.text, {"start_date": days[0], "end_date": days[-1], "raw_logs_content": content})
    else:
        parts = [prompt.text, now_line(lines[0].at, zone, language)]
        if not is_by_rule:
            before = await _lines_before(run, deps, logs)
            if deps.settings.answers.facts == "model":
                known, schema = await _known_facts(run, deps, lines), SCHEMA_WITH_FACTS
                max_tokens += _room_for(lines, MAX_FACTS_TOKENS)
                parts.insert(1, prompts["Facts"].text)
        system = "\n\n".join(parts)
        text = _fenced(before, lines, known, language)
    request = Request(
        role="Archivist",
        messages=(Message("user", text),),
        system=system,
        json_schema=schema,
        temperature=0.0,
        needs_thoughts=False,
        max_tokens=max_tokens,
        inputs={
            "logs": [
                {
                    "role": one.role,
                    "speaker": log["speaker"],
                    "at": one.at.isoformat(),
                    "text": one.dated,
                    "mark": one.mark,
                }
                for log, one in zip(logs, lines, strict=True)
            ]
        },
    )
    reader = ExchangeReply(lines, before, request.inputs)
    reply, is_degraded = await ask_or_fall_back(
        run,
        deps,
        NAME,
        prompt,
        request,
        _read_rules if is_by_rule else reader.read,
        deps.settings.models.archivist_timeout,
        may_fail=False,
    )
    if schema is SCHEMA:  # nobody asked for facts
        reply = replace(reply, facts=())
    summary = with_mark(reply.summary, merged(foreign(Origin.from_json(log["origins"])) for log in logs))
    ids = [str(log["id"]) for log in logs]
    facts = [] if not summary else _facts(reply, reader, ids, known, spec_of(deps.models["Archivist"]))
    record = {"log_ids": ids, "tags": reply.tags, "summary": summary, "degraded": is_degraded}
    return record | ({"facts": facts} if facts else {})


def _room_for(lines: Sequence[_Line], most: int) -> int:
    """Tokens for what is written of an exchange: a small model that repeats itself is stopped and not waited for."""
    chars = sum(len(one.dated) for one in lines)
    return min(most, MIN_REPLY_TOKENS + chars // CHARS_PER_TOKEN)


async def _known_facts(run: Run, deps: Deps, lines: Sequence[_Line]) -> list[Fact]:
    """What is known and true of what an exchange speaks of, the nearest first."""
    said = "\n".join(one.text for one in lines if one.role == "user")
    found = await read_facts(deps.db, run.user_id, said, run.as_of, newest=MAX_KNOWN)
    held = [fact for fact in found if fact.state in HELD]
    return sorted(held, key=lambda fact: (-fact.matches, -fact.last_said_at.timestamp()))[:MAX_KNOWN]


def _facts(
    reply: ArchivedExchange, reader: ExchangeReply, ids: Sequence[str], known: Sequence[Fact], model: str
) -> list[dict[str, Any]]:
    """The facts of an exchange as they are written: those that rules find, then those of the model that are others."""
    items: dict[tuple[str, str], dict[str, Any]] = {}
    for place, line in enumerate(reader.lines):
        for fact in find_facts(line.text) if line.is_users else ():
            items.setdefault(_slot(fact), _item(fact, line.speaker, [ids[place]]) | {"origin": "rule"})
    said = [replies.Said(line.speaker, line.dated, line.is_users) for line in reader.lines]
    shown = [replies.KnownFact(one.statement, one.subject, one.attribute, one.kind) for one in known]
    for found in replies.read_facts(reply.facts, said, [one.text for one in reader.before], shown):
        speaker = reader.lines[found.messages[0]].speaker
        item = _item(found.fact, speaker, [ids[place] for place in found.messages])
        items.setdefault(_slot(found.fact), item | {"origin": "model", "model": model})
    return list(items.values())


def _slot(fact: FoundFact) -> tuple[str, str]:
    return fact.subject.casefold(), fact.attribute


def _item(fact: FoundFact, speaker: str, log_ids: Sequence[str]) -> dict[str, Any]:
    return asdict(fact) | {"said_by": speaker, "log_ids": list(log_ids)}


async def _lines_before(run: Run, deps: Deps, logs: Sequence[_Log]) -> list[_Line]:
    rows = await deps.db.rows(queries.messages_before, run.user_id, [log["id"] for log in logs], MAX_MESSAGES_BEFORE)
    zone = await zone_of(run, deps)
    return [_Line.of(row, zone, MAX_CHARS_BEFORE) for row in rows]


def _fenced(before: Sequence[_Line], lines: Sequence[_Line], known: Sequence[Fact], language: PromptLanguage) -> str:
    person = next((one.speaker for one in lines if one.role == "user"), "user")
    fences = {
        "known": "\n".join(f"{n}. {escape(one_line(fact.statement))}" for n, fact in enumerate(known, 1)),
        "before": "\n".join(one.in_language(language) for one in before),
        "logs": "\n".join(one.in_language(language) for one in lines),
        "person": escape(one_line(person)),
    }
    return "\n".join(f"<{tag}>\n{content}\n</{tag}>" for tag, content in fences.items() if content)


@dataclass(frozen=True, slots=True)
class ArchivedExchange:
    """Tags and summary, both empty where nobody said anything, and the facts of a model's reply as it wrote them."""

    tags: list[str]
    summary: str
    facts: Any = ()


_EMPTY = ArchivedExchange([], "")


def _read_rules(reply: str) -> ArchivedExchange:
    return ArchivedExchange(*parse_summary(reply))


@dataclass(frozen=True, slots=True)
class ExchangeReply:
    """Reads a model's replies to one exchange, by what rules know of it and of the messages before.

    `inputs` are those of the request.
    """

    lines: Sequence[_Line]
    before: Sequence[_Line]
    inputs: Mapping[str, Any]

    def read(self, reply: str) -> ArchivedExchange:
        """Raises ValueError, which says what is wrong.

        What a user stated and the summary leaves out stands at its end. The built-in model's reply is taken as it is.
        """
        tags, summary = parse_summary(reply)
        users = [one.text for one in self.lines if one.role == "user"]
        by_rule = parse_summary(archive(self.inputs))
        if (tags, summary) == by_rule:
            return ArchivedExchange(*by_rule)
        facts = (json_object(reply) or {}).get("facts")
        if not by_rule[1]:
            return ArchivedExchange(tags, summary, facts) if any(map(holds_statement, users)) else _EMPTY
        check_summary(summary, users, [one.text for one in (*self.before, *self.lines)])
        summary = with_dates(summary, self.lines[0].at.date())
        summary = with_lost_facts(summary, [(one.speaker, one.dated) for one in self.lines if one.role == "user"])
        return ArchivedExchange(tags, summary, facts)


def parse_summary(reply: str) -> tuple[list[str], str]:
    """Return tags and summary of the model's reply; both are empty for small talk. Dates in the reply are ignored.

    A longer summary is cut after four sentences. Raises ValueError, which says what is missing.
    """
    body = json_object(reply)
    if body is None:
        raise ValueError("there is no JSON object")
    summary, tags = body.get("summary"), body.get("tags")
    if not isinstance(summary, str) or not isinstance(tags, list):
        raise ValueError("`summary` must be text and `tags` a list")
    read = one_line(clean(summary[:MAX_READ_CHARS]))
    summary = shorten(" ".join(sentences(read)[:MAX_SENTENCES]), MAX_SUMMARY_CHARS)
    cleaned = [tag for raw in tags if isinstance(raw, str) and (tag := clean(one_line(raw))[:MAX_TAG_CHARS])]
    if not summary:
        return [], ""
    return list(dict.fromkeys(cleaned))[:MAX_TAGS] or ["Discussion"], summary
