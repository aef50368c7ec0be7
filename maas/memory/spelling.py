"""Spelling repair: replaces misspelt words of a query by words that the user has used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from rapidfuzz.distance import OSA

MIN_WORD_CHARS = 5


def is_repairable(word: str) -> bool:
    """Return whether a word is long enough to be repaired; a number never is."""
    return len(word) >= MIN_WORD_CHARS and word.isalpha()


def swaps(word: str) -> set[str]:
    """Return the words that differ from this one by two neighbouring letters in the other order."""
    pairs = range(len(word) - 1)
    return {word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in pairs} - {word}


def prefixes(term: str) -> set[str]:
    """Return the two letters that the word meant may begin with, if one of the first letters is wrong or swapped."""
    candidates = (term[:2], term[1] + term[0], term[0] + term[2:3], term[1:3])
    return {prefix for prefix in candidates if len(prefix) == 2}


def count_lexemes(vectors: Iterable[str], prefixes: Iterable[str], max_chars: int) -> dict[str, int]:
    """Count, in tsvectors printed by Postgres, the lexemes that begin with a prefix and have at most `max_chars`."""
    any_prefix = "|".join(map(re.escape, prefixes))
    return Counter(re.findall(rf"'((?:{any_prefix})[^']{{0,{max_chars - 2}}})'", " ".join(vectors)))


def repair(terms: Mapping[str, Iterable[str]], known: Mapping[str, int]) -> dict[str, str]:
    """Return for each term the nearest known lexeme: two letters swapped, or one letter wrong, missing or added.

    `terms` maps each term to the lexemes of its word with two letters swapped, since a stemmer cuts a misspelt word
    elsewhere. `known` maps lexemes to how often the user used them; of several near ones the most frequent is chosen.
    """
    repaired: dict[str, str] = {}
    for term, swapped in terms.items():
        near = [word for word in swapped if word in known]
        if is_repairable(term):
            near += [word for word in known if OSA.distance(term, word, score_cutoff=1) == 1]
        if near:
            repaired[term] = max(near, key=lambda word: (known[word], word))
    return repaired
