"""Recent messages as lines that fit into a budget of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Self
from uuid import UUID

from maas import queries
from maas.memory.dates import local
from maas.memory.origins import Origin, mark_of
from maas.memory.search import Hit, speaker_of
from shared import tokens
from shared.text import escape, one_line, shorten

LINE_CHARS = 1500  # of a recent message that is shown as fully as a search result may be
MIN_RECENT_TOKENS = 24  # of a recent message: time, speaker and a few words
MAX_CHARS_PER_TOKEN = 6  # text beyond this many characters per token of room is cut before its tokens are counted


def message_line(
    when: str, speaker: str, text: str, max_chars: int = LINE_CHARS, origins: Sequence[Origin] = ()
) -> str:
    """Return one message as one escaped line, its text cut to `max_chars`: `- [2023-05-08] Caroline: ...`."""
    when = ", ".join(part for part in (when, mark_of(origins)) if part)
    return f"- [{when}] {escape(one_line(speaker))}: {escape(shorten(one_line(text), max_chars))}"


@dataclass(frozen=True, slots=True)
class RecentMessage:
    """A row of `recent_turns` or `recent_messages`; `log_id` and `run_id` are None for an imported message.

    `replaced` is the day of its correction, `origins` what it was made from.
    """

    log_id: UUID | None
    run_id: UUID | None
    at: datetime
    speaker: str
    text: str
    is_folded: bool = False
    replaced: str = ""
    origins: tuple[Origin, ...] = ()

    @classmethod
    def from_row(cls, row: queries.RecentMessagesRow | queries.DraftInputsRow, zone: tzinfo) -> Self:
        """Return the value of a row, its time in `zone`, its text in one line."""
        text = one_line(row["content"])
        return cls(
            row["id"],
            row["run_id"],
            local(row["occurred_at"], zone),
            speaker_of(row),
            text,
            row["is_folded"],
            origins=Origin.from_json(row["origins"]),
        )

    @classmethod
    def from_hit(cls, hit: Hit, zone: tzinfo) -> Self:
        """A message of no run of the conversation."""
        at, text = local(hit.occurred_at, zone), one_line(hit.text)
        return cls(hit.id, None, at, hit.speaker, text, is_folded=True, origins=hit.origins)

    def line(self, max_chars: int) -> str:
        """Return the message as a line with at most so many characters of its text."""
        when = f"{self.at:%Y-%m-%d %H:%M}" + (f", replaced {self.replaced}" if self.replaced else "")
        return message_line(when, self.speaker, self.text, max_chars, self.origins)


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
    while line_cost(line) > max_tokens and max_chars > 0:
        max_chars = max_chars * 9 // 10
        line = message.line(max_chars)
    return line


def _line_costs(lines: Sequence[str], room: int) -> list[int]:
    """Return the tokens of each line, or its bytes where even those fit: no text has more tokens than bytes."""
    sizes = [len(line.encode()) + 1 for line in lines]
    return sizes if sum(sizes) <= room else [line_cost(line) for line in lines]


def line_cost(line: str) -> int:
    """Return the tokens of a line with its newline."""
    return tokens.count(line + "\n")
