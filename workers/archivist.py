"""The Archivist: summarizes an exchange into memory; the user's next request waits for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from maas import queries
from maas.builtin_model.statements import check_summary, holds_statement, with_lost_facts
from maas.builtin_model.summaries import archive
from maas.engine.run import Outcome, Run
from maas.engine.stages import Deps
from maas.facts.exchanges import (
    MAX_CHARS_BEFORE,
    MAX_EXCHANGE_MESSAGES,
    MAX_KNOWN,
    MAX_MESSAGES_BEFORE,
    ExchangeLine,
    exchange_request,
    exchange_text,
    facts_of,
    first_exchange,
)
from maas.facts.replies import KnownFact
from maas.memory.facts import HELD
from maas.memory.facts import find_facts as read_facts
from maas.memory.origins import Origin, foreign, merged, with_mark
from maas.memory.relative_days import with_dates
from maas.prompt_rows import is_filled
from maas.prompting.model_calls import ask_or_fall_back, with_builtin_model
from maas.prompting.now import now_line, zone_of
from maas.prompting.prompts import prompt_language, read_profile, read_prompts
from shared.json import json_object
from shared.models import gen_ai, spec_of
from shared.text import clean, fill, one_line, sentences, shorten

NAME = "archivist"
MAX_SENTENCES = 4
MAX_SUMMARY_CHARS, MAX_READ_CHARS = 2000, 8000
MAX_TAGS = 8
MAX_TAG_CHARS = 50
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
        logs = rows = await deps.db.grouped_rows(queries.exchange_of_run, run.id)
        if not rows or rows[0]["replaces"] is not None:  # none: of a temporary conversation, for one
            await deps.db.value(queries.drop_replaced, run.id)
    if not logs:  # not to be remembered, just erased, or summarized with the next exchange before a retry
        return Outcome()
    profile = await read_profile(deps.db, run.assistant, run.assistants_version)
    return Outcome(record=await _summarize(run, deps if profile == "full" else with_builtin_model(deps), logs))


async def _summarize(run: Run, deps: Deps, logs: Sequence[_Log]) -> dict[str, Any]:
    with gen_ai.memory("upsert_memory", run.user_id) as operation:
        record = await _read_exchange(run, deps, logs)
        operation.note({"gen_ai.memory.record.count": bool(record["summary"]) + len(record.get("facts", ()))})
        return record


async def _read_exchange(run: Run, deps: Deps, logs: Sequence[_Log]) -> dict[str, Any]:
    language = await prompt_language(deps, run.assistant, run.assistants_version)
    version = run.assistants_version
    prompts = await read_prompts(deps.db, "Archivist", "Facts", version=version, language=language)
    prompt = prompts["Archivist"]
    zone = await zone_of(run, deps)
    lines = [ExchangeLine.of(log, zone) for log in logs]
    is_by_rule = deps.is_by_rule("Archivist")
    before: list[ExchangeLine] = []
    known: list[KnownFact] = []
    has_facts = False
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
                known, has_facts = await _known_facts(run, deps, lines), True
                parts.insert(1, prompts["Facts"].text)
        system = "\n\n".join(parts)
        text = exchange_text(before, lines, known, language)
    request = exchange_request(system, text, logs, lines, has_facts)
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
    summary = with_mark(reply.summary, merged(foreign(Origin.from_json(log["origins"])) for log in logs))
    ids = [str(log["id"]) for log in logs]
    raw = reply.facts if has_facts else ()
    facts = [] if not summary else facts_of(raw, lines, before, ids, known, spec_of(deps.models["Archivist"]))
    record = {"log_ids": ids, "tags": reply.tags, "summary": summary, "degraded": is_degraded}
    return record | ({"facts": facts} if facts else {})


async def _known_facts(run: Run, deps: Deps, lines: Sequence[ExchangeLine]) -> list[KnownFact]:
    """What is known and true of what an exchange speaks of, the nearest first."""
    said = "\n".join(one.text for one in lines if one.role == "user")
    found = await read_facts(deps.db, run.user_id, said, run.as_of, newest=MAX_KNOWN)
    held = [fact for fact in found if fact.state in HELD]
    nearest = sorted(held, key=lambda fact: (-fact.matches, -fact.last_said_at.timestamp()))[:MAX_KNOWN]
    return [KnownFact(one.statement, one.subject, one.attribute, one.kind) for one in nearest]


async def _lines_before(run: Run, deps: Deps, logs: Sequence[_Log]) -> list[ExchangeLine]:
    rows = await deps.db.rows(queries.messages_before, run.user_id, [log["id"] for log in logs], MAX_MESSAGES_BEFORE)
    zone = await zone_of(run, deps)
    return [ExchangeLine.of(row, zone, MAX_CHARS_BEFORE) for row in rows]


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

    lines: Sequence[ExchangeLine]
    before: Sequence[ExchangeLine]
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
