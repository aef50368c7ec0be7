"""Calls of A2A as any client makes them, and a receiver of push notifications."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from werkzeug import Request, Response
from werkzeug.datastructures import Headers

from tests.http_server import HTTPServer
from tests.polling import poll
from tests.stack import Stack

Json = dict[str, Any]


def call(stack: Stack, user: str, method: str, agent: str = "mentor", version: str = "1.0", **params: Any) -> Json:
    """The response of a method."""
    body = {"jsonrpc": "2.0", "id": "one", "method": method, "params": params}
    headers = {"X-MaaS-User": user, "A2A-Version": version}
    reply = stack.client.post(f"/v1/a2a/{agent}", json=body, headers=headers)
    assert reply.status_code == 200, reply.text
    response: Json = reply.json()
    assert (response["jsonrpc"], response["id"]) == ("2.0", "one")
    return response


def message(*parts: str | Json, **more: Any) -> Json:
    content = [{"text": part} if isinstance(part, str) else part for part in parts]
    return {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": content, **more}


def send(stack: Stack, user: str, *parts: str | Json, agent: str = "mentor", **more: Any) -> Json:
    """The task of a message that is answered."""
    task: Json = call(stack, user, "SendMessage", agent, message=message(*parts, **more))["result"]["task"]
    return task


def refuse(stack: Stack, user: str, method: str, agent: str = "mentor", **params: Any) -> int:
    """The code of the error."""
    error = call(stack, user, method, agent, **params)["error"]
    assert error["message"] and error["data"][0]["@type"].endswith("google.rpc.ErrorInfo")
    return int(error["code"])


def state(task: Json) -> str:
    return str(task["status"]["state"]).removeprefix("TASK_STATE_")


def texts(task: Json) -> list[str]:
    return [part["text"] for artifact in task["artifacts"] for part in artifact["parts"]]


class Receiver:
    """Takes push notifications; keeps the task and the headers of each."""

    def __init__(self, server: HTTPServer) -> None:
        self.url = f"http://127.0.0.1:{server.port}/push"
        self.got: list[tuple[Json, Headers]] = []
        server.expect_request("/push").respond_with_handler(self._take)

    def _take(self, request: Request) -> Response:
        assert request.content_type == "application/a2a+json"
        self.got.append((json.loads(request.get_data())["task"], request.headers))
        return Response("", 204)

    def wait_for(self, wanted: str) -> tuple[Json, Headers]:
        """The last notification, once it is of this state."""
        poll(lambda: self.got and state(self.got[-1][0]) == wanted, what=f"a notification of {wanted}")
        return self.got[-1]
