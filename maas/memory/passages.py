"""Passages of a long text: parts of a few sentences that end where paragraphs, list items or sentences end.

A passage is a unit that can be ranked, embedded and shown on its own. Nothing is lost: the passages of a text, joined,
are the text.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from shared.text import is_joined, sentence_ends

MIN_CHARS, MAX_CHARS = 160, 400


class Passage(NamedTuple):
    """The characters `start` to `end` of a text; the white space at its end does not count as length."""

    start: int
    end: int


def split_passages(text: str, min_chars: int = MIN_CHARS, max_chars: int = MAX_CHARS) -> list[Passage]:
    """Cut a text into passages of `min_chars` to `max_chars` characters, in time that is linear in its length.

    The last passage may be shorter. A passage ends at the last blank line within these bounds, else at the end of a
    line, of a sentence or of a word, and within a word only if that is longer. A line that announces others, such as a
    heading, is not its last one.
    """
    passages: list[Passage] = []
    ends: list[int] | None = None
    start = 0
    while start < len(text):
        end = len(text)
        if end - start > max_chars:
            ends = list(sentence_ends(text)) if ends is None else ends
            end = _after_space(text, _best_end(text, ends, start, min_chars, max_chars))
        passages.append(Passage(start, end))
        start = end
    return passages


def _best_end(text: str, ends: list[int], start: int, min_chars: int, max_chars: int) -> int:
    first, last = start + max(min_chars, 1), start + max_chars
    best, best_lines = 0, -1
    # The first end behind `last` is near enough if only white space lies between.
    for end in ends[bisect_right(ends, first) : bisect_right(ends, last) + 1]:
        if end > last and not text[last:end].isspace():
            continue
        bare = text[start : min(end, last)].rstrip()
        if not min_chars <= len(bare) <= max_chars:
            continue
        lines = min(text.count("\n", start + len(bare), min(end, last + max_chars)), 2)
        if lines and _announces(bare[bare.rfind("\n") + 1 :]):
            lines = 0
        if lines >= best_lines:
            best, best_lines = end, lines
    if best_lines >= 0:
        return best
    for space in (" ", "\n", "\t"):
        if (index := text.rfind(space, first, last + 1)) >= 0:
            return index + 1
    end = last
    while end > first and is_joined(text, end):
        end -= 1
    return end


def _announces(line: str) -> bool:
    return line.endswith(":") or line.lstrip().startswith("#")


def _after_space(text: str, end: int) -> int:
    while end < len(text) and text[end].isspace():
        end += 1
    return end
