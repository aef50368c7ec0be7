"""Meta tools: a small catalogue, and a router that no check can be led around."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel
from structlog.testing import capture_logs

from maas.agents.meta_tools import Domain, Respond, meta_tools
from maas.tools.calls import MAX_RESULT_BYTES, ToolAnswer, ToolResult
from maas.tools.executor import Executor
from maas.tools.permissions import Permissions
from maas.tools.tool import Effect, Mode, Tool, ToolContext, Toolset
from shared import tokens
from shared.models import ToolCall

CONTEXT = ToolContext(UUID(int=1), UUID(int=2))
TIMEOUT_S = 10.0
NAMES = ("ads", "creative", "crm", "whatsapp", "roi", "mail")
DOMAINS = [
    Domain("ads", "campaigns, budgets"),
    Domain("creative", "creatives, tests"),
    Domain("crm", "leads"),
    Domain("whatsapp", "dialogues", is_open=False),
]


class Item(BaseModel):
    id: int = 0


def made(name: str, domain: str, effect: Effect = "read", act: Any = None) -> Tool:
    async def handle(item: Item, _: ToolContext) -> Any:
        return await act(item.id) if act else {"tool": name, "id": item.id}

    return Tool(name, domain, f"Do {name}.", effect, handle, Item)


async def broken(_: int) -> None:
    raise RuntimeError("broken")


TOOLS = [
    made("getCampaigns", "ads"),
    made("getSpendReport", "ads"),
    made("pauseCampaign", "ads", "dangerous"),
    made("getCreatives", "creative"),
    made("getLeads", "crm"),
    made("breakLeads", "crm", act=broken),
]


class Harness:
    """What a model has in front of it: meta tools over a guarded executor."""

    def __init__(
        self, tools: Sequence[Tool] = TOOLS, respond: Respond | None = None, limit: int = 30, mode: Mode = "auto"
    ) -> None:
        self.counted = 0
        self.recorded: list[ToolResult] = []
        registry = Toolset(tools)
        inner = Permissions(frozenset(tool.name for tool in registry), mode, limit)
        guarded = Executor(registry, inner, CONTEXT, self._count, self._record)
        self.meta = meta_tools(DOMAINS, registry, guarded.run, respond)
        outer = Permissions(frozenset(tool.name for tool in self.meta), mode, limit)
        self.executor = Executor(self.meta, outer, CONTEXT, self._count, self._record)

    async def _count(self) -> int:
        self.counted += 1
        return self.counted

    async def _record(self, result: ToolResult) -> None:
        self.recorded.append(result)

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        async with asyncio.timeout(TIMEOUT_S):
            (result,) = await self.executor.run([ToolCall("c", name, json.dumps(arguments))])
        return result

    async def execute(self, *names: str) -> dict[str, Any]:
        result = await self.call("executeTools", tools=[{"name": name, "args": {"id": "5"}} for name in names])
        assert result.is_success
        data: dict[str, Any] = result.body["data"]
        return data


async def test_a_model_sees_the_meta_tools_only() -> None:
    """A domain's tool is not called past the router."""
    harness = Harness()
    assert [tool.name for tool in harness.meta] == [
        "getAvailableDomains",
        "getDomainTools",
        "executeTools",
        "executeTool",
    ]
    assert (await harness.call("getCampaigns")).code == "unknown_tool"


async def test_domains() -> None:
    data = (await Harness().call("getAvailableDomains")).body["data"]
    assert {one["name"]: one["available"] for one in data["domains"]} == {
        "ads": True,
        "creative": True,
        "crm": True,
        "whatsapp": False,
    }
    assert "getDomainTools" in data["hint"]


async def test_tools_of_a_domain() -> None:
    harness = Harness()
    data = (await harness.call("getDomainTools", domain="ads")).body["data"]
    assert [one["name"] for one in data] == ["getCampaigns", "getSpendReport", "pauseCampaign"]
    assert [one["dangerous"] for one in data] == [False, False, True]
    assert all(one.keys() == {"name", "description", "parameters", "dangerous", "timeout_ms"} for one in data)
    assert data[0]["timeout_ms"] == 30_000
    for domain, said in (("finance", "ads, creative, crm, whatsapp"), ("whatsapp", "closed to this request")):
        result = await harness.call("getDomainTools", domain=domain)
        assert result.code == "failed" and said in result.body["message"]


