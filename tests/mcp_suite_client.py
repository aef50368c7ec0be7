"""Our MCP client as the conformance suite wants to see it: it signs in if need be and calls what a server offers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult

from maas.tools.calls import ToolFailure
from maas.tools.mcp_client.connection import CONNECT_TIMEOUT_S, McpConnection
from maas.tools.mcp_client.oauth import PersonProvider
from maas.tools.mcp_client.servers import McpServer, OAuth
from maas.tools.mcp_client.sign_in import SignIn

SOMETHING: Mapping[str, Any] = {"integer": 3, "number": 3, "boolean": True, "object": {}, "array": []}
REDIRECT_URI = "http://localhost:3000/callback"
METADATA_URL = "https://conformance-test.local/client-metadata.json"  # the one that the suite expects


async def call_on_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Take {url, context, scenario} on one line and call the tools there, then close the connection."""
    request = json.loads(await reader.readline())
    try:
        await call_tools(request["url"], request["context"], request["scenario"])
    finally:
        writer.close()


async def call_tools(url: str, context: Mapping[str, Any], scenario: str) -> None:
    """Call the tools that the context names, or else every tool, with something for each argument it requires."""
    connection = await _connection(url, context, scenario)
    try:
        await connection.tried()
        offered = {tool.name.removeprefix("suite__"): tool.parameters for tool in connection.tools}
        calls = [(one["name"], one["arguments"]) for one in context.get("toolCalls", ())]
        for name, arguments in calls or [(name, _arguments(schema)) for name, schema in offered.items()]:
            if name in offered:
                with suppress(ToolFailure):
                    await connection.call(name, arguments)
    finally:
        await connection.close()


async def _connection(url: str, context: Mapping[str, Any], scenario: str) -> McpConnection:
    if scenario.startswith("auth/client-credentials"):
        oauth = OAuth(
            issuer=await _issuer(url),
            client_id=context["client_id"],
            client_secret=context.get("client_secret"),
            private_key=context.get("private_key_pem"),
            algorithm=context.get("signing_algorithm", "RS256"),
        )
        return McpConnection(McpServer(name="suite", url=url, oauth=oauth), lambda: None)
    connection = McpConnection(McpServer(name="suite", url=url), lambda: None)
    if scenario.startswith("auth/"):
        oauth = OAuth.model_validate(
            {"grant": "authorization_code", "client_metadata_url": METADATA_URL}
            | {name: context[name] for name in ("issuer", "client_id", "client_secret") if name in context}
        )
        connection.sign_in = SignIn(_person(url, oauth), (url,), CONNECT_TIMEOUT_S)
    return connection


def _person(url: str, oauth: OAuth) -> OAuthClientProvider:
    """Somebody who opens the address at once and agrees."""
    answers: list[AuthorizationCodeResult] = []

    async def show(address: str) -> None:
        async with httpx2.AsyncClient() as browser:
            response = await browser.get(address)
        found = httpx2.URL(response.headers["location"]).params
        answers.append(AuthorizationCodeResult(code=found["code"], state=found.get("state"), iss=found.get("iss")))

    async def wait() -> AuthorizationCodeResult:
        return answers.pop()

    return PersonProvider(url, oauth, REDIRECT_URI, show, wait)


async def _issuer(url: str) -> str:
    """What an operator would write into the settings, read from the metadata of the server."""
    target = httpx2.URL(url)
    async with httpx2.AsyncClient() as http:
        found = await http.get(target.copy_with(path=f"/.well-known/oauth-protected-resource{target.path}"))
    return str(found.json()["authorization_servers"][0])


def _arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    return {name: SOMETHING.get(properties[name].get("type"), "x") for name in schema.get("required", ())}
