"""What the exports of other products look like: a module each, with the interface `Source`.

A module gets one item at a time, an object of an array, a line, or the whole file, and yields what a message of ours
needs. Whatever it does not take along it names as LeftOut, so that the report of an import is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from maas.memory.transfer.sources import (
    aimem,
    chatgpt,
    claude,
    gemini,
    graphiti,
    hindsight,
    honcho,
    letta,
    librechat,
    mem0,
    memorywire,
    mempalace,
    open_webui,
    zep,
)
from maas.memory.transfer.sources.parts import LeftOut, Part

__all__ = ["LeftOut", "Part", "Source", "find_source", "unwrapped"]


class Source(Protocol):
    """The format of one product."""

    NAME: str

    def matches(self, item: Mapping[str, Any]) -> bool:
        """Whether an object is an item of this format."""
        ...

    def read(self, item: Mapping[str, Any]) -> Iterator[Part]:
        """Yield its messages in order. Raises AttributeError, KeyError, TypeError, ValueError for another form."""
        ...


SOURCES: tuple[Source, ...] = (
    chatgpt,
    claude,
    gemini,
    open_webui,
    librechat,
    letta,
    mem0,
    graphiti,
    honcho,
    zep,
    hindsight,
    mempalace,
    aimem,
    memorywire,
)
WRAPPERS = ("results", "memories", "items", "messages", "episodes", "conversations", "chats", "documents", "data")


def find_source(item: Mapping[str, Any]) -> Source | None:
    """The format of an object; None for one that is of none."""
    return next((source for source in SOURCES if source.matches(item)), None)


def unwrapped(item: Mapping[str, Any]) -> list[Any] | None:
    """The items of a reply or an export that holds a list of them; None for anything else."""
    return next((item[name] for name in WRAPPERS if isinstance(item.get(name), list)), None)
