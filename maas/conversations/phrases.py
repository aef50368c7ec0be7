"""Words and phrases of a definition, found in a text in any Russian inflection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# Russian inflection: what may follow the stem of a noun or an adjective. Any ending would take "лидер" for "лиды".
_VOWELS = "аеиоуыэюяйь"
_RUSSIAN_WORD = re.compile("[а-я]+")
_RUSSIAN_ENDING = re.compile(f"[{_VOWELS}]{{0,2}}(?:ми|го|му|[мвх])?[ийюе]?")
_SPELLINGS = str.maketrans("ё", "е")
_MIN_STEM_CHARS = 3


def words_of(text: str) -> list[str]:
    """Return the words of a text, folded."""
    return re.findall(r"\w+", text.casefold().translate(_SPELLINGS))


def holds(words: Sequence[str], phrase: str) -> bool:
    """Return whether the words of a phrase follow one another in `words`."""
    parts = words_of(phrase)
    starts = range(len(words) - len(parts) + 1) if parts else ()
    return any(all(is_form(words[start + n], one) for n, one in enumerate(parts)) for start in starts)


def find_phrases(text: str, phrases: Iterable[str]) -> list[str]:
    """Return those phrases that the text holds."""
    words = words_of(text)
    return [one for one in phrases if holds(words, one)]


def is_form(word: str, keyword: str) -> bool:
    """Return whether a word is a keyword in a Russian inflection, or the same word."""
    stem = keyword.rstrip(_VOWELS)
    if len(stem) < _MIN_STEM_CHARS or not _RUSSIAN_WORD.fullmatch(keyword):
        return word == keyword
    return word.startswith(stem) and _RUSSIAN_ENDING.fullmatch(word, len(stem)) is not None
