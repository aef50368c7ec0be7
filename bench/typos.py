"""One slip of the finger in a question, always the same."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from maas.memory import spelling

_WORD = re.compile(r"[^\W\d_]{6,}")


def misspell(text: str) -> str | None:
    """The text with two inner letters beside each other changed round in its longest word; None where none is long.

    Of several as long the last: what opens a question is seldom what it asks for.
    """
    word = max(_WORD.finditer(text), key=lambda one: (len(one[0]), one.start()), default=None)
    if word is None:
        return None
    letters = word[0]
    middle = len(letters) // 2 - 1
    for place in sorted(range(1, len(letters) - 2), key=lambda one: abs(one - middle)):
        left, right = letters[place], letters[place + 1]
        if left != right:
            at = word.start() + place
            return f"{text[:at]}{right}{left}{text[at + 2 :]}"
    return None


@contextmanager
def without_repair() -> Iterator[None]:
    """Searches take every word as it is written."""
    shortest = spelling.MIN_REPAIRED_CHARS
    spelling.MIN_REPAIRED_CHARS = sys.maxsize
    try:
        yield
    finally:
        spelling.MIN_REPAIRED_CHARS = shortest
