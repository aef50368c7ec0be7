"""Emails that look like another one: letters of several alphabets in one word, as UTS 39 describes them.

Letters that look alike within one alphabet (`rn` and `m`, `l` and `1`) are not found.
"""

from __future__ import annotations

import re
import unicodedata

# The first words of the names of letters in Unicode.
LATIN = {"LATIN"}
WITH_IDEOGRAPHS = LATIN | {"CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"}
LIKE_LATIN = {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET"}
MARK = "MARK"  # a sign at a letter that is not one character with it, or an empty letter


def looks_like_another(email: str) -> bool:
    """Whether a normalised email mixes alphabets in a word, or has words like Latin ones before a Latin ending."""
    local, _, domain = email.rpartition("@")
    labels = [local, *map(_decode, domain.split("."))]
    ending = _alphabets(labels[-1])
    return any(_is_mixed(_alphabets(label), ending) for label in labels)


def _is_mixed(alphabets: set[str], ending: set[str]) -> bool:
    if alphabets <= LATIN or alphabets <= WITH_IDEOGRAPHS:
        return False
    if len(alphabets - {MARK}) != 1 or alphabets == LATIN | {MARK}:
        return True
    return not alphabets.isdisjoint(LIKE_LATIN) and (MARK in alphabets or alphabets != ending)


def _alphabets(label: str) -> set[str]:
    names = {re.split("[ -]", unicodedata.name(letter, "?"))[0] for letter in label if letter.isalpha()}
    return names | {MARK for letter in label if _is_mark(letter)}


def _is_mark(letter: str) -> bool:
    return unicodedata.category(letter).startswith("M") or "FILLER" in unicodedata.name(letter, "")


def _decode(label: str) -> str:
    """The letters of a label of a domain that is written in ASCII (`xn--...`)."""
    try:
        return label[4:].encode().decode("punycode") if label.startswith("xn--") else label
    except UnicodeError:
        return label
