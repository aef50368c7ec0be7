"""Calls that a tool makes: no wider than the dialogue, counted and announced like any, and never within a write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from maas.engine.run import LostRun
from maas.tools.calls import ToolFailure, ToolResult
from maas.tools.executor import Executor
from maas.tools.permissions import Permissions
from maas.tools.tool import Mode, Tool, ToolContext, Toolset, tool
from shared.errors import MaasError
from shared.models import ToolCall

CONTEXT = ToolContext(UUID(int=1), UUID(int=2))


class Names(BaseModel):
    names: list[str]


class Order(BaseModel):
    text: str
    lines: list[str] = []


async def verify(*_: Any) -> Any:
    return {}


async def _call(names: Names, context: ToolContext) -> Any:
    if context.others is None:
        return None
    results = [await context.others.call(name, "{}") for name in names.names]
    return {"open": [one.name for one in context.others.tools], "codes": [one.code for one in results]}


@tool(domain="delegation", effect="read")
async def outer(names: Names, context: ToolContext) -> Any:
    """Call others."""
    return await _call(names, context)


@tool(domain="delegation", effect="write", verify=verify)
async def outer_write(names: Names, context: ToolContext) -> Any:
    """Call others while it writes."""
    return await _call(names, context)


@tool(domain="box", effect="read")
async def look(context: ToolContext) -> Any:
    """Look."""
    assert context.others is None
    return "seen"


@tool(domain="box", effect="write", verify=verify)
async def write() -> Any:
    """Write."""
    return "written"


@tool(domain="box", effect="dangerous", verify=verify)
async def wipe() -> Any:
    """Wipe."""
    return "wiped"


@tool(domain="secret", effect="read")
async def peek() -> Any:
    """Peek."""
    return "hidden"


TOOLS = (outer, outer_write, look, write, wipe, peek)


class Bench:
    """One executor; `calls` are those that were announced, `kept` the results of nested ones, `results` all."""

    def __init__(self, *tools: Tool, mode: Mode = "auto", limit: int = 30, error: Exception | None = None) -> None:
        self.announced: list[str] = []
        self.kept: list[ToolResult] = []
        self.results: list[ToolResult] = []
        self.counted = 0
        self.error = error
        known = Toolset(tools or TOOLS)
        nested = frozenset(one.name for one in known if one.domain != "secret")
        permissions = Permissions(frozenset(one.name for one in known), mode, limit, nested=nested)
        self.executor = Executor(known, permissions, CONTEXT, self._count, self._record, nested=self)

    async def announce(self, call: ToolCall, tool: Tool | None) -> None:
        self.announced.append(call.id)

    async def keep(self, results: Sequence[ToolResult]) -> None:
        self.kept += results

    async def _count(self) -> int:
        self.counted += 1
        return self.counted

    async def _record(self, result: ToolResult) -> None:
        if self.error is not None and "-" in result.call.id:
            raise self.error
        self.results.append(result)

    async def call(self, name: str, arguments: str) -> dict[str, Any]:
        (result,) = await self.executor.run([ToolCall("c", name, arguments)])
        return dict(result.body)


async def test_calls_pass_the_executor() -> None:
    bench = Bench()
    names = '{"names": ["look", "write", "wipe", "peek", "outer", "nothing"]}'
    data = (await bench.call("outer", names))["data"]
    assert data["open"] == ["look", "write", "wipe"]
    assert data["codes"] == [None, None, "approval_required", *["unknown_tool"] * 3]
    assert bench.announced == [f"c-{number}" for number in range(1, 7)]
    assert [one.call.id for one in bench.results] == [*bench.announced, "c"] and len(bench.kept) == 6
    assert bench.counted == 4


async def test_an_agent_lends_what_is_open_to_its_run() -> None:
    bench = Bench()
    bench.executor = bench.executor.narrowed("router", ["outer"])
    assert (await bench.call("outer", '{"names": ["write"]}'))["data"]["codes"] == [None]
    assert (await bench.call("write", "{}"))["error_code"] == "not_allowed"


async def test_mode_and_limit_hold_for_nested_calls() -> None:
    planned = Bench(mode="plan")
    assert (await planned.call("outer", '{"names": ["look", "write"]}'))["data"]["codes"] == [None, "approval_required"]
    limited = Bench(limit=2)
    codes = (await limited.call("outer", '{"names": ["look", "write"]}'))["data"]["codes"]
    assert codes == [None, "TOOL_CALL_LIMIT"]


async def test_a_write_calls_nothing() -> None:
    """It would wait for its own lock."""
    assert (await Bench().call("outer_write", '{"names": ["write"]}'))["data"] is None


@pytest.mark.parametrize("error", [LostRun(), MaasError("database_unreachable", "gone"), OSError("gone")])
async def test_what_ends_a_nested_call_ends_the_outer_one(error: Exception) -> None:
    with pytest.raises(type(error)):
        await Bench(error=error).call("outer", '{"names": ["look"]}')


async def prepare(order: Order, context: ToolContext) -> dict[str, Any]:
    if order.text == "none":
        raise ToolFailure("there is nothing to order", "Нечего.")
    assert context.others is not None
    return {"text": order.text, "lines": [one.name for one in context.others.tools] if order.text != "bad" else 5}


@tool(domain="delegation", effect="dangerous", verify=verify, prepare=prepare)
async def place(order: Order) -> Any:
    """Order it."""
    return order.lines


async def test_what_waits_is_what_was_prepared() -> None:
    """The model's own lines are not used; a preparation that fails proposes nothing."""
    bench = Bench(place, look, write)
    body = await bench.call("place", '{"text": "all", "lines": ["mine"]}')
    assert (body["error_code"], body["arguments"]) == ("approval_required", {"text": "all", "lines": ["look", "write"]})
    (result,) = bench.results
    assert result.arguments is not None and result.arguments.values == body["arguments"]
    assert (await bench.call("place", '{"text": "none"}'))["say"] == "Нечего."
    failed = await bench.call("place", '{"text": "bad"}')
    assert failed["error_code"] == "failed" and "may have taken effect" not in failed["message"]


def test_only_dangerous_tools_prepare() -> None:
    with pytest.raises(MaasError, match="only a dangerous tool prepares"):
        replace(place, effect="write")
