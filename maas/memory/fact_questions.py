"""Which facts a question asks for, although it may share no word with them: `Where do I live?`, `We moved to Oslo`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

from maas.memory.query import MAX_PARSED_CHARS

USER = "user"
MIN_STEM_CHARS = 4
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|we|my|our|me|us|я|мы|мне|меня|нам|нас|мо[йяеёию]|моего|моей|моих|мою|наш\w*)\b")
_NAMING = re.compile(r"\b(?:who|call(?:ed)?|name[sd]?)\b|\b(?:кто|зовут|звать|имя|имени|кличк\w)\b")
_WORD = re.compile(r"[^\W_]+")


class _Asking(NamedTuple):
    """How a thing is asked for: a word of each pattern must be there."""

    question: re.Pattern[str]
    thing: re.Pattern[str]


_ANYTHING = re.compile("")
_PLACE = re.compile(
    r"\b(?:where|(?:which|what) (?:town|city|place|country)|где|куда|"
    r"в как(?:ом|ой) (?:городе|стране|селе|деревне))\b"
)
_FIRM = re.compile(
    r"\b(?:where|who|(?:which|what) (?:firm|company)|где|куда|в как(?:ой|ом) (?:компании|фирме|месте|отделе))\b"
)
_ATTRIBUTES: Mapping[str, _Asking] = {  # by what the patterns of facts call them
    "residence": _Asking(
        _PLACE, re.compile(r"\b(?:live[sd]?|living|home|moved?|reside[sd]?|дом)\b|\b(?:жив|жил|переехал|перебрал)")
    ),
    "work": _Asking(_FIRM, re.compile(r"\b(?:work(?:s|ed|ing)?|job|employ\w{1,8})\b|\b(?:работа|устроил)")),
    "profession": _Asking(
        re.compile(r"\b(?:what|кем|кто)\b"), re.compile(r"\b(?:do for a living|profession)\b|\b(?:работа|профессия)")
    ),
    "birthday": _Asking(
        re.compile(r"\b(?:when|what|which|когда|какого)\b"),
        re.compile(r"\b(?:birthday|born|день рождения)\b|\bродил"),
    ),
    "age": _Asking(re.compile(r"\b(?:how old|сколько)\b"), re.compile(r"\b(?:old|лет)\b")),
    "marriage": _Asking(_ANYTHING, re.compile(r"\b(?:married|divorced|engaged|single)\b|\b(?:женат|замужем|развед)")),
    "diet": _Asking(_ANYTHING, re.compile(r"\b(?:vegetarian|vegan|diet)\b|\b(?:вегетариан|веган|диет)")),
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
        """Parse a question; only its first MAX_PARSED_CHARS characters are read."""
        text = question[:MAX_PARSED_CHARS].casefold().replace("’", "'")
        attributes = frozenset(
            name for name, asked in _ATTRIBUTES.items() if asked.question.search(text) and asked.thing.search(text)
        )
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
