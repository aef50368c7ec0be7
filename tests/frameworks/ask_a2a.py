"""The SDK of A2A, as programs.py describes: each case is one use of its client; `model` is the name of the user."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.client import Client
from a2a.types import a2a_pb2 as a2a
from a2a.utils.errors import A2AError
from google.protobuf import json_format, struct_pb2


def message(text: str = "", data: Any = None, task_id: str = "") -> a2a.SendMessageRequest:
    part = a2a.Part(text=text) if data is None else a2a.Part(data=json_format.ParseDict(data, struct_pb2.Value()))
    said = a2a.Message(message_id=str(uuid4()), role=a2a.ROLE_USER, parts=[part], task_id=task_id)
    return a2a.SendMessageRequest(message=said)


async def read(events: AsyncIterator[a2a.StreamResponse]) -> list[dict[str, Any]]:
    """What a stream holds."""
    found: list[dict[str, Any]] = []
    async for event in events:
        match event.WhichOneof("payload"):
            case "task":
                found.append({"kind": "task", "id": event.task.id, "state": name(event.task.status)})
            case "status_update":
                found.append({"kind": "status_update", "state": name(event.status_update.status)})
            case "artifact_update":
                parts = event.artifact_update.artifact.parts
                found.append({"kind": "artifact_update", "text": "".join(part.text for part in parts)})
    return found


def name(status: a2a.TaskStatus) -> str:
    return str(a2a.TaskState.Name(status.state))


async def push(client: Client, hook: str, name: str) -> Any:
    """Begin a task whose push notification has this token; or give the task of this id another one, and drop the first.

    Returns what the stream holds; or the ids of the notifications before and after.
    """
    try:
        task_id = str(UUID(name))
    except ValueError:
        request = message("Wipe it.")
        wanted = a2a.TaskPushNotificationConfig(url=hook, token=name)
        request.configuration.task_push_notification_config.CopyFrom(wanted)
        return await read(client.send_message(request))
    authentication = a2a.AuthenticationInfo(scheme="Bearer", credentials="of-the-client")
    wanted = a2a.TaskPushNotificationConfig(task_id=task_id, id="second", url=hook, authentication=authentication)
    created = await client.create_task_push_notification_config(wanted)
    named = a2a.GetTaskPushNotificationConfigRequest(task_id=task_id, id="second")
    assert await client.get_task_push_notification_config(named) == created
    every = a2a.ListTaskPushNotificationConfigsRequest(task_id=task_id)
    listed = await client.list_task_push_notification_configs(every)
    dropped = a2a.DeleteTaskPushNotificationConfigRequest(task_id=task_id, id=task_id)
    await client.delete_task_push_notification_config(dropped)
    left = await client.list_task_push_notification_configs(every)
    return [[one.id for one in page.configs] for page in (listed, left)]


async def run(case: str, url: str, user: str, text: str) -> Any:
    async with httpx.AsyncClient(headers={"X-MaaS-User": user}, timeout=30, trust_env=False) as http:
        config = ClientConfig(httpx_client=http, streaming=case != "begin")
        client: Client = await ClientFactory(config).create_from_url(url)
        match case:
            case "stream":
                return await read(client.send_message(message(text)))
            case "decide":
                return await read(client.send_message(message(data={"approved": True}, task_id=text)))
            case "begin":
                request = message(text)
                request.configuration.return_immediately = True
                async for event in client.send_message(request):
                    return event.task.id
            case "subscribe":
                return await read(client.subscribe(a2a.SubscribeToTaskRequest(id=text)))
            case "get":
                task = await client.get_task(a2a.GetTaskRequest(id=text))
                return {"state": name(task.status), "artifacts": len(task.artifacts)}
            case "list":
                page = await client.list_tasks(a2a.ListTasksRequest())
                return {"tasks": [task.id for task in page.tasks]}
            case "push":
                return await push(client, *text.split())
            case "cancel":
                return name((await client.cancel_task(a2a.CancelTaskRequest(id=text))).status)
    raise ValueError(case)


def outcome(asked: dict[str, str]) -> dict[str, Any]:
    try:
        return {"result": asyncio.run(run(asked["case"], asked["url"], asked["model"], asked["text"]))}
    except A2AError as error:
        return {"result": type(error).__name__}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}", "status": None}


if __name__ == "__main__":
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(outcome(json.loads(line))), flush=True)
