"""Whether a message orders what a tool does: it begins with the verb, and names what the tool works on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from maas.conversations.phrases import holds, words_of
from maas.tools.consent.tool_words import NOUNS, OBJECTS, VERBS, Verb

MAX_ORDER_CHARS = 300
_POLITE = ("пожалуйста", "please")
_KINDS_OF_CHANGE = {"raise", "lower"}  # who orders one of these orders a change


def objects_ordered(message: str, verbs: Iterable[str], objects: Iterable[str]) -> int:
    """How many of these OBJECTS a message names that begins with one of these VERBS; 0 for one that orders nothing.

    A question orders nothing.
    """
    if len(message) > MAX_ORDER_CHARS or "?" in message:
        return 0
    words = words_of(message)
    words = words[1:] if words[:1] and words[0] in _POLITE else words
    known = set(verbs)
    known |= _KINDS_OF_CHANGE if "change" in known else set()
    if not any(_begins(words, VERBS[one]) for one in known & VERBS.keys()):
        return 0
    return sum(any(holds(words, phrase) for phrase in OBJECTS.get(one, ())) for one in objects)


def _begins(words: Sequence[str], verb: Verb) -> bool:
    first = words[0] if words else ""
    return first in verb.forms - NOUNS or (first in verb.light and any(holds(words, one) for one in verb.particles))
