"""Whether a typed message decides an action that waits: a plain yes or no of closed classes of words, nothing else.

Every word must be known: consent, refusal, politeness, what the tool does, what it works on. A condition, a change, a
question or a second wish holds a word that is not, so it decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from typing import Literal

from maas.agents import consent_words as words
from maas.agents import tool_words
from maas.agents.phrases import is_form, words_of
from maas.conversations.actions import Decision

MAX_CHARS = 100  # of a message that decides
MAX_WORDS = 14
MAX_NAME_CHARS, MAX_NAME_WORDS = 60, 5
MIN_TYPO_CHARS = 6  # of a word that may be misspelt
_MAX_PHRASE_WORDS = 7
Class = Literal[
    "yes", "soft", "do", "no", "not", "stop", "hold", "praise", "filler", "opener", "article", "preposition", "sarcasm",
    "only_no", "bare_not", "verb", "object", "name", "pause",
]  # fmt: skip
_CLOSED: tuple[tuple[Class, Collection[str]], ...] = (
    ("yes", words.YES), ("soft", words.SOFT_YES), ("do", words.DO), ("no", words.NO), ("not", words.NOT),
    ("stop", words.STOP), ("hold", words.HOLD), ("praise", words.PRAISE),
    ("filler", words.FILLERS | words.ITEMS), ("opener", words.OPENERS), ("article", words.ARTICLES),
    ("preposition", words.PREPOSITIONS), ("sarcasm", words.SARCASM), ("only_no", words.ONLY_NO),
    ("bare_not", frozenset({"не"})),
)  # fmt: skip
_VARIANTS = re.compile("[\N{VARIATION SELECTOR-16}\U0001f3fb-\U0001f3ff]")  # how a sign is coloured
_SPELLINGS = str.maketrans({"ё": "е", "'": "", "’": ""})
_SMILEY = re.compile(r"(?<!\w)[:;]?-?\)+|(?<=\w)\)+")
_PERCENT = re.compile(r"\b100 ?(?:%|percent\b|процентов\b)")
_QUOTED = re.compile('«([^«»]*)»|“([^“”]*)”|„([^„“]*)“|"([^"]*)"')
_WITHIN_WORD = re.compile(r"(?<=\w)-(?=\w)")
_TOKEN = re.compile(r"[^\W_]+|\n|\S")
_PAUSES = frozenset(",.!…\n-–—")
_NAME = "\0"  # stands for a quoted name
_REPEATED = re.compile(r"(.)\1+")


@dataclass(frozen=True, slots=True)
class Subject:
    """What waits, in words: keys of VERBS and OBJECTS, names of its object, new values, and the old ones."""

    verbs: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    old_values: tuple[str, ...] = ()


ANYTHING = Subject()


def subject_words(tool_name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The verbs and objects that a tool's name tells: `send_email`, `sendBulkMessage`, `mail__delete-letter`."""
    parts = [one.lower() for one in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", tool_name.rpartition("__")[2])]
    parts += [one[:-1] for one in parts if one.endswith("s")]
    parts += ["adset"] if {"ad", "set"} <= set(parts) else []
    verbs = [verb for one in parts for verb in tool_words.NAMED_VERBS.get(one, ())]
    objects = [tool_words.NAMED_OBJECTS[one] for one in parts if one in tool_words.NAMED_OBJECTS]
    return tuple(dict.fromkeys(verbs)), tuple(dict.fromkeys(objects))


def read_decision(message: str, subject: Subject = ANYTHING) -> Decision | None:
    """Return what a message decides of this subject; None for everything that is not a plain yes or no."""
    items = _read_items(message, subject)
    return None if items is None else _decide(items)


Item = frozenset[Class]
Words = Sequence[str]


def _read_items(message: str, subject: Subject) -> list[Item] | None:
    """The classes of the words of a message; None if one is unknown."""
    if len(message) > MAX_CHARS or "?" in message or _NAME in message:
        return None
    text = _VARIANTS.sub("", message).strip().casefold()
    text = _PERCENT.sub(" 💯 ", _SMILEY.sub(" 🙂 ", text))
    names = [words_of(one) for one in subject.names]
    for match in _QUOTED.finditer(text):
        quoted = words_of(next(one for one in match.groups() if one is not None))
        if not quoted or not any(_is_name(quoted, one) for one in names):
            return None
    text = _WITHIN_WORD.sub(" ", _QUOTED.sub(f" {_NAME} ", text).translate(_SPELLINGS))
    tokens = _TOKEN.findall(text)
    if not tokens or tokens[0] in _PAUSES or len([one for one in tokens if one[:1].isalnum()]) > MAX_WORDS:
        return None
    vocabulary = _Vocabulary.of(subject.verbs, subject.objects)
    old = [words_of(one) for one in subject.old_values]
    items: list[Item] = []
    at = 0
    while at < len(tokens):
        length, item = _next_item(tokens, at, vocabulary, names, old)
        if item is None:
            return None
        items.append(item)
        at += length
    return items


def _next_item(
    tokens: Sequence[str], at: int, vocabulary: _Vocabulary, names: Sequence[Words], old: Sequence[Words]
) -> tuple[int, Item | None]:
    """The longest item from `at` on and its number of tokens; None for an unknown word."""
    if (sign := _read_sign(tokens[at])) is not None:
        return 1, sign
    run = list(takewhile(str.isalnum, tokens[at : at + _MAX_PHRASE_WORDS + MAX_NAME_WORDS]))
    for length in range(min(len(run), _MAX_PHRASE_WORDS), 0, -1):
        phrase = " ".join(run[:length])
        if phrase in words.KEEP_AT and (value := _starts_with(run[length:], old)):
            return length + len(value), frozenset({"no"})
        if found := vocabulary.known.get(phrase):
            return length, found
    if name := _starts_with(run, names):
        return len(name), frozenset({"name"})
    return 1, vocabulary.inflected(run[0]) if run else None


def _read_sign(token: str) -> Item | None:
    """The classes of a mark or a sign; None for a word."""
    if token in _PAUSES:
        return frozenset({"pause"})
    if token == _NAME:
        return frozenset({"name"})
    sign = words.SIGNS.get(token)
    return None if sign is None else frozenset({"yes" if sign == "yes" else "no" if sign == "no" else "filler"})


def _starts_with(said: Sequence[str], names: Sequence[Words]) -> Words:
    """The first of these names that the words begin with; none is empty."""
    return next((one for one in names if one and _is_name(said[: len(one)], one)), ())


def _is_name(said: Sequence[str], name: Sequence[str]) -> bool:
    return len(said) == len(name) and all(is_form(one, other) for one, other in zip(said, name, strict=True))


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """The phrases that count for a subject, and the words that may be misspelt."""

    known: dict[str, Item]
    shortened: dict[str, Item] = field(default_factory=dict)
    long: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()

    @classmethod
    def of(cls, verbs: tuple[str, ...], objects: tuple[str, ...]) -> _Vocabulary:
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
def _vocabulary(verbs: tuple[str, ...], objects: tuple[str, ...]) -> _Vocabulary:
    known: dict[str, set[Class]] = {}
    spoken = [tool_words.VERBS[one] for one in verbs if one in tool_words.VERBS]
    classes: list[tuple[Class, Iterable[str]]] = [*_CLOSED]
    classes += [("verb", one.forms - tool_words.NOUNS) for one in spoken]
    classes += [("object", one.forms & tool_words.NOUNS) for one in spoken]
    classes += [("no", one.keep) for one in spoken]
    classes += [("object", tool_words.OBJECTS[one]) for one in objects if one in tool_words.OBJECTS]
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
        phrase for phrase, kinds in sorted(frozen.items())
        if " " not in phrase and len(phrase) >= MIN_TYPO_CHARS and kinds & decisive
    )  # fmt: skip
    russian = tuple(phrase for phrase, kinds in frozen.items() if kinds == {"object"} and not phrase.isascii())
    return _Vocabulary(frozen, shortened, long, russian)


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
        rest[1:] == other[1:] or rest[1:] == other or rest == other[1:]
        or (len(rest) > 1 and rest[:2] == other[:2][::-1] and rest[2:] == other[2:])
    )  # fmt: skip


