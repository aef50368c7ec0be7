"""Spelling: the repair of misspelt words of a query by words that the user has used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

from rapidfuzz.distance import OSA

from maas import queries
from shared import tokens
from shared.db import Database

MIN_REPAIRED_CHARS = 5
MAX_REPAIRED_WORDS = 16
MAX_CACHED_TEXTS = 20_000
MAX_CACHED_CHARS = 50  # of a text
_lexemes_by_text: dict[str, tuple[str, ...]] = {}  # what the dictionaries of Postgres make of a text does not change


async def repair(
    db: Database, user_id: UUID, words: Iterable[str], unknown: Collection[str], *, is_counted: bool
) -> dict[str, str]:
    """Return for unknown terms, which do not occur in memory, those that were probably meant.

    `words` are those of the query. `is_counted` says that the terms of this user are counted.
    """
    longest = sorted(filter(is_repairable, words), key=len, reverse=True)[:MAX_REPAIRED_WORDS]
    misspelt = [(word, stem) for word, stem in zip(longest, await _stems(db, longest), strict=True) if stem in unknown]
    if not misspelt:
        return {}
    swapped_words = [(stem, swapped) for word, stem in misspelt for swapped in swaps(word)]
    stems: dict[str, set[str]] = {stem: set() for _, stem in misspelt}
    swapped_stems = await _stems(db, [swapped for _, swapped in swapped_words])
    for (stem, _), other in zip(swapped_words, swapped_stems, strict=True):
        stems[stem].add(other)
    prefixes = sorted({prefix for stem in stems for prefix in likely_prefixes(stem)})
    max_chars = max(map(len, stems)) + 1
    return repair_terms(stems, await _known_lexemes(db, user_id, prefixes, max_chars, is_counted=is_counted))


async def lexemes(db: Database, texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the lexemes of each text; those of short texts are cached, and a number is its own."""
    found = {text: _lexemes_by_text[text] for text in texts if text in _lexemes_by_text}
    found |= {text: (text,) for text in texts if text.isascii() and text.isdigit() and len(text) <= MAX_CACHED_CHARS}
    missing = [text for text in texts if text not in found]
    rows = await db.rows(queries.lexemes, missing) if missing else []
    found |= {text: tuple(row["lexemes"]) for text, row in zip(missing, rows, strict=True)}
    if len(_lexemes_by_text) + len(missing) > MAX_CACHED_TEXTS:
        _lexemes_by_text.clear()
    _lexemes_by_text.update((text, found[text]) for text in missing[:MAX_CACHED_TEXTS] if len(text) <= MAX_CACHED_CHARS)
    return [found[text] for text in texts]


async def _stems(db: Database, words: Sequence[str]) -> list[str]:
    """Return the lexeme of each word, empty for a stop word."""
    return [found[0] if found else "" for found in await lexemes(db, words)]


async def _known_lexemes(
    db: Database, user_id: UUID, prefixes: list[str], max_chars: int, *, is_counted: bool
) -> dict[str, int]:
    """Return the lexemes of the user that begin with one of the prefixes, with their document frequency."""
    if is_counted:
        rows = await db.rows(queries.counted_lexemes, user_id, prefixes, max_chars)
        return {row["term"]: row["turns"] for row in rows}
    said = await db.rows(queries.said_lexemes, user_id)
    return count_lexemes((row["lexemes"] for row in said), prefixes, max_chars)


def is_repairable(word: str) -> bool:
    """Return whether a word may be a misspelt one: it is long enough, no number, and not known to the tokenizers."""
    return len(word) >= MIN_REPAIRED_CHARS and word.isalpha() and not tokens.is_word(word)


def swaps(word: str) -> set[str]:
    """Return the words that differ from this one by two neighbouring letters in the other order."""
    pairs = range(len(word) - 1)
    return {word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in pairs} - {word}


def likely_prefixes(term: str) -> set[str]:
    """Return the two letters that the word meant may begin with, if one of the first letters is wrong or swapped."""
    candidates = (term[:2], term[1] + term[0], term[0] + term[2:3], term[1:3])
    return {prefix for prefix in candidates if len(prefix) == 2}


def count_lexemes(vectors: Iterable[str], prefixes: Iterable[str], max_chars: int) -> dict[str, int]:
    """Count, in tsvectors printed by Postgres, the lexemes that begin with a prefix and have at most `max_chars`."""
    any_prefix = "|".join(map(re.escape, prefixes))
    return Counter(re.findall(rf"'((?:{any_prefix})[^']{{0,{max_chars - 2}}})'", " ".join(vectors)))


def repair_terms(terms: Mapping[str, Iterable[str]], known: Mapping[str, int]) -> dict[str, str]:
    """Return for each term the nearest known lexeme: two letters swapped, or one letter wrong, missing or added.

    `terms` maps each term to the lexemes of its word with two letters swapped, since a stemmer cuts a misspelt word
    elsewhere. `known` maps lexemes to how often the user used them; of several near ones the most frequent is chosen.
    """
    repaired: dict[str, str] = {}
    for term, swapped in terms.items():
        near = [word for word in swapped if word in known]
        if len(term) >= MIN_REPAIRED_CHARS and term.isalpha():
            near += [word for word in known if OSA.distance(term, word, score_cutoff=1) == 1]
        if near:
            repaired[term] = max(near, key=lambda word: (known[word], word))
    return repaired
