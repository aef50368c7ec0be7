"""The tool ledger: calls are counted, writes recorded before and after they are made, results announced as events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from maas import queries
from maas.engine.events import EventType, RunEvents
from maas.engine.run import LostRun, Run, ToolUse
from maas.tools.arguments import MAX_ARGUMENT_CHARS, fingerprint
from maas.tools.calls import HANDLER_CODES, ToolResult, diagnostic, refused
from maas.tools.rows import size
from maas.tools.tool import Tool
from shared.db import Database
from shared.json import json_object
from shared.log import mask
from shared.models import Reply, ToolCall
from shared.text import clean, offload, shorten

MAX_NAME_CHARS = 64
MAX_ID_CHARS = 200
_IN_DOUBT = "it was begun and nobody knows whether it took effect: do not repeat it, look, and tell the user"


class ToolLedger:
    """The tool calls of one claimed run, as rows that survive a crash.

    Every method raises LostRun once another orchestrator owns the run.
    """

    def __init__(self, db: Database, run_id: UUID, attempt: int) -> None:
        self._db = db
        self._run = (run_id, attempt)

    async def count(self) -> int:
        """Increment the stored number of calls of this claim and return it: what a task may use outlasts a crash."""
        number: int | None = await self._db.value(queries.count_tool_call, *self._run)
        if number is None:
            raise LostRun
        return number

    async def begin(
        self, call: ToolCall, tool: Tool, digest: str, arguments: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Record a write before it is made; `digest` is the fingerprint of the call.

        Returns None if the write is to be made now. Otherwise returns the body to use instead: the stored result, or
        `in_doubt` for a write that an earlier owner began and did not finish.
        """
        row = await self._db.row(
            queries.begin_tool,
            *self._run,
            call.id,
            tool.name,
            digest,
            tool.effect,
            tool.is_idempotent,
            await _diagnostic(arguments),
        )
        assert row is not None
        match row["verdict"]:
            case "run":
                return None
            case "kept":
                return dict(row["result"])
            case "in_doubt":
                return refused("in_doubt", f"{tool.name}: {_IN_DOUBT}")
            case _:
                raise LostRun

    async def finish(self, tool: Tool, digest: str, body: Mapping[str, Any], ms: float) -> None:
        """Record the result of a write. One that timed out or lost its server may have taken effect: it is in doubt."""
        is_doubtful = body.get("error_code") in ("timeout", "in_doubt")
        status = "done" if body["success"] else "in_doubt" if is_doubtful else "failed"
        shown = await _diagnostic(body)
        if not await self._db.value(queries.finish_tool, *self._run, tool.name, digest, status, body, ms, shown):
            raise LostRun

    async def failures(self, tool: Tool) -> int:
        """Return how often the tool failed in a row in the runs of this conversation before this one."""
        count: int = await self._db.value(queries.failures_in_a_row, self._run[0], tool.name)
        return count

    async def note(self, result: ToolResult) -> None:
        """Record a read that reached its handler; `begin` and `finish` record writes."""
        tool, arguments = result.tool, result.arguments
        is_read = tool is not None and tool.effect == "read" and not tool.is_meta
        if tool is None or arguments is None or not is_read or result.code not in HANDLER_CODES:
            return
        status = "done" if result.is_success else "failed"
        digest = fingerprint(tool, arguments.values)
        ms = float(result.body["_meta"]["latency_ms"])
        given, shown = await _diagnostic(arguments.values), await _diagnostic(result.body)
        if not await self._db.value(
            queries.note_read, *self._run, result.call.id, tool.name, digest, status, ms, given, shown, result.documents
        ):
            raise LostRun


async def _diagnostic(parts: Mapping[str, Any]) -> Any:
    return await offload(size(parts), diagnostic, parts)


async def add_messages(run: Run, results: Sequence[ToolResult], reply: Reply | None = None) -> None:
    """Have the calls of one round written to the messages of the conversation, together with the answer.

    `reply` is the reply that made them: the first message gets its text and tokens.
    """
    if run.conversation_id is None:
        return
    for number, result in enumerate(results):
        is_first = number == 0 and reply is not None
        run.log.messages.append(
            {
                "content": mask(clean(reply.text)) if is_first and reply else "",
                "tokens_used": reply.usage.tokens_in + reply.usage.tokens_out if is_first and reply else None,
                "agent": result.agent,
                "tool_calls": [await _as_called(result)],
                "tool_call_id": _id_of(result.call),
                "tool_name": shorten(clean(result.call.name), MAX_NAME_CHARS),
                "tool_result": await _diagnostic(result.body),
            }
        )


