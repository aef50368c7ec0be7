"""A server of tools that misbehaves on purpose: `python mcp_server.py stdio`, or a port of 127.0.0.1 for HTTP."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer

FOLDER = Path(os.environ.get("TOOLBOX", "."))
server = MCPServer("faulty", log_level="ERROR")


@server.tool()
async def hang() -> str:
    """Never end; the file `cancelled` says that it was cancelled."""
    (FOLDER / "hanging").touch()
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        (FOLDER / "cancelled").touch()
        raise
    return "late"


@server.tool()
async def die() -> str:
    """End the process during the call."""
    with (FOLDER / "died").open("a") as file:
        file.write("x")
    os._exit(3)


@server.tool()
async def garble() -> str:
    """Write what is no message before the answer."""
    print('{"jsonrpc": "2.0", "id": ', flush=True)
    return "after the noise"


@server.tool()
async def flood() -> str:
    """Answer at great length."""
    return "x" * 1_500_000  # and as often as structured content


@server.tool()
async def confess() -> str:
    """Return all that it was sent."""
    return str(dict(os.environ))


@server.tool()
async def fail() -> str:
    """Fail in words that hold a secret."""
    raise ValueError(f"refused: {os.environ.get('API_TOKEN')}")


@server.tool()
async def grow(context: Context) -> str:
    """Offer one more tool."""

    async def grown() -> str:
        """It was not there before."""
        return "grown"

    server.add_tool(grown)
    await context.notify_tools_changed()
    return "it grew"


if __name__ == "__main__":
    print(f"key {os.environ.get('API_TOKEN')}", file=sys.stderr, flush=True)
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
