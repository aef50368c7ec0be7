"""The objects that a message names in quotes, and of what kind the word before them says that they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from maas.conversations.phrases import holds, words_of
from maas.tools.consent.tool_words import OBJECTS

MAX_MESSAGE_CHARS = 2_000
_SUFFIXES = ("_ids", "_id")
_QUOTED = re.compile(r"(\w{0,40})[^\w«“\"]{0,2}(?:«([^«»]{1,200})»|“([^“”]{1,200})”|\"([^\"]{1,200})\")")


def quoted_names(message: str) -> list[str]:
    """The names in quotes, each once, in their order."""
    return list(dict.fromkeys(next(filter(None, one[1:])) for one in _QUOTED.findall(message[:MAX_MESSAGE_CHARS])))


def named_objects(message: str) -> list[str]:
    """The names in quotes whose kind the word before them tells."""
    found = _QUOTED.findall(message[:MAX_MESSAGE_CHARS])
    return list(dict.fromkeys(next(filter(None, one[1:])) for one in found if _kinds(one[0])))


def quoted_object(
    message: str, properties: Mapping[str, Mapping[str, Any]], required: Sequence[str]
) -> dict[str, object]:
    """The names that a message quotes, as the value of the only parameter of a tool that takes ids or names."""
    quoted = quoted_names(message)
    ids = [name for name in properties if name.endswith(_SUFFIXES)]
    wanted = [name for name in ids if name in required] or ids
    if not quoted or len(wanted) != 1:
        return {}
    if properties[wanted[0]].get("type") == "array":
        return {wanted[0]: quoted}
    return {wanted[0]: quoted[0]} if len(quoted) == 1 else {}


def is_of_its_kind(message: str, required: Sequence[str]) -> bool:
    """Whether a tool with these required parameters may be of what a message quotes: `message_id` of a message.

    True where the message does not tell the kind, or the tool takes no id.
    """
    wanted = {name.removesuffix("_ids").removesuffix("_id") for name in required if name.endswith(_SUFFIXES)}
    kinds = {kind for before, *_ in _QUOTED.findall(message[:MAX_MESSAGE_CHARS]) for kind in _kinds(before)}
    return not wanted or not kinds or bool(wanted & kinds)


def _kinds(word: str) -> list[str]:
    said = words_of(word)
    return [kind for kind, phrases in OBJECTS.items() if any(holds(said, one) for one in phrases)] if said else []
