"""Servers that want OAuth: our client signs in, renews its token in time, and tells nobody what it has got."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import psycopg
import pytest
from psycopg.rows import DictRow
from structlog.testing import capture_logs

from maas.agents.runtime import Toolbox
from maas.tools.calls import ToolFailure
from maas.tools.mcp_client.browser_sign_in import sign_in_by_browser
from maas.tools.mcp_client.servers import read_servers
from maas.tools.tool import ToolContext, Toolset
from maas.user_secrets import UserSecrets, set_secret
from shared.db import open_database
from shared.errors import MaasError
from tests.oauth_server import CLIENT_SECRET, OAuthServer, oauth_server, settings_of
from tests.polling import apoll
from tests.stack import NOBODY, free_port


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


async def call(toolbox: Toolbox, name: str, user: UUID = NOBODY) -> Any:
    tool = toolbox.tools().get(f"crm__{name}")
    assert tool is not None, toolbox.causes()
    return await tool.handler({}, ToolContext(user, uuid4()))


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


async def open_address(address: str) -> None:
    """A browser in which somebody agrees."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        response = await browser.get(address)
    assert "close this page" in response.text


@asynccontextmanager
async def signed_in(server: OAuthServer, database: str, user: UUID) -> AsyncIterator[Toolbox]:
    """A toolbox whose server users sign in at; this user has."""
    setting = settings_of(server, grant="authorization_code", list_user=str(user))
    (configured,) = read_servers(setting, {})
    browsers: list[asyncio.Task[None]] = []
    value = await sign_in_by_browser(
        configured, free_port(), lambda address: browsers.append(asyncio.create_task(open_address(address)))
    )
    await asyncio.gather(*browsers)
    async with open_database(database, 4, "test") as db:
        await set_secret(db, user, "mcp_crm", value, "test")
        toolbox = Toolbox(Toolset([]), [configured], secrets=UserSecrets(db))
        try:
            await toolbox.reach(["crm"])
            yield toolbox
        finally:
            await toolbox.close()


async def test_a_user_signs_in_once_and_nobody_else_acts_as_that_user(server: OAuthServer, database: str) -> None:
    user = uuid4()
    with capture_logs() as lines:
        async with signed_in(server, database, user) as toolbox:
            shown = await call(toolbox, "confess", user)
            with pytest.raises(ToolFailure, match="not connected: the user has not signed in"):
                await call(toolbox, "confess", uuid4())
    assert shown["authorization"] == "Bearer ***"
    assert "planted" not in json.dumps([shown, lines], default=str)
    assert server.asked == ["metadata", "register", "authorize", "authorization_code"]


async def test_the_access_of_a_user_is_renewed_and_stored(
    server: OAuthServer, database: str, connection: psycopg.Connection[DictRow]
) -> None:
    user = uuid4()
    server.expires_in = 2

    def stored() -> str:
        (row,) = connection.execute("select value from user_secrets").fetchall()
        return str(row["value"])

    async with signed_in(server, database, user) as toolbox:
        first = stored()

        async def is_renewed() -> bool:
            await call(toolbox, "confess", user)
            return server.asked.count("refresh_token") >= 2

        await apoll(is_renewed)
        assert stored() != first
    assert server.asked.count("authorize") == 1
    audit = connection.execute("select * from v_audit where action = 'secret_set'").fetchall()
    assert {row["actor"] for row in audit} == {"test", "mcp"} and "planted" not in str(audit)


async def test_processes_renew_the_access_of_a_user_side_by_side(server: OAuthServer, database: str) -> None:
    user = uuid4()
    server.expires_in = 2
    async with signed_in(server, database, user) as one, open_database(database, 4, "test") as db:
        (configured,) = read_servers(settings_of(server, grant="authorization_code", list_user=str(user)), {})
        other = Toolbox(Toolset([]), [configured], secrets=UserSecrets(db))
        try:
            await other.reach(["crm"])

            async def is_renewed() -> bool:
                await asyncio.gather(call(one, "confess", user), call(other, "confess", user))
                return server.asked.count("refresh_token") >= 6

            await apoll(is_renewed)
        finally:
            await other.close()
    assert server.asked.count("authorize") == 1


async def test_a_renewal_is_stored_although_its_call_was_cancelled(server: OAuthServer, database: str) -> None:
    user = uuid4()
    async with signed_in(server, database, user) as toolbox:
        await call(toolbox, "confess", user)
        server.tokens.clear()
        server.answers.clear()
        cancelled = asyncio.create_task(call(toolbox, "confess", user))
        await apoll(lambda: "refresh_token" in server.asked)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        server.answers.set()
        assert "authorization" in await call(toolbox, "confess", user)
    assert server.asked.count("authorize") == 1


async def test_nobody_registers_for_a_user_who_has_not_signed_in(server: OAuthServer, database: str) -> None:
    (configured,) = read_servers(settings_of(server, grant="authorization_code", list_user=str(uuid4())), {})
    async with open_database(database, 4, "test") as db:
        toolbox = Toolbox(Toolset([]), [configured], secrets=UserSecrets(db))
        try:
            await toolbox.reach(["crm"])
            assert "the user has not signed in" in str(toolbox.causes()["crm"])
        finally:
            await toolbox.close()
    assert server.asked == []


async def test_a_user_whose_access_was_withdrawn_is_not_connected(server: OAuthServer, database: str) -> None:
    user = uuid4()
    async with signed_in(server, database, user) as toolbox:
        await call(toolbox, "confess", user)
        server.tokens.clear()
        server.refresh_tokens.clear()
        with pytest.raises(ToolFailure, match="not connected: the server refuses the user's access"):
            await call(toolbox, "confess", user)
    assert server.asked.count("authorize") == 1


async def test_a_person_who_refuses_is_one_line(server: OAuthServer) -> None:
    (configured,) = read_servers(settings_of(server, grant="authorization_code"), {})
    port = free_port()
    browsers: list[asyncio.Task[None]] = []

    async def refuse() -> None:
        await open_address(f"http://127.0.0.1:{port}/callback?error=access_denied")

    with pytest.raises(MaasError, match="crm: the authorization server says access_denied") as caught:
        await sign_in_by_browser(configured, port, lambda _: browsers.append(asyncio.create_task(refuse())))
    assert caught.value.code == "sign_in_failed"
    await asyncio.gather(*browsers)


async def test_the_command_signs_a_user_in(
    server: OAuthServer, database: str, connection: psycopg.Connection[DictRow]
) -> None:
    user = uuid4()
    setting = settings_of(server, grant="authorization_code")
    command = await asyncio.create_subprocess_exec(
        *(Path(sys.executable).with_name("maas"), "secrets", "sign-in", "crm"),
        *("--user", str(user), "--port", str(free_port())),
        env=os.environ | {"DATABASE_URL": database, "MAAS_MCP_SERVERS": setting},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert command.stdout is not None and command.stderr is not None
    async with asyncio.timeout(60):
        while not (line := (await command.stderr.readline()).decode().strip()).startswith("http"):
            assert line, await command.stdout.read()
        await open_address(line)
        output = await command.stdout.read()
        assert await command.wait() == 0
    assert output.decode() == "signed in\n"
    assert connection.execute("select user_id, name from user_secrets").fetchall() == [
        {"user_id": user, "name": "mcp_crm"}
    ]
