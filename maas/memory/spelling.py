"""Misspelt words of a question, found again among the words that the user has used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from rapidfuzz.distance import OSA

SHORTEST = 5


def is_repairable(word: str) -> bool:
    """Whether a word is long enough to be taken for another one; a number never is."""
    return len(word) >= SHORTEST and word.isalpha()


def swaps(word: str) -> set[str]:
    """The words that have two neighbouring letters of this one in the other order."""
    pairs = range(len(word) - 1)
    return {word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in pairs} - {word}


def beginnings(term: str) -> set[str]:
    """The two letters that what was meant may begin with: as it is, swapped, or one of the first ones slipped in."""
    return {one for one in (term[:2], term[1] + term[0], term[0] + term[2:3], term[1:3]) if len(one) == 2}


def count_lexemes(texts: Iterable[str], beginnings: Iterable[str], longest: int) -> dict[str, int]:
    """How often each lexeme that begins so, of at most `longest` letters, stands in tsvectors that Postgres printed."""
    any_beginning = "|".join(map(re.escape, beginnings))
    return Counter(re.findall(rf"'((?:{any_beginning})[^']{{0,{longest - 2}}})'", " ".join(texts)))


def repair(terms: Mapping[str, Iterable[str]], known: Mapping[str, int]) -> dict[str, str]:
    """For each term the nearest known lexeme: of another order of letters, or a letter wrong, missing or added.

    `terms` names for each the lexemes of its word with two letters swapped: a stemmer cuts a misspelt word elsewhere.
    `known` counts how often the user said a lexeme; of several that are near, the most frequent is meant.
    """
    found: dict[str, str] = {}
    for term, swapped in terms.items():
        near = [word for word in swapped if word in known]
        if is_repairable(term):
            near += [word for word in known if OSA.distance(term, word, score_cutoff=1) == 1]
        if near:
            found[term] = max(near, key=lambda word: (known[word], word))
    return found
