"""single: one voice with all tools."""

from __future__ import annotations

from dataclasses import replace

from maas.agents.turn import Turn
from shared.models.types import Reply


async def answer(turn: Turn) -> Reply:
    """Raises MaasError, LostRun."""
    request = replace(turn.request, tools=tuple(one.spec for one in turn.tools))
    return (await turn.converse(turn.asker, request, turn.guard(turn.tools))).reply
