"""The tools of one assistant: listed and called over the HTTP API, under the approvals of the assistant."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from mcp_types import Tool, ToolAnnotations

from maas.client.calls import ApiCall, Operation
from maas.client.users import Users
from maas.mcp_server.context import McpContext, ReportProgress
from maas.mcp_server.schemas import DEFAULT_WAIT_S, GetRunInput, RunOutput
from maas.mcp_server.tools import get_run

HOW_TO_APPROVE = (
    "It changes nothing before the user approves it. Show the user the call as it is. It is approved with "
    "POST /v1/actions/{id}/approve or rejected with /reject, each with the fingerprint {fingerprint}, in a web "
    "interface, or by an operator with maas_decide_action; the action is {id}, {call}"
)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call: text for models, JSON where there is one. `is_error`: it failed, or nothing was done."""

    text: str
    data: dict[str, Any] | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class AssistantTools:
    """The tools of `assistant` for one caller."""

    context: McpContext
    assistant: str

    async def list(self) -> list[Tool]:
        """Their descriptions for MCP. Raises ClientError, InvalidRequest for an unknown assistant."""
        return [_describe(row) for row in await self.context.client.run(_list_tools(self.assistant))]

    async def call(self, name: str, arguments: Mapping[str, Any], report: ReportProgress | None) -> ToolResult:
        """Insert the run of a call and wait for its result. Raises ClientError."""
        user = await self.context.authorize("ask", None)
        client = self.context.client
        run_id = await client.run(_insert_call(client.users, user, self.assistant, name, arguments))
        waited = GetRunInput(user_id=None, request_id=run_id, wait=DEFAULT_WAIT_S)
        run = await get_run(self.context, waited, user, report)
        if run.status != "COMPLETED" or run.answer is None:
            return ToolResult(run.text(), is_error=run.status == "FAILED")
        return await self._result(user, run_id, run)

    async def _result(self, user: str, run_id: UUID, run: RunOutput) -> ToolResult:
        body = json.loads(run.answer or "{}")
        if body.get("success"):
            return ToolResult(run.answer or "", body)
        if body.get("error_code") != "approval_required":
            return ToolResult(f"{body.get('error_code')}: {body.get('message')}", is_error=True)
        (action,) = await self.context.client.run(_actions(self.context.client.users, user, run_id))
        call = f"{action['tool']} {json.dumps(action['arguments'], ensure_ascii=False)}"
        how = HOW_TO_APPROVE.format(id=action["id"], fingerprint=action["fingerprint"], call=call)
        pending = {name: action[name] for name in ("fingerprint", "expires_at")}
        pending |= {"action_id": action["id"], "reason": body["reason"]}
        return ToolResult(f"This waits for the user's approval: {body['reason']}. {how}", body | pending)


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


def _actions(users: Users, user: str, run_id: UUID) -> Operation[list[dict[str, Any]]]:
    owner = yield from users.get_or_create(user)
    params = {"user_id": str(owner), "run_id": str(run_id)}
    return list((yield ApiCall(method="GET", path="/v1/actions", params=params)).json["results"])
