"""/v1/a2a/{model}: the methods of A2A 1.0 by JSON-RPC. Errors of the protocol are responses of status 200."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from maas import queries
from maas.conversations.actions import decide_action
from maas.conversations.agent_tasks import MAX_RUNS, Task
from maas.http.a2a.card import PROTOCOL_VERSION, find_agent
from maas.http.a2a.errors import A2AError, Code, unsupported
from maas.http.a2a.messages import Sender, read_task, take_message
from maas.http.a2a.push import create_push, delete_push, get_push, list_push, set_push
from maas.http.a2a.schemas import (
    ListParams,
    ListPushParams,
    PushParams,
    RpcRequest,
    SendConfiguration,
    SendParams,
    TaskParams,
    TaskPushConfig,
)
from maas.http.a2a.stream import stream_task
from maas.http.authorize import hold_stream, principal_of
from maas.http.request_input import read_json, to_cursor, validate, write_cursor
from maas.http.server_sent_events import EVENT_STREAM, EVENT_STREAM_HEADERS
from maas.http.state import AppState, app_state
from maas.http.users import read_user_header, resolve_user
from maas.runs.submit import cancel_run
from shared.errors import MaasError, problems_of
from shared.text import as_uuid

CANCEL_WAIT_S = 5.0
NOT_A_CALL = {
    "invalid_json": (Code.JSON_PARSE, 400),
    "invalid_request": (Code.INVALID_REQUEST, 400),
    "unsupported_media_type": (Code.CONTENT_TYPE_NOT_SUPPORTED, 415),
}
WRONG_PARAMETERS = (
    "bad_parameter",
    "invalid_request",
    "not_found",
    "unknown_assistant",
    "already_decided",
    "expired",
    "changed",
    "conflict",
    "idempotency_conflict",
    "bad_image",
)
Params = TypeVar("Params", bound=BaseModel)
Result = dict[str, Any] | Response
Method = Callable[[Request, Sender, RpcRequest], Awaitable[Result]]


async def post_a2a(request: Request) -> Response:
    """Call a method of A2A 1.0: send a message, follow, read, list and cancel tasks.

    The user is named by the header X-MaaS-User or by the key; a task is a request of that user.
    """
    agent = await find_agent(request, request.path_params["model"])
    try:
        call = validate(RpcRequest, await read_json(request))
    except MaasError as error:
        if error.code not in NOT_A_CALL:
            raise
        code, status = NOT_A_CALL[error.code]
        return JSONResponse(_failed(None, A2AError(code, error.message)), status)
    try:
        method = _find_method(request, call)
        user_id = await resolve_user(request, read_user_header(request))
        sender = Sender(user_id, agent["name"], principal_of(request).name)
        result = await _make(method, request, sender, call)
    except A2AError as error:
        return JSONResponse(_failed(call.id, error))
    return result if isinstance(result, Response) else JSONResponse({"jsonrpc": "2.0", "id": call.id, "result": result})


def _find_method(request: Request, call: RpcRequest) -> Method:
    """Return the method of a call, of this version and allowed to its caller. Raises A2AError, MaasError."""
    wanted = request.headers.get("a2a-version") or request.query_params.get("A2A-Version") or "0.3"
    if wanted != PROTOCOL_VERSION:
        message = f"this agent speaks A2A {PROTOCOL_VERSION}, not {wanted[:20]}: send the header A2A-Version"
        raise A2AError(Code.VERSION_NOT_SUPPORTED, message)
    if call.method == "GetExtendedAgentCard":
        raise unsupported("there is no extended card")
    method = METHODS.get(call.method)
    if method is None:
        raise A2AError(Code.METHOD_NOT_FOUND, f"there is no method {call.method!r}")
    if call.method in READING:
        _check_may_read(request)
    return method


def _check_may_read(request: Request) -> None:
    """Raises MaasError('forbidden')."""
    principal = principal_of(request)
    if not principal.may("read"):
        raise MaasError("forbidden", f"this requires the scope read; you have {', '.join(sorted(principal.scopes))}")


async def _make(method: Method, request: Request, sender: Sender, call: RpcRequest) -> Result:
    """Make a call; what is wrong with its parameters is an error of the protocol."""
    try:
        return await method(request, sender, call)
    except MaasError as error:
        if error.code not in WRONG_PARAMETERS:
            raise
        raise A2AError(Code.INVALID_PARAMS, error.message) from error


async def _send(request: Request, sender: Sender, call: RpcRequest) -> Result:
    state = app_state(request)
    wishes, task = await _take(request, sender, call)
    if wishes is None or not wishes.return_immediately:
        task = await _wait(state, sender, task)
    return {"task": task.to_json(wishes.history_length if wishes else None)}


async def _send_streaming(request: Request, sender: Sender, call: RpcRequest) -> Result:
    hold_stream(request)
    _, task = await _take(request, sender, call)
    return _stream(request, sender, task, call)


async def _take(request: Request, sender: Sender, call: RpcRequest) -> tuple[SendConfiguration | None, Task]:
    """Take the message of a call; return its wishes, and the task."""
    params, state = _read(SendParams, call), app_state(request)
    push = params.configuration.task_push_notification_config if params.configuration is not None else None
    if push is not None:
        _check_may_read(request)
    task = await take_message(state, sender, params.message)
    if push is not None:
        await set_push(state, sender, task, push)
    return params.configuration, task


async def _get(request: Request, sender: Sender, call: RpcRequest) -> Result:
    params = _read(TaskParams, call)
    task = await read_task(app_state(request), sender, params.id)
    return task.to_json(params.history_length)


async def _list(request: Request, sender: Sender, call: RpcRequest) -> Result:
    params = _read(ListParams, call)
    at, last = to_cursor(params.page_token) if params.page_token else (None, None)
    state, context_id = params.status.removeprefix("TASK_STATE_"), as_uuid(params.context_id)
    is_unknown = params.context_id != "" and context_id is None
    rows = (
        []
        if is_unknown
        else await app_state(request).db.rows(
            queries.a2a_tasks,
            sender.user_id,
            sender.assistant,
            None,
            context_id,
            None if state == "UNSPECIFIED" else state,
            params.status_timestamp_after,
            at,
            last,
            params.page_size + 1,
            MAX_RUNS,
        )
    )
    page = rows[: params.page_size]
    return {
        "tasks": [Task.of(row).to_json(params.history_length, params.include_artifacts) for row in page],
        "nextPageToken": (write_cursor(page, 1, "changed_at") or "") if len(rows) > len(page) else "",
        "pageSize": params.page_size,
        "totalSize": rows[0]["total"] if rows else 0,
    }


async def _cancel(request: Request, sender: Sender, call: RpcRequest) -> Result:
    """End what is at work, and reject what waits."""
    params, state = _read(TaskParams, call), app_state(request)
    task = await read_task(state, sender, params.id)
    if task.is_over:
        raise A2AError(Code.TASK_NOT_CANCELABLE, f"task {task.id} is {task.state} already")
    for run_id in task.open_runs:
        await cancel_run(state.db, run_id, sender.caller)
    for action in task.waiting:
        await decide_action(state.db, UUID(action["id"]), sender.user_id, "reject", sender.caller)
    for run_id in task.open_runs:
        await state.run_watcher.wait_for_answer(run_id, CANCEL_WAIT_S)
    return (await read_task(state, sender, params.id)).to_json()


async def _subscribe(request: Request, sender: Sender, call: RpcRequest) -> Result:
    params = _read(TaskParams, call)
    hold_stream(request)
    task = await read_task(app_state(request), sender, params.id)
    if task.is_over:
        raise unsupported(f"task {task.id} is {task.state}: nothing more will come")
    return _stream(request, sender, task, call)


def _on_push(model: type[Params], act: Callable[[AppState, Sender, Params], Awaitable[dict[str, Any]]]) -> Method:
    """Return a method that is about push notifications."""

    async def method(request: Request, sender: Sender, call: RpcRequest) -> Result:
        return await act(app_state(request), sender, _read(model, call))

    return method


METHODS: dict[str, Method] = {
    "SendMessage": _send,
    "SendStreamingMessage": _send_streaming,
    "GetTask": _get,
    "ListTasks": _list,
    "CancelTask": _cancel,
    "SubscribeToTask": _subscribe,
    "CreateTaskPushNotificationConfig": _on_push(TaskPushConfig, create_push),
    "GetTaskPushNotificationConfig": _on_push(PushParams, get_push),
    "ListTaskPushNotificationConfigs": _on_push(ListPushParams, list_push),
    "DeleteTaskPushNotificationConfig": _on_push(PushParams, delete_push),
}
READING = (
    "GetTask",
    "ListTasks",
    "SubscribeToTask",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
)


async def _wait(state: AppState, sender: Sender, task: Task) -> Task:
    """Return the task once nothing of it is at work, or as it is after MAAS_OPENAI_WAIT."""
    deadline = time.monotonic() + state.settings.http.openai_wait
    while task.open_runs and (left_s := deadline - time.monotonic()) > 0 and not state.run_watcher.is_closing:
        await state.run_watcher.wait_for_answer(task.open_runs[0], left_s)
        task = await read_task(state, sender, str(task.id))
    return task


def _stream(request: Request, sender: Sender, task: Task, call: RpcRequest) -> Response:
    updates = stream_task(app_state(request), sender, task, call.id)
    return StreamingResponse(updates, media_type=EVENT_STREAM, headers=EVENT_STREAM_HEADERS)


def _read(model: type[Params], call: RpcRequest) -> Params:
    """Return the parameters of a call. Raises A2AError."""
    try:
        return model.model_validate(call.params or {})
    except ValidationError as error:
        problem = problems_of(error)[0]
        raise A2AError(Code.INVALID_PARAMS, f"params.{problem.field}: {problem.message}") from error


def _failed(rpc_id: str | int | None, error: A2AError) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": rpc_id, "error": error.to_json()}