def _decide(items: Sequence[Item]) -> Decision | None:
    """Put the classes of the words together."""
    said: set[str] = set()
    is_negated = False
    for at, item in enumerate(items):
        role = _role(item, is_negated, items[at - 1] if at else frozenset(), said)
        if _is_unclear(role, item, items[at + 1 :], is_negated=is_negated):
            return None
        if role in ("pause", "not"):
            is_negated = role == "not"
        if role in ("not", "stop"):
            said.add("no")
        elif role in ("verb", "do"):
            said |= {"verb_named"} if is_negated else {"verb_named", "yes"}
        else:
            said.add(role)
    return _conclude(said)


def _is_unclear(role: str, item: Item, after: Sequence[Item], *, is_negated: bool) -> bool:
    """Whether a word makes the message no plain one."""
    match role:
        case "sarcasm":
            return True
        case "stop" | "yes" | "no":
            return is_negated  # what is refused is to refuse, or to consent
        case "preposition":
            return not _names_something(after)
        case "not":
            return "bare_not" in item and _refuses_something_else(after)
        case _:
            return False


def _refuses_something_else(after: Sequence[Item]) -> bool:
    """Whether a bare "not" is about a thing, as in "not this letter", and no verb."""
    for item in takewhile(lambda one: "pause" not in one, after):
        if item & {"verb", "do", "not"}:
            return False
        if item & {"article", "object", "name", "praise", "hold"}:
            return True
    return False


def _conclude(said: Collection[str]) -> Decision | None:
    if "no" in said:
        return None if "yes" in said else "reject"
    if "hold" in said or "only_no" in said:
        return None
    if "yes" in said:
        return "approve"
    return "approve" if "soft" in said and "either" not in said else None


def _role(item: Item, is_negated: bool, before: Item, said: Collection[str]) -> str:
    """The class that counts here of those that a phrase has."""
    if "verb" in item and "stop" in item:  # "stop it", where stopping waits: it depends on what else is said
        return "verb" if is_negated else "either"
    if "verb" in item and "object" in item and not is_negated:
        return "object" if "article" in before or "verb_named" in said or "no" in before else "verb"
    order = ("sarcasm", "pause", "not", "no", "verb", "stop", "yes", "do", "soft", "hold", "only_no")
    return next((one for one in order if one in item), "preposition" if item == {"preposition"} else "filler")


def _names_something(items: Sequence[Item]) -> bool:
    """Whether a preposition has an object, a name or a verb after it."""
    for item in items:
        if item & {"object", "name", "verb", "do"}:
            return True
        if not item & {"article", "filler"}:
            return False
    return False
