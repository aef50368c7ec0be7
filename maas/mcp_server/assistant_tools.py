"""The tools of one assistant: listed and called over the HTTP API, under the approvals of the assistant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from mcp_types import Tool, ToolAnnotations

from maas.client.calls import ApiCall, Operation
from maas.client.users import Users
from maas.mcp_server.context import McpContext


@dataclass(frozen=True, slots=True)
class AssistantTools:
    """The tools of `assistant` for one caller."""

    context: McpContext
    assistant: str

    async def list(self) -> list[Tool]:
        """Their descriptions for MCP. Raises ClientError, InvalidRequest for an unknown assistant."""
        return [_describe(row) for row in await self.context.client.run(_list_tools(self.assistant))]

    async def start(self, user: str, name: str, arguments: Mapping[str, Any]) -> UUID:
        """Insert the run of a call. Raises ClientError."""
        client = self.context.client
        return await client.run(_insert_call(client.users, user, self.assistant, name, arguments))


def _describe(row: Mapping[str, Any]) -> Tool:
    effect = row["effect"]
    return Tool(
        name=row["name"],
        description=row["description"],
        input_schema=row["parameters"],
        annotations=ToolAnnotations(
            read_only_hint=effect == "read",
            destructive_hint=effect == "dangerous",
            idempotent_hint=effect == "read" or row["is_idempotent"],
            open_world_hint=True,
        ),
    )


def _list_tools(assistant: str) -> Operation[list[dict[str, Any]]]:
    call = ApiCall(method="GET", path="/v1/tools", params={"assistant": assistant})
    return list((yield call).json["results"])


def _insert_call(users: Users, user: str, assistant: str, name: str, arguments: Mapping[str, Any]) -> Operation[UUID]:
    owner = yield from users.get_or_create(user)
    body = {"user_id": str(owner), "assistant": assistant, "tool": name, "arguments": dict(arguments), "source": "mcp"}
    headers = {"idempotency-key": str(uuid4())}  # of the repetitions of this request, not of the call of a model
    reply = yield ApiCall(method="POST", path="/v1/tool_calls", body=body, headers=headers)
    return UUID(reply.json["request_id"])
