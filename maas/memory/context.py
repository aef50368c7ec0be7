"""Lines of memory for a prompt: the best search results within a token budget, and the recent messages."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, Self
from uuid import UUID

from maas.memory.dates import local
from maas.memory.query import NO_FILTER, SearchFilter
from maas.memory.search import Hit, search, speaker_of
from shared import tokens
from shared.db import Database
from shared.models.calls import QueryEmbedder
from shared.text import escape, one_line, shorten

MIN_LINE_TOKENS = 20  # the search is limited to as many messages as would fit if each line were this short
MAX_SEARCHED_MESSAGES = 500
LINE_CHARS = 1500
CHARS_PER_TOKEN = 4.6
FENCE_OPEN, FENCE_CLOSE = "<memory>", "</memory>"
MIN_RECENT_TOKENS = 24  # of a recent message: time, speaker and a few words
MAX_CHARS_PER_TOKEN = 6  # text beyond this many characters per token of room is cut before its tokens are counted


@dataclass(frozen=True, slots=True)
class MemoryContext:
    """Lines for a prompt, their text escaped, and the search hits that they show, best first."""

    lines: tuple[str, ...]
    hits: tuple[Hit, ...]

    @property
    def fenced(self) -> str:
        """The lines within a <memory> fence; empty when there are none."""
        return "\n".join((FENCE_OPEN, *self.lines, FENCE_CLOSE)) if self.lines else ""


async def build_context(
    db: Database,
    user_id: UUID,
    query: str,
    max_tokens: int,
    *,
    filters: SearchFilter = NO_FILTER,
    query_embedder: QueryEmbedder | None = None,
    exclude: Collection[UUID] = (),
    is_full: bool = False,
) -> MemoryContext:
    """Search memory and return what fits into `max_tokens` tokens, without the messages in `exclude`.

    With `is_full` the remaining room is filled with messages that do not match, unless the memory is a large one.
    """
    limit = min(max_tokens // MIN_LINE_TOKENS + len(exclude) + 1, MAX_SEARCHED_MESSAGES)
    hits = await search(
        db, user_id, query, limit=limit, filters=filters, query_embedder=query_embedder, is_full=is_full
    )  # fmt: skip
    return fill_budget([hit for hit in hits if hit.id not in exclude], max_tokens, filters.zone)


def fill_budget(hits: Sequence[Hit], max_tokens: int, zone: tzinfo = UTC) -> MemoryContext:
    """Return lines of the best hits that fit. One that does not fit is skipped, and so is a repeated text."""
    lines: list[str] = []
    shown: list[Hit] = []
    texts: set[str] = set()
    room = max_tokens - _rounded_cost(f"{FENCE_OPEN}\n{FENCE_CLOSE}\n")
    is_exact = True
    for hit in hits:
        if room < MIN_LINE_TOKENS and not is_exact:
            # The cost of each line was rounded up; together they cost less.
            room, is_exact = max_tokens - _rounded_cost(MemoryContext(tuple(lines), ()).fenced), True
        if room < MIN_LINE_TOKENS:
            break
        if hit.text in texts:
            continue
        line = message_line(f"{local(hit.occurred_at, zone):%Y-%m-%d}", hit.speaker, hit.text)
        cost = _rounded_cost(line + "\n")
        if cost > room:
            continue
        texts.add(hit.text)
        lines.append(line)
        shown.append(hit)
        room -= cost
        is_exact = False
    return MemoryContext(tuple(lines), tuple(shown))


def _rounded_cost(text: str) -> int:
    """Return an upper bound of the tokens of a text for any model: those counted, or one for every 4.6 characters."""
    return max(tokens.count(text), math.ceil(len(text) / CHARS_PER_TOKEN))


def message_line(when: str, speaker: str, text: str, max_chars: int = LINE_CHARS) -> str:
    """Return one message as one escaped line, its text cut to `max_chars`: `- [2023-05-08] Caroline: ...`."""
    return f"- [{when}] {escape(one_line(speaker))}: {escape(shorten(one_line(text), max_chars))}"


@dataclass(frozen=True, slots=True)
class RecentMessage:
    """A row of `recent_turns` or `recent_messages`; `log_id` and `run_id` are None for an imported message."""

    log_id: UUID | None
    run_id: UUID | None
    at: datetime
    speaker: str
    text: str
    is_folded: bool = False

    @classmethod
    def from_row(cls, row: Any, zone: tzinfo) -> Self:
        text = one_line(row["content"])
        return cls(row["id"], row["run_id"], local(row["occurred_at"], zone), speaker_of(row), text, row["is_folded"])

    def line(self, max_chars: int) -> str:
        """Return the message as a line with at most so many characters of its text."""
        return message_line(f"{self.at:%Y-%m-%d %H:%M}", self.speaker, self.text, max_chars)


def fair_share(costs: Sequence[int], room: int) -> int:
    """Return the largest cost each item may have so that all fit into `room`; small items leave room to large ones."""
    for index, cost in enumerate(sorted(costs)):
        share = room // (len(costs) - index)
        if cost > share:
            return max(share, 0)
        room -= cost
    return max(costs, default=0)


def cut_evenly(messages: Sequence[RecentMessage], max_tokens: int) -> tuple[tuple[str, ...], tuple[RecentMessage, ...]]:
    """Return a line for each message, and the messages whose text was cut to make all lines fit.

    Together the lines have at most `max_tokens` tokens, except where that is too little for a few words of each.
    """
    room = max(max_tokens, len(messages) * MIN_RECENT_TOKENS)
    max_chars = fair_share([len(message.text) for message in messages], room * MAX_CHARS_PER_TOKEN)
    lines = [message.line(max_chars) for message in messages]
    costs = _line_costs(lines, room)
    share = fair_share(costs, room)
    cut = [one for one, cost in zip(messages, costs, strict=True) if cost > share or len(one.text) > max_chars]
    for index, (message, cost) in enumerate(zip(messages, costs, strict=True)):
        if cost > share:
            lines[index] = _shorten(message, min(len(message.text), max_chars) * share // cost, share)
    return tuple(lines), tuple(cut)


def sufficiently_shown(messages: Sequence[RecentMessage], max_tokens: int) -> frozenset[UUID]:
    """Return the log ids of messages of which `cut_evenly` shows at least half of what a search result would.

    They need not be shown again as search results.
    """
    costs = _line_costs([message.line(LINE_CHARS) for message in messages], max_tokens)
    share = fair_share(costs, max_tokens)
    return frozenset(one.log_id for one, cost in zip(messages, costs, strict=True) if one.log_id and cost <= 2 * share)


def _shorten(message: RecentMessage, max_chars: int, max_tokens: int) -> str:
    line = message.line(max_chars)
    while _line_cost(line) > max_tokens and max_chars > 0:
        max_chars = max_chars * 9 // 10
        line = message.line(max_chars)
    return line


def _line_costs(lines: Sequence[str], room: int) -> list[int]:
    """Return the tokens of each line, or its bytes where even those fit: no text has more tokens than bytes."""
    sizes = [len(line.encode()) + 1 for line in lines]
    return sizes if sum(sizes) <= room else [_line_cost(line) for line in lines]


def _line_cost(line: str) -> int:
    return tokens.count(line + "\n")
