"""Labels: short names of the lines of a prompt, by which a model refers to them; code maps them back.

A label costs a fraction of an id's tokens and cannot be off by one, as a number is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

MAX_WORDS = 2  # of a label
MAX_WORD_CHARS = 16
MIN_WORD_CHARS = 2
_WORD = re.compile(r"[^\W_]+")
_LABEL = re.compile(r"#?([^\W_]+(?:-[^\W_]+)*)")


def make_labels(lines: Sequence[Iterable[str]]) -> tuple[str, ...]:
    """Return a label for each line, such as `#alma-porto`, made of its words that the fewest other lines have.

    The words of a line are its tags, or those of its text. Labels are unique: the second `#alma` is `#alma-2`.
    """
    words = [list(dict.fromkeys(word for one in line if (word := _first_word(one)))) for line in lines]
    frequency = Counter(word for own in words for word in own)
    labels: list[str] = []
    taken: set[str] = set()
    for own in words:
        rarest = sorted(own, key=frequency.__getitem__)[:MAX_WORDS]
        name = "#" + ("-".join(word for word in own if word in rarest) or "line")
        number, label = 1, name
        while label in taken:
            number += 1
            label = f"{name}-{number}"
        taken.add(label)
        labels.append(label)
    return tuple(labels)


def read_labels(text: str, labels: Collection[str]) -> list[str]:
    """Return the labels among these that a model has written in a text, in its order, each once."""
    written = (f"#{match[1]}" for match in _LABEL.finditer(text.casefold()))
    return list(dict.fromkeys(label for label in written if label in labels))


def _first_word(text: str) -> str:
    """Return the first word of a tag, as a label has it; empty without one."""
    match = _WORD.search(text.casefold())
    return match[0][:MAX_WORD_CHARS] if match and len(match[0]) >= MIN_WORD_CHARS else ""
