"""An HTTP server that speaks enough of the OpenAI protocol to hold a stage at its model call."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

ROLES = ("analyzer", "assembler", "responder", "archivist")
CHOICE = {"about": "world", "record": "none", "keywords": []}
RECORD = {"time_bucket_start": "2025-01-01", "time_bucket_end": "2025-01-01", "tags": ["Test"]}
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
REPLIES = {
    "analyzer": json.dumps(CHOICE),
    "assembler": '{"keep": []}',
    "responder": "A model answered.",
    "archivist": json.dumps(RECORD | {"summary": "A model was asked and answered."}),
}

Script = Callable[[list[dict[str, Any]]], tuple[str, Sequence[tuple[str, str]]]]


class ModelServer:
    """Each role is a model name; `hold(role)` keeps its calls waiting, `replies[role]` is what it says.

    `rounds[role]` are the calls, as (tool, arguments), that it answers with before it says that: which ones, it sees
    from the turns it is sent, so a dialogue that begins anew gets the same. A word of `speakers` that stands in the
    system text of a call is the name of who speaks: it has rounds, replies and holds of its own, as a role has.
    `scripts[name]` decides by the messages what it says in place of all that: a text and calls.
    With a `window` it refuses a call that has more tokens, by `count_tokens`, as providers do; `windows` by role.
    """

    def __init__(self, server: HTTPServer) -> None:
        self.replies = dict(REPLIES)
        self.speakers: tuple[str, ...] = ()
        self.statuses: dict[str, int] = {}
        self.retry_after: dict[str, str] = {}
        self.rounds: dict[str, list[list[tuple[str, str]]]] = {}
        self.scripts: dict[str, Script] = {}
        self.calls: Counter[str] = Counter()
        self.requests: list[dict[str, Any]] = []
        self.window: int | None = None
        self.windows: dict[str, int] = {}
        self.count_tokens: Callable[[str], int] = len
        self.sizes: list[int] = []
        self.delay = 0.0  # seconds before each streamed word
        self._held: dict[str, threading.Event] = {}
        self._let_pass: dict[str, int] = {}
        self._paused: dict[str, threading.Event] = {}
        self._broken: Counter[str] = Counter()
        self._kept: dict[str, str] = {}
        self._closed = threading.Event()
        self.url = server.url_for("/v1")
        server.expect_request("/v1/chat/completions").respond_with_handler(self._answer)

    def settings(self) -> dict[str, str]:
        """Environment of a process that asks this server for every role."""
        names = {f"MAAS_{role.upper()}_MODEL": f"openai:{role}" for role in ROLES}
        limits = {f"MAAS_{role.upper()}_TIMEOUT": "60" for role in ROLES}
        return (
            names
            | limits
            | {"OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": "sk-test-key-1234567890", "MAAS_RETRY_DELAY": "0.05"}
            | {"MAAS_MODEL_PROFILE": "cloud"}
        )

    def hold(self, role: str) -> None:
        self._held[role] = threading.Event()

    def hold_after(self, role: str, calls: int) -> None:
        """Answer so many calls of a role and keep the next ones waiting."""
        self._let_pass[role] = calls
        self.hold(role)

    def pause(self, role: str) -> None:
        """Keep a streamed answer of a role waiting before its last word, until it is released."""
        self._paused[role] = threading.Event()

    def break_off(self, role: str, times: int) -> None:
        """End so many streamed answers of a role in good order before their last word."""
        self._broken[role] = times

    def release(self, role: str, keeping: str = "") -> None:
        """Let its calls go on, but for those that come later and speak of `keeping`."""
        if keeping:
            self._kept[role] = keeping
        for waiting in (self._held, self._paused):
            if event := waiting.pop(role, None):
                event.set()

    def close(self) -> None:
        self._closed.set()
        for role in [*self._held, *self._paused]:
            self.release(role)

    def said_to(self, name: str) -> list[dict[str, Any]]:
        """Every call of a role or of a speaker."""
        return [one for one in self.requests if name in (one["model"], self._speaker(one))]

    def prompts(self, role: str) -> list[str]:
        """The messages of every call of a role, joined."""
        return ["\n".join(str(m["content"]) for m in r["messages"]) for r in self.requests if r["model"] == role]

    def last_lines(self, name: str) -> set[str]:
        """The last lines of the system texts in all calls of a role or of a speaker."""
        asked = [one["messages"][0] for one in self.said_to(name)]
        return {str(one["content"]).splitlines()[-1] for one in asked if one["role"] == "system"}

    def _answer(self, request: Request) -> Response:
        body = request.get_json()
        role, name = body["model"], self._speaker(body)
        self.calls.update({role, name})
        self.requests.append(body)
        if self.calls[name] > self._let_pass.get(name, 0) and (event := self._held.get(name)):
            event.wait(60)
        if (word := self._kept.get(role)) and word in str(body["messages"]):
            self._closed.wait(60)
        if (window := self.windows.get(role, self.window)) is not None:
            self.sizes.append(self.count_tokens("".join(str(one.get("content")) for one in body["messages"])))
            if self.sizes[-1] > window:
                refusal = {"error": {"message": "too long", "type": "test", "code": "context_length_exceeded"}}
                return Response(json.dumps(refusal), 400, content_type="application/json")
        if status := self.statuses.get(name):
            error = {"error": {"message": "on purpose", "type": "test", "code": None}}
            headers = {"retry-after": self.retry_after[name]} if name in self.retry_after else None
            return Response(json.dumps(error), status, headers=headers, content_type="application/json")
        calls, text = self._said(name, role, body["messages"])
        if body.get("stream"):
            return Response(self._pieces(role, calls, text), content_type="text/event-stream")
        message = {"role": "assistant"} | ({"tool_calls": calls} if calls else {"content": text})
        reply = _reply(role, "chat.completion", {"finish_reason": _finish(calls), "message": message})
        return Response(json.dumps(reply | {"usage": USAGE}), content_type="application/json")

    def _speaker(self, body: dict[str, Any]) -> str:
        system = "".join(str(one["content"]) for one in body["messages"] if one["role"] == "system")
        return next((name for name in self.speakers if name in system), body["model"])

    def _said(self, name: str, role: str, messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
        if (script := self.scripts.get(name)) is None:
            return self._calls(name, messages), self.replies.get(name, self.replies[role])
        text, calls = script(messages)
        number = sum(message["role"] == "assistant" for message in messages)
        return _as_calls(number, calls), text

    def _calls(self, name: str, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those of the round that comes now; none when it is time for words."""
        number = sum(message["role"] == "assistant" for message in messages) - _exchanges(messages)
        return [call for calls in self.rounds.get(name, [])[number : number + 1] for call in _as_calls(number, calls)]

    def _pieces(self, role: str, calls: list[dict[str, Any]], text: str) -> Iterator[str]:
        """The answer word by word; `pause(role)` keeps it waiting before the last one."""
        for place, call in enumerate(calls):
            delta = {"role": "assistant", "tool_calls": [call | {"index": place}]}
            yield _event(_reply(role, "chat.completion.chunk", {"finish_reason": None, "delta": delta}))
        words = [] if calls else re.findall(r"\s*\S+\s*", text) or [text]
        for number, word in enumerate(words, start=1):
            self._closed.wait(self.delay)
            if number == len(words) and (event := self._paused.get(role)):
                event.wait(60)
            if number == len(words) and self._broken[role] > 0:
                self._broken[role] -= 1
                return
            delta = {"role": "assistant", "content": word}
            yield _event(_reply(role, "chat.completion.chunk", {"finish_reason": None, "delta": delta}))
        yield _event(_reply(role, "chat.completion.chunk", {"finish_reason": _finish(calls), "delta": {}}))
        yield _event(_reply(role, "chat.completion.chunk", None) | {"usage": USAGE})
        yield "data: [DONE]\n\n"


def _as_calls(number: int, calls: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        {"id": f"call-{number}-{place}", "type": "function", "function": {"name": tool, "arguments": arguments}}
        for place, (tool, arguments) in enumerate(calls)
    ]


def _finish(calls: list[dict[str, Any]]) -> str:
    return "tool_calls" if calls else "stop"


def _reply(role: str, kind: str, choice: dict[str, Any] | None) -> dict[str, Any]:
    choices = [choice | {"index": 0}] if choice else []
    return {"id": "1", "object": kind, "created": 0, "model": role, "choices": choices}


def _event(chunk: dict[str, Any]) -> str:
    return f"data: {json.dumps(chunk)}\n\n"


def _exchanges(messages: list[dict[str, Any]]) -> int:
    """How many earlier exchanges of the conversation stand before what the user says now."""
    said = [one for one in messages if one["role"] != "system"]
    number = 0
    while 2 * number + 2 < len(said):
        asked, answer, then = said[2 * number : 2 * number + 3]
        if (asked["role"], answer["role"], then["role"]) != ("user", "assistant", "user") or answer.get("tool_calls"):
            break
        number += 1
    return number
