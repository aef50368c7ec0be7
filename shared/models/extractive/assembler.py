"""The Assembler's answer by rules: the lines that fit, most important first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shared import tokens

RECENT, FOUND = "Recent messages:", "Remembered:"  # the headings of memory: what was said last, what search found
LEAST_CUT_TOKENS = 20  # a line that would keep less is left out
_HALF_ENTITY = re.compile("&[a-z]{0,3}$")


def answer(inputs: Mapping[str, Any]) -> str:
    """Keep of `memory` (escaped lines) what fits into `max_tokens`."""
    return condense(inputs["memory"], int(inputs["max_tokens"]))


def condense(memory: Sequence[str], max_tokens: int) -> str:
    """Join the lines that fit into `max_tokens`, in their order: first what search found, then the newest messages.

    Lines without a heading count as found, the most important first. The first line that does not fit is cut if it is
    the most important one, or stands under a heading; of the others only those that fit follow.
    """
    return keep(memory, by_importance(memory), max_tokens)


def by_importance(memory: Sequence[str]) -> list[int]:
    """The places of the lines without the headings, the most important first."""
    found: list[int] = []
    recent: list[int] = []
    section = found
    for place, line in enumerate(memory):
        if line in (RECENT, FOUND):
            section = recent if line == RECENT else found
        else:
            section.append(place)
    return [*found, *reversed(recent)]


def keep(memory: Sequence[str], order: Sequence[int], max_tokens: int, *, is_prose: bool = False) -> str:
    """Join the lines that fit into `max_tokens`, chosen in this order; a heading stays with the first line under it.

    `is_prose`: lines are paragraphs, of which a part is worth something too.
    """
    whole = "\n".join(memory)
    if len(whole.encode()) <= max_tokens or tokens.count(whole) <= max_tokens:
        return whole
    headings = dict(_headings(memory))
    kept: dict[int, str] = {}
    room = max_tokens
    is_cut = False
    for place in order:
        heading = headings.get(place)
        above = {} if heading is None or heading in kept else {heading: memory[heading]}
        left = room - sum(tokens.count(line) + 1 for line in above.values())
        line = memory[place]
        cost = tokens.count(line) + 1
        if cost > left:
            if is_cut or (left < LEAST_CUT_TOKENS if heading is not None or is_prose else kept):
                continue
            line, cost, is_cut = _HALF_ENTITY.sub("", tokens.fit(line, left - (heading is not None))), left, True
        kept |= {**above, place: line}
        room = left - cost
    return "\n".join(kept[place] for place in sorted(kept))


def _headings(memory: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The place of each line that stands under a heading, and the heading's place."""
    heading = None
    for place, line in enumerate(memory):
        if line in (RECENT, FOUND):
            heading = place
        elif heading is not None:
            yield place, heading
