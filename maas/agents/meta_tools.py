"""Routing `meta_tools`: the model sees four tools in place of all and opens the domain of tools that it needs.

The meta tools pass its calls on, the domains concurrently. The agent of a domain puts the domain's results into words;
if one domain alone answers, its words are the answer.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from time import monotonic
from typing import Annotated, Any

import structlog
from pydantic import BaseModel, Field

from maas.engine.run import LostRun
from maas.prompting.budgets import OverBudget
from maas.runs.debug_info import debug_log
from maas.tools.bounds import MAX_DIALOGUE_TOKENS, fit_body, fit_together
from maas.tools.calls import HANDLER_CODES, MAX_DATA_BYTES, ToolFailure, ToolResult, own_name, tag_safe_json
from maas.tools.concurrency import run_concurrently
from maas.tools.openers import OpenedDomain
from maas.tools.rows import LeftOut, fit_rows
from maas.tools.tool import Tool, Toolset, tool
from maas.tools.wording import Phrase, Wording
from shared import tokens
from shared.db import CONNECTION_LOST
from shared.models import ToolCall
from shared.text import offload

META = "meta"
EXECUTE = "executeTools"
META_TOOLS = ("getAvailableDomains", "getDomainTools", EXECUTE, "executeTool")
UNKNOWN = "unknown"  # the domain of tools that there are not
MAX_BATCH_CALLS = 20
MIN_CALL_TOKENS = 100  # of the result of a call that is passed on
NAMES_HINT = (
    "tools have the names that getDomainTools lists: call it for the domain that you need, one of {}, then this"
)
MERGE_HINT = "merge the answers of the domains into one for the user: figures first, then what to do"
_DOMAIN_BYTES = 250  # of a domain's answer beside its results
_ENTITY_BYTES = 3000  # of the ids of what the results speak of
_ANSWER_BYTES = 300  # of all answers beside those of the domains
log = structlog.get_logger()

_LIST_DOMAINS = Wording(Phrase("Look what can be asked for", "Посмотреть, о чём можно спросить"))
_LIST_TOOLS = Wording(Phrase("Look what can be done there", "Посмотреть, что там можно сделать"))
_CALL = Wording(Phrase("Work on the request", "Выполнить запрос"))
Execute = Callable[[Sequence[ToolCall]], Awaitable[list[ToolResult]]]
Respond = Callable[[str, str, Sequence[ToolResult]], Awaitable[str | None]]
OpenDomain = Callable[[str], Awaitable[OpenedDomain]]


@dataclass(frozen=True, slots=True)
class Domain:
    """A set of tools as a model sees it before it opens one; `about` is a few words.

    `is_open`: the run may use it, as far as its client has a say in that.
    """

    name: str
    about: str
    is_open: bool = True


# The fields of these models are what the model of the assistant has to send; a docstring would be sent to it, too.
class DomainRequest(BaseModel):
    domain: str


class CallRequest(BaseModel):
    name: str
    args: dict[str, Any] = {}


class CallsRequest(BaseModel):
    tools: Annotated[list[CallRequest], Field(min_length=1, max_length=MAX_BATCH_CALLS)]
    user_question: str = ""


class SingleCallRequest(BaseModel):
    tool_name: str
    arguments: dict[str, Any] = {}


def execute_call(call_id: str, calls: Mapping[str, Any], question: str) -> ToolCall:
    """A call of executeTools that makes the calls of tools with these arguments, by name."""
    made = {"tools": [{"name": name, "args": args} for name, args in calls.items()], "user_question": question}
    return ToolCall(call_id, EXECUTE, json.dumps(made, ensure_ascii=False))


async def _open_nothing(name: str) -> OpenedDomain:
    return OpenedDomain(name)


def meta_tools(
    domains: Sequence[Domain],
    tools: Toolset,
    execute: Execute,
    respond: Respond | None = None,
    open_domain: OpenDomain = _open_nothing,
    room: int = MAX_DIALOGUE_TOKENS,
) -> Toolset:
    """The tools that a model sees in place of `tools`. `execute` is Executor.run over `tools`: it checks every call.

    `room` is how many tokens of results the model is sent: a domain whose tools take more is listed briefly.

    `respond(domain, question, results)` lets a domain's agent put its results into words. Without it, or where it
    returns None, the results are given as they are. `open_domain` tells what each domain can be used for in this run.
    """
    catalogue = _Catalogue({domain.name: domain for domain in domains}, tools, open_domain, room)
    router = _CallRouter([domain.name for domain in domains if domain.is_open], tools, execute, respond, room)

    @tool(domain=META, effect="read", wording=_LIST_DOMAINS)
    async def getAvailableDomains() -> Any:
        """List the domains of tools."""
        return await catalogue.domains()

    @tool(domain=META, effect="read", wording=_LIST_TOOLS)
    async def getDomainTools(opened: DomainRequest) -> Any:
        """List a domain's tools with their parameters."""
        return await catalogue.tools(opened.domain)

    @tool(domain=META, effect="read", wording=_CALL)
    async def executeTools(calls: CallsRequest) -> Any:
        """Call tools of any domains, all that you need at once."""
        return await router.route(calls)

    @tool(domain=META, effect="read", wording=_CALL)
    async def executeTool(call: SingleCallRequest) -> Any:
        """Deprecated: use executeTools."""
        log.warning("deprecated_tool_called", tool="executeTool", use="executeTools")
        return await router.route(CallsRequest(tools=[CallRequest(name=call.tool_name, args=call.arguments)]))

    declared: list[Tool] = [getAvailableDomains, getDomainTools, executeTools, executeTool]
    return Toolset(replace(one, is_meta=True) for one in declared)


