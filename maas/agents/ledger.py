"""The ledger of tools: calls counted, writes done once whatever dies, reads noted. Every line is fenced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from maas.agents.arguments import fingerprint
from maas.agents.results import MADE, ToolResult, refused
from maas.agents.tools import Tool
from maas.pipeline.runs import LostRun
from shared.db import Database
from shared.models.types import ToolCall


class ToolLedger:
    """Of one run in these hands. Every method raises LostRun when it is in others."""

    def __init__(self, db: Database, run_id: UUID, attempt: int) -> None:
        self._db = db
        self._run = (run_id, attempt)

    async def count(self) -> int:
        """Which call of this claim comes now, from 1."""
        number: int | None = await self._db.value("count_tool_call", *self._run)
        if number is None:
            raise LostRun
        return number

    async def begin(self, call: ToolCall, tool: Tool, mark: str) -> dict[str, Any] | None:
        """None when it is to be done now; what it gave before; or that nobody knows whether it was done."""
        row = await self._db.row(
            "begin_tool", *self._run, call.id, tool.name, mark, tool.effect, tool.is_idempotent
        )  # fmt: skip
        assert row is not None
        match row["verdict"]:
            case "run":
                return None
            case "kept":
                return dict(row["result"])
            case "in_doubt":
                advice = (
                    "it was begun and nobody knows whether it took effect: do not repeat it, look, and tell the user"
                )
                return refused("in_doubt", f"{tool.name}: {advice}")
            case _:
                raise LostRun

    async def finish(self, tool: Tool, mark: str, body: Mapping[str, Any], ms: float) -> None:
        """A write that ran out of time, or whose server was lost, may have taken effect: it stays in doubt."""
        is_doubted = body.get("error_code") in ("timeout", "in_doubt")
        status = "done" if body["success"] else "in_doubt" if is_doubted else "failed"
        if not await self._db.value("finish_tool", *self._run, tool.name, mark, status, body, ms):
            raise LostRun

    async def note(self, result: ToolResult) -> None:
        """A read that was made; writes are noted by `begin` and `finish`."""
        tool, arguments = result.tool, result.arguments
        if tool is None or arguments is None or tool.effect != "read" or tool.is_meta or result.code not in MADE:
            return
        status = "done" if result.is_success else "failed"
        mark = fingerprint(tool, arguments.values)
        ms = float(result.body["_meta"]["latency_ms"])
        if not await self._db.value("note_read", *self._run, result.call.id, tool.name, mark, status, ms):
            raise LostRun