async def test_calls_are_grouped_by_domain() -> None:
    harness = Harness()
    data = await harness.execute("getCampaigns", "getCreatives", "getLeads", "getSpendReport")
    assert {domain: one["toolsExecuted"] for domain, one in data["domains"].items()} == {
        "ads": ["getCampaigns", "getSpendReport"],
        "creative": ["getCreatives"],
        "crm": ["getLeads"],
    }
    assert data.keys() == {"success", "responses", "domains_called", "domains", "hint"}
    assert data["success"] and data["domains_called"] == list(data["responses"]) == ["ads", "creative", "crm"]
    assert all(one.keys() == {"success", "toolsExecuted", "latency_ms"} for one in data["domains"].values())
    assert data["domains"]["ads"]["success"] and data["responses"]["ads"][1]["data"] == {
        "tool": "getSpendReport",
        "id": 5,
    }
    assert harness.counted == 4 and len(harness.recorded) == 5
    assert len({result.call.id for result in harness.recorded}) == 5


async def test_domains_run_side_by_side() -> None:
    """Three domains, each of whose tools waits for the other two."""
    meeting = asyncio.Barrier(3)

    async def meet(number: int) -> int:
        await meeting.wait()
        return number

    data = await Harness([made(name, name, act=meet) for name in ("ads", "creative", "crm")]).execute(
        "ads", "creative", "crm"
    )
    assert all(one["success"] for one in data["domains"].values())


async def test_one_domain_fails_alone() -> None:
    data = await Harness().execute("getCampaigns", "breakLeads", "getMoney")
    assert {domain: one["success"] for domain, one in data["domains"].items()} == {
        "ads": True,
        "crm": False,
        "unknown": False,
    }
    assert not data["success"] and data["responses"]["ads"][0]["success"]
    assert data["responses"]["crm"][0]["error_code"] == "failed"
    assert data["responses"]["unknown"][0]["error_code"] == "unknown_tool"
    assert data["domains"]["unknown"]["toolsExecuted"] == []
    assert "getDomainTools" in data["hint"] and "one of ads, creative, crm, then" in data["hint"]
    assert "merge the answers" in (await Harness().execute("getCampaigns"))["hint"]


async def test_agents_put_results_into_words() -> None:
    """An agent that fails leaves the results as they are, and the other domains' words."""

    async def respond(domain: str, question: str, results: Sequence[ToolResult]) -> str:
        if domain == "crm":
            raise RuntimeError("no model")
        return f"{domain}: {len(results)} for {question}"

    wanted = [{"name": name} for name in ("getCampaigns", "getSpendReport", "getLeads")]
    result = await Harness(respond=respond).call("executeTools", tools=wanted, user_question="Как дела?")
    data = result.body["data"]
    assert data["responses"]["ads"] == "ads: 2 for Как дела?" and data["domains"]["ads"]["success"]
    assert data["responses"]["crm"][0]["data"]["tool"] == "getLeads" and not data["domains"]["crm"]["success"]


async def test_the_ids_of_what_was_put_into_words_are_beside_the_words() -> None:
    """Else the model that is to change something cannot name it."""

    async def list_campaigns(_: int) -> ToolAnswer:
        return ToolAnswer({"campaigns": ["Autumn"]}, {"Autumn": "101", "Winter": "102"})

    async def list_many(_: int) -> ToolAnswer:
        return ToolAnswer({}, {f"Lead {n} " + "x" * 20: str(n) for n in range(100)})

    async def respond(domain: str, question: str, results: Sequence[ToolResult]) -> str | None:
        return None if domain == "crm" else "Autumn is the best."

    tools = [made("getCampaigns", "ads", act=list_campaigns), made("getLeads", "crm", act=list_campaigns)]
    data = (
        await Harness(tools, respond).call("executeTools", tools=[{"name": "getCampaigns"}, {"name": "getLeads"}])
    ).body["data"]
    assert data["responses"]["ads"] == "Autumn is the best."
    assert data["entities"] == {"Autumn": "101", "Winter": "102"}
    assert data["responses"]["crm"][0]["_entityMap"] == {"Autumn": "101", "Winter": "102"}
    tools = [made("getCampaigns", "ads", act=list_many)]
    result = await Harness(tools, respond).call("executeTools", tools=[{"name": "getCampaigns"}])
    assert 10 < len(result.body["data"]["entities"]) < 100
    assert len(result.text().encode()) <= MAX_RESULT_BYTES


