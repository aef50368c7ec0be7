"""Requests of MCP 2026-07-28 as they go over the wire, for what the official client would not send."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import httpx2

REVISION = "2026-07-28"
TASKS: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
ELICITATION: dict[str, Any] = {"elicitation": {}}


@dataclass(frozen=True, slots=True)
class McpWire:
    """A client with these capabilities, which sends these headers with each request."""

    http: httpx2.Client
    capabilities: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)

    def send(self, method: str, name: str | None = None, /, **params: Any) -> dict[str, Any]:
        """The reply as JSON."""
        return dict(self.post(method, name, **params).json())

    def post(self, method: str, name: str | None = None, /, **params: Any) -> httpx2.Response:
        """The response. `name` is that of the tool, or the id of the task."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        }
        headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": REVISION}
        headers |= {"mcp-method": method} | ({} if name is None else {"mcp-name": name}) | self.headers
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": meta}}
        return self.http.post("/mcp", json=message, headers=headers)

    def call(self, name: str, arguments: dict[str, Any], **params: Any) -> dict[str, Any]:
        """The reply to a call of a tool."""
        return self.send("tools/call", name, name=name, arguments=arguments, **params)

    def task(self, method: str, task_id: str, **params: Any) -> dict[str, Any]:
        """The reply to a method of tasks."""
        return self.send(f"tasks/{method}", task_id, taskId=task_id, **params)
