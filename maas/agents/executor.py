"""The one way to a tool: known, allowed, within the limit, well called, let by the policy, run in time, noted."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import groupby
from time import monotonic
from typing import Any, Protocol, TypeVar

import structlog

from maas.agents.arguments import Arguments, WrongArguments, fingerprint, read_arguments
from maas.agents.policy import Mode, decide
from maas.agents.results import DATA_BYTES, MADE, ToolDoubt, ToolFailure, ToolResult, cut, refused, succeeded
from maas.agents.tools import Context, Tool, Toolset
from maas.pipeline.layers import layers
from shared import tracing
from shared.errors import MaasError
from shared.log import mask
from shared.models.types import ToolCall
from shared.text import shorten

CALLS = 30
SHOWN = 2000  # bytes of arguments that a layer shows
T = TypeVar("T")
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Session:
    """What a dialogue may do: names of tools, the mode, how many calls, and the fingerprints of what was approved."""

    allowed: frozenset[str]
    mode: Mode = "auto"
    limit: int = CALLS
    approved: frozenset[str] = frozenset()


Count = Callable[[], Awaitable[int]]
Record = Callable[[ToolResult], Awaitable[None]]


class Writes(Protocol):
    """What outlives a process: a write is noted before it is done and after it, and not done a second time."""

    async def begin(self, call: ToolCall, tool: Tool, mark: str) -> dict[str, Any] | None:
        """The body to give instead of doing it; None: do it."""
        ...

    async def finish(self, tool: Tool, mark: str, body: Mapping[str, Any], ms: float) -> None: ...


@dataclass(slots=True)
class _Past:
    """What was done, and what is being done: `writes` changes with each write, so that a read after it is made anew."""

    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    writes: int = 0
    once: defaultdict[tuple[int, str], asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    done: dict[tuple[int, str], dict[str, Any]] = field(default_factory=dict)


class Executor:
    """Runs the calls of one run. `count` raises the session's counter and returns it; `record` notes each result.

    What they or `writes` raise ends the run. A handler's failure is a result.
    """

    def __init__(
        self,
        tools: Toolset,
        session: Session,
        context: Context,
        count: Count,
        record: Record,
        writes: Writes | None = None,
    ) -> None:
        self._tools = tools
        self._session = session
        self._context = context
        self._count = count
        self._record = record
        self._kept = writes
        self._past = _Past()

    def narrowed(self, allowed: Iterable[str]) -> Executor:
        """The same for an agent that may call these only: what one has done, the other does not do again."""
        other = copy(self)
        other._session = replace(self._session, allowed=self._session.allowed & frozenset(allowed))
        return other

    async def run(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """The results of one reply's calls, in their order: reads side by side, a write after all before it."""
        results: list[ToolResult] = []
        for is_read, group in groupby(calls, self._is_read):
            if is_read:
                results += await together(self._run(call) for call in group)
            else:
                results += [await self._run(call) for call in group]
        return results

    def _is_read(self, call: ToolCall) -> bool:
        tool = self._tools.get(call.name)
        return tool is None or tool.effect == "read"

    async def _run(self, call: ToolCall) -> ToolResult:
        started = monotonic()
        tool = self._tools.get(call.name)
        arguments = None
        if tool is None:
            body = refused(
                "unknown_tool", f"there is no tool {shorten(call.name, 64)!r}: use a name that you were given"
            )
        else:
            body, arguments = await self._guarded(tool, call)
        meta = {
            "tool": shorten(call.name, 64),
            "domain": tool.domain if tool else None,
            "latency_ms": round((monotonic() - started) * 1000),
            "via": tool.via if tool else None,
        }
        if arguments and arguments.ignored:
            meta["ignored"] = shorten(", ".join(arguments.ignored), 300)
        result = ToolResult(call, body | {"_meta": meta | body.get("_meta", {})}, tool, arguments)
        if result.code not in MADE:
            await layers().error(7, shorten(call.name, 64), str(result.code), message=str(body["message"]))
        await self._record(result)
        return result

    async def _guarded(self, tool: Tool, call: ToolCall) -> tuple[dict[str, Any], Arguments | None]:
        decision = decide(tool.effect, self._session.mode, tool.name in self._session.allowed)
        if decision == "refuse":
            return refused("not_allowed", f"{tool.name} is not open to this dialogue: answer without it"), None
        if not tool.is_meta and await self._count() > self._session.limit:
            limit = f"all {self._session.limit} tool calls of this dialogue are used: answer from what you have"
            return refused("tool_call_limit_reached", limit), None
        try:
            arguments = read_arguments(tool, call.arguments)
        except WrongArguments as error:
            return refused("validation_error", f"{error}. Correct the arguments and call {tool.name} again"), None
        except Exception as error:
            return _crashed(tool, error, "Nothing was done: answer without it"), None
        mark = fingerprint(tool, arguments.values)
        if decision == "ask" and not tool.is_meta and mark not in self._session.approved:
            return self._asked(tool, arguments), arguments
        if not tool.is_meta:
            await layers().info(7, tool.name, {"effect": tool.effect, "arguments": cut(arguments.values, SHOWN)[0]})
        return await self._performed(call, tool, arguments, mark), arguments

    def _asked(self, tool: Tool, arguments: Arguments) -> dict[str, Any]:
        return refused(
            "approval_required",
            "not done yet, it waits for the user's approval: say what will happen, do not call it again",
            approval_required=True,
            arguments=cut(arguments.values, DATA_BYTES)[0],
            reason=tool.reason or tool.description.strip().splitlines()[0],
        )

    async def _performed(self, call: ToolCall, tool: Tool, arguments: Arguments, mark: str) -> dict[str, Any]:
        """Do it, unless this run has done the same: a read counts as the same until the next write."""
        if tool.is_meta:
            return await self._passed_on(tool, arguments)
        if tool.effect == "read":
            return await self._made_once((self._past.writes, mark), lambda: self._handled(tool, arguments))
        async with self._past.writing:
            self._past.writes += 1
            try:
                return await self._made_once((0, mark), lambda: self._written(call, tool, arguments, mark))
            finally:
                self._past.writes += 1

    async def _written(self, call: ToolCall, tool: Tool, arguments: Arguments, mark: str) -> dict[str, Any]:
        if self._kept is None:
            return await self._handled(tool, arguments)
        if (kept := await self._kept.begin(call, tool, mark)) is not None:
            return kept
        started = monotonic()
        body = await self._handled(tool, arguments)
        await self._kept.finish(tool, mark, body, (monotonic() - started) * 1000)
        return body

    async def _made_once(self, key: tuple[int, str], make: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        async with self._past.once[key]:
            if key not in self._past.done:
                body = await make()
                if not body["success"]:
                    return body
                self._past.done[key] = body
            return self._past.done[key]

    async def _passed_on(self, tool: Tool, arguments: Arguments) -> dict[str, Any]:
        try:
            async with layers().span(4, tool.name):
                return succeeded(await tool.handler(arguments.model, self._context))
        except ToolFailure as error:
            return refused("failed", error.message)

    async def _handled(self, tool: Tool, arguments: Arguments) -> dict[str, Any]:
        await layers().start(8, tool.name)
        about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool.name}
        with tracing.span(f"execute_tool {tool.name}", about) as told:
            body = await self._tried(tool, arguments)
            if not body["success"]:
                told.fail(body["error_code"])
        if body["success"]:
            await layers().end(8, tool.name)
        else:
            await layers().error(8, tool.name, body["error_code"], message=body["message"])
        return body

    async def _tried(self, tool: Tool, arguments: Arguments) -> dict[str, Any]:
        clock = asyncio.timeout(tool.timeout)
        try:
            async with clock:
                returned = await tool.handler(arguments.model, self._context)
            return succeeded(returned)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            return _crashed(tool, error, _advice(tool))  # something within the handler was cancelled, not this run
        except Exception as error:
            if clock.expired():
                return refused("timeout", f"{tool.name} gave no result within {tool.timeout:g} s. {_advice(tool)}")
            if isinstance(error, MaasError):
                log.warning("tool_failed", tool=tool.name, cause=str(error))
                said = shorten(mask(error.message), 500)
                if isinstance(error, ToolDoubt):
                    return refused("failed" if _is_repeatable(tool) else "in_doubt", f"{said}. {_advice(tool)}")
                details = error.details if isinstance(error, ToolFailure) else None
                return refused("failed", said, **details or {})
            return _crashed(tool, error, _advice(tool))


def _crashed(tool: Tool, error: BaseException, advice: str) -> dict[str, Any]:
    log.error("tool_crashed", tool=tool.name, exc_info=error)
    return refused("failed", f"{tool.name} failed. {advice}")


def _is_repeatable(tool: Tool) -> bool:
    return tool.effect == "read" or tool.is_idempotent


def _advice(tool: Tool) -> str:
    if _is_repeatable(tool):
        return "Call it once more or answer without it"
    return "It may have taken effect all the same: look before you repeat it, and tell the user"


async def together(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What all of them return, side by side, in their order; the first that raises ends the others."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
