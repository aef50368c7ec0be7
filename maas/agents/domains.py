"""Many tools behind four: a model opens the domain that it needs, and its calls are passed on, domains side by side."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from time import monotonic
from typing import Annotated, Any

import structlog
from pydantic import BaseModel, Field

from maas.agents.executor import together
from maas.agents.results import DATA_BYTES, MADE, ToolFailure, ToolResult, cut, size
from maas.agents.tools import Tool, Toolset, tool
from maas.pipeline.layers import layers
from maas.pipeline.runs import LostRun
from shared.db import CONNECTION_LOST
from shared.models.types import ToolCall

META = "meta"
MOST_CALLS = 20
_WRAPPING = 700  # bytes of a result beside its data
log = structlog.get_logger()

Execute = Callable[[Sequence[ToolCall]], Awaitable[list[ToolResult]]]
Respond = Callable[[str, str, Sequence[ToolResult]], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class Domain:
    """A set of tools as a model is told of it before it opens one; `about` is a few words."""

    name: str
    about: str
    is_available: bool = True


class Opened(BaseModel):
    domain: str


class Wanted(BaseModel):
    name: str
    args: dict[str, Any] = {}


class Calls(BaseModel):
    tools: Annotated[list[Wanted], Field(min_length=1, max_length=MOST_CALLS)]
    user_question: str = ""


class OneCall(BaseModel):
    tool_name: str
    arguments: dict[str, Any] = {}


def meta_tools(domains: Sequence[Domain], tools: Toolset, execute: Execute, respond: Respond | None = None) -> Toolset:
    """What a model sees in place of `tools`. `execute` is an Executor's run over `tools`, so every call is guarded.

    `respond(domain, question, results)` lets a domain's agent put its results into words; without any they are given as
    they are.
    """
    catalogue = _Catalogue({domain.name: domain for domain in domains}, tools)
    router = _Router(tools, execute, respond)

    @tool(domain=META, effect="read")
    async def getAvailableDomains() -> Any:
        """List the domains of tools."""
        return catalogue.domains()

    @tool(domain=META, effect="read")
    async def getDomainTools(opened: Opened) -> Any:
        """List a domain's tools with their parameters."""
        return catalogue.tools(opened.domain)

    @tool(domain=META, effect="read")
    async def executeTools(calls: Calls) -> Any:
        """Call tools of any domains, all that you need at once."""
        return await router.route(calls)

    @tool(domain=META, effect="read")
    async def executeTool(call: OneCall) -> Any:
        """Deprecated: use executeTools."""
        log.warning("deprecated_tool", tool="executeTool", use="executeTools")
        return await router.route(Calls(tools=[Wanted(name=call.tool_name, args=call.arguments)]))

    found: list[Tool] = [getAvailableDomains, getDomainTools, executeTools, executeTool]
    return Toolset(replace(one, is_meta=True) for one in found)


class _Catalogue:
    def __init__(self, domains: dict[str, Domain], tools: Toolset) -> None:
        self._domains = domains
        self._tools = tools

    def domains(self) -> dict[str, Any]:
        shown = [
            {"name": one.name, "about": one.about, "available": one.is_available} for one in self._domains.values()
        ]
        return {"domains": shown, "hint": "call getDomainTools before you use a domain"}

    def tools(self, name: str) -> list[dict[str, Any]]:
        domain = self._domains.get(name)
        if domain is None:
            raise ToolFailure(f"there is no such domain; there are: {', '.join(self._domains)}")
        if not domain.is_available:
            raise ToolFailure(f"{name} is not connected: tell the user, answer without it")
        return [
            {
                "name": one.name,
                "description": one.description,
                "parameters": one.parameters,
                "dangerous": one.effect == "dangerous",
                "timeout_ms": round(one.timeout * 1000),
            }
            for one in self._tools.of(name)
        ]


class _Router:
    def __init__(self, tools: Toolset, execute: Execute, respond: Respond | None) -> None:
        self._tools = tools
        self._execute = execute
        self._respond = respond
        self._numbers = count(1)

    async def route(self, calls: Calls) -> dict[str, Any]:
        """Each domain's answer; what belongs to no domain comes under `unknown`."""
        groups: dict[str, list[ToolCall]] = {}
        for wanted in calls.tools:
            known = self._tools.get(wanted.name)
            call = ToolCall(f"{META}-{next(self._numbers)}", wanted.name, json.dumps(wanted.args, ensure_ascii=False))
            groups.setdefault(known.domain if known else "unknown", []).append(call)
        await layers().info(5, "domains", {name: [call.name for call in group] for name, group in groups.items()})
        room = (DATA_BYTES - 200 * len(groups)) // len(calls.tools)
        answers = await together(self._answer(name, group, calls.user_question, room) for name, group in groups.items())
        return dict(zip(groups, answers, strict=True))

    async def _answer(self, domain: str, calls: Sequence[ToolCall], question: str, room: int) -> dict[str, Any]:
        started = monotonic()
        async with layers().span(6, domain, {"calls": [call.name for call in calls]}):
            results = await self._execute(calls)
        is_success = all(result.is_success for result in results)
        response: Any = [_fitted(result.body, room) for result in results]
        if self._respond is not None:
            try:
                if (words := await self._respond(domain, question, results)) is not None:
                    response = cut(words, room * len(calls))[0]
            except (LostRun, *CONNECTION_LOST):
                raise
            except Exception as error:
                log.error("domain_agent_crashed", domain=domain, exc_info=error)
                is_success = False
        return {
            "success": is_success,
            "response": response,
            "toolsExecuted": [result.call.name for result in results if result.code in MADE],
            "latency_ms": round((monotonic() - started) * 1000),
        }


def _fitted(body: Any, room: int) -> Any:
    """The body of one call within its share of what the model reads; what goes first are the extras."""
    if size(body) <= room:
        return body
    short = {name: value for name, value in body.items() if name not in ("_entityMap", "recommendations", "arguments")}
    if "data" in short:
        short["data"], is_cut = cut(short["data"], max(room - _WRAPPING, 0))
        short["_meta"] = short["_meta"] | ({"cut": ["data"]} if is_cut else {})
    return short
