"""Context: the best evidence within a token budget, each line with its date and speaker."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from maas.memory.search import EVERY_TURN, Hit, Scope, search
from shared import tokens
from shared.db import Database
from shared.text import escape, one_line, shorten

CANDIDATES = 150
LINE_CHARS = 1500
MISSES = 8
FENCE_OPEN, FENCE_CLOSE = "<memory>", "</memory>"


@dataclass(frozen=True, slots=True)
class Context:
    """Lines ready for a fence (text is escaped), the hits they show, best first, and their tokens."""

    lines: tuple[str, ...]
    hits: tuple[Hit, ...]

    @property
    def fenced(self) -> str:
        """The lines within a <memory> fence; empty when there are none."""
        return "\n".join((FENCE_OPEN, *self.lines, FENCE_CLOSE)) if self.lines else ""


async def build_context(
    db: Database,
    user_id: UUID,
    question: str,
    max_tokens: int,
    *,
    before_seq: int = EVERY_TURN,
    as_of: datetime | None = None,
    scope: Scope | None = None,
    without: Collection[UUID] = (),
) -> Context:
    """What memory holds about the question, in at most `max_tokens` tokens. `without` names turns shown elsewhere."""
    hits = await search(db, user_id, question, limit=CANDIDATES, before_seq=before_seq, as_of=as_of, scope=scope)
    return fill_budget([hit for hit in hits if hit.id not in without], max_tokens)


def fill_budget(hits: Sequence[Hit], max_tokens: int) -> Context:
    """Lines of the best hits that fit; a line that does not is left out, the eighth ends it. No content twice."""
    lines: list[str] = []
    shown: list[Hit] = []
    seen: set[str] = set()
    room, misses = max_tokens - tokens.count(f"{FENCE_OPEN}\n{FENCE_CLOSE}\n"), 0
    for hit in hits:
        line = turn_line(hit.occurred_at, hit.speaker, hit.text)
        if hit.text in seen:
            continue
        cost = tokens.count(line) + 1
        if cost > room:
            misses += 1
            if misses == MISSES:
                break
            continue
        seen.add(hit.text)
        lines.append(line)
        shown.append(hit)
        room -= cost
    return Context(tuple(lines), tuple(shown))


def turn_line(at: datetime, speaker: str, text: str) -> str:
    """One remembered turn as one escaped line: `- [2023-05-08 13:56] Caroline: ...`; time in UTC."""
    return f"- [{at:%Y-%m-%d %H:%M}] {escape(one_line(speaker))}: {escape(shorten(one_line(text), LINE_CHARS))}"
