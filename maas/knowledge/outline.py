"""The sections of a document under their headings."""

from __future__ import annotations

from dataclasses import dataclass

MAX_TEXT_CHARS = 20_000_000
MAX_HEADING_CHARS = 200
MAX_DEPTH = 6
MAX_TITLES = 10_000  # of an outline


class Unreadable(Exception):
    """The file cannot be read; the message says why, for the person who added it."""


@dataclass(frozen=True, slots=True)
class Section:
    """A text under its headings, the outermost first; `page` counts from 1, None where there are no pages."""

    headings: tuple[str, ...]
    page: int | None
    text: str


class Outline:
    """Collects sections while headings come and go."""

    def __init__(self) -> None:
        self._headings: list[str] = []
        self._parts: list[str] = []
        self._chars = 0
        self.sections: list[Section] = []

    def heading(self, level: int, text: str, page: int | None = None) -> None:
        """Begin a section; `level` counts from 1. `page` is that of the section before, which ends."""
        self.flush(page)
        level = max(1, min(level, MAX_DEPTH))
        title = " ".join(text.split())[:MAX_HEADING_CHARS]
        self._headings = [*self._headings[: level - 1], title] if title else self._headings

    def add(self, text: str) -> None:
        self._chars += len(text)
        check_length(self._chars)
        self._parts.append(text)

    def flush(self, page: int | None = None) -> None:
        """End the section."""
        if text := "\n\n".join(part for part in self._parts if part.strip()):
            self.sections.append(Section(tuple(self._headings), page, text))
        self._parts = []


def check_length(chars: int) -> None:
    """Raises Unreadable."""
    if chars > MAX_TEXT_CHARS:
        raise Unreadable(f"it holds more than {MAX_TEXT_CHARS:,} characters: split it")
