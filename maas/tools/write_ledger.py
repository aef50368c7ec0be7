"""The ledger of writes, as the executor uses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from maas.tools.tool import Tool
from shared.models import ToolCall


class WriteLedger(Protocol):
    """Records a write before and after it is made, so that a crash never repeats it."""

    async def begin(
        self, call: ToolCall, tool: Tool, digest: str, arguments: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Return None if the write is to be made now, else the body to use instead."""
        ...

    async def finish(self, tool: Tool, digest: str, body: Mapping[str, Any], ms: float) -> None: ...

    async def failures(self, tool: Tool) -> int:
        """Return how often the tool failed in a row before this run."""
        ...
