"""The executor: every tool call passes here, is checked, decided on by the policy, run in time and recorded."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import groupby
from time import monotonic
from typing import Any, Literal

import structlog

from maas.engine.run import LostRun
from maas.runs.debug_info import debug_log
from maas.tools.arguments import ToolArguments, WrongArguments, fingerprint, read_arguments
from maas.tools.bounds import with_rest
from maas.tools.calls import HANDLER_CODES, ToolAnswer, ToolFailure, ToolResult, diagnostic, refused, succeeded
from maas.tools.concurrency import run_concurrently
from maas.tools.failures import advice_on, approval_required, crashed_body, failed_body, word_call
from maas.tools.nested_calls import NestedCalls, NestedLog
from maas.tools.openers import OpenDomains, OpenedDomain
from maas.tools.permissions import Permissions
from maas.tools.rows import size
from maas.tools.tool import Mode, Tool, ToolContext, Toolset, Verify, decide
from maas.tools.write_ledger import WriteLedger
from shared.errors import MaasError
from shared.log import concealing
from shared.models import ToolCall, gen_ai
from shared.text import shorten

VERIFY_TIMEOUT_S = 15.0
UNVERIFIED = {"verified": False, "reason": "it could not be seen whether it took effect"}
MAX_DEBUG_BYTES = 2000  # of arguments in debug information
_FAILED_AGAIN = (
    "It failed twice in a row: call it again only with other arguments, else tell the user what does not work.",
    "It keeps failing: do not call it again. Tell the user what does not work and what else you can do.",
)
Via = Literal["mcp", "legacy"]
log = structlog.get_logger()


CountCall = Callable[[], Awaitable[int]]
RecordResult = Callable[[ToolResult], Awaitable[None]]


@dataclass(slots=True)
class _History:
    """The calls of this run in this process. `writes` changes with each write, so that a later read is made again.

    The keys of `locks` and `bodies` are the value of `writes` (0 for a write) and the fingerprint of the call.
    """

    write_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    writes: int = 0
    locks: defaultdict[tuple[int, str], asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    bodies: dict[tuple[int, str], dict[str, Any]] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)  # of each tool in a row, also before this run


class Executor:
    """Runs the tool calls of one run. The failure of a handler is a result; an error of the callbacks ends the run.

    `count` increments the number of calls and returns it; `record` stores each result; `writes` makes writes safe
    against crashes; `domains` gives the handlers their values and says which tools can be used; `via` is a label of
    the results; `nested` hears of the calls that tools make, without it they make none.
    """

    def __init__(
        self,
        tools: Toolset,
        permissions: Permissions,
        context: ToolContext,
        count: CountCall,
        record: RecordResult,
        writes: WriteLedger | None = None,
        domains: OpenDomains | None = None,
        via: Via = "mcp",
        nested: NestedLog | None = None,
    ) -> None:
        self._via = via
        self._nested = nested
        self._tools = tools
        self._permissions = permissions
        self._context = context
        self._count = count
        self._record = record
        self._writes = writes
        self._domains = domains
        self._history = _History()
        self._agent: str | None = None

    @property
    def tools(self) -> Toolset:
        """The tools that it knows, also those that this dialogue may not call."""
        return self._tools

    def narrowed(self, agent: str | None, allowed: Iterable[str]) -> Executor:
        """An executor for an agent that may call only these tools. Both share one history: no call is repeated."""
        other = copy(self)
        other._agent = agent
        other._permissions = replace(self._permissions, allowed=self._permissions.allowed & frozenset(allowed))
        return other

    def with_tool(self, added: Tool) -> Executor:
        """An executor with one more tool; both share one history."""
        other = copy(self)
        other._tools = Toolset([*self._tools, added])
        other._permissions = replace(self._permissions, allowed=self._permissions.allowed | {added.name})
        return other

    def _others(self, call: ToolCall, tool: Tool) -> NestedCalls | None:
        """What the handler of this call may call: every open tool of other domains, whichever agent made the call."""
        if self._nested is None:
            return None
        permitted = self._permissions.nested
        tools = (one for one in self._tools if one.name in permitted and not one.is_meta and one.domain != tool.domain)
        other = copy(self)
        other._tools = Toolset(tools)
        other._nested = None
        other._permissions = replace(self._permissions, allowed=permitted)
        return NestedCalls(call.id, other._tools, other.run, self._nested)

    async def run(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Make the calls of one reply and return their results in order. Reads run concurrently, writes one by one."""
        results: list[ToolResult] = []
        for is_read, group in groupby(calls, self._is_read):
            if is_read:
                results += await run_concurrently(self._run(call) for call in group)
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
            body, arguments = await self._check_and_make(tool, call)
        meta = self._meta(call, tool, started)
        if arguments and arguments.ignored:
            meta["ignored"] = shorten(", ".join(arguments.ignored), 300)
        if tool is not None and not tool.is_meta:
            body |= await self._count_failure(tool, body)
        meta = with_rest(meta | body.get("_meta", {}), tool)
        result = ToolResult(call, body | {"_meta": meta}, tool, arguments, self._agent)
        if result.code not in HANDLER_CODES:
            await debug_log().error(7, shorten(call.name, 64), str(result.code), message=str(body["message"]))
        await self._record(result)
        return result

    async def _count_failure(self, tool: Tool, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a result says of failures in a row, from the second on. What is in doubt does not count.

        It is counted by what this process has seen of the run and what stands of earlier runs: after a crash the same
        calls get the same texts.
        """
        failures = self._history.failures
        if body["success"]:
            failures[tool.name] = 0
            return {}
        is_failure = body["error_code"] == "failed" or (body["error_code"] == "timeout" and tool.effect == "read")
        if not is_failure:
            return {}
        if tool.name not in failures:
            failures[tool.name] = await self._writes.failures(tool) if self._writes is not None else 0
        failures[tool.name] += 1
        number = failures[tool.name]
        return {"failures_in_a_row": number, "advice": _FAILED_AGAIN[number > 2]} if number > 1 else {}

    async def _check_and_make(self, tool: Tool, call: ToolCall) -> tuple[dict[str, Any], ToolArguments | None]:
        permissions = self._permissions
        mode: Mode = "auto" if tool.name in permissions.unasked else permissions.mode
        decision = decide(tool.effect, mode, tool.name in permissions.allowed)
        if decision == "refuse":
            return refused("not_allowed", f"{tool.name} is not open to this dialogue: answer without it"), None
        if not tool.is_meta and await self._count() > permissions.limit:
            limit = f"all {permissions.limit} tool calls of this dialogue are used: answer from what you have"
            return refused("TOOL_CALL_LIMIT", limit, error="tool_call_limit_reached"), None
        try:
            arguments = read_arguments(tool, call.arguments)
        except WrongArguments as error:
            return refused("validation_error", f"{error}. Correct the arguments and call {tool.name} again"), None
        except Exception as error:
            return crashed_body(tool, error, "Nothing was done: answer without it"), None
        digest = fingerprint(tool, arguments.values)
        if decision == "ask" and not tool.is_meta and digest not in permissions.approved:
            return await self._propose(call, tool, arguments)
        if not tool.is_meta and debug_log().is_enabled:
            shown = diagnostic(arguments.values, MAX_DEBUG_BYTES)
            await debug_log().info(7, tool.name, {"effect": tool.effect, "arguments": shown})
        return await self._make(call, tool, arguments, digest), arguments

    async def _propose(
        self, call: ToolCall, tool: Tool, arguments: ToolArguments
    ) -> tuple[dict[str, Any], ToolArguments]:
        """The call as it waits for its user, with the arguments that the tool has prepared."""
        opened = await self._open(tool)
        if (body := opened.refusal(tool.needs)) is not None:
            return body, arguments
        if (prepare := tool.prepare) is not None:
            prepared: list[ToolArguments] = []

            async def complete(model: Any, context: ToolContext) -> None:
                values = await prepare(model, context)
                prepared.append(read_arguments(tool, json.dumps(values, ensure_ascii=False)))

            preparing = replace(tool, handler=complete, effect="read", prepare=None)
            with concealing(opened.secrets):
                body = await self._call_in_time(preparing, arguments, opened, self._others(call, tool))
            if not prepared:
                return body, arguments
            arguments = prepared[0]
        with concealing(opened.secrets):
            wording = await word_call(tool, arguments, opened.fill(self._context))
        return approval_required(tool, arguments), replace(arguments, wording=wording)

    async def _make(self, call: ToolCall, tool: Tool, arguments: ToolArguments, digest: str) -> dict[str, Any]:
        """Make the call unless this run has made the same one; the result of a read is reused until the next write."""
        if tool.is_meta:
            return await self._call_meta_tool(tool, arguments)
        history = self._history
        if tool.effect == "read":
            return await self._once((history.writes, digest), lambda: self._call_handler(call, tool, arguments))
        async with history.write_lock:
            history.writes += 1
            try:
                return await self._once((0, digest), lambda: self._write(call, tool, arguments, digest))
            finally:
                history.writes += 1

    async def _open(self, tool: Tool) -> OpenedDomain:
        """The domain of a tool. Where nothing can open it, a tool with needs is refused."""
        if self._domains is None:
            return OpenedDomain(tool.domain, is_connected=False, has_data=False)
        return await self._domains.open(tool.domain)

    async def _write(self, call: ToolCall, tool: Tool, arguments: ToolArguments, digest: str) -> dict[str, Any]:
        if self._writes is None:
            return await self._call_handler(call, tool, arguments)
        if (stored := await self._writes.begin(call, tool, digest, arguments.values)) is not None:
            return stored
        started = monotonic()
        body = await self._call_handler(call, tool, arguments)
        body["_meta"] = self._meta(call, tool, started) | body.get("_meta", {})
        await self._writes.finish(tool, digest, body, (monotonic() - started) * 1000)
        return body

    async def _once(self, key: tuple[int, str], make: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """The body of the first successful call with this key."""
        bodies = self._history.bodies
        async with self._history.locks[key]:
            if key not in bodies:
                body = await make()
                if not body["success"]:
                    return body
                bodies[key] = body
            return bodies[key]

    async def _call_meta_tool(self, tool: Tool, arguments: ToolArguments) -> dict[str, Any]:
        try:
            async with debug_log().span(4, tool.name):
                return succeeded(await tool.handler(arguments.model, self._context))
        except ToolFailure as error:
            return refused("failed", error.message)

    async def _call_handler(self, call: ToolCall, tool: Tool, arguments: ToolArguments) -> dict[str, Any]:
        opened = await self._open(tool)
        if (body := opened.refusal(tool.needs)) is not None:
            return body
        await debug_log().start(8, tool.name)
        with concealing(opened.secrets), gen_ai.tool(call, tool.description, arguments.values) as operation:
            others = self._others(call, tool) if tool.effect == "read" else None  # a write holds the lock of writes
            body = await self._call_in_time(tool, arguments, opened, others)
            if not body["success"]:
                operation.fail(body["error_code"])
            elif tool.effect != "read" and tool.verify is not None and "verification" not in body:
                body["verification"] = await self._verify(tool.verify, tool, arguments, body["data"], opened)
            operation.note_result(body)
        if body["success"]:
            shown = {"bytes": size(body["data"])} if debug_log().is_enabled else None
            await debug_log().end(8, tool.name, shown)
        else:
            details = {name: body[name] for name in body.keys() - {"success", "error_code", "message"}}
            await debug_log().error(8, tool.name, body["error_code"], details or None, message=body["message"])
        return body

    async def _verify(
        self, verify: Verify, tool: Tool, arguments: ToolArguments, data: Any, opened: OpenedDomain
    ) -> Any:
        """What became of a write. A failure here is no failure of the write, which has been made."""
        try:
            async with asyncio.timeout(VERIFY_TIMEOUT_S):
                found = await verify(arguments.model, opened.fill(self._context), data)
            return succeeded(ToolAnswer(None, verification=found), opened.secrets).get("verification", UNVERIFIED)
        except Exception as error:
            log.warning("write_not_verified", tool=tool.name, cause=str(error) or type(error).__name__)
            return UNVERIFIED

    async def _call_in_time(
        self, tool: Tool, arguments: ToolArguments, opened: OpenedDomain, others: NestedCalls | None
    ) -> dict[str, Any]:
        """The body without the secrets of the domain; nothing of them is left where a long text is cut."""
        timeout = asyncio.timeout(tool.timeout)
        try:
            async with timeout:
                returned = await tool.handler(arguments.model, replace(opened.fill(self._context), others=others))
            return succeeded(returned, opened.secrets)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            # Something within the handler was cancelled, not this run.
            return crashed_body(tool, error, advice_on(tool))
        except LostRun:
            raise
        except Exception as error:
            if others is not None and others.error is not None:
                raise others.error from error
            if timeout.expired():
                return refused("timeout", f"{tool.name} gave no result within {tool.timeout:g} s. {advice_on(tool)}")
            if isinstance(error, MaasError):
                return failed_body(tool, error)
            return crashed_body(tool, error, advice_on(tool))

    def _meta(self, call: ToolCall, tool: Tool | None, started: float) -> dict[str, Any]:
        """`_meta` of a result; `started` is a time of the monotonic clock."""
        return {
            "tool": shorten(call.name, 64),
            "domain": tool.domain if tool else None,
            "latency_ms": round((monotonic() - started) * 1000),
            "via": self._via,
        }
