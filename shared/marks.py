"""Marks: numbers in brackets by which an answer cites lines, as in "She lives in Porto [2]."."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

_MARK = re.compile(r"\[ {0,4}(\d{1,9}(?: {0,4}[,;] {0,4}\d{1,9}){0,19}) {0,4}\]")
_UNFINISHED = re.compile(r"[ \t]{0,60}(?:\[[\d ,;]{0,60}\]?)?\Z")
_NUMBER = re.compile(r"\d{1,9}")
_LINE = re.compile(r"(?:- )?\[(\d{1,9})\] ")


def number_line(line: str, number: int) -> str:
    """Return a line with its number: `- [2] [2024-05-01] Ann: ...`."""
    return f"- [{number}] {line.removeprefix('- ')}" if line.startswith("- ") else f"[{number}] {line}"


def numbers_of_lines(lines: Iterable[str]) -> frozenset[int]:
    """Return the numbers at the beginning of lines."""
    return frozenset(int(match[1]) for line in lines if (match := _LINE.match(line)))


def numbers_in(text: str) -> frozenset[int]:
    """Return the numbers of all marks in a text."""
    return frozenset(int(one) for match in _MARK.finditer(text) for one in _NUMBER.findall(match[1]))


class MarkFilter:
    """Passes text that comes in pieces on, without marks whose number was not given.

    What may become a mark is held back until it is one or none, with the blanks before it. `[1, 3]` becomes `[1][3]`.
    Code between backticks, and a bracket before a parenthesis, which is a link, are passed on as they are.
    """

    def __init__(self, given: Collection[int]) -> None:
        self.used: set[int] = set()
        self._given = frozenset(given)
        self._held = ""
        self._fence = 0  # of how many backticks; 0 outside of code
        self._ticks = 0  # of the run of backticks at the end

    def reset(self) -> None:
        """Begin a new text; what is held back is dropped."""
        self.used.clear()
        self._held, self._fence, self._ticks = "", 0, 0

    def feed(self, text: str) -> str:
        """Return what may be shown of the text so far and was not returned before."""
        return self._pass(self._held + text, is_end=False)

    def finish(self) -> str:
        """Return what was held back at the end of a text."""
        return self._pass(self._held, is_end=True)

    def apply(self, text: str) -> str:
        """Return a whole text without marks that were not given; `used` has the numbers that stay."""
        self.reset()
        return self.feed(text) + self.finish()

    def _pass(self, text: str, *, is_end: bool) -> str:
        shown: list[str] = []
        at = 0
        while at < len(text):
            char = text[at]
            if char == "`":
                self._ticks += 1
                shown.append(char)
                at += 1
                continue
            self._close_ticks(char)
            if self._fence or char not in " \t[":
                shown.append(char)
                at += 1
                continue
            if not is_end and _UNFINISHED.match(text, at):
                break
            at = self._take(text, at, shown)
        self._held = text[at:]
        return "".join(shown)

    def _take(self, text: str, at: int, shown: list[str]) -> int:
        """Show the blanks or the mark at a place, and return the place behind."""
        match = _MARK.match(text, at)
        if match is None or text.startswith("(", match.end()):
            shown.append(text[at])
            return at + 1
        numbers = [one for one in map(int, _NUMBER.findall(match[1])) if one in self._given]
        if not numbers:
            while shown and shown[-1] in (" ", "\t"):
                shown.pop()
        self.used.update(numbers)
        shown.append("".join(f"[{one}]" for one in numbers))
        return match.end()

    def _close_ticks(self, char: str) -> None:
        """Enter or leave code where a run of backticks has ended; code of one line ends with the line."""
        if self._ticks:
            if not self._fence:
                self._fence = self._ticks
            elif self._ticks >= self._fence:
                self._fence = 0
            self._ticks = 0
        if char == "\n" and self._fence in (1, 2):
            self._fence = 0
