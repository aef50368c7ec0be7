"""Statements: whether two messages say the same, and whether a newer one replaces what an older one says.

Both rules are strict: a fact that is shown twice costs some tokens, one that is wrongly taken for another is lost.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

MAX_COMPARED_CHARS = 2000  # a longer message is the same as another only if their texts are equal
MIN_NEAR_WORDS, MAX_NEAR_WORDS = 5, 60  # of messages that may be nearly the same
MIN_SHARED, MAX_ADDED_WORDS = 0.8, 4  # of two messages of which one has some words more
MAX_COMPARED = 8  # statements with a word in common that one is compared with
MAX_CHANGE_CHARS = 160
MIN_SUBJECT_WORDS, MAX_VALUE_WORDS = 3, 3
_WORD = re.compile(r"\w+(?:['’]\w+)?|\?")
_WEAK_TEXT = "a an the and but so well oh hey ok okay just actually really btw а и но ну вот же ли просто кстати"
_WEAK_WORDS = frozenset(_WEAK_TEXT.split())
_NEGATION = re.compile(r"no|not|never|none|nor|without|cannot|\w+n['’]t|не|нет|ни|никогда|без", re.IGNORECASE)
_CHANGED = re.compile(r"\b(?:now|теперь|сейчас)\b|\b(?P<ended>no longer|больше не)\b", re.IGNORECASE)
_UNSURE = re.compile(
    r"[?;\n]|[.!…]\s*\S|\b(?:if|when|would|could|may|might|maybe|perhaps|wish|want|hope|plan|also|too|still|again|"
    r"right now|until|если|когда|бы|может|возможно|хочу|тоже|также|ещё|еще|снова|пока)\b",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"live|lives|living|work|works|working|study|studies|studying|жив(?:у|ём|ем|ёт|ет|ут)|работа(?:ю|ем|ет|ют)|"
    r"уч(?:усь|имся|ится|атся)"
)


class Statements:
    """The statements of messages, each with the number that it was added with."""

    def __init__(self) -> None:
        self._equal: dict[tuple[str, tuple[str, ...]], int] = {}
        self._near: dict[tuple[str, str], list[tuple[int, tuple[str, ...]]]] = {}

    def find(self, speaker: str, text: str) -> int | None:
        """Return the number of a statement of this speaker that says the same in the same or nearly the same words.

        They are nearly the same if one is the other with a few words more, none of them a number or a negation.
        """
        words, telling = _words(text)
        number = self._equal.get((speaker, words))
        if number is not None:
            return number
        for word in telling:
            for number, other in self._near.get((speaker, word), [])[-MAX_COMPARED:]:
                if _extends(words, other) or _extends(other, words):
                    return number
        return None

    def add(self, number: int, speaker: str, text: str) -> None:
        """Add a statement that was not found."""
        words, telling = _words(text)
        self._equal[speaker, words] = number
        for word in telling:
            self._near.setdefault((speaker, word), []).append((number, words))


def is_fuller(one: str, other: str) -> bool:
    """Return whether the first of two texts that say the same has more words that count."""
    return len(_words(one)[0]) > len(_words(other)[0])


@lru_cache(maxsize=64)
def _words(text: str) -> tuple[tuple[str, ...], list[str]]:
    """Return the words that count, and the longest of them: of two texts that are nearly the same, one is shared."""
    if len(text) > MAX_COMPARED_CHARS:
        return (text,), []
    found = _WORD.findall(text.casefold())
    words = tuple([word for word in found if word not in _WEAK_WORDS] or found or [text])
    if not MIN_NEAR_WORDS <= len(words) <= MAX_NEAR_WORDS:
        return words, []
    different = sorted(sorted(set(words)), key=len, reverse=True)
    return words, different[: len(different) - math.ceil(len(different) * MIN_SHARED) + 1]


def _extends(longer: Sequence[str], shorter: Sequence[str]) -> bool:
    """Return whether `longer` is `shorter` with a few words more."""
    if not MIN_SHARED * len(longer) <= len(shorter) < len(longer) <= len(shorter) + MAX_ADDED_WORDS:
        return False
    rest = iter(shorter)
    missing = next(rest)
    added = 0
    for word in longer:
        if word == missing:
            missing = next(rest, "")
        elif (added := added + 1) > MAX_ADDED_WORDS or _is_decisive(word):
            return False
    return not missing


def _is_decisive(word: str) -> bool:
    return word == "?" or any(map(str.isdigit, word)) or bool(_NEGATION.fullmatch(word))


def says_change(text: str) -> bool:
    """Return whether a short message says that something is so now, or no longer."""
    return len(text) <= MAX_CHANGE_CHARS and bool(_CHANGED.search(text)) and not _UNSURE.search(text)


def replaces(newer: str, older: str) -> bool:
    """Return whether `newer`, which says a change, states another value of what `older` states, or that it has ended.

    Both begin alike and differ in their last words, after a verb such as *live* or *work*, or in a number.
    """
    if len(older) > MAX_CHANGE_CHARS or _UNSURE.search(older) or not says_change(newer):
        return False
    has_ended = any(match["ended"] for match in _CHANGED.finditer(newer))
    new, old = (_words(_CHANGED.sub(" ", text))[0] for text in (newer, older))
    if any(_NEGATION.fullmatch(word) for word in (*new, *old)):
        return False
    if has_ended:
        return new == old and len(new) >= MIN_SUBJECT_WORDS
    start = _shared(new, old)
    end = _shared(new[start:][::-1], old[start:][::-1])
    values = new[start : len(new) - end], old[start : len(old) - end]
    if start < MIN_SUBJECT_WORDS or end >= start or not all(0 < len(value) <= MAX_VALUE_WORDS for value in values):
        return False
    is_number = all(len(value) == 1 and value[0].isdigit() for value in values)
    return is_number or (end == 0 and any(_STATE.fullmatch(word) for word in new[:start]))


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words two lists have in common at their beginning."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in pairs)
