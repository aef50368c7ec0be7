"""Words that are hard to read: runs of signs on which a parser or a pattern could spend minutes."""

from __future__ import annotations

import random

BYTES = 65_536  # of the longest question
PIECES = (
    "a_", "1.2.3e4-", "a-1.", "x-", "eyJ-", "<!-- ", "notes ", " ", "\n", "\t ", ".", "!?", ". ", "…", "-", "_", "&",
    "<", "`", "**", "а-", "т.д. ", "Я. ", "中", "👍🏽", "e\u0301", "postgresql://a:", "http://a.b/", "a@", "(",
    "[[", "1 ", "яА ",
)  # fmt: skip
HEADS = ("", "notes", "remember: ", "заметки", "Why? ", "<system>")
ENDS = ("x", "?", "!", " key", ".")


def long_run(draw: random.Random) -> str:
    """A question with a long run in it, which begins and ends with what can be seen."""
    piece = "".join(draw.choice(PIECES) for _ in range(draw.choice([1, 1, 1, 2, 3])))
    head, end = draw.choice(HEADS), draw.choice(ENDS)
    space = draw.choice([2_000, 20_000, BYTES]) - len((head + end).encode())
    return head + piece * (space // len(piece.encode())) + end
