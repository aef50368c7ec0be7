"""The extension Tasks: a call that takes long is a task, which the client asks about. A task is a run, under its id."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    RequestParams,
)
from mcp_types.jsonrpc import HEADER_MISMATCH
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import Field

from maas.client.results import InvalidRequest
from maas.mcp_server.approvals import can_ask, decide, questions
from maas.mcp_server.context import McpContext, protocol_errors
from maas.mcp_server.run_progress import RunProgress, look

EXTENSION = "io.modelcontextprotocol/tasks"
TASK_AFTER_S = 0.5  # what is done by then is answered at once
POLL_INTERVAL_MS = 1000
TTL_MS = 24 * 60 * 60 * 1000  # data retention deletes no run earlier

Request = ServerRequestContext[Any]


class TaskParams(RequestParams):
    task_id: str = Field(alias="taskId", max_length=100)


class TaskUpdateParams(TaskParams):
    input_responses: dict[str, Any] = Field(alias="inputResponses")


def is_declared(request: Request) -> bool:
    """Whether the client of this request knows tasks."""
    capabilities = request.session.client_capabilities
    declared = (capabilities.extensions if capabilities is not None else None) or {}
    return EXTENSION in declared and request.protocol_version in MODERN_PROTOCOL_VERSIONS


def new_task(progress: RunProgress) -> dict[str, Any]:
    """The reply to a call that became a task."""
    return {"resultType": "task", "status": "working"} | _about(progress)


async def get_task(context: McpContext, request: Request, params: TaskParams) -> dict[str, Any]:
    """The state of a task, its result or its question. Raises MCPError, also for a task of another user."""
    _check(request, params)
    user = await _authorize(context, "read")
    with protocol_errors():
        progress = await look(context, _id(params), user)
    return _about(progress) | _state(progress, can_ask(request))


async def update_task(context: McpContext, request: Request, params: TaskUpdateParams) -> dict[str, Any]:
    """Take the answer of the user to the question of a task. Raises MCPError."""
    _check(request, params)
    user = await _authorize(context, "ask")
    with protocol_errors():
        progress = await look(context, _id(params), user)
        if progress.is_waiting:
            await decide(context, progress, user, params.input_responses)
    return {}


async def cancel_task(context: McpContext, request: Request, params: TaskParams) -> dict[str, Any]:
    """Stop a task, and reject what it waits for; nothing happens to one that has ended. Raises MCPError."""
    _check(request, params)
    user = await _authorize(context, "ask")
    with protocol_errors(), suppress(InvalidRequest):  # it has ended, or was decided, meanwhile
        progress = await look(context, _id(params), user)
        if progress.is_waiting and progress.action is not None:
            await context.client.reject(progress.action["id"], user_id=user)
        elif progress.is_at_work:
            await context.client.cancel((progress.execution or progress.run)["request_id"])
    return {}


def _check(request: Request, params: TaskParams) -> None:
    if request.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MCPError(METHOD_NOT_FOUND, f"{request.method} is a method of {MODERN_PROTOCOL_VERSIONS[0]}")
    if not is_declared(request):
        data: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, f"declare the extension {EXTENSION}", data)
    named = request.request.headers.get("mcp-name") if request.request is not None else None
    if named is not None and named != params.task_id:
        raise MCPError(HEADER_MISMATCH, "the header Mcp-Name is not the taskId of the body")


async def _authorize(context: McpContext, scope: str) -> str:
    with protocol_errors():
        return await context.authorize(scope, None)


def _id(params: TaskParams) -> UUID:
    try:
        return UUID(params.task_id)
    except ValueError:
        raise MCPError(INVALID_PARAMS, f"there is no task {params.task_id!r}") from None


def _about(progress: RunProgress) -> dict[str, Any]:
    runs = (progress.run, progress.execution)
    times = [at for run in runs if run for name, at in run["timings"].items() if at and name != "archived_at"]
    return {
        "taskId": progress.run["request_id"],
        "createdAt": progress.run["timings"]["created_at"],
        "lastUpdatedAt": max(times),
        "ttlMs": TTL_MS,
        "pollIntervalMs": POLL_INTERVAL_MS,
    }


def _state(progress: RunProgress, is_asked: bool) -> dict[str, Any]:
    run = progress.run
    if progress.is_at_work:
        return {"status": "working", "statusMessage": (progress.execution or run)["status"]}
    if progress.is_waiting and is_asked:
        asked = {name: _dump(one) for name, one in questions(progress).items()}
        return {"status": "input_required", "inputRequests": asked}
    if run["status"] == "FAILED":
        if run["error_code"] == "cancelled":
            return {"status": "cancelled"}
        return {"status": "failed", "error": {"code": INTERNAL_ERROR, "message": run["error_message"]}}
    return {"status": "completed", "result": _dump(progress.result())}


def _dump(value: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped
