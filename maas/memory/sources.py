"""The sources of a draft: which messages and summaries its lines are made of, and their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

from maas.memory.origins import Origin, foreign
from maas.memory.recent_messages import RecentMessage
from shared.marks import number_line, numbers_of_lines

SourceKind = Literal["recent", "turn", "summary"]


class Sources:
    """The sources of a draft, in the order in which they are shown; with `is_numbered` each has the number of its line.

    Several sources of one line share its number; a source that is shown twice keeps its number. A source that was made
    from the text of tools or documents names them: an answer that repeats it was made from them, too.
    """

    def __init__(self, *, is_numbered: bool) -> None:
        self.is_numbered = is_numbered
        self.rows: list[dict[str, Any]] = []
        self.shown: list[UUID] = []  # corrections of a summary, which search need not show again
        self._numbers: dict[UUID, int] = {}
        self._count = 0

    def add(self, kind: SourceKind, scores: Mapping[UUID, float], origins: Sequence[Origin] = ()) -> int:
        """Add the sources of a line that are new, with their scores; return the number of the line."""
        number = next((self._numbers[one] for one in scores if one in self._numbers), None)
        if number is None:
            self._count = number = self._count + 1
        for one, score in scores.items():
            if one not in self._numbers:
                self._numbers[one] = number
                row: dict[str, Any] = {"id": str(one), "kind": kind, "score": score}
                row |= {"number": number} if self.is_numbered else {}
                named = [origin.to_json() for origin in foreign(origins)]
                self.rows.append(row | ({"origins": named} if named else {}))
        return number

    @property
    def ids(self) -> frozenset[UUID]:
        """The sources that are there."""
        return frozenset(self._numbers)

    def on(self, lines: Sequence[str]) -> list[dict[str, Any]]:
        """Return the rows of the sources that are on these lines: all of them, where lines are not numbered."""
        if not self.is_numbered:
            return self.rows
        numbers = numbers_of_lines(lines)
        return [row for row in self.rows if row["number"] in numbers]

    def has(self, source_id: UUID) -> bool:
        """Return whether a source is there."""
        return source_id in self._numbers

    def number(self, lines: Sequence[str], messages: Sequence[RecentMessage]) -> tuple[str, ...]:
        """Return the lines of recent messages with their numbers, if lines are numbered."""
        if not self.is_numbered:
            return tuple(lines)
        return tuple(
            number_line(line, self._numbers[one.log_id]) if one.log_id in self._numbers else line
            for line, one in zip(lines, messages, strict=True)
        )

    def line(self, line: str, kind: SourceKind, scores: Mapping[UUID, float], origins: Sequence[Origin] = ()) -> str:
        """Add the sources of a line and return it, with its number if lines are numbered."""
        number = self.add(kind, scores, origins)
        return number_line(line, number) if self.is_numbered else line
