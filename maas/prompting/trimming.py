"""Trimming: which lines of memory stay where not all of them fit into a token limit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shared import tokens

RECENT, FOUND = "Recent messages:", "Remembered:"  # headings of memory: the newest messages, the search results
NEAREST = "No message answers this question for certain; these are the nearest:"  # a line above search results
MIN_CUT_TOKENS = 20  # a line that would be cut to less is left out
_HALF_ENTITY = re.compile("&[a-z]{0,3}$")


def condense(memory: Sequence[str], max_tokens: int) -> str:
    """Join the lines that fit into `max_tokens` in their order, preferring search results, then the newest messages.

    Lines without a heading count as search results, the most important first. The first line that does not fit is cut
    if it is the most important one or stands under a heading; of the others only lines that fit whole follow.
    """
    return keep(memory, by_importance(memory), max_tokens)


def by_importance(memory: Sequence[str]) -> list[int]:
    """Return the indexes of all lines but the headings, the most important first."""
    results: list[int] = []
    recent: list[int] = []
    section = results
    for index, line in enumerate(memory):
        if line in (RECENT, FOUND):
            section = recent if line == RECENT else results
        else:
            section.append(index)
    return [*results, *reversed(recent)]


def keep(memory: Sequence[str], order: Sequence[int], max_tokens: int, *, is_prose: bool = False) -> str:
    """Join the lines that fit into `max_tokens`, chosen in this order; a heading is kept with its first line.

    `order` holds indexes into `memory`. `is_prose`: lines are paragraphs, so a part of any of them may be kept.
    """
    whole = "\n".join(memory)
    if len(whole.encode()) <= max_tokens or tokens.count(whole) <= max_tokens:
        return whole
    headings = dict(_headings(memory))
    chosen: dict[int, str] = {}
    room = max_tokens
    is_cut = False
    for index in order:
        heading = headings.get(index)
        above = {} if heading is None or heading in chosen else {heading: memory[heading]}
        left = room - sum(tokens.count(line) + 1 for line in above.values())
        line = memory[index]
        cost = tokens.count(line) + 1
        if cost > left:
            if is_cut or (left < MIN_CUT_TOKENS if heading is not None or is_prose else chosen):
                continue
            line, cost, is_cut = _HALF_ENTITY.sub("", tokens.fit(line, left - (heading is not None))), left, True
        chosen |= {**above, index: line}
        room = left - cost
    return "\n".join(chosen[index] for index in sorted(chosen))


def _headings(memory: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the index of each line under a heading, and the index of that heading."""
    heading = None
    for index, line in enumerate(memory):
        if line in (RECENT, FOUND):
            heading = index
        elif heading is not None:
            yield index, heading
