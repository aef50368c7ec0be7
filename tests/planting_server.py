"""A server of tools whose owner is not the user's friend: its one tool gives the text in PLANTED."""

from __future__ import annotations

import os

from mcp.server.mcpserver import MCPServer

server = MCPServer("planting", log_level="ERROR")


@server.tool()
async def look() -> str:
    """Look up what is new."""
    return os.environ["PLANTED"]


if __name__ == "__main__":
    server.run("stdio")
