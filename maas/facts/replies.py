"""Facts in a model's reply to an exchange, as far as code can see that somebody said them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from maas.builtin_model.language import is_other_language, stems_of
from maas.facts.rules import MAX_NAME_CHARS, USER, Change, FoundFact, attribute_of, find_facts
from maas.memory.facts import FoundKind, Kind
from shared.text import clean, is_blank, one_line

MAX_FACTS = 8  # of one exchange
MAX_CHARS = 300
MAX_CHANGES = 3  # of what was known: a reply that has more is not believed about any
MIN_SAID = 0.6  # of the words of a statement that carry meaning, in what the person said
CHANGES = ("new", "again", "replaces", "ends", "corrects")
SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "fact": {"type": "string"},
            "about": {"type": "string"},
            "kind": {"type": "string", "enum": list(get_args(FoundKind))},
            "change": {"type": "string", "enum": list(CHANGES)},
            "known": {"type": "integer"},
        },
        "required": ["fact", "about", "kind", "change", "known"],
        "additionalProperties": False,
    },
}
_CHANGES: Mapping[str, Change] = {"ends": "ends", "corrects": "corrects"}


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact that the model was shown under a number."""

    statement: str
    subject: str
    attribute: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Said:
    """A message as the model was shown it; `is_users`: the person said it, and no tool or document."""

    speaker: str
    text: str
    is_users: bool


@dataclass(frozen=True, slots=True)
class ModelFact:
    """A fact and the places of the messages that say it."""

    fact: FoundFact
    messages: tuple[int, ...]


def read_facts(
    raw: Any, messages: Sequence[Said], before: Sequence[str], known: Sequence[KnownFact]
) -> list[ModelFact]:
    """The facts of a reply that messages of the person say; what is wrong is left out.

    `before` are the messages before the exchange: they may lend words and numbers, but no fact rests on them.
    """
    rows = [row for row in raw if isinstance(row, Mapping)][:MAX_FACTS] if isinstance(raw, list) else []
    changes = sum(row.get("change") in ("replaces", "ends", "corrects") for row in rows)
    found: dict[tuple[str, str], ModelFact] = {}
    for row in rows:
        if changes > MAX_CHANGES and row.get("change") != "new":
            continue
        fact = _fact(row, messages, known)
        sources = _sources(fact.statement, messages, before) if fact is not None else ()
        if fact is not None and sources:
            found.setdefault((fact.subject.casefold(), fact.attribute), ModelFact(fact, sources))
    return list(found.values())


def _fact(row: Mapping[str, Any], messages: Sequence[Said], known: Sequence[KnownFact]) -> FoundFact | None:
    text, about = row.get("fact"), row.get("about")
    kind: FoundKind | None = next((one for one in get_args(FoundKind) if one == row.get("kind")), None)
    if not isinstance(text, str) or not isinstance(about, str) or kind is None:
        return None
    statement, subject = one_line(clean(text[:MAX_CHARS])), one_line(clean(about[:MAX_NAME_CHARS]))
    if is_blank(statement) or is_other_language(statement, " ".join(one.text for one in messages if one.is_users)):
        return None
    users = {one.speaker.casefold() for one in messages if one.is_users}
    if is_blank(subject) or subject.casefold() in (users if len(users) == 1 else set()) | {USER}:
        subject = USER
    change, number = row.get("change"), row.get("known")
    attribute = _attribute(statement, subject, kind)
    if change in (None, "new"):
        return FoundFact(statement, subject, attribute, kind)
    if change not in CHANGES or not isinstance(number, int) or not 1 <= number <= len(known):
        return None
    old = known[number - 1]
    if change == "again":
        return FoundFact(old.statement, old.subject, old.attribute, old.kind)
    if old.subject.casefold() != subject.casefold() or not _is_akin(
        statement, attribute, old, stems_of(" ".join(one.speaker for one in messages))
    ):
        return FoundFact(statement, subject, attribute, kind)
    return FoundFact(statement, old.subject, old.attribute, old.kind, _CHANGES.get(change, "states"))


def _attribute(statement: str, subject: str, kind: str) -> str:
    """That of a rule where one knows the statement, else a name of its own made of its words."""
    by_rule = find_facts(statement)
    return by_rule[0].attribute if by_rule else attribute_of(kind, statement)


def _is_akin(statement: str, attribute: str, old: KnownFact, names: set[str]) -> bool:
    """Whether a statement may replace or end another: both speak of one thing, and not only of whose it is."""
    thing = stems_of(old.statement) - stems_of(old.subject) - names
    return attribute == old.attribute or not stems_of(statement).isdisjoint(thing)


def _sources(statement: str, messages: Sequence[Said], before: Sequence[str]) -> tuple[int, ...]:
    """The places of the person's messages that say a statement; none where too few of its words were said."""
    wanted = stems_of(statement)
    names = stems_of(" ".join(one.speaker for one in messages))
    wanted -= names
    said = [stems_of(one.text) if one.is_users else set() for one in messages]
    shared = [len(wanted & one) for one in said]
    known = stems_of(" ".join([*before, *(one.text for one in messages)]))
    digits = {word for word in wanted if word.isdigit()}
    own = len(wanted & set().union(*said))
    if not own or own < MIN_SAID * len(wanted) or not digits <= known:
        return ()
    return tuple(place for place, count in enumerate(shared) if count and count * 2 >= max(shared))
