"""Which facts a question asks for, although it may share no word with them: `Where do I live?`, `We moved to Oslo`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from maas.memory.query import MAX_PARSED_CHARS

USER = "user"
MIN_STEM_CHARS = 4
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|we|my|our|me|us|я|мы|мне|меня|нам|нас|мо[йяеёию]|моего|моей|моих|мою|наш\w*)\b")
_NAMING = re.compile(r"\b(?:who|call(?:ed)?|name[sd]?)\b|\b(?:кто|зовут|звать|имя|имени|кличк\w)\b")
_WORD = re.compile(r"[^\W_]+")
_ATTRIBUTES: Mapping[str, re.Pattern[str]] = {  # what the patterns of facts call a thing, and how it is asked for
    "residence": re.compile(
        r"\b(?:where|which (?:town|city|place|country)|what (?:town|city|place|country))\b.*\b(?:live[sd]?|living|home|"
        r"moved?|reside[sd]?)\b|\b(?:где|куда|в как(?:ом|ой) (?:городе|стране|селе|деревне))\b.*\b(?:жив|жил|дом\b|"
        r"переехал|перебрал)"
    ),
    "work": re.compile(
        r"\b(?:where|who|which (?:firm|company)|what (?:firm|company))\b.*\b(?:work(?:s|ed|ing)?|job|employ\w+)\b|"
        r"\b(?:где|куда|кем|в как(?:ой|ом) (?:компании|фирме|месте|отделе))\b.*\b(?:работа|устроил)"
    ),
    "profession": re.compile(r"\bwhat\b.*\b(?:do for a living|profession|job)\b|\bкем\b.*\bработа|\bпрофесси"),
    "birthday": re.compile(r"\bbirthday\b|\bwhen was\b.*\bborn\b|\bдень рождения\b|\bкогда\b.*\bродил"),
    "age": re.compile(r"\bhow old\b|\bсколько\b.*\bлет\b"),
    "marriage": re.compile(r"\b(?:married|divorced|engaged|single)\b|\b(?:женат|замужем|развед)"),
    "diet": re.compile(r"\b(?:vegetarian|vegan|diet)\b|\b(?:вегетариан|веган|диет)"),
}


@dataclass(frozen=True, slots=True)
class FactQuestion:
    """The attributes that a question asks for, its words in lower case, whether it speaks of its author, and whether
    it asks who somebody is or how something is called.
    """

    attributes: frozenset[str]
    words: frozenset[str]
    is_own: bool
    is_naming: bool

    @classmethod
    def of(cls, question: str) -> Self:
        text = question[:MAX_PARSED_CHARS].casefold().replace("’", "'")
        attributes = frozenset(name for name, asked in _ATTRIBUTES.items() if asked.search(text))
        words = frozenset(_WORD.findall(text))
        return cls(attributes, words, bool(_FIRST_PERSON.search(text)), bool(_NAMING.search(text)))

    def asks_for(self, subject: str, attribute: str, kind: str) -> bool:
        """Whether it asks for this attribute of this subject; a relation is named by the first part of `sister:ann`."""
        whose = subject.casefold()
        if not (self.is_own if whose == USER else self.words.issuperset(_WORD.findall(whose))):
            return False
        name = attribute.partition(":")[0]
        is_named = self.is_naming and kind in ("relation", "possession")
        return name in self.attributes or (is_named and self._has(name))

    def _has(self, stem: str) -> bool:
        """Whether one of its words has this stem."""
        is_long = len(stem) >= MIN_STEM_CHARS
        return any(word == stem or (is_long and word.startswith(stem)) for word in self.words)