class _Catalogue:
    """The domains and their tools, as the meta tools list them."""

    def __init__(self, domains: dict[str, Domain], tools: Toolset, open_domain: OpenDomain, room: int) -> None:
        self._domains = domains
        self._tools = tools
        self._open = open_domain
        self._room = room - _ANSWER_BYTES

    async def domains(self) -> dict[str, Any]:
        shown = await run_concurrently(self._show(one) for one in self._domains.values())
        return {"domains": shown, "hint": "call getDomainTools before you use a domain"}

    async def _show(self, domain: Domain) -> dict[str, Any]:
        """A domain is available if the run may use it and at least one of its tools can be called."""
        opened = await self._open(domain.name)
        is_available = domain.is_open and any(opened.refusal(one.needs) is None for one in self._of(domain))
        flags = {"connected": opened.is_connected, "has_data": opened.has_data} if opened.has_opener else {}
        return {"name": domain.name, "about": domain.about, "available": is_available} | flags

    def _of(self, domain: Domain) -> tuple[Tool, ...]:
        return self._tools.of(domain.name)

    async def tools(self, name: str) -> list[dict[str, Any]]:
        """The tools of a domain that can be called."""
        domain = self._domains.get(name)
        if domain is None:
            raise ToolFailure(f"there is no such domain; there are: {', '.join(self._domains)}")
        if not domain.is_open:
            raise ToolFailure(f"{name} is closed to this request: tell the user, answer without it")
        opened = await self._open(name)
        refusals = {one.name: opened.refusal(one.needs) for one in self._of(domain)}
        if refusals and all(refusals.values()):
            raise ToolFailure(next(str(body["message"]) for body in refusals.values() if body))
        usable = [one for one in self._of(domain) if refusals[one.name] is None]
        listed = [_listed(one) for one in usable]
        text = tag_safe_json(listed)
        is_short = await offload(len(text), tokens.fits, text, self._room)
        return listed if is_short else [_listed_briefly(one) for one in usable]


def _listed(one: Tool) -> dict[str, Any]:
    return {
        "name": one.name,
        "description": one.description,
        "parameters": one.parameters,
        "dangerous": one.effect == "dangerous",
        "timeout_ms": round(one.timeout * 1000),
    }


def _listed_briefly(one: Tool) -> dict[str, Any]:
    """The name, the first sentence and the names of arguments; a refusal of a wrong call says what to send."""
    required = list(one.parameters.get("required", ()))
    about = one.description.partition("\n")[0].partition(". ")[0]
    optional = [name for name in one.parameters.get("properties", {}) if name not in required]
    return {"name": one.name, "description": about, "required": required, "optional": optional}


