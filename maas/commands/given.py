"""The memories that an answer was given, for people, down to the words; what was forgotten since says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shared.text import one_line, shorten

TURNS = 10
WORDS = 5
CHARS = 160


def memory_lines(given: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """For people: all summaries, the best turns, each with its words shortened."""
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


def _words(log: Mapping[str, Any]) -> str:
    speaker = log["speaker"] or ("user" if log["message_type"] == "user_query" else "assistant")
    return f"{log['occurred_at'][:10]} {speaker}: {_short(log['content'])}"


def _short(text: str) -> str:
    return shorten(one_line(text), CHARS)
