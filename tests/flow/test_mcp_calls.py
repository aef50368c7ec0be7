"""The tools of an assistant over MCP: the official client calls them, and nothing dangerous is done without a yes."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from uuid import UUID, uuid4

import pytest
from mcp import Client, MCPError
from mcp_types import ElicitResult

from tests.assistants.ads.marketer import Marketer, execute, marketer
from tests.assistants.ads.test_assistants import dangerous
from tests.assistants.ads.test_tools_page import DANGEROUS
from tests.flow.test_mcp_server import ASKING, READING, connected, opened, program, text_of, url_of
from tests.mcp_wire import ELICITATION, McpWire
from tests.polling import apoll, poll


@pytest.fixture(scope="module")
def shared(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marketer]:
    with marketer(fresh_database, tmp_path_factory.mktemp("marketer")) as one:
        one.stack.start_server()
        one.stack.start_orchestrator(**one.settings())
        poll(lambda: known(one), what="the tools are stored")
        yield one


@pytest.fixture
def business(shared: Marketer) -> Marketer:
    shared.facebook.reset()
    shared.whatsapp.reset()
    for table in (
        *("chat_pending_actions", "directions", "user_creatives"),
        *("whatsapp_messages", "whatsapp_chats", "whatsapp_integration"),
    ):
        shared.stack.rows(f"delete from {table} where user_id = %s", shared.user)
    return shared


def known(business: Marketer) -> bool:
    return bool(business.stack.rows("select from maas_assistant_tools('ads')"))


def as_user(business: Marketer, user: UUID | None = None, **options: Any) -> Any:
    """A client that the advertising tools are offered to."""
    headers = {"x-maas-user": str(user or business.user), "x-maas-assistant": "ads"}
    return opened(url_of(business.stack), headers, **options)


async def call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, text_of(result)
    body = dict(result.structured_content or {})
    assert json.loads(text_of(result)) == body
    return body


async def refused(client: Client, name: str, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error, result
    return text_of(result)


async def test_they_are_listed_for_a_known_user(business: Marketer) -> None:
    async with as_user(business) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    of_assistant = {name: tool for name, tool in tools.items() if name not in READING | ASKING}
    assert len(of_assistant) == 42 and len(tools) == 42 + len(READING | ASKING)
    hints = {name: tool.annotations for name, tool in of_assistant.items()}
    assert {name for name, one in hints.items() if one and one.destructive_hint} == DANGEROUS
    assert hints["getCampaigns"].read_only_hint and "period" in tools["getCampaigns"].input_schema["properties"]
    for headers in ({"x-maas-user": str(business.user)}, {"x-maas-assistant": "ads"}):
        async with connected(url_of(business.stack), **headers) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == READING | ASKING
    async with program(url_of(business.stack), "--user", str(business.user), "--assistant", "ads") as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == set(tools)


async def test_a_read_is_a_run_that_is_in_no_memory(business: Marketer) -> None:
    async with as_user(business) as client:
        body = await call(client, "getCampaigns", period="all")
    assert [one["name"] for one in body["data"]["campaigns"]] == ["Заявки"]
    (run,) = business.stack.rows(
        "select id, kind, source, is_remembered, final_answer from pipeline_runs where user_id = %s order by seq desc "
        "limit 1",
        business.user,
    )
    assert (run["kind"], run["source"], run["is_remembered"]) == ("action", "mcp", False)
    assert json.loads(run["final_answer"]) == body
    executed = business.stack.rows("select tool, status from tool_executions where run_id = %s", run["id"])
    assert executed == [{"tool": "getCampaigns", "status": "done"}]
    found = business.stack.client.post("/v1/memories/search", json={"user_id": str(business.user), "query": "Заявки"})
    assert found.json()["results"] == []


@pytest.mark.parametrize("via", ["program", "http"])
async def test_a_dangerous_call_waits_and_is_made_once(business: Marketer, via: str) -> None:
    opened = as_user(business)
    if via == "program":
        opened = program(url_of(business.stack), "--user", str(business.user), "--assistant", "ads")
    async with opened as client:
        result = await client.call_tool("updateBudget", {"adset_id": "111", "daily_budget": 70})
    body = dict(result.structured_content or {})
    assert not result.is_error and body["error_code"] == "approval_required" and business.writes() == []
    path = f"/v1/actions/{body['action_id']}/approve"
    assert f"POST {path}" in text_of(result) and '"daily_budget": 70' in text_of(result)
    stranger = business.stack.client.post(path, json={"user_id": str(uuid4())})
    assert stranger.status_code == 404 and business.writes() == []
    decided = business.stack.client.post(path, json={"user_id": str(business.user)})
    assert decided.status_code == 200, decided.text
    outcome = business.finish(UUID(decided.json()["action_run_id"]))
    assert outcome["status"] == "COMPLETED" and outcome["is_remembered"] is False
    (write,) = business.writes()
    assert write["body"]["daily_budget"] == "7000"
    assert business.stack.client.post(path, json={"user_id": str(business.user)}).status_code == 409


@pytest.mark.parametrize("mode", ["auto", "plan", "ask"])
async def test_each_dangerous_tool_waits(business: Marketer, mode: str) -> None:
    """All nine, in every mode of the assistant; what waits is shown in words."""
    calls = dangerous(business)
    assert {name for name, _ in calls} == DANGEROUS
    business.stack.rows(
        "update assistants set definition = definition || jsonb_build_object('default_mode', %s::text) "
        "where name = 'ads' returning 1",
        mode,
    )
    try:
        async with as_user(business) as client:
            for name, arguments in calls:
                body = dict((await client.call_tool(name, arguments)).structured_content or {})
                assert body["error_code"] == "approval_required", (name, body)
    finally:
        business.stack.rows(
            "update assistants set definition = definition - 'default_mode' where name = 'ads' returning 1"
        )
    waiting = business.stack.rows("select tool_name from chat_pending_actions where user_id = %s", business.user)
    assert {one["tool_name"] for one in waiting} == DANGEROUS
    assert (business.writes(), business.sent()) == ([], [])


@pytest.mark.parametrize("answer", ["accept", "decline", "cancel"])
async def test_a_client_that_can_asks_its_user(
    business: Marketer, answer: Literal["accept", "decline", "cancel"]
) -> None:
    """What waits is shown in the words of MaaS, and done once the user of the client says yes."""
    shown: list[str] = []

    async def ask_user(_: Any, params: Any) -> ElicitResult:
        shown.append(params.message)
        assert business.writes() == []
        return ElicitResult(action=answer, content={} if answer == "accept" else None)

    async with as_user(business, elicitation_callback=ask_user) as client:
        result = await client.call_tool("updateBudget", {"adset_id": "111", "daily_budget": 70})
    (text,) = shown
    assert text.startswith("⏸ **Ждёт вашего решения, пока ничего не сделано:**") and "updateBudget" in text
    (action,) = business.stack.rows("select status from chat_pending_actions where user_id = %s", business.user)
    assert len(business.writes()) == (answer == "accept")
    if answer == "accept":
        assert not result.is_error and json.loads(text_of(result))["success"] and action["status"] == "done"
    elif answer == "decline":
        assert result.is_error and "nothing was done" in text_of(result) and action["status"] == "rejected"
    else:
        assert (result.structured_content or {})["error_code"] == "approval_required" and action["status"] == "pending"


async def test_what_an_answer_proposes_is_asked(business: Marketer) -> None:
    """`ask` goes on from the assistant's answer to what came of the action."""
    business.models.rounds["responder"] = [[execute(("updateBudget", {"adset_id": "111", "daily_budget": 70}))]]

    async def ask_user(_: Any, params: Any) -> ElicitResult:
        assert params.message.startswith("⏸") and business.writes() == []
        return ElicitResult(action="accept", content={})

    async with as_user(business, elicitation_callback=ask_user) as client:
        result = await client.call_tool("ask", {"query": "Подними бюджет до 70.", "assistant": "ads"})
    answer = (result.structured_content or {})["answer"]
    assert len(business.writes()) == 1 and "⏸" not in answer and answer


