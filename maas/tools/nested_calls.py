"""Calls that a tool makes itself: other tools of its run, each checked, decided on, counted and recorded like any call.

A tool that only reads may so cause writes: each of them passes the executor, is in the tool ledger under an id of its
own, and waits for approval as if the model had called it. A tool that writes holds the lock of writes while it runs, so
it could call no other that writes; such a tool must not use this.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from maas.tools.calls import ToolResult
from maas.tools.tool import Tool, Toolset
from shared.models import ToolCall

Run = Callable[[Sequence[ToolCall]], Awaitable[list[ToolResult]]]


class NestedLog(Protocol):
    """Hears of each call before it is made, and takes up its result for the messages of the conversation."""

    async def announce(self, call: ToolCall, tool: Tool | None) -> None: ...

    async def keep(self, results: Sequence[ToolResult]) -> None: ...


class NestedCalls:
    """The tools that one call of a tool may call. `run` is that of an executor for exactly `tools`.

    Ids are `{id of the call}-{number}`, so after a crash the same calls have the same ids. `error` is what ended a call
    that had no result, such as a lost run or connection: it ends the outer call, too, whatever its handler makes of it.
    """

    def __init__(self, call_id: str, tools: Toolset, run: Run, log: NestedLog) -> None:
        self.tools = tools
        self.error: Exception | None = None
        self._call_id = call_id
        self._run = run
        self._log = log
        self._calls = 0

    async def call(self, name: str, arguments: str) -> ToolResult:
        """Call a tool with `arguments`, JSON text of one object, and return what came of it; failures are results."""
        self._calls += 1
        call = ToolCall(f"{self._call_id}-{self._calls}", name, arguments)
        try:
            await self._log.announce(call, self.tools.get(name))
            (result,) = await self._run([call])
            await self._log.keep([result])
        except Exception as error:
            self.error = error
            raise
        return result
