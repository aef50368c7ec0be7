"""Push notifications of A2A: webhooks of one task, which send it as it is after each change."""

from __future__ import annotations

from typing import Any

from maas import queries
from maas.conversations.agent_tasks import Task
from maas.http.a2a.errors import A2AError, Code
from maas.http.a2a.messages import Sender, read_task
from maas.http.a2a.schemas import ListPushParams, PushConfig, PushParams, TaskPushConfig
from maas.http.state import AppState

TOKEN_HEADER = "x-a2a-notification-token"


async def set_push(state: AppState, sender: Sender, task: Task, config: PushConfig) -> dict[str, Any]:
    """Send the changes of a task to an address; without an id it has that of the task. Raises MaasError."""
    name = config.id or str(task.id)
    headers = {TOKEN_HEADER: config.token} if config.token else {}
    if (authentication := config.authentication) is not None and authentication.credentials:
        headers["authorization"] = f"{authentication.scheme} {authentication.credentials}"
    await state.db.value(
        queries.set_push_notification, sender.user_id, task.id, name, config.url, headers, sender.caller
    )
    return _to_json(task, name, config.url)


async def create_push(state: AppState, sender: Sender, params: TaskPushConfig) -> dict[str, Any]:
    """Send the changes of a task to an address. Raises A2AError, MaasError."""
    return await set_push(state, sender, await read_task(state, sender, params.task_id), params)


async def get_push(state: AppState, sender: Sender, params: PushParams) -> dict[str, Any]:
    """Return a push notification without its token and credentials, which nobody is shown. Raises A2AError."""
    for found in await _list(state, sender, params.task_id):
        if found["id"] == params.id:
            return found
    raise _not_found(params)


async def list_push(state: AppState, sender: Sender, params: ListPushParams) -> dict[str, Any]:
    """Return all push notifications of a task, at most ten. Raises A2AError."""
    return {"configs": await _list(state, sender, params.task_id)}


async def delete_push(state: AppState, sender: Sender, params: PushParams) -> dict[str, Any]:
    """Send no more of the changes of a task. Raises A2AError."""
    task = await read_task(state, sender, params.task_id)
    await state.db.value(queries.delete_push_notification, sender.user_id, task.id, params.id, sender.caller)
    return {}


async def _list(state: AppState, sender: Sender, task_id: str) -> list[dict[str, Any]]:
    task = await read_task(state, sender, task_id)
    rows = await state.db.rows(queries.push_notifications, sender.user_id, task.id)
    return [_to_json(task, row["name"], row["url"]) for row in rows if row["name"] is not None]


def _to_json(task: Task, name: str, url: str) -> dict[str, Any]:
    return {"taskId": str(task.id), "id": name, "url": url}


def _not_found(params: PushParams) -> A2AError:
    return A2AError(Code.TASK_NOT_FOUND, f"task {params.task_id[:80]!r} has no push notification {params.id[:80]!r}")
