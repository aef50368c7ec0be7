"""The results of tools that a dialogue with a model holds: the newest whole, older ones by fewer rows.

What does not fit is cut anew from the whole results in each round, so that rows are counted once and a repeated
dialogue is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from maas.tools.bounds import Body, fit_rounds
from maas.tools.rows import compact
from maas.tools.tool import Tool
from shared.models import Message, ToolCall


class WholeResult(NamedTuple):
    """A call, its whole result without latencies (ToolResult.untimed), and the tool; None for an unknown one."""

    call: ToolCall
    body: Body
    tool: Tool | None


def _plain(body: Body) -> str:
    return compact(body, is_sorted=True)


class ShownResults:
    """The results of all rounds of one dialogue, in order. `write` makes the text of one."""

    def __init__(self, write: Callable[[Body], str] = _plain) -> None:
        self._write = write
        self._rounds: list[list[WholeResult]] = []

    async def add(self, messages: Sequence[Message], results: Sequence[WholeResult], room: int) -> tuple[Message, ...]:
        """Return `messages` with the results of a round after them; those of all rounds have `room` tokens together.

        A result of an earlier round may get shorter. Each is found by the id of its call.
        """
        self._rounds.append(list(results))
        named = [[(one.call.name, one.body, one.tool) for one in round_] for round_ in self._rounds]
        fitted = await fit_rounds(named, room)
        calls = [one.call for round_ in self._rounds for one in round_]
        shown = {call.id: self._message(call, body) for call, body in zip(calls, fitted, strict=True)}
        before = [shown.get(one.call_id, one) if one.role == "tool" else one for one in messages]
        return *before, *(shown[one.call.id] for one in results)

    def _message(self, call: ToolCall, body: Body) -> Message:
        return call.result(self._write(body), is_error=not body["success"])
