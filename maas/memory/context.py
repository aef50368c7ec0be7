"""Context: the best evidence within a token budget, each line with its date and speaker."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from uuid import UUID

from maas.memory.dates import local
from maas.memory.reach import EVERYTHING, Reach
from maas.memory.search import Hit, search
from shared import tokens
from shared.db import Database
from shared.models.questions import Questions
from shared.text import escape, one_line, shorten

LEAST_LINE = 20  # tokens; so many turns are looked at as would fit if each were that short
MOST_TURNS = 500
LINE_CHARS = 1500
CHARS_A_TOKEN = 4.6
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
    reach: Reach = EVERYTHING,
    questions: Questions | None = None,
    without: Collection[UUID] = (),
    is_full: bool = False,
) -> Context:
    """What memory holds about the question, in at most `max_tokens` tokens. `without` names turns shown elsewhere.

    With `is_full` spare room goes to whatever else was said, unless memory is a large one.
    """
    limit = min(max_tokens // LEAST_LINE + len(without) + 1, MOST_TURNS)
    hits = await search(db, user_id, question, limit=limit, reach=reach, questions=questions, is_full=is_full)
    return fill_budget([hit for hit in hits if hit.id not in without], max_tokens, reach.zone)


def fill_budget(hits: Sequence[Hit], max_tokens: int, zone: tzinfo = UTC) -> Context:
    """Lines of the best hits that fit; one that does not is left out, a shorter one may follow. No content twice."""
    lines: list[str] = []
    shown: list[Hit] = []
    seen: set[str] = set()
    room = max_tokens - _cost(f"{FENCE_OPEN}\n{FENCE_CLOSE}\n")
    is_exact = True
    for hit in hits:
        if room < LEAST_LINE and not is_exact:
            # Each line was rounded up; together they cost less.
            room, is_exact = max_tokens - _cost(Context(tuple(lines), ()).fenced), True
        if room < LEAST_LINE:
            break
        if hit.text in seen:
            continue
        line = turn_line(f"{local(hit.occurred_at, zone):%Y-%m-%d}", hit.speaker, hit.text)
        cost = _cost(line + "\n")
        if cost > room:
            continue
        seen.add(hit.text)
        lines.append(line)
        shown.append(hit)
        room -= cost
        is_exact = False
    return Context(tuple(lines), tuple(shown))


def _cost(text: str) -> int:
    """Tokens, for whatever model the context goes to: what is counted, or what the thriftiest tokenizer could do."""
    return max(tokens.count(text), math.ceil(len(text) / CHARS_A_TOKEN))


def turn_line(when: str, speaker: str, text: str, chars: int = LINE_CHARS) -> str:
    """One turn as one escaped line of at most `chars` characters of its text: `- [2023-05-08] Caroline: ...`."""
    return f"- [{when}] {escape(one_line(speaker))}: {escape(shorten(one_line(text), chars))}"