async def _as_called(result: ToolResult) -> dict[str, Any]:
    """A call as its message shows it; arguments that were not accepted as the model wrote them."""
    arguments: Any = await _diagnostic(result.arguments.values) if result.arguments else None
    if arguments is None:
        text = result.call.arguments
        arguments = await _diagnostic(
            (json_object(text) if len(text) <= MAX_ARGUMENT_CHARS else None) or {"text": text}
        )
    name = shorten(clean(result.call.name), MAX_NAME_CHARS)
    return {"id": _id_of(result.call), "name": name, "arguments": arguments}


def _id_of(call: ToolCall) -> str:
    return shorten(clean(call.id), MAX_ID_CHARS)


class CallLog:
    """Records the tool calls of one claimed run: in the ledger, as events, and as actions that wait for approval.

    Every method raises LostRun once another orchestrator owns the run.
    """

    def __init__(self, db: Database, events: RunEvents, run: Run) -> None:
        self.ledger = ToolLedger(db, run.id, run.attempt)
        self._db = db
        self._events = events
        self._run = run
        self.proposed: list[UUID] = []  # actions
        self._numbers: dict[str, int] = {}
        self._calls = 0

    async def count(self) -> int:
        """Increment the number of calls of this claim and return it; the next claim makes the same calls again."""
        self._calls += 1
        return self._calls

    async def announce(self, call: ToolCall, tool: Tool | None) -> None:
        """Emit `tool_start` before the call is made, with the title of its tool in both languages if it has one."""
        self._number(call)
        title = tool.wording.title if tool is not None else None
        titled = {"title": title.to_json()} if title is not None else {}
        await self._events.emit(EventType.TOOL_START, {"call_id": call.id, "tool": call.name, **titled})

    async def keep(self, results: Sequence[ToolResult]) -> None:
        """Have the results of calls that a tool made written to the messages of the conversation."""
        await add_messages(self._run, results)

    async def record(self, result: ToolResult) -> None:
        """Record a result, propose an action if it needs approval, and emit `tool_result`."""
        await self.record_quietly(result)
        if result.code == "approval_required":
            await self._propose(result)
        await self._events.emit(
            EventType.TOOL_RESULT,
            {
                "call_id": result.call.id,
                "tool": result.call.name,
                "success": result.is_success,
                "error_code": result.code,
                "latency_ms": result.body["_meta"]["latency_ms"],
            },
        )

    async def record_quietly(self, result: ToolResult) -> None:
        """Record a result that no follower of the run hears of: that of a call which no model made."""
        await self.ledger.note(result)
        if result.tool is not None and not result.tool.is_meta:
            seconds = result.body["_meta"]["latency_ms"] / 1000
            self._run.log.tools.append(ToolUse(result.tool.name, result.code or "done", seconds))

    async def _propose(self, result: ToolResult) -> None:
        assert result.tool is not None and result.arguments is not None
        tool, arguments = result.tool, result.arguments.values
        row = await self._db.row(
            queries.propose_action,
            self._run.id,
            _call_key(result.call),
            tool.name,
            arguments,
            tool.effect,
            tool.version,
            result.agent or tool.domain,
            self._number(result.call),
            result.arguments.wording or {},
        )
        assert row is not None
        self.proposed.append(row["id"])
        self._run.log.waiting = self._run.log.waiting or "run"
        await self._events.emit(
            EventType.APPROVAL_REQUIRED,
            {
                "call_id": result.call.id,
                "action_id": str(row["id"]),
                "fingerprint": row["fingerprint"],
                "tool": tool.name,
                "arguments": arguments,
                "reason": result.body["reason"],
            },
        )

    def _number(self, call: ToolCall) -> int:
        """The number of the call in the run, from 1, in the order in which the model made its calls."""
        return self._numbers.setdefault(_call_key(call), len(self._numbers) + 1)


def _call_key(call: ToolCall) -> str:
    """Agents that work side by side may have calls of one id."""
    return f"{call.id}:{call.name}"
