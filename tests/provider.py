"""A provider of models that keeps what it is sent and answers what it is told to, in OpenAI's APIs and Anthropic's."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from openai import DefaultHttpxClient, OpenAI
from werkzeug import Request, Response

from tests.http_server import HTTPServer
from tests.stack import Stack

Json = dict[str, Any]
USAGE = {"prompt_tokens": 40, "completion_tokens": 7, "total_tokens": 47}
JSON = "application/json"


def last_text(body: Json) -> str:
    """The text of the last message of the user."""
    if isinstance(body.get("input"), str):
        return str(body["input"])
    messages = body.get("messages") or body["input"]
    content = next(one["content"] for one in reversed(messages) if one.get("role") == "user")
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


def said(text: str) -> Json:
    """A message of the assistant."""
    return {"role": "assistant", "content": text, "refusal": None}


def called(name: str, arguments: str, call_id: str = "call_1") -> Json:
    """A message of the assistant that calls a tool."""
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


@contextmanager
def openai_client(stack: Stack) -> Iterator[OpenAI]:
    """The official client of a server without access control, which repeats no request."""
    with DefaultHttpxClient(trust_env=False, verify=False) as http:
        yield OpenAI(base_url=f"http://127.0.0.1:{stack.port}/v1", api_key="none", http_client=http, max_retries=0)


@dataclass
class Provider:
    """`answer` makes the message of each reply, or a whole Response; `sent` are the bodies, `headers` their headers.

    `delay_s` passes before a reply, `pause_s` between two pieces of a stream.
    """

    http: HTTPServer
    answer: Callable[[Json], Json | Response] = lambda body: said(f"Noted: {last_text(body)}")
    sent: list[Json] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    has_responses: bool = False
    delay_s: float = 0.0
    pause_s: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.http.expect_request("/v1/chat/completions", method="POST").respond_with_handler(self._complete)
        self.http.expect_request("/v1/responses", method="POST").respond_with_handler(self._respond)
        self.http.expect_request("/v1/messages", method="POST").respond_with_handler(self._say)

    @property
    def url(self) -> str:
        return self.http.url_for("/v1")

    @property
    def settings(self) -> dict[str, str]:
        """The settings with which a stack uses it, also as the model of assistants."""
        return {
            "OPENAI_BASE_URL": self.url,
            "OPENAI_API_KEY": "sk-test-key-1234567890",
            "ANTHROPIC_BASE_URL": self.http.url_for(""),
            "ANTHROPIC_API_KEY": "sk-ant-test-key-1234567890",
            "MAAS_RESPONDER_MODEL": "openai:responder",
            "MAAS_MODEL_PROFILE": "cloud",
        }

    def reset(self) -> None:
        """Forget what was sent, and answer as at first."""
        self.sent.clear()
        self.headers.clear()
        self.delay_s = self.pause_s = 0.0
        self.has_responses = False
        self.answer = lambda body: said(f"Noted: {last_text(body)}")

    def _keep(self, request: Request) -> Json:
        """Note a request, and return its body."""
        body: Json = json.loads(request.get_data())
        with self._lock:
            self.sent.append(body)
            self.headers.append({name.lower(): value for name, value in request.headers.items()})
        return body

    def _complete(self, request: Request) -> Response:
        body = self._keep(request)
        time.sleep(self.delay_s)
        message = self.answer(body)
        if isinstance(message, Response):
            return message
        if body.get("stream"):
            return Response(self._events(body, message), content_type="text/event-stream")
        return Response(json.dumps(completion(body, message)), content_type=JSON)

    def _respond(self, request: Request) -> Response:
        """A response of the Responses API, from a provider that has it."""
        if not self.has_responses:
            return Response("Not Found", 404)
        body = self._keep(request)
        message = self.answer(body)
        if isinstance(message, Response):
            return message
        response = response_of(body, message) | {"id": f"resp_{len(self.sent)}"}
        if not body.get("stream"):
            return Response(json.dumps(response), content_type=JSON)
        lines = (
            f"event: {one['type']}\ndata: {json.dumps(one | {'sequence_number': n})}\n\n"
            for n, one in enumerate(response_events(response))
        )
        return Response("".join(lines), content_type="text/event-stream")

    def _say(self, request: Request) -> Response:
        """A message of Anthropic's API."""
        body = self._keep(request)
        time.sleep(self.delay_s)
        answer = self.answer(body)
        if isinstance(answer, Response):
            return answer
        message = message_of(body, answer)
        if not body.get("stream"):
            return Response(json.dumps(message), content_type=JSON)
        lines = (f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in message_events(message))
        return Response("".join(lines), content_type="text/event-stream")

    def _events(self, body: Json, message: Json) -> Iterator[bytes]:
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        for delta in deltas(message):
            choice = {"index": 0, "delta": delta, "finish_reason": None}
            yield f"data: {json.dumps(head | {'choices': [choice]})}\n\n".encode()
            time.sleep(self.pause_s)
        last = {"index": 0, "delta": {}, "finish_reason": finish_of(message)}
        yield f"data: {json.dumps(head | {'choices': [last]})}\n\n".encode()
        if (body.get("stream_options") or {}).get("include_usage"):
            yield f"data: {json.dumps(head | {'choices': [], 'usage': USAGE})}\n\n".encode()
        yield b"data: [DONE]\n\n"


