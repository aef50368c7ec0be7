"""The Archivist: summarizes an exchange into memory; the user's next request waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from maas.engine.claims import Outcome, Run
from maas.engine.stages import Deps
from maas.memory.dates import local
from maas.memory.origins import Origin, foreign, mark_of, merged, with_mark
from maas.memory.search import role_of, speaker_of
from maas.prompting.model_calls import ask_or_fall_back, with_builtin_model
from maas.prompting.prompts import read_profile, read_prompts
from shared.json import json_object
from shared.models import Message, Request
from shared.text import clean, escape, fill, one_line, sentences, shorten

NAME = "archivist"
MAX_SENTENCES = 4
MAX_SUMMARY_CHARS = 2000
MAX_TAGS = 8
MAX_TAG_CHARS = 50
MAX_EXCHANGE_MESSAGES = 8
MAX_MESSAGE_CHARS = 12_000


async def run(run: Run, deps: Deps) -> Outcome:
    """Reads: the messages of this run and those of earlier runs that were not archived, prompt Archivist.

    Writes: a summary in memory, the rolling summary of the conversation. Next: ARCHIVED.
    Text recalled from memory is not read, so that nothing is remembered twice.
    """
    if run.kind == "archive":
        upcoming = await deps.db.rows("imported_turns", run.id, 2 * MAX_EXCHANGE_MESSAGES)
        logs = first_exchange(upcoming)
        if not logs:
            return Outcome()
        return Outcome(record=await _summarize(run, deps, logs), has_more=True)
    if run.as_of is None and run.conversation_id is not None:
        await deps.db.value("fold_conversation", run.conversation_id, deps.settings.history_rows, [])
    read = partial(deps.db.rows, "recorded_exchange") if run.as_of else partial(deps.db.grouped_rows, "exchange_of_run")
    logs = await read(run.id)
    if not logs:  # not to be remembered, just erased, or summarized with the next exchange before a retry
        return Outcome()
    profile = await read_profile(deps.db, run.assistant, run.assistants_version)
    return Outcome(record=await _summarize(run, deps if profile == "full" else with_builtin_model(deps), logs))


def first_exchange(messages: Sequence[Any]) -> Sequence[Any]:
    """Return the leading messages of one conversation, up to the last answer before the user's next message."""
    for end, message in enumerate(messages):
        before = messages[end - 1]
        is_next = before["message_type"] == "assistant_response" and message["message_type"] == "user_query"
        if end and (message["conversation"] != before["conversation"] or is_next or end == MAX_EXCHANGE_MESSAGES):
            return messages[:end]
    return messages


async def _summarize(run: Run, deps: Deps, logs: Sequence[Any]) -> dict[str, Any]:
    prompt = (await read_prompts(deps.db, "Archivist", version=run.assistants_version))["Archivist"]
    texts = [shorten(log["content"], MAX_MESSAGE_CHARS) for log in logs]
    roles = [role_of(log["message_type"]) for log in logs]
    times = [local(log["occurred_at"], deps.settings.zone) for log in logs]
    days = sorted(f"{at:%Y-%m-%d}" for at in times)
    origins = [foreign(Origin.from_json(log["origins"])) for log in logs]
    marks = [mark_of(one) for one in origins]
    content = "\n".join(
        f"[{at:%Y-%m-%d %H:%M}{mark and f', {mark}'}] {escape(speaker_of(log))}: {escape(text)}"
        for log, at, mark, text in zip(logs, times, marks, texts, strict=True)
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
                {"role": role, "speaker": log["speaker"], "at": at.isoformat(), "text": text, "mark": mark}
                for log, at, role, text, mark in zip(logs, times, roles, texts, marks, strict=True)
            ]
        },
    )
    (tags, summary), is_degraded = await ask_or_fall_back(
        run, deps, NAME, prompt, request, parse_summary, deps.settings.archivist_timeout, may_fail=False
    )
    summary = with_mark(summary, merged(origins))
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
    summary = shorten(" ".join(sentences(one_line(clean(summary)))[:MAX_SENTENCES]), MAX_SUMMARY_CHARS)
    cleaned = [tag for raw in tags if isinstance(raw, str) and (tag := clean(one_line(raw))[:MAX_TAG_CHARS])]
    if not summary:
        return [], ""
    return list(dict.fromkeys(cleaned))[:MAX_TAGS] or ["Discussion"], summary
