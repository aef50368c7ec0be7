"""What the words of a message count as where a certain tool waits."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from maas.conversations.phrases import is_form
from maas.tools.consent import tool_words, words

MIN_TYPO_CHARS = 6  # of a word that may be misspelt
_REPEATED = re.compile(r"(.)\1+")
_INFINITIVE_ENDINGS = ("ть", "ти", "чь")
Class = Literal[
    "yes", "soft", "do", "no", "not", "stop", "hold", "praise", "filler", "opener", "article", "preposition",
    "sarcasm", "only_no", "bare_not", "verb", "object", "name", "pause", "value", "number", "old", "unit", "fits",
    "enough", "timing", "at", "by_amount", "gerund", "infinitive", "touch", "keep", "alone", "light",
    "light_for_number", "particle", "typo", "item", "opinion", "not_being", "to", "unwanted", "participle",
    "adverb",
]  # fmt: skip
Item = frozenset[Class]
# Of which class a word of several classes is: the first of these.
PRECEDENCE: tuple[Class, ...] = (
    "sarcasm", "pause", "not", "no", "verb", "stop", "yes", "do", "soft", "hold", "only_no", "gerund", "participle",
    "touch", "old", "unit", "value", "typo",
)  # fmt: skip
_CLOSED: tuple[tuple[Class, Collection[str]], ...] = (
    ("yes", words.YES), ("soft", words.SOFT_YES), ("do", words.DO), ("no", words.NO), ("not", words.NOT),
    ("stop", words.STOP), ("hold", words.HOLD), ("praise", words.PRAISE),
    ("filler", words.FILLERS | words.ITEMS), ("opener", words.OPENERS), ("article", words.ARTICLES),
    ("preposition", words.PREPOSITIONS), ("sarcasm", words.SARCASM), ("only_no", words.ONLY_NO),
    ("bare_not", words.BARE_NOT), ("not_being", words.NOT_BEING), ("to", frozenset({"to"})),
    ("unwanted", words.UNWANTED), ("timing", words.TIMING), ("at", frozenset({"at", "на"})),
    ("fits", words.FITS), ("enough", words.ENOUGH), ("touch", words.TOUCH), ("keep", words.KEEP),
    ("alone", words.ALONE),
    ("typo", words.TYPOS_OF_YES), ("item", words.ITEMS), ("opinion", words.OPINIONS),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The phrases that count for a subject, and the words that may be misspelt."""

    known: dict[str, Item]
    shortened: dict[str, Item] = field(default_factory=dict)
    long: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()

    @classmethod
    def of(cls, verbs: tuple[str, ...], objects: tuple[str, ...]) -> Vocabulary:
        return _vocabulary(verbs, objects)

    def inflected(self, word: str) -> Item | None:
        """The classes of an object in another case, of a word with letters repeated or with one wrong."""
        if word in _all_verbs():  # of another tool
            return None
        if any(is_form(word, one) for one in self.objects):
            return frozenset({"object"})
        if (found := self.shortened.get(_REPEATED.sub(r"\1", word))) is not None and _REPEATED.search(word):
            return found
        return next((self.known[one] for one in self.long if _is_one_off(word, one)), None)


@cache
def _vocabulary(verbs: tuple[str, ...], objects: tuple[str, ...]) -> Vocabulary:
    known: dict[str, set[Class]] = {}
    spoken = [tool_words.VERBS[one] for one in verbs if one in tool_words.VERBS]
    classes: list[tuple[Class, Iterable[str]]] = [*_CLOSED]
    classes += [("verb", one.forms - tool_words.NOUNS) for one in spoken]
    classes += [("object", one.forms & tool_words.NOUNS) for one in spoken]
    classes += [("no", one.keep) for one in spoken]
    classes += [("object", tool_words.OBJECTS[one]) for one in objects if one in tool_words.OBJECTS]
    classes += [("participle", one.participles) for one in spoken]
    classes += [("adverb", one.adverbs) for one in spoken]
    classes += [("gerund", one.gerunds) for one in spoken]
    classes += [("infinitive", (form for form in one.forms if form.endswith(_INFINITIVE_ENDINGS))) for one in spoken]
    classes += [("light" if one.particles else "light_for_number", one.light) for one in spoken]
    classes += [("particle", one.particles) for one in spoken]
    if {"pause", "delete"} & set(verbs):
        classes.append(("alone", words.RUNNING))
    if not {"change", "raise", "lower"} & set(verbs):
        classes.append(("timing", ("at", "на")))
    classes += [("by_amount", tool_words.VERBS[one].forms) for one in verbs if one in ("raise", "lower")]
    for kind, phrases in classes:
        for phrase in phrases:
            known.setdefault(phrase, set()).add(kind)
    opposites = [tool_words.VERBS[tool_words.OPPOSITES[one]] for one in verbs if one in tool_words.OPPOSITES]
    unclear = {form for one in opposites for form in one.forms if known.get(form) == {"do"}}
    frozen = {phrase: frozenset(kinds) for phrase, kinds in known.items() if phrase not in unclear}
    decisive: Item = frozenset({"yes", "soft", "do", "no", "not", "stop", "verb"})
    shortened = {
        _REPEATED.sub(r"\1", phrase): kinds
        for phrase, kinds in frozen.items()
        if " " not in phrase and kinds & decisive
    }
    long = tuple(
        phrase
        for phrase, kinds in sorted(frozen.items())
        if " " not in phrase and len(phrase) >= MIN_TYPO_CHARS and kinds & decisive
    )
    russian = tuple(phrase for phrase, kinds in frozen.items() if kinds == {"object"} and not phrase.isascii())
    return Vocabulary(frozen, shortened, long, russian)


@cache
def _all_verbs() -> frozenset[str]:
    return frozenset(form for verb in tool_words.VERBS.values() for form in verb.forms)


def _is_one_off(word: str, known: str) -> bool:
    """Whether a word differs from a known one by one letter, or by two that changed places, not at either end."""
    if len(word) < MIN_TYPO_CHARS - 1 or abs(len(word) - len(known)) > 1 or word == known:
        return False
    end = 1 if known.isascii() else 2  # Russian endings tell a wish from a report
    if word[0] != known[0] or word[-end:] != known[-end:]:
        return False
    start = next((n for n, (one, other) in enumerate(zip(word, known, strict=False)) if one != other), None)
    if start is None:
        return False
    rest, other = word[start:], known[start:]
    return (
        rest[1:] == other[1:]
        or rest[1:] == other
        or rest == other[1:]
        or (len(rest) > 1 and rest[:2] == other[:2][::-1] and rest[2:] == other[2:])
    )
