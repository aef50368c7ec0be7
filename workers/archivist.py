"""The Archivist turns an exchange into a record; the user's next request waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from maas.memory.dates import local
from maas.pipeline.ledger import consult
from maas.pipeline.profiles import by_rule, read_profile
from maas.pipeline.prompts import read_prompts
from maas.pipeline.runs import Outcome, Run
from maas.pipeline.stages import Deps
from shared.models.types import Message, Request
from shared.text import clean, escape, fill, json_object, one_line, sentences, shorten

NAME = "archivist"
SENTENCES = 4
SUMMARY_CHARS = 2000
TAGS = 8
EXCHANGE = 8
LOG_CHARS = 12_000


async def run(run: Run, deps: Deps) -> Outcome:
    """Reads: the words of this run and those owed, never recalled text. Writes: a record, a dialogue's summary."""
    if run.kind == "archive":
        upcoming = await deps.db.rows("imported_turns", run.id, 2 * EXCHANGE)
        logs = first_exchange(upcoming)
        if not logs:
            return Outcome()
        return Outcome(record=await _record(run, deps, logs), has_more=True)
    if run.as_of is None and run.conversation_id is not None:
        await deps.db.value("fold_conversation", run.conversation_id, deps.settings.history_rows, [])
    logs = await deps.db.rows("recorded_exchange" if run.as_of else "exchange_of_run", run.id)
    if not logs:  # not to be remembered, erased in this moment, or recorded by the next exchange before a retry
        return Outcome()
    profile = await read_profile(deps.db, run.assistant)
    return Outcome(record=await _record(run, deps if profile == "full" else by_rule(deps), logs))


def first_exchange(turns: Sequence[Any]) -> Sequence[Any]:
    """The leading turns that belong together: one dialogue, up to the first answer that is not followed by another."""
    for end, turn in enumerate(turns):
        before = turns[end - 1]
        answered = before["message_type"] == "assistant_response" and turn["message_type"] == "user_query"
        if end and (turn["conversation"] != before["conversation"] or answered or end == EXCHANGE):
            return turns[:end]
    return turns


async def _record(run: Run, deps: Deps, logs: Sequence[Any]) -> dict[str, Any]:
    prompt = (await read_prompts(deps.db, "Archivist"))["Archivist"]
    texts = [shorten(log["content"], LOG_CHARS) for log in logs]
    roles = ["user" if log["message_type"] == "user_query" else "assistant" for log in logs]
    times = [local(log["occurred_at"], deps.settings.zone) for log in logs]
    days = sorted(f"{at:%Y-%m-%d}" for at in times)
    content = "\n".join(
        f"[{at:%Y-%m-%d %H:%M}] {escape(log['speaker'] or role)}: {escape(text)}"
        for log, at, role, text in zip(logs, times, roles, texts, strict=True)
    )
    request = Request(
        role="Archivist",
        messages=(
            Message(
                "user",
                fill(prompt.text, {"start_date": days[0], "end_date": days[-1], "raw_logs_content": content}),
            ),
        ),
        json_schema=SCHEMA,
        temperature=0.0,
        max_tokens=800,
        inputs={
            "logs": [
                {"role": role, "speaker": log["speaker"], "at": at.isoformat(), "text": text}
                for log, at, role, text in zip(logs, times, roles, texts, strict=True)
            ]
        },
    )
    (tags, summary), is_degraded = await consult(
        run, deps, NAME, prompt, request, parse_record, deps.settings.archivist_timeout, may_fail=False
    )
    return {"log_ids": [str(log["id"]) for log in logs], "tags": tags, "summary": summary, "degraded": is_degraded}


SCHEMA = {
    "title": "Record",
    "type": "object",
    "properties": {
        "time_bucket_start": {"type": "string"},
        "time_bucket_end": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "summary": {"type": "string"},
    },
    "required": ["time_bucket_start", "time_bucket_end", "tags", "summary"],
    "additionalProperties": False,
}


def parse_record(reply: str) -> tuple[list[str], str]:
    """Tags and summary of the model's JSON; both empty for small talk. Dates and ids are code's own.

    A longer summary is cut after four sentences. Raises ValueError that says what is missing.
    """
    body = json_object(reply)
    if body is None:
        raise ValueError("there is no JSON object")
    summary, tags = body.get("summary"), body.get("tags")
    if not isinstance(summary, str) or not isinstance(tags, list):
        raise ValueError("`summary` must be text and `tags` a list")
    summary = shorten(" ".join(sentences(one_line(clean(summary)))[:SENTENCES]), SUMMARY_CHARS)
    words = [tag for raw in tags if isinstance(raw, str) and (tag := clean(one_line(raw))[:50])]
    if not summary:
        return [], ""
    return list(dict.fromkeys(words))[:TAGS] or ["Discussion"], summary
