"""How a tool call that waits is described to people: in both languages, with the object by name, old and new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maas.conversations.language import Spoken
from maas.tools.consent import Subject, subject_words
from maas.tools.consent.tool_words import OBJECTS, VERBS
from maas.tools.consent.values import amounts_of, currencies_of, names_of, times_of


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase in both languages."""

    en: str
    ru: str

    def to_json(self) -> dict[str, str]:
        return {"en": self.en, "ru": self.ru}


@dataclass(frozen=True, slots=True)
class Wording:
    """A tool in words. `title` says what a call does, `reason` what an approval lets happen.

    `verbs` and `objects` are keys of the tables of tool_words: the words in which people consent to a call. A tool
    that names none has those that its name tells. Raises ValueError for a key that is in neither.
    """

    title: Phrase | None = None
    reason: Phrase | None = None
    verbs: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, table in (("verbs", VERBS), ("objects", OBJECTS)):
            if unknown := set(getattr(self, name)) - table.keys():
                raise ValueError(f"{name}: {unknown.pop()!r} is none of {', '.join(table)}")


@dataclass(frozen=True, slots=True)
class Change:
    """A value that a call changes. A `Phrase` is a value that people read in their language."""

    name: Phrase
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Preview:
    """What a call would do, as its tool can see before: the name of its object, and what changes. `verbs` add to it."""

    object: str = ""
    changes: tuple[Change, ...] = ()
    verbs: tuple[str, ...] = ()


def spoken_words(name: str, wording: Wording) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The verbs and the objects of a tool, keys of the tables of tool_words: those that it names, or its name tells."""
    verbs, objects = subject_words(name)
    return wording.verbs or verbs, wording.objects or objects


def stored_wording(
    name: str, wording: Wording, description: str, reason: str, preview: Preview | None
) -> dict[str, Any]:
    """The wording of a call as JSON, for the row of the action that waits."""
    verbs, objects = spoken_words(name, wording)
    stored: dict[str, Any] = {
        "title": wording.title.to_json() if wording.title else _first_line(description),
        "reason": wording.reason.to_json() if wording.reason else reason,
        "verbs": [*verbs, *(preview.verbs if preview else ())],
        "objects": list(objects),
    }
    if preview is not None:
        stored["object"] = preview.object
        stored["changes"] = [[one.name.to_json(), _stored(one.old), _stored(one.new)] for one in preview.changes]
    return stored


def in_language(text: Any, language: Spoken) -> str:
    """A stored phrase in a language; a text of one language as it is."""
    return str(text.get(language) or "") if isinstance(text, Mapping) else str(text or "")


def subject_of(wording: Mapping[str, Any], arguments: Mapping[str, Any]) -> Subject:
    """What waits, in the words of those who decide it."""
    changes: Sequence[Any] = wording.get("changes") or ()
    values = [wording.get("object"), *arguments.values(), *(word for _, _, new in changes for word in _words(new))]
    old = [word for _, old, _ in changes for word in _words(old)]
    return Subject(
        tuple(wording.get("verbs") or ()),
        tuple(wording.get("objects") or ()),
        tuple(name for one in values for name in names_of(one)),
        tuple(said for one in old for said in (*names_of(one), *amounts_of(one), *times_of(one))),
        tuple(said for one in values for said in amounts_of(one)),
        tuple(said for one in values for said in times_of(one)),
        tuple(said for one in (*values, *old) for said in currencies_of(one)),
    )


def value_in_language(value: Any, language: Spoken) -> Any:
    """A stored value as it is, or as a phrase in a language."""
    return in_language(value, language) if isinstance(value, Mapping) and value.keys() == {"en", "ru"} else value


def _stored(value: Any) -> Any:
    return value.to_json() if isinstance(value, Phrase) else value


def _words(value: Any) -> Sequence[Any]:
    """The ways in which a stored value is said."""
    return tuple(value.values()) if isinstance(value, Mapping) else (value,)


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "")