def deltas(message: Json) -> Iterator[Json]:
    """The pieces of a message, as a provider streams them."""
    yield {"role": "assistant", "content": "" if message.get("content") else None}
    for word in re.findall(r"\s*\S+\s*", message.get("content") or ""):
        yield {"content": word}
    for index, call in enumerate(message.get("tool_calls") or []):
        function = call["function"]
        yield {"tool_calls": [{"index": index, **call, "function": {"name": function["name"], "arguments": ""}}]}
        yield {"tool_calls": [{"index": index, "function": {"arguments": function["arguments"]}}]}


def finish_of(message: Json) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def completion(body: Json, message: Json) -> Json:
    """A whole reply with this message."""
    choice = {"index": 0, "message": message, "finish_reason": finish_of(message), "logprobs": None}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"]}
    return head | {"choices": [choice], "usage": USAGE, "system_fingerprint": "fp_1"}


def response_of(body: Json, message: Json) -> Json:
    """A finished response with this message."""
    output: list[Json] = []
    if message.get("content"):
        part = {"type": "output_text", "text": message["content"], "annotations": []}
        output.append({"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]})
    for call in message.get("tool_calls") or []:
        one = {"type": "function_call", "id": f"f_{call['id']}", "call_id": call["id"], "status": "completed"}
        output.append(one | call["function"])
    usage: Json = {"input_tokens": 40, "output_tokens": 7, "total_tokens": 47}
    details = {
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    head = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": body["model"]}
    options = {"tools": body.get("tools") or [], "tool_choice": "auto", "parallel_tool_calls": True, "error": None}
    return head | options | {"output": output, "usage": usage | details}


def response_events(response: Json) -> Iterator[Json]:
    """The events of a response, but for their numbers."""
    yield {"type": "response.created", "response": response | {"status": "in_progress", "output": []}}
    for index, item in enumerate(response["output"]):
        place = {"item_id": item["id"], "output_index": index}
        is_call = item["type"] == "function_call"
        empty: Json = {"arguments": ""} if is_call else {"content": []}
        begun = item | {"status": "in_progress"} | empty
        yield {"type": "response.output_item.added", "output_index": index, "item": begun}
        if is_call:
            yield {"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]}
            done = {"name": item["name"], "arguments": item["arguments"]}
            yield {"type": "response.function_call_arguments.done", **place, **done}
        else:
            place |= {"content_index": 0}
            (part,) = item["content"]
            yield {"type": "response.content_part.added", **place, "part": part | {"text": ""}}
            yield {"type": "response.output_text.delta", **place, "delta": part["text"], "logprobs": []}
            yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
            yield {"type": "response.content_part.done", **place, "part": part}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": response}


def message_of(body: Json, message: Json) -> Json:
    """A message of Anthropic's API with the text and the calls of this one."""
    content: list[Json] = [{"type": "text", "text": message["content"]}] if message.get("content") else []
    content += [
        {
            "type": "tool_use",
            "id": call["id"],
            "name": call["function"]["name"],
            "input": json.loads(call["function"]["arguments"]),
        }
        for call in message.get("tool_calls") or []
    ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": "tool_use" if message.get("tool_calls") else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 30,
            "cache_read_input_tokens": 8,
            "cache_creation_input_tokens": 2,
            "output_tokens": 7,
        },
    }


def message_events(message: Json) -> Iterator[Json]:
    """The events of a message."""
    begun = message | {"content": [], "stop_reason": None, "usage": message["usage"] | {"output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(message["content"]):
        start: Json
        if block["type"] == "tool_use":
            start, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        else:
            start, delta = {"text": ""}, {"type": "text_delta", "text": block["text"]}
        yield {"type": "content_block_start", "index": index, "content_block": block | start}
        yield {"type": "ping"}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}


def refused(status: int, code: str, message: str, **headers: str) -> Response:
    """An error in OpenAI's form."""
    error = {"message": message, "type": "error", "param": None, "code": code}
    return Response(
        json.dumps({"error": error}),
        status,
        {name.replace("_", "-"): v for name, v in headers.items()},
        content_type=JSON,
    )
