"""The tables of `shared/tokens.py`, and how far its estimate is from the real tokenizers.

`python -m bench.tokens` writes both tables from the vocabularies alone; no text takes part. Then it measures the
estimate on what every Python brings along, its documentation and its sources, and on the text files named as arguments.
The three margins of the estimate were chosen with free texts: the fortunes of Debian in English and Russian, the
dialogues of Battle for Wesnoth in both, Debian's handbook, the Devil's Dictionary, the Jargon File, and dated chat
lines put together from their sentences.
"""

from __future__ import annotations

import random
import re
import sys
import warnings
from array import array
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

from bench.report import console
from shared.tokens import CYRILLIC, TABLE, count, find_slot

SLOTS = 1 << 18
PIECES = 1000
CYRILLIC_TOKEN = re.compile("[^\u0400-\u04ff]?[\u0400-\u04ff]+")


@cache
def encodings() -> list[Any]:
    """The real tokenizers; they take a second to load."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of how it reads its own tables
        import bpe_openai
    return [bpe_openai.get_encoding(name) for name in ("cl100k_base", "o200k_base")]


def vocabulary() -> list[bytes]:
    """The tokens that both tokenizers know."""
    first, second = (set(encoding.token_byte_values()) for encoding in encodings())
    return sorted(first & second - {b""})


def table() -> bytes:
    """The mark of every token in its slot: little-endian numbers of two bytes, 0 in a free slot."""
    marks = array("H", bytes(2 * SLOTS))
    for token in vocabulary():
        slot, mark = find_slot(token, marks)
        marks[slot] = mark
    if sys.byteorder == "big":
        marks.byteswap()
    return marks.tobytes()


def cyrillic() -> str:
    """The tokens of Cyrillic letters, with or without a sign before them, one a line."""
    tokens = (token.decode(errors="replace") for token in vocabulary())
    return "".join(f"{token}\n" for token in tokens if CYRILLIC_TOKEN.fullmatch(token))


def real(text: str) -> int:
    """The tokens of `text` for the tokenizer that needs more of them."""
    return max(len(encoding.encode_ordinary(text)) for encoding in encodings())


def ratios(text: str, size: int) -> list[float]:
    """Estimate by real number, in order, for pieces of `size` characters anywhere in `text`."""
    starts = random.Random(size).choices(range(max(1, len(text) - size)), k=PIECES)
    return sorted(count(piece) / real(piece) for piece in (text[start : start + size] for start in starts))


def texts(files: list[str]) -> Iterator[tuple[str, str]]:
    yield "documentation of Python", "\n".join(topics.values())
    yield "sources of Python", "\n".join(path.read_text() for path in sorted(Path(re.__file__).parent.glob("*.py")))
    for name in files:
        yield name, Path(name).read_text()


def main() -> None:
    TABLE.write_bytes(table())
    CYRILLIC.write_text(cyrillic(), encoding="utf-8")
    for name, text in texts(sys.argv[1:]):
        for size in (200, 1000):
            found = ratios(text, size)
            mean = sum(found) / len(found)
            console.print(f"{name}, {size} characters: mean {mean:.3f}, least {found[0]:.3f}, most {found[-1]:.3f}")


if __name__ == "__main__":
    main()