async def test_a_decision_is_on_what_was_shown_and_of_its_user(business: Marketer) -> None:
    """An action that was changed meanwhile is not approved; another user's does not exist."""
    arguments = {"adset_id": "111", "daily_budget": 70}

    def reply(user: UUID, **params: Any) -> dict[str, Any]:
        headers = {"x-maas-user": str(user), "x-maas-assistant": "ads"}
        return McpWire(business.stack.client, ELICITATION, headers).call("updateBudget", arguments, **params)

    asked = reply(business.user)["result"]
    state, (key,) = asked["requestState"], asked["inputRequests"]
    answered = {"requestState": state, "inputResponses": {key: {"action": "accept", "content": {}}}}
    assert "there is no action" in reply(uuid4(), **answered)["result"]["content"][0]["text"]
    assert reply(business.user, requestState=state)["result"]["inputRequests"] == asked["inputRequests"]
    body = {"user_id": str(business.user), "arguments": arguments | {"daily_budget": 90}}
    assert business.stack.client.patch(f"/v1/actions/{state}", json=body).is_success
    assert reply(business.user, **answered)["result"]["isError"] and business.writes() == []
    assert reply(business.user, requestState="x")["error"]["code"] == -32602
    for wrong in ({"action": "burn"}, {}, None):
        bad = reply(business.user, requestState=state, inputResponses={key: wrong})
        assert bad["error"]["code"] == -32602, bad
    left = reply(business.user, requestState=state, inputResponses={"x": {"action": "accept"}})["result"]
    assert left["structuredContent"]["error_code"] == "approval_required" and business.writes() == []