@pytest.mark.parametrize("name", ["executeTools", "executeTool"])
async def test_a_dangerous_tool_waits_whichever_way_it_is_called(name: str) -> None:
    harness = Harness()
    arguments: dict[str, Any] = {"tool_name": "pauseCampaign", "arguments": {"id": 1}}
    if name == "executeTools":
        arguments = {"tools": [{"name": "pauseCampaign", "args": {"id": 1}}]}
    result = await harness.call(name, **arguments)
    data = result.body["data"]
    assert data["responses"]["ads"][0]["approval_required"] and data["domains"]["ads"]["toolsExecuted"] == []
    waiting = [result for result in harness.recorded if result.code == "approval_required"]
    assert len(waiting) == 1 and waiting[0].arguments is not None and waiting[0].arguments.values == {"id": 1}


async def test_the_single_call_is_deprecated() -> None:
    with capture_logs() as logs:
        result = await Harness().call("executeTool", tool_name="getLeads", arguments='{"id": 3}')
    assert result.body["data"]["responses"]["crm"][0]["data"] == {"tool": "getLeads", "id": 3}
    assert [entry["event"] for entry in logs] == ["deprecated_tool_called"]


async def test_only_the_calls_passed_on_are_counted_and_asked_for() -> None:
    """Looking into the catalogue needs nobody's leave."""
    harness = Harness(mode="ask", limit=1)
    assert (await harness.call("getAvailableDomains")).is_success and harness.counted == 0
    data = await harness.execute("getCampaigns", "getLeads")
    codes = {one[0]["error_code"] for one in data["responses"].values()}
    assert codes == {"approval_required", "TOOL_CALL_LIMIT"}


async def test_large_results_leave_room_for_each_other() -> None:
    async def much(_: int) -> list[str]:
        return ["строка"] * 20_000

    names = [f"tool{n}" for n in range(6)]
    result = await Harness([made(name, f"domain{n % 3}", act=much) for n, name in enumerate(names)]).call(
        "executeTools", tools=[{"name": name} for name in names]
    )
    assert len(result.text().encode()) <= MAX_RESULT_BYTES
    bodies = [body for one in result.body["data"]["responses"].values() for body in one]
    assert len(bodies) == 6
    assert all(len(body["data"]) > 100 and body["_meta"]["cut"] == ["data"] for body in bodies)


async def test_what_a_ledger_raises_is_not_taken_for_a_failed_tool() -> None:
    async def lost() -> int:
        raise ConnectionError("the claim was lost")

    async def record(_: ToolResult) -> None: ...

    registry = Toolset(TOOLS)
    guarded = Executor(registry, Permissions(frozenset({"getLeads"})), CONTEXT, lost, record)
    meta = meta_tools(DOMAINS, registry, guarded.run)
    outer = Executor(meta, Permissions(frozenset({"executeTools"})), CONTEXT, lost, record)
    with pytest.raises(ConnectionError):
        await outer.run([ToolCall("c", "executeTools", '{"tools": [{"name": "getLeads"}]}')])


@pytest.mark.parametrize(("names", "number"), [(("ads", "creative", "crm", "whatsapp"), 41), (NAMES, 60)])
async def test_the_catalogue_is_cheap(names: Sequence[str], number: int) -> None:
    """Less than 400 tokens before a domain is opened, however many tools there are."""
    domains = [Domain(name, "campaigns, budgets, reports") for name in names]
    tools = [made(f"getNumber{n}", names[n % len(names)]) for n in range(number)]
    meta = meta_tools(domains, Toolset(tools), Harness(tools).executor.run)
    shown = [
        {"name": one.spec.name, "description": one.spec.description, "parameters": one.spec.parameters} for one in meta
    ]
    outer = Executor(
        meta, Permissions(frozenset({"getAvailableDomains"})), CONTEXT, Harness()._count, Harness()._record
    )
    (opened,) = await outer.run([ToolCall("c", "getAvailableDomains", "")])
    spent = tokens.count(json.dumps(shown, separators=(",", ":"))) + tokens.count(opened.text())
    assert len(tools) == number and spent < 400, spent
