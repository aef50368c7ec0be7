"""It uses the tools of an MCP server."""

from __future__ import annotations

from maas.agents.definition import Definition, Needs

ASSISTANT = Definition(
    name="secretary", role_prompt="Mentor", toolset=("calendar",), needs=Needs(servers=("calendar",))
)
