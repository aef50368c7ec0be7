"""What the tool calls of one run leave behind: lines of the ledger, events, actions that wait for the user."""

from __future__ import annotations

from maas.agents.ledger import ToolLedger
from maas.agents.results import ToolResult
from maas.pipeline.events import EventType, RunEvents
from maas.pipeline.runs import Run, ToolUse
from shared.db import Database
from shared.models.types import ToolCall


class CallLog:
    """Of one run in these hands; every method raises LostRun when it is in others."""

    def __init__(self, db: Database, events: RunEvents, run: Run, assistant: str) -> None:
        self.ledger = ToolLedger(db, run.id, run.attempt)
        self._db = db
        self._events = events
        self._run = run
        self._assistant = assistant
        self._places: dict[str, int] = {}

    async def announce(self, call: ToolCall) -> None:
        """It is going to be made."""
        self._place(call)
        await self._events.emit(EventType.TOOL_START, {"call_id": call.id, "tool": call.name})

    async def record(self, result: ToolResult) -> None:
        """It was made, refused, or waits."""
        await self.ledger.note(result)
        if result.tool is not None and not result.tool.is_meta:
            seconds = result.body["_meta"]["latency_ms"] / 1000
            self._run.tools.append(ToolUse(result.tool.name, result.code or "done", seconds))
        if result.code == "approval_required":
            await self._propose(result)
        await self._events.emit(
            EventType.TOOL_RESULT,
            {
                "call_id": result.call.id, "tool": result.call.name, "success": result.is_success,
                "error_code": result.code, "latency_ms": result.body["_meta"]["latency_ms"],
            },
        )  # fmt: skip

    async def _propose(self, result: ToolResult) -> None:
        assert result.tool is not None and result.arguments is not None
        tool, arguments = result.tool, result.arguments.values
        action = await self._db.value(
            "propose_action", self._run.id, _key(result.call), tool.name, arguments, tool.effect, tool.version,
            self._assistant, self._place(result.call),
        )  # fmt: skip
        await self._events.emit(
            EventType.APPROVAL_REQUIRED,
            {"action_id": str(action), "tool": tool.name, "arguments": arguments, "reason": result.body["reason"]},
        )

    def _place(self, call: ToolCall) -> int:
        """Which call of the run it is, from 1: in the order of the model, whichever is recorded first."""
        return self._places.setdefault(_key(call), len(self._places) + 1)


def _key(call: ToolCall) -> str:
    """Agents side by side may have calls of one id."""
    return f"{call.id}:{call.name}"
