"""Texts by day: how a summary of several days names each of them, and how it is cut without losing one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from shared.text import one_line, shorten

MAX_CHARS_PER_WORD = 10  # a text whose words are longer, or not parted by spaces, has more words than spaces
_LABEL = re.compile(r"(?:(?<=\s)|^)(\d{4}-\d\d-\d\d): (?=\S)")
_WORD = re.compile(r"\S+")


def split_days(text: str, days: Sequence[str] | None = None) -> tuple[str, dict[str, str]]:
    """Return what stands before the first day, and the text of each day that is named as `2025-11-03: `.

    With `days` only those count as days; of a day that is named twice both texts are kept.
    """
    marks = [one for one in _LABEL.finditer(text) if days is None or one[1] in days]
    ends = [*(one.start() for one in marks[1:]), len(text)]
    texts: dict[str, str] = {}
    for mark, end in zip(marks, ends, strict=True) if marks else ():
        texts[mark[1]] = f"{texts.get(mark[1], '')} {text[mark.end() : end].strip()}".strip()
    return (text[: marks[0].start()] if marks else text).strip(), texts


def join_days(texts: Mapping[str, str]) -> str:
    """Return the texts of days in order of time, each behind its day; that of one day alone is not dated."""
    if len(texts) < 2:
        return "".join(texts.values())
    return " ".join(f"{day}: {undated(texts[day])}" for day in sorted(texts))


def undated(text: str) -> str:
    """Return a text of one day that `split_days` does not split: its own dates are no days of it."""
    return _LABEL.sub(r"\1, ", text)


def count_words(text: str) -> int:
    """Return the number of words of a text, at ten characters at most."""
    return max(len(_WORD.findall(text)), math.ceil(len(text) / MAX_CHARS_PER_WORD))


def cut_words(text: str, max_words: int) -> str:
    """Return a text with at most `max_words` words, cut at the end of a sentence where that is near."""
    text = one_line(text)
    if count_words(text) <= max_words:
        return text
    ends = [one.end() for one in _WORD.finditer(text)][: max(max_words - 1, 1)]
    return shorten(text, max(min(ends[-1] + 1, max_words * MAX_CHARS_PER_WORD), 2))
