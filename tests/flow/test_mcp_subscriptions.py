"""Subscriptions over MCP, through the official client: who is notified of what."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest
from mcp import MCPError
from mcp.client.subscriptions import Subscription
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from tests.flow.test_mcp_server import call, connected, program, url_of
from tests.stack import Stack

FACTS = "maas://facts"
NOTIFIED_WITHIN_S = 25.0


async def notified(subscription: Subscription, *wanted: object) -> set[object]:
    """What was notified until everything wanted had come, in any order."""
    came: set[object] = set()
    async with asyncio.timeout(NOTIFIED_WITHIN_S):
        async for event in subscription:
            came.add(event)
            if came >= set(wanted):
                break
    return came


@pytest.mark.parametrize("via", ["http", "program"])
async def test_changes_of_the_user_are_notified(stack: Stack, via: str) -> None:
    name = f"ann-{uuid4()}"
    opened: Any = connected(url_of(stack), **{"x-maas-user": name})
    if via == "program":
        opened = program(url_of(stack), "--user", name)
    async with opened as client:
        kept = await call(client, "add_memory", memory="I live in Lisbon.")
        stack.wait_archived(UUID(kept["request_id"]))
        async with client.listen(resources_list_changed=True, resource_subscriptions=[FACTS, "x"]) as mine:
            assert mine.honored.resource_subscriptions == [FACTS] and mine.honored.resources_list_changed is True
            await call(client, "add_memory", memory="My sister Clara lives in Porto.")
            await notified(mine, ResourceUpdated(FACTS), ResourcesListChanged())


async def test_what_is_no_run_is_notified_and_nothing_of_others(stack: Stack) -> None:
    name, other = f"ann-{uuid4()}", f"bob-{uuid4()}"
    async with (
        connected(url_of(stack), **{"x-maas-user": name}) as client,
        connected(url_of(stack), **{"x-maas-user": other}) as stranger,
    ):
        kept = await call(client, "add_memory", memory="I live in Lisbon.")
        theirs = await call(stranger, "add_memory", memory="I live in Oslo.")
        stack.wait_archived(UUID(kept["request_id"]), UUID(theirs["request_id"]))
        (fact,) = (await call(client, "list_facts"))["results"]
        memory = f"maas://memories/{theirs['memory_id']}"
        async with client.listen(resource_subscriptions=[FACTS, memory]) as mine:
            assert mine.honored.resource_subscriptions == [FACTS, memory], "it is as if it were not there"
            await call(stranger, "delete_memory", memory_id=theirs["memory_id"])
            await call(client, "decide_fact", fact_id=fact["id"], verdict="wrong")
            assert await notified(mine, ResourceUpdated(FACTS)) == {ResourceUpdated(FACTS)}


async def test_a_subscription_has_limits_and_an_end(database: str, tmp_path: Any) -> None:
    with Stack(database, tmp_path) as stack:
        process = stack.start_server()
        async with connected(url_of(stack), **{"x-maas-user": "ann"}) as client:
            capabilities = client.server_capabilities
            assert capabilities.resources and capabilities.resources.subscribe and capabilities.resources.list_changed
            assert capabilities.tools and not capabilities.tools.list_changed
            many = [f"maas://runs/{uuid4()}" for _ in range(17)]
            with pytest.raises(MCPError, match="at most 16"):
                async with client.listen(resource_subscriptions=many):
                    pass
            run = (await call(client, "ask", query="Where do I live?", wait=0))["request_id"]
            async with client.listen(resource_subscriptions=[f"maas://runs/{run}"]) as mine:
                stack.start_orchestrator()
                await notified(mine, ResourceUpdated(f"maas://runs/{run}"))
                process.terminate()
                async with asyncio.timeout(NOTIFIED_WITHIN_S):
                    assert [event async for event in mine] == []


async def test_nobody_is_notified_without_a_user(stack: Stack) -> None:
    async with connected(url_of(stack)) as client:
        with pytest.raises(MCPError, match="user_id is required"):
            async with client.listen(resource_subscriptions=[FACTS]):
                pass
