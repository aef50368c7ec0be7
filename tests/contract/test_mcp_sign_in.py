"""Servers that want OAuth: our client signs in, renews its token in time, and tells nobody what it has got."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from maas.agents.runtime import Toolbox
from maas.tools.calls import ToolFailure
from maas.tools.mcp_client.servers import read_servers
from maas.tools.tool import ToolContext, Toolset
from tests.oauth_server import CLIENT_SECRET, OAuthServer, oauth_server, settings_of
from tests.polling import apoll


@pytest.fixture
async def server() -> AsyncIterator[OAuthServer]:
    async with oauth_server() as server:
        yield server


@asynccontextmanager
async def connected(server: OAuthServer, **changes: str | None) -> AsyncIterator[Toolbox]:
    """A toolbox with the server, entered as a program."""
    setting = json.loads(settings_of(server))
    oauth = setting["mcpServers"]["crm"]["oauth"] | changes
    setting["mcpServers"]["crm"]["oauth"] = {name: value for name, value in oauth.items() if value is not None}
    toolbox = Toolbox(Toolset([]), read_servers(json.dumps(setting), {"CRM_SECRET": CLIENT_SECRET}))
    try:
        await toolbox.reach(["crm"])
        yield toolbox
    finally:
        await toolbox.close()


async def call(toolbox: Toolbox, name: str) -> Any:
    tool = toolbox.tools().get(f"crm__{name}")
    assert tool is not None, toolbox.causes()
    return await tool.handler({}, ToolContext(uuid4(), uuid4()))


async def test_a_program_signs_in_once_and_its_calls_run_side_by_side(server: OAuthServer) -> None:
    async with connected(server) as toolbox:
        assert toolbox.causes() == {"crm": None}
        async with asyncio.timeout(10):
            results = await asyncio.gather(*(call(toolbox, "meet") for _ in range(2)))
    assert results == [{"result": "met"}] * 2
    assert server.asked == ["metadata", "client_credentials"]


async def test_a_token_is_renewed_before_it_ends(server: OAuthServer) -> None:
    server.expires_in = 2
    async with connected(server) as toolbox:

        async def is_renewed() -> bool:
            await call(toolbox, "confess")
            return len(server.tokens) >= 3

        await apoll(is_renewed)
    assert toolbox.causes() == {"crm": None}


async def test_a_token_that_was_revoked_is_replaced_within_the_call(server: OAuthServer) -> None:
    async with connected(server) as toolbox:
        server.tokens.clear()
        await call(toolbox, "confess")
        server.tokens.clear()
        await asyncio.gather(*(call(toolbox, "confess") for _ in range(5)))
    assert server.asked.count("client_credentials") == 3


async def test_the_token_is_shown_to_nobody(server: OAuthServer) -> None:
    with capture_logs() as lines:
        async with connected(server) as toolbox:
            shown = await call(toolbox, "confess")
    assert shown["authorization"] == "Bearer ***"
    assert "planted" not in json.dumps([shown, lines], default=str)


async def test_credentials_go_to_no_internal_address_that_the_server_names(server: OAuthServer) -> None:
    server.host_of_tokens = "localhost"
    async with connected(server) as toolbox:
        cause = str(toolbox.causes()["crm"])
    assert "an address of the authorization server is refused: not_public" in cause
    assert server.asked[:1] == ["metadata"] and set(server.asked) == {"metadata"}


async def test_credentials_go_to_no_other_issuer(server: OAuthServer) -> None:
    async with connected(server, issuer="https://accounts.example") as toolbox:
        assert "issuer" in str(toolbox.causes()["crm"])
    assert set(server.asked) == {"metadata"}


async def test_a_key_that_is_none_is_not_quoted(server: OAuthServer) -> None:
    with capture_logs() as lines:
        async with connected(server, client_secret=None, private_key="planted-key", algorithm="ES256") as toolbox:
            cause = str(toolbox.causes()["crm"])
    assert "private_key is not a PEM for ES256" in cause
    assert "planted" not in f"{cause}{lines}"


async def test_an_endless_document_is_not_read_to_its_end(server: OAuthServer) -> None:
    server.padding_bytes = 2 * 1024 * 1024
    async with connected(server) as toolbox:
        cause = str(toolbox.causes()["crm"])
    assert "larger than 1,048,576 bytes" in cause
    assert set(server.asked) == {"metadata"}


async def test_a_call_without_access_has_no_effect(server: OAuthServer) -> None:
    async with connected(server) as toolbox:
        server.tokens.clear()
        server.host_of_tokens = "localhost"
        with pytest.raises(ToolFailure, match="refuses our access"):
            await call(toolbox, "confess")
