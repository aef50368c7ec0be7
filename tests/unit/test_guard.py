"""One guard for every path: the table of the policy, over direct calls and through the meta tools."""

from __future__ import annotations

import asyncio
import json
from typing import Any, get_args
from uuid import UUID

import pytest

from maas.agents.meta_tools import Domain, meta_tools
from maas.tools.arguments import fingerprint
from maas.tools.calls import ToolResult
from maas.tools.executor import Executor, Via
from maas.tools.permissions import Permissions
from maas.tools.tool import Effect, Mode, Tool, ToolContext, Toolset, decide
from shared.models import ToolCall

CONTEXT = ToolContext(UUID(int=1), UUID(int=2))
CODES = {"run": None, "ask": "approval_required", "refuse": "not_allowed"}
PATHS = ("direct", "executeTool", "executeTools")


class Harness:
    """One tool with an effect, how often it acted, and the ways to it."""

    def __init__(
        self, effect: Effect, mode: Mode, is_allowed: bool, is_approved: bool = False, via: Via = "mcp"
    ) -> None:
        self.acted = 0
        self.recorded: list[ToolResult] = []
        act = Tool("act", "ads", "Do it.", effect, self._act)
        tools = Toolset([act])
        approved = frozenset({fingerprint(act, {})} if is_approved else ())
        session = Permissions(frozenset({"act"} if is_allowed else ()), mode, approved=approved)
        self.guarded = Executor(tools, session, CONTEXT, self._count, self._record, via=via)
        meta = meta_tools([Domain("ads", "campaigns")], tools, self.guarded.run)
        outer = Permissions(frozenset(one.name for one in meta), mode)
        self.meta = Executor(meta, outer, CONTEXT, self._count, self._record)

    async def _act(self, *_: Any) -> Any:
        self.acted += 1
        return "done"

    async def _count(self) -> int:
        return 1

    async def _record(self, result: ToolResult) -> None:
        self.recorded.append(result)

    async def take(self, path: str) -> None:
        call = {
            "direct": ToolCall("c", "act", "{}"),
            "executeTool": ToolCall("c", "executeTool", json.dumps({"tool_name": "act"})),
            "executeTools": ToolCall("c", "executeTools", json.dumps({"tools": [{"name": "act"}]})),
        }[path]
        async with asyncio.timeout(10):
            await (self.guarded if path == "direct" else self.meta).run([call])

    @property
    def code(self) -> str | None:
        """Of the one call to the tool itself."""
        (result,) = [one for one in self.recorded if one.call.name == "act"]
        return result.code


@pytest.mark.parametrize("via", get_args(Via))
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("is_allowed", [True, False])
@pytest.mark.parametrize("mode", get_args(Mode))
@pytest.mark.parametrize("effect", get_args(Effect))
async def test_no_path_leads_around_the_guard(
    effect: Effect, mode: Mode, is_allowed: bool, path: str, via: Via
) -> None:
    """With both values of USE_MCP_RUNTIME, which only the result names."""
    harness = Harness(effect, mode, is_allowed, via=via)
    await harness.take(path)
    decision = decide(effect, mode, is_allowed)
    assert (harness.code, harness.acted) == (CODES[decision], int(decision == "run"))
    assert next(one for one in harness.recorded if one.call.name == "act").body["_meta"]["via"] == via


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("effect", get_args(Effect))
async def test_what_was_approved_runs_on_every_path(effect: Effect, path: str) -> None:
    harness = Harness(effect, "ask", True, is_approved=True)
    await harness.take(path)
    assert (harness.code, harness.acted) == (None, 1)


@pytest.mark.parametrize("path", PATHS)
async def test_an_approval_opens_no_closed_tool(path: str) -> None:
    harness = Harness("dangerous", "ask", False, is_approved=True)
    await harness.take(path)
    assert (harness.code, harness.acted) == ("not_allowed", 0)
