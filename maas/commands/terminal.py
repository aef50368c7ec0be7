"""Lines that a person types, at a terminal or through a pipe."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession


class Terminal:
    """Asks for lines: with editing and history at a terminal, silently where there is none."""

    def __init__(self) -> None:
        self._prompt = _open_prompt()

    async def ask(self, question: str) -> str | None:
        """The next line; None at the end of the input."""
        if self._prompt is None:
            return (await asyncio.to_thread(sys.stdin.readline)) or None
        try:
            return await self._prompt.prompt_async(question)
        except EOFError:
            return None


def _open_prompt() -> PromptSession[str] | None:
    if not sys.stdin.isatty():
        return None
    from prompt_toolkit import PromptSession  # every process loads the commands, and this takes long

    return PromptSession()
