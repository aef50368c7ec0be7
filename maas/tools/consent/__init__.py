"""Whether a typed message decides an action that waits: a plain yes or no of closed classes of words, nothing else.

Every word must be known: consent, refusal, politeness, what the tool does, what it works on. A condition, a change, a
question or a second wish holds a word that is not, so it decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import takewhile

from maas.conversations.actions import Decision
from maas.conversations.phrases import is_form, words_of
from maas.tools.consent import tool_words, words
from maas.tools.consent.values import MAX_NAME_WORDS, in_russian_letters, plain_values
from maas.tools.consent.vocabulary import PRECEDENCE, Class, Item, Vocabulary

MAX_CHARS = 120  # of a message that decides
MAX_WORDS = 20
_MAX_PHRASE_WORDS = 7
_VARIANTS = re.compile("[\N{VARIATION SELECTOR-16}\U0001f3fb-\U0001f3ff]")  # how a sign is coloured
_SPELLINGS = str.maketrans({"ё": "е", "'": "", "’": ""})
_SMILEY = re.compile(r"(?<!\w)[:;]?-?\)+|(?<=\w)\)+")
_PERCENT = re.compile(r"\b100 ?(?:%|percent\b|процентов\b)")
_QUOTED = re.compile('«([^«»]*)»|“([^“”]*)”|„([^„“]*)“|"([^"]*)"')
_WITHIN_WORD = re.compile(r"(?<=\w)-(?=\w)")
_TOKEN = re.compile(r"[^\W_]+|\n|\S")
_PAUSES = frozenset(",.!…\n-–—")
_NAME = "\0"  # stands for a quoted name


@dataclass(frozen=True, slots=True)
class Subject:
    """What waits, in words: keys of VERBS and OBJECTS, names, the old values, new amounts, times, and the currency."""

    verbs: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    old_values: tuple[str, ...] = ()
    amounts: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    currency: tuple[str, ...] = ()


ANYTHING = Subject()
_NUMBER: frozenset[Class] = frozenset({"value", "number"})
_BETWEEN: frozenset[Class] = frozenset({"article", "object", "name", "filler"})
# Opening and closing words that say something together: "leave the budget alone".
_SPLIT: tuple[tuple[Class, Class, Class], ...] = (
    ("keep", "alone", "no"),
    ("light", "particle", "verb"),
    ("light_for_number", "number", "verb"),
)
_THINGS: frozenset[Class] = frozenset(
    {"article", "object", "name", "praise", "hold", "soft", "value", "old", "fits", "item"}
)
_NAMED: frozenset[Class] = frozenset({"object", "name", "value"})
_DONE: frozenset[Class] = frozenset({"verb", "do"})
_GIVEN: frozenset[Class] = frozenset({"value", "unit"})


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
    if len(message) > MAX_CHARS or "?" in message or _NAME in message:
        return None
    text = _VARIANTS.sub("", message).strip().casefold()
    items = _read_items(text, subject)
    if items is None and text.isascii():
        items = _read_items(in_russian_letters(text), subject)
    return None if items is None else _decide(items)


Words = Sequence[str]


@dataclass(frozen=True, slots=True)
class _Values:
    """The words of what a subject names, by class."""

    name: Sequence[Words]
    old: Sequence[Words]
    number: Sequence[Words]
    time: Sequence[Words]
    unit: Sequence[Words]

    @classmethod
    def of(cls, subject: Subject) -> _Values:
        groups = (subject.names, subject.old_values, subject.amounts, subject.times, subject.currency)
        return cls(*([words_of(one) for one in group] for group in groups))


def _read_items(text: str, subject: Subject) -> list[Item] | None:
    """The classes of the words of a folded message; None if one is unknown."""
    text = _PERCENT.sub(" 💯 ", _SMILEY.sub(" 🙂 ", text))
    values = _Values.of(subject)
    for match in _QUOTED.finditer(text):
        quoted = words_of(next(one for one in match.groups() if one is not None))
        if not quoted or not any(_is_name(quoted, one) for one in values.name):
            return None
    text = _WITHIN_WORD.sub(" ", plain_values(_QUOTED.sub(f" {_NAME} ", text)).translate(_SPELLINGS))
    tokens = _TOKEN.findall(text)
    if not tokens or tokens[0] in _PAUSES or len([one for one in tokens if one[:1].isalnum()]) > MAX_WORDS:
        return None
    vocabulary = Vocabulary.of(subject.verbs, subject.objects)
    items: list[Item] = []
    at = 0
    while at < len(tokens):
        length, item = _next_item(tokens, at, vocabulary, values)
        if item is None:
            return None
        items.append(item)
        at += length
    for opening, closing, as_class in _SPLIT:
        items = _joined(items, opening, closing, as_class)
    return items


def _joined(items: Sequence[Item], opening: Class, closing: Class, as_class: Class) -> list[Item]:
    """Make one of "leave the budget alone", whose words say nothing each by itself."""
    joined: list[Item] = []
    at = 0
    while at < len(items):
        end = at + 1
        if opening in items[at]:
            while end < len(items) and closing not in items[end] and _is_between(items[end], closing):
                end += 1
            if end < len(items) and closing in items[end] and (end > at + 1 or opening != "light"):
                joined.append(frozenset({as_class}))
                at = end + 1
                continue
        joined.append(items[at])
        at += 1
    return joined


def _is_between(item: Item, closing: Class) -> bool:
    return bool(item & _BETWEEN) or (closing == "number" and "preposition" in item and "timing" not in item)


def _next_item(tokens: Sequence[str], at: int, vocabulary: Vocabulary, values: _Values) -> tuple[int, Item | None]:
    """The longest item from `at` on and its number of tokens; None for an unknown word."""
    if (sign := _read_sign(tokens[at])) is not None:
        return 1, sign
    run = list(takewhile(str.isalnum, tokens[at : at + _MAX_PHRASE_WORDS + MAX_NAME_WORDS]))
    time = _starts_with(run, values.time)
    for length in range(min(len(run), _MAX_PHRASE_WORDS), len(time), -1):
        phrase = " ".join(run[:length])
        if phrase in words.KEEP_AT and (value := _starts_with(run[length:], values.old)):
            return length + len(value), frozenset({"no"})
        if phrase in words.FROM and (value := _starts_with(run[length:], values.old)):
            return length + len(value), frozenset({"filler"})
        if (found := vocabulary.known.get(phrase)) and ("typo" not in found or at == 0):
            return length, found
    if time:
        return len(time), frozenset({"value"})
    named: tuple[tuple[Sequence[Words], Item], ...] = (
        (values.number, _NUMBER),
        (values.name, frozenset({"name"})),
        (values.old, frozenset({"old"})),
        (values.unit, frozenset({"unit"})),
    )
    for known, item in named:
        if name := _starts_with(run, known):
            return len(name), item
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
    """The longest of these names that the words begin with; none is empty."""
    return max((one for one in names if one and _is_name(said[: len(one)], one)), key=len, default=())


def _is_name(said: Sequence[str], name: Sequence[str]) -> bool:
    return len(said) == len(name) and all(is_form(one, other) for one, other in zip(said, name, strict=True))


def _decide(items: Sequence[Item]) -> Decision | None:
    """Put the classes of the words together."""
    said: set[str] = set()
    is_negated = False
    before: Item = frozenset()
    for at, item in enumerate(items):
        after = items[at + 1 :]
        role = _role(item, is_negated, before, said, after)
        if _is_unclear(role, item, before, after, is_negated=is_negated, said=said) or (
            "number" in item and "at" in before and "amount" in said
        ):
            return None
        if role in ("pause", "not"):
            is_negated = role == "not"
        if role in ("not", "stop"):
            said |= {"no", "unwanted"} if "unwanted" in item else {"no"}
        elif role in ("verb", "do"):
            said |= {"verb_named"} if is_negated or _is_refused_after(item, after) else {"verb_named", "yes"}
            said |= {"amount"} if "by_amount" in item else set()
        else:
            said.add(role)
        before = item if role != "old" else frozenset({"old"})
    return _conclude(said)


def _is_refused_after(item: Item, after: Sequence[Item]) -> bool:
    """Whether a refusal ends the clause of an infinitive, as in "отправлять не надо"."""
    clause = list(takewhile(lambda one: "pause" not in one, after))
    rest = [one for one in clause if not one <= {"filler", "article", "object", "only_no"}]
    return "infinitive" in item and len(rest) == 1 and "not" in rest[0] and "bare_not" not in rest[0]


def _is_unclear(
    role: str, item: Item, before: Item, after: Sequence[Item], *, is_negated: bool, said: Collection[str]
) -> bool:
    """Whether a word makes the message no plain one."""
    match role:
        case "sarcasm":
            return True
        case "stop" | "yes" | "no" | "hold":
            return is_negated  # what is refused is to refuse, to consent, or to wait
        case "preposition":
            return not _names_something(after, _NAMED | _DONE if "to" in item else _NAMED)
        case "not":
            return _refuses_something_else(after, is_verb_needed="not_being" in item) and "bare_not" in item
        case "gerund" | "participle" | "touch" | "unit" | "value":
            return not _fits(role, item, before, is_negated=is_negated, said=said)
        case "unclear":
            return True
        case _:
            return False


def _fits(role: str, item: Item, before: Item, *, is_negated: bool, said: Collection[str]) -> bool:
    """Whether a word that says nothing by itself is where it belongs."""
    match role:
        case "gerund":
            return is_negated or "no" in before
        case "participle":
            return "no" in before or (is_negated and "unwanted" in said)
        case "touch":
            return is_negated
        case "unit":
            return "number" in before or "old" in before
        case _:
            return (not is_negated or "verb_named" in said) and not ("number" in item and "timing" in before)


def _refuses_something_else(after: Sequence[Item], *, is_verb_needed: bool) -> bool:
    """Whether a bare "not" is about a thing, as in "not this letter", and no verb."""
    for item in takewhile(lambda one: "pause" not in one, after):
        if item & (_DONE | {"not", "gerund", "touch"}):
            return False
        if item & _THINGS:
            return True
    return is_verb_needed


def _conclude(said: Collection[str]) -> Decision | None:
    if "no" in said:
        is_other = "value" in said and "verb_named" not in said  # "no, 30", where 30 is what was shown
        return None if is_other or "yes" in said or "typo" in said else "reject"
    if "hold" in said or "only_no" in said or "old" in said:
        return None
    if "yes" in said:
        return "approve"
    return "approve" if "soft" in said and "either" not in said and "typo" not in said else None


def _role(item: Item, is_negated: bool, before: Item, said: Collection[str], after: Sequence[Item]) -> str:
    """The class that counts here of those that a phrase has."""
    if "verb" in item and "stop" in item:  # "stop it", where stopping waits: it depends on what else is said
        return "verb" if is_negated else "either"
    if "verb" in item and "object" in item and not is_negated:
        return "object" if "article" in before or "verb_named" in said or "no" in before else "verb"
    if item & {"yes", "soft", "praise", "fits", "enough"} and "old" in before:
        return "old"
    if "adverb" in item or ("alone" in item and "no" in before):
        return "filler"
    if is_negated and "only_no" in item:
        return "only_no"
    return _role_after(item, before, said, after) or _first_role(item)


def _role_after(item: Item, before: Item, said: Collection[str], after: Sequence[Item]) -> str | None:
    """The class of a word that depends on those around it; None for one that does not."""
    if "fits" in item:
        is_praised = bool(before & {"object", "name"}) and "yes" in said
        return "yes" if before & _GIVEN else "filler" if is_praised else "unclear"
    if "opinion" in item:
        return "filler" if "yes" in said and after and "yes" in after[0] else "only_no"
    if "enough" in item:
        return "filler" if before & {"value", "unit"} and "yes" in said else "unclear"
    if "alone" in item and not item & {"yes", "no", "filler", "preposition", "article", "object"}:
        return "unclear"
    return None


def _first_role(item: Item) -> str:
    if (role := next((one for one in PRECEDENCE if one in item), None)) is not None:
        return role
    if "preposition" in item and not item & {"filler", "object", "article"}:
        return "preposition"
    return "filler" if item & {"praise", "filler", "opener", "article", "object", "name"} else "unclear"


def _names_something(items: Sequence[Item], named: frozenset[Class]) -> bool:
    """Whether a preposition has one of these after it."""
    for item in items:
        if item & named:
            return True
        if not item & {"article", "filler"}:
            return False
    return False
