"""Misspelt words of a question, found again among the words that the user has used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rapidfuzz.distance import OSA

SHORTEST = 5


def is_repairable(term: str) -> bool:
    """Whether a term is long enough to be taken for another one; a number never is."""
    return len(term) >= SHORTEST and term.isalpha()


def repair(terms: Iterable[str], known: Mapping[str, int]) -> dict[str, str]:
    """For each term the nearest known lexeme one slip away: a letter wrong, missing, added, or two changed places.

    `known` counts how often the user said a lexeme; of several that are near, the most frequent is meant.
    """
    found: dict[str, str] = {}
    for term in terms:
        near = [word for word in known if OSA.distance(term, word, score_cutoff=1) == 1]
        if near:
            found[term] = max(near, key=lambda word: (known[word], word))
    return found
