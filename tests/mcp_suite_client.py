"""Our MCP client as the conformance suite wants to see it: it calls what a server offers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from maas.tools.calls import ToolFailure
from maas.tools.mcp_client.connection import McpConnection
from maas.tools.mcp_client.servers import McpServer

SOMETHING: Mapping[str, Any] = {"integer": 3, "number": 3, "boolean": True, "object": {}, "array": []}


async def call_on_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Take {url, context} on one line and call the tools there, then close the connection."""
    request = json.loads(await reader.readline())
    try:
        await call_tools(request["url"], request["context"])
    finally:
        writer.close()


async def call_tools(url: str, context: Mapping[str, Any]) -> None:
    """Call the tools that the context names, or else every tool, with something for each argument it requires."""
    connection = McpConnection(McpServer(name="suite", url=url), lambda: None)
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


def _arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    return {name: SOMETHING.get(properties[name].get("type"), "x") for name in schema.get("required", ())}
