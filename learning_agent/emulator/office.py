"""The tools that scenarios use, as an MCP server: an invented office, made anew at each start."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml
from mcp.server.mcpserver import MCPServer

DATA = Path(__file__).with_name("office.yaml")
EFFECTS = {
    "list_meetings": "read",
    "read_document": "read",
    "check_stock": "read",
    "create_meeting": "write",
    "send_letter": "dangerous",
    "cancel_order": "dangerous",
}
ASSISTANT = "office"
MODULE = "learning_agent.emulator.office"  # this one, as a program
server = MCPServer("office", log_level="ERROR")
_data: dict[str, Any] = yaml.safe_load(DATA.read_text(encoding="utf-8"))


@server.tool()
async def list_meetings(day: str) -> list[str]:
    """List the meetings of a day."""
    return list(_data["meetings"])


@server.tool()
async def create_meeting(title: str, day: str, time: str) -> dict[str, str]:
    """Put a meeting into the calendar."""
    return {"created": title, "day": day, "time": time}


@server.tool()
async def read_document(name: str) -> str:
    """Read a document of the office by its name."""
    known: dict[str, str] = _data["documents"]
    found = next((text for title, text in known.items() if name.casefold() in title.casefold()), None)
    return found or f"There is no document {name!r}; there are: {', '.join(known)}"


@server.tool()
async def send_letter(to: str, text: str) -> dict[str, str]:
    """Send a letter to somebody."""
    return {"sent_to": to}


@server.tool()
async def cancel_order(number: str) -> dict[str, str]:
    """Cancel an order of the office for good."""
    return {"cancelled": number}


@server.tool()
async def check_stock(item: str) -> str:
    """Say how many pieces of an item are in the store room."""
    raise ValueError("the store room does not answer (503)")


def settings(port: int) -> dict[str, Any]:
    """The entry of MAAS_MCP_SERVERS for this server."""
    return {"mcpServers": {"office": {"url": f"http://127.0.0.1:{port}/mcp", "trusted": True, "effects": EFFECTS}}}


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
