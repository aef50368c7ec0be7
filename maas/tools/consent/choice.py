"""Which of several actions that wait a typed message decides: all, all but some, or some by their numbers in the list.

The message names its choice once, in closed words, and the rest of it is a plain yes or no to each action that it
chooses. A yes or no alone chooses nothing, and a refusal that is not of all is unclear.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from maas.conversations.actions import Decision
from maas.tools.consent import MAX_CHARS, Subject, read_decision
from maas.tools.consent.words import FILLERS, PRAISE, SOFT_YES, YES

_STEMS = ("перв", "втор", "трет", "четверт", "пят", "шест", "седьм", "восьм", "девят", "десят")
_ENDINGS = "ый|ой|ий|ое|ье|ая|ья|ую|ью|ого|ьего|ьей"
_ENGLISH = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_LAST = "last|последн(?:ий|ее|яя|юю|его|ей)"
_COUNTS: Mapping[str, int] = {
    "оба": 2, "обе": 2, "обоих": 2, "both": 2, "два": 2, "две": 2, "two": 2, "три": 3, "three": 3,
    "четыре": 4, "four": 4, "пять": 5, "five": 5, "шесть": 6, "six": 6, "семь": 7, "seven": 7, "восемь": 8,
    "eight": 8, "девять": 9, "nine": 9, "десять": 10, "ten": 10,
}  # fmt: skip
_NUMBERS = "|".join(one for one in _COUNTS if not one.startswith(("об", "both")))
_ORDINAL = (
    rf"(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th|й|е|го|ое|ый)|{'|'.join(_ENGLISH)}"
    rf"|(?:{'|'.join(_STEMS)})(?:{_ENDINGS})|{_LAST})(?!\w)"
)
_NUMBER = rf"(?:{_ORDINAL}|\d{{1,2}}(?!\w))"
_AND = "(?:,| и| and|, и|, and)"
_ORDINALS, _ANY_NUMBERS = (rf"{one}(?:{_AND} {one})*(?: ones?)?" for one in (_ORDINAL, _NUMBER))
_EVERY = (
    rf"(?:(?:все|all)(?: (?:the )?(?P<count>\d{{1,2}}|{_NUMBERS}))?|(?P<both>оба|обе|both))"
    "(?: of (?:them|these))?(?: сразу)?"
)
_BUT = rf"(?:кроме|за исключением|except|except for|but) (?P<but>{_ANY_NUMBERS})"
_ALL = re.compile(rf"(?<!\w){_EVERY}(?:,? {_BUT})?(?!\w)")
_ALL_BUT = re.compile(rf"(?<!\w){_BUT}(?!\w)")
_SOME = re.compile(rf"(?<!\w)(?:только |лишь |only |just )?(?P<some>{_ORDINALS})(?!\w)")
_ITEM = re.compile(_NUMBER)
# "OK, that is all" and "well, bye" would be the same words.
_UNCLEAR = SOFT_YES | {"давай", "давайте", "ну давай", "ну давайте"}
_EVERY_WORDS = frozenset({"все", "all", "everything", "both"})
# "all right" and "все верно" judge what is shown and choose nothing.
_WORD = re.compile(r"\w+")
_JUDGEMENTS = tuple(
    f" {' '.join(_WORD.findall(one))} "
    for one in sorted(YES | SOFT_YES | PRAISE | FILLERS)
    if " " in one and _EVERY_WORDS & set(one.split())
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a message decides: the actions with these numbers, and whether they are all."""

    decision: Decision
    places: tuple[int, ...]
    is_of_all: bool = True


def read_choice(message: str, subjects: Mapping[int, Subject]) -> Choice | None:
    """Return what a message decides of actions that wait, `subjects` by their numbers; None for what is not plain."""
    if len(subjects) == 1:
        ((place, subject),) = subjects.items()
        decision = read_decision(message, subject)
        return None if decision is None else Choice(decision, (place,))
    text = " ".join(message.casefold().replace("ё", "е").split())
    words = f" {' '.join(_WORD.findall(text))} "
    if len(message) > MAX_CHARS or any(one in words for one in _JUDGEMENTS):
        return None
    found = _chosen(text, sorted(subjects))
    if found is None:
        return None
    match, places = found
    rest = f"{text[: match.start()]} {text[match.end() :]}".strip(" ,;:.—–-")
    if not rest or rest in _UNCLEAR or _chosen(rest, sorted(subjects)) is not None:
        return None
    decisions = {read_decision(rest, subjects[one]) for one in places}
    if len(decisions) != 1 or (decision := decisions.pop()) is None:
        return None
    is_of_all = len(places) == len(subjects)
    return Choice(decision, places, is_of_all) if decision == "approve" or is_of_all else None


def _chosen(text: str, known: Sequence[int]) -> tuple[re.Match[str], tuple[int, ...]] | None:
    """Where a text names its choice, and the numbers; None if it names none, or one that is not in the list."""
    for pattern in (_ALL, _ALL_BUT, _SOME):
        if (match := pattern.search(text)) is None:
            continue
        named = match.groupdict()
        count = 2 if named.get("both") else _count(named.get("count"))
        if count not in (None, len(known)):
            return None
        places = _places(named.get("but") or named.get("some") or "", known)
        if not set(places) <= set(known):
            return None
        if "some" not in named:
            places = tuple(one for one in known if one not in places)
        return (match, places) if places else None
    return None


def _count(word: str | None) -> int | None:
    return None if word is None else int(word) if word.isdigit() else _COUNTS[word]


def _places(listed: str, known: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted({_place(one.group().removeprefix("the "), known) for one in _ITEM.finditer(listed)}))


def _place(word: str, known: Sequence[int]) -> int:
    if digits := re.match(r"\d+", word):
        return int(digits.group())
    if word in _ENGLISH:
        return _ENGLISH.index(word) + 1
    if re.fullmatch(_LAST, word):
        return known[-1]
    return next(place for place, stem in enumerate(_STEMS, 1) if word.startswith(stem))
