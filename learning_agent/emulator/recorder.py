"""A server of OpenAI's protocol that records what a real one replies, or replies from a recording."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import httpx2

from learning_agent.emulator.recording import RecordedReply, Recording

CHAT = "/v1/chat/completions"
NOT_RECORDED = 400  # MaaS does not repeat such a call
UPSTREAM_TIMEOUT_S = 600.0


class Recorder:
    """The server, on a port of this machine (0: any). With an `upstream`, a real server's base URL, it records."""

    def __init__(self, recording: Recording, upstream: str | None = None, key: str = "", port: int = 0) -> None:
        self._server = _Server(recording, upstream, key, port)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, recording: Recording, upstream: str | None, key: str, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.recording, self.upstream = recording, upstream
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        if self.server.upstream is None:
            self._refuse(404, "only replies are recorded")
            return
        try:
            found = httpx2.get(self.server.upstream.removesuffix("/v1") + self.path, timeout=10)
            self._send(found.status_code, found.content)
        except httpx2.HTTPError as error:
            self._refuse(502, f"{self.server.upstream}: {error}")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        if self.path != CHAT:
            self._refuse(404, f"{self.path} is not recorded")
        elif self.server.upstream is None:
            self._replay(request)
        else:
            self._record(request, f"{self.server.upstream}/chat/completions")

    def _replay(self, request: Mapping[str, Any]) -> None:
        recording = self.server.recording
        reply = recording.find(request)
        if reply is None:
            self._refuse(NOT_RECORDED, "this request is not in the recording: its prompt has changed")
        elif not request.get("stream"):
            self._send(200, json.dumps(_whole(recording.model, reply)).encode())
        else:
            self._begin_stream()
            for chunk in _chunks(recording.model, reply):
                self._write(f"data: {json.dumps(chunk)}\n\n".encode())
            self._write(b"data: [DONE]\n\n")

    def _record(self, request: dict[str, Any], url: str) -> None:
        try:
            with httpx2.stream(
                "POST", url, json=request, headers=self.server.headers, timeout=UPSTREAM_TIMEOUT_S
            ) as answer:
                if answer.status_code != 200:
                    self._send(answer.status_code, answer.read())
                elif request.get("stream"):
                    self.server.recording.add(request, _of_chunks(self._pass_on(answer)))
                else:
                    self._send(200, answer.read())
                    self.server.recording.add(request, _of_whole(json.loads(answer.content)))
        except httpx2.HTTPError as error:
            self._refuse(502, f"{url}: {error}")

    def _pass_on(self, answer: httpx2.Response) -> list[dict[str, Any]]:
        """Send a stream on as it arrives; its chunks."""
        self._begin_stream()
        chunks = []
        for line in answer.iter_lines():
            self._write(f"{line}\n".encode())
            if line.startswith("data: {"):
                chunks.append(json.loads(line.removeprefix("data: ")))
        return chunks

    def _begin_stream(self) -> None:
        self._begin(200, "text/event-stream")
        self.end_headers()

    def _begin(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")  # a later server on this port must get the next request
        self.close_connection = True

    def _write(self, content: bytes) -> None:
        self.wfile.write(content)
        self.wfile.flush()

    def _refuse(self, status: int, message: str) -> None:
        self._send(status, json.dumps({"error": {"message": message, "type": "emulator", "code": None}}).encode())

    def _send(self, status: int, body: bytes) -> None:
        self._begin(status, "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: prompts hold what people said."""


def _whole(model: str, reply: RecordedReply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = list(reply.calls)
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    return _body(model, "chat.completion", [choice]) | {"usage": dict(reply.usage)}


def _chunks(model: str, reply: RecordedReply) -> Iterator[dict[str, Any]]:
    delta: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        delta["tool_calls"] = [{**call, "index": place} for place, call in enumerate(reply.calls)]
    kind = "chat.completion.chunk"
    yield _body(model, kind, [{"index": 0, "delta": delta, "finish_reason": None}])
    yield _body(model, kind, [{"index": 0, "delta": {}, "finish_reason": reply.finish}])
    yield _body(model, kind, []) | {"usage": dict(reply.usage)}


def _body(model: str, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": "recorded", "object": kind, "created": 0, "model": model, "choices": choices}


def _of_whole(body: Mapping[str, Any]) -> RecordedReply:
    choice = body["choices"][0]
    message = choice["message"]
    calls = tuple(message.get("tool_calls") or ())
    return RecordedReply(message.get("content") or "", calls, choice.get("finish_reason") or "stop", _usage(body))


def _of_chunks(chunks: list[dict[str, Any]]) -> RecordedReply:
    text, finish = "", "stop"
    usage: dict[str, int] = {}
    calls: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        usage = _usage(chunk) or usage
        for choice in chunk.get("choices") or ():
            delta, finish = choice.get("delta") or {}, choice.get("finish_reason") or finish
            text += delta.get("content") or ""
            for part in delta.get("tool_calls") or ():
                call = calls.setdefault(
                    part.get("index", 0), {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
                )
                call["id"] = part.get("id") or call["id"]
                for name in ("name", "arguments"):
                    call["function"][name] += (part.get("function") or {}).get(name) or ""
    return RecordedReply(text, tuple(calls[place] for place in sorted(calls)), finish, usage)


def _usage(body: Mapping[str, Any]) -> dict[str, int]:
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    return {name: (body.get("usage") or {})[name] for name in names if (body.get("usage") or {}).get(name) is not None}
