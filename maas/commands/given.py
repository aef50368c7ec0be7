"""The memories that an answer was given, down to the words; what was forgotten since says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from shared.db import Database
from shared.text import one_line, shorten

TURNS = 10
WORDS = 5
CHARS = 160
KINDS = ("summary", "turn", "recent")


async def read_given(db: Database, user_id: UUID, sources: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Summaries, then turns, best first, then recent turns: {id, kind, score, period, tags, memory, logs}.

    There are no logs where they were forgotten since.
    """
    records = {row["id"]: row for row in await db.rows("given_records", user_id, _ids(sources, "summary"))}
    wanted = _ids(sources, "turn", "recent") + [log for record in records.values() for log in record["raw_log_ids"]]
    logs = {row["id"]: dict(row) for row in await db.rows("sources", user_id, wanted)}
    given = []
    for source in sorted(sources, key=lambda one: (KINDS.index(one["kind"]), -one["score"])):
        one: dict[str, Any] = dict(source)
        if record := records.get(UUID(source["id"])):
            one |= {"period": record["period"], "tags": record["tags"], "memory": record["summary"]}
            one["logs"] = [logs[log] for log in record["raw_log_ids"] if log in logs]
        else:
            one["logs"] = [log] if (log := logs.get(UUID(source["id"]))) else []
        given.append(one)
    return given


def memory_lines(given: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The same for people: all summaries, the best turns, each with its words shortened."""
    summaries = [one for one in given if one["kind"] == "summary"]
    turns = [one for one in given if one["kind"] == "turn"]
    recent = [one for one in given if one["kind"] == "recent"]
    if given:
        yield f"memory given: {len(summaries)} summaries, {len(turns)} turns, and the last {len(recent)} turns"
    for one in summaries:
        if "memory" not in one:
            yield f"  {one['score']:.2f} a summary that was forgotten"
            continue
        yield f"  {one['score']:.2f} {one['period']} [{', '.join(one['tags'])}] {_short(one['memory'])}"
        yield from (f"         {_words(log)}" for log in one["logs"][:WORDS])
        if len(one["logs"]) > WORDS:
            yield f"         and {len(one['logs']) - WORDS} more turns"
    for one in turns[:TURNS]:
        yield f"  {one['score']:.2f} {_words(one['logs'][0]) if one['logs'] else 'a turn that was forgotten'}"
    if len(turns) > TURNS:
        yield f"  and {len(turns) - TURNS} more turns"
    for one in recent:
        yield f"  last {_words(one['logs'][0]) if one['logs'] else 'a turn that was forgotten'}"


def _ids(sources: Sequence[Mapping[str, Any]], *kinds: str) -> list[UUID]:
    return [UUID(one["id"]) for one in sources if one["kind"] in kinds]


def _words(log: Mapping[str, Any]) -> str:
    speaker = log["speaker"] or ("user" if log["message_type"] == "user_query" else "assistant")
    return f"{log['occurred_at']:%Y-%m-%d} {speaker}: {_short(log['content'])}"


def _short(text: str) -> str:
    return shorten(one_line(text), CHARS)