class _CallRouter:
    """Passes the calls of `executeTools` on, grouped by domain."""

    def __init__(
        self, open_domains: Sequence[str], tools: Toolset, execute: Execute, respond: Respond | None, room: int
    ) -> None:
        self._open_domains = open_domains
        self._room = room - _ANSWER_BYTES
        self._tools = tools
        self._execute = execute
        self._respond = respond
        self._numbers = count(1)

    async def route(self, calls: CallsRequest) -> dict[str, Any]:
        """The answers of the domains, and how each of them came about.

        `responses` has the words of a domain's agent, or the results where it has no agent; calls of unknown tools are
        answered under `unknown`. `entities` are the ids of what the results speak of, by name, so that the next call
        can name it. `domains` says of each whether it succeeded, what it executed and how long it took.
        """
        groups: dict[str, list[ToolCall]] = {}
        for one in calls.tools:
            name = own_name(one.name, self._tools.names())
            known = self._tools.get(name)
            call = ToolCall(f"{META}-{next(self._numbers)}", name, json.dumps(one.args, ensure_ascii=False))
            groups.setdefault(known.domain if known else UNKNOWN, []).append(call)
        await debug_log().info(5, "domains", {name: [call.name for call in group] for name, group in groups.items()})
        limit = (MAX_DATA_BYTES - _ANSWER_BYTES - _ENTITY_BYTES - _DOMAIN_BYTES * len(groups)) // len(calls.tools)
        answers = await run_concurrently(
            self._answer(name, group, calls.user_question, limit, self._room // len(calls.tools))
            for name, group in groups.items()
        )
        return {
            "success": all(how["success"] for _, how, _ in answers),
            "responses": {name: response for name, (response, _, _) in zip(groups, answers, strict=True)},
            **_entities([found for _, _, found in answers]),
            "domains_called": list(groups),
            "domains": {name: how for name, (_, how, _) in zip(groups, answers, strict=True)},
            "hint": NAMES_HINT.format(", ".join(self._open_domains)) if UNKNOWN in groups else MERGE_HINT,
        }

    async def _answer(
        self, domain: str, calls: Sequence[ToolCall], question: str, limit: int, room: int
    ) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        """What a domain responds, how that came about, and the ids of what its results speak of, by name.

        `limit` is the number of bytes for each call, `room` that of tokens.
        """
        started = monotonic()
        async with debug_log().span(6, domain, {"calls": [call.name for call in calls]}):
            results = await self._execute(calls)
        is_success = all(result.is_success for result in results)
        bodies = [(result.call.name, fit_body(result.untimed(), limit, result.tool)) for result in results]
        tools = [result.tool for result in results]
        left_out: LeftOut = {}
        response: Any = await fit_together(bodies, max(room, MIN_CALL_TOKENS) * len(calls), tools)
        if self._respond is not None:
            try:
                if (text := await self._respond(domain, question, results)) is not None:
                    response, left_out = fit_rows(text, limit * len(calls))
            except (LostRun, OverBudget, *CONNECTION_LOST):
                raise
            except Exception as error:
                log.error("domain_agent_crashed", domain=domain, exc_info=error)
                is_success = False
        how = {
            "success": is_success,
            "toolsExecuted": [result.call.name for result in results if result.code in HANDLER_CODES],
            "latency_ms": round((monotonic() - started) * 1000),
            **({"left_out": left_out} if left_out else {}),
        }
        is_worded = isinstance(response, str)  # else the results have their ids themselves
        return response, how, _ids_of(results) if is_worded else {}


def _ids_of(results: Sequence[ToolResult]) -> dict[str, Any]:
    """The ids of what results speak of, by name."""
    found: dict[str, Any] = {}
    for result in results:
        if isinstance(entities := result.body.get("_entityMap"), dict):
            found |= entities
    return found


def _entities(of_domains: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The entry `entities` of an answer, as many as fit; empty where no domain has any."""
    found: dict[str, Any] = {}
    left = _ENTITY_BYTES
    for name, entity_id in (item for one in of_domains for item in one.items()):
        left -= len(json.dumps([name, entity_id], ensure_ascii=False).encode("utf-8", "replace"))
        if left < 0:
            break
        found[name] = entity_id
    return {"entities": found} if found else {}
