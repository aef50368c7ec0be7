"""The last rows before a run as lines: always all of them, cut evenly where the room is too small for their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Self
from uuid import UUID

from maas.memory.context import LINE_CHARS, turn_line
from maas.memory.dates import local
from shared import tokens
from shared.text import one_line

LEAST_ROW_TOKENS = 24  # time, speaker and a few words: no row gets less, whatever the room
ROOM_CHARS_PER_TOKEN = 6  # longer words are rare: what exceeds the room in characters is not counted in tokens


@dataclass(frozen=True, slots=True)
class RecentRow:
    """A row of `recent_turns` or `recent_messages`; `log_id` and `run_id` are null for what came with an import."""

    log_id: UUID | None
    run_id: UUID | None
    at: datetime
    speaker: str
    text: str
    is_folded: bool = False

    @classmethod
    def from_row(cls, row: Any, zone: tzinfo) -> Self:
        speaker = row["speaker"] or ("user" if row["message_type"] == "user_query" else "assistant")
        text = one_line(row["content"])
        return cls(row["id"], row["run_id"], local(row["occurred_at"], zone), speaker, text, row["is_folded"])

    def line(self, chars: int) -> str:
        """The row with at most so many characters of its text."""
        return turn_line(f"{self.at:%Y-%m-%d %H:%M}", self.speaker, self.text, chars)


def fair_share(costs: Sequence[int], room: int) -> int:
    """The most that one may cost so that all together cost at most `room`: small ones leave their rest to others."""
    for place, cost in enumerate(sorted(costs)):
        share = room // (len(costs) - place)
        if cost > share:
            return max(share, 0)
        room -= cost
    return max(costs, default=0)


def cut_evenly(rows: Sequence[RecentRow], max_tokens: int) -> tuple[tuple[str, ...], tuple[RecentRow, ...]]:
    """A line for each row, together at most `max_tokens`, or a few words each where that is less; and the rows cut."""
    room = max(max_tokens, len(rows) * LEAST_ROW_TOKENS)
    longest = fair_share([len(row.text) for row in rows], room * ROOM_CHARS_PER_TOKEN)
    lines = [row.line(longest) for row in rows]
    costs = _costs(lines, room)
    share = fair_share(costs, room)
    cut = [row for row, cost in zip(rows, costs, strict=True) if cost > share or len(row.text) > longest]
    for place, (row, cost) in enumerate(zip(rows, costs, strict=True)):
        if cost > share:
            lines[place] = _shorten(row, min(len(row.text), longest) * share // cost, share)
    return tuple(lines), tuple(cut)


def well_shown(rows: Sequence[RecentRow], max_tokens: int) -> frozenset[UUID]:
    """The logs of which `cut_evenly` shows at least half of what a line of evidence would: not to be shown twice."""
    costs = _costs([row.line(LINE_CHARS) for row in rows], max_tokens)
    share = fair_share(costs, max_tokens)
    return frozenset(row.log_id for row, cost in zip(rows, costs, strict=True) if row.log_id and cost <= 2 * share)


def _shorten(row: RecentRow, chars: int, max_tokens: int) -> str:
    line = row.line(chars)
    while _cost(line) > max_tokens and chars > 0:
        chars = chars * 9 // 10
        line = row.line(chars)
    return line


def _costs(lines: Sequence[str], room: int) -> list[int]:
    """Tokens of each line; their bytes where all fit even so: no text has more tokens than bytes."""
    sizes = [len(line.encode()) + 1 for line in lines]
    return sizes if sum(sizes) <= room else [_cost(line) for line in lines]


def _cost(line: str) -> int:
    return tokens.count(line + "\n")
