"""Thoughts that a model writes into its reply: `<think>...</think>` before the answer, taken out whole or streamed."""

from __future__ import annotations

import re

_OPENING = re.compile(r"\s*(?:<(think|thinking|thought|reasoning)>|\[(THINK)\])")
_STARTS = ("<think>", "<thinking>", "<thought>", "<reasoning>", "[THINK]")
# A template may have written the opening tag already; the closing one then has a line of its own.
_CLOSING_LINE = re.compile(r"^[ \t]*</(?:think|thinking|thought|reasoning)>[ \t]*$", re.MULTILINE)
_MAX_TAG_CHARS = 16


def without_thoughts(text: str) -> str:
    """Return a reply without the thoughts at its beginning; nothing where they never end."""
    answer = text
    while opening := _OPENING.match(answer):
        answer = answer[opening.end() :].partition(_closing(opening))[2].lstrip()
    if closing := _CLOSING_LINE.search(answer):
        answer = answer[closing.end() :].lstrip()
    return answer


class ThoughtFilter:
    """Passes on what a stream says after its thoughts; `is_thinking` says that they are arriving."""

    def __init__(self) -> None:
        self._held = ""
        self._closing = ""
        self._has_thought = False
        self._has_begun = False  # the answer itself

    @property
    def is_thinking(self) -> bool:
        """Whether a thought is open."""
        return bool(self._closing)

    def take(self, piece: str) -> str:
        """Return the part of the answer that is known to be one after this piece."""
        if self._has_begun:
            return piece
        self._held += piece
        if self._closing:
            before, found, after = self._held.partition(self._closing)
            self._held = after if found else before[-_MAX_TAG_CHARS:]
            if not found:
                return ""
            self._closing = ""
        if opening := _OPENING.match(self._held):
            self._held, self._closing = self._held[opening.end() :], _closing(opening)
            self._has_thought = True
            return self.take("")
        text = self._held.lstrip()
        if not text or any(start.startswith(text) for start in _STARTS):
            return ""
        answer = text if self._has_thought else self._held
        self._has_begun, self._held = True, ""
        return answer

    def rest(self) -> str:
        """Return what was held back at the end of the stream and is no thought."""
        held, self._held = self._held, ""
        if self._closing:
            return ""
        return held.lstrip() if self._has_thought else held


def _closing(opening: re.Match[str]) -> str:
    return f"</{opening[1]}>" if opening[1] else "[/THINK]"