async def test_a_write_is_verified_and_waits_where_the_mode_says_so(business: Marketer) -> None:
    direction = business.direction()
    async with as_user(business) as client:
        body = await call(client, "updateDirectionTargetCPL", direction_id=str(direction), target_cpl=5)
    assert body["verification"]["verified"] is True
    asked = {"user_id": str(business.user), "assistant": "ads", "tool": "updateDirectionTargetCPL", "mode": "plan"}
    arguments = {"direction_id": str(direction), "target_cpl": 9}
    reply = business.stack.client.post("/v1/tool_calls", json=asked | {"arguments": arguments})
    assert reply.status_code == 202, reply.text
    run = business.finish(UUID(reply.json()["request_id"]))
    assert json.loads(run["final_answer"])["error_code"] == "approval_required"
    (row,) = business.stack.rows("select target_cpl from directions where id = %s", direction)
    assert row["target_cpl"] == 5


async def test_bad_calls_change_nothing(business: Marketer) -> None:
    async with as_user(business) as client:
        assert "validation_error" in await refused(client, "updateBudget", adset_id="111", daily_budget="пять тысяч")
        assert "unknown_tool" in await refused(client, "noSuchTool")
        assert "unknown_tool" in await refused(client, "getAvailableDomains")
        assert "arguments" in await refused(client, "getLeadDetails", lead_id="a\0b")
        assert "65536 bytes" in await refused(client, "getLeadDetails", lead_id="x" * 70_000)
    async with connected(url_of(business.stack), **{"x-maas-user": "ann", "x-maas-assistant": "nobody"}) as client:
        with pytest.raises(MCPError, match="there is no active assistant 'nobody'"):
            await client.list_tools()
        assert "no active assistant" in await refused(client, "getCampaigns")
    assert business.pending() == [] and business.writes() == []


async def test_another_user_has_nothing_of_it(business: Marketer) -> None:
    calls = len(business.facebook.journal())
    async with as_user(business, uuid4()) as client:
        assert "there is no advertising account yet" in await refused(client, "getCampaigns")
    asked = {"user_id": str(uuid4()), "assistant": "ads", "tool": "getCampaigns", "account": "act_1"}
    run = business.finish(UUID(business.stack.client.post("/v1/tool_calls", json=asked).json()["request_id"]))
    assert "there is no such account" in run["final_answer"] and len(business.facebook.journal()) == calls


def test_a_repeated_request_is_one_call(business: Marketer) -> None:
    asked = {"user_id": str(business.user), "assistant": "ads", "tool": "getLeads", "arguments": {"limit": 3}}
    headers = {"idempotency-key": str(uuid4())}
    first, second = (business.stack.client.post("/v1/tool_calls", json=asked, headers=headers) for _ in range(2))
    assert first.json() == second.json() and first.status_code == 202
    other = business.stack.client.post("/v1/tool_calls", json=asked | {"arguments": {}}, headers=headers)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_conflict")


async def test_a_write_whose_orchestrator_dies_is_not_repeated(database: str, tmp_path: Path) -> None:
    with marketer(database, tmp_path) as one:
        one.stack.start_server()
        program = one.stack.start_orchestrator(**one.settings())
        poll(lambda: known(one), what="the tools are stored")
        one.facebook.merge({"campaigns": {"101": {"status": "PAUSED"}}})
        one.facebook.fault("hang", path="/101", method="POST", is_done=True)
        asked = {
            "user_id": str(one.user),
            "assistant": "ads",
            "tool": "resumeCampaign",
            "arguments": {"campaign_id": "101"},
        }
        run_id = UUID(one.stack.client.post("/v1/tool_calls", json=asked).json()["request_id"])
        await apoll(lambda: one.writes(), what="Facebook is asked")
        one.stack.stop(program, signal.SIGKILL)
        one.stack.start_orchestrator(**one.settings())
        run = one.finish(run_id)
        assert json.loads(run["final_answer"])["error_code"] == "in_doubt" and len(one.writes()) == 1
