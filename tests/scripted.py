"""A model that follows a script, in the protocol of any provider: to this message of the user it says that."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from shared.models import ToolCall
from tests.contract.dialects import GEMINI, Dialect, sse

Step = tuple[str, Sequence[tuple[str, str]]]  # text, and calls as (tool, arguments)
STEADY: Step = ("Хорошо.", ())


class ScriptedModel:
    """`lines[message]` are its replies to that message, one after another; to any other it says one word.

    `painted` are bodies that asked for a picture; of the next `unpainted` none is made.
    `requests` are the bodies that it was sent, `headers` theirs. `hold_after` keeps later requests waiting.
    """

    def __init__(self, server: HTTPServer, dialect: Dialect) -> None:
        self.lines: dict[str, list[Step]] = {}
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.statuses: list[int] = []
        self.dialect = dialect
        self.painted: list[bytes] = []
        self.unpainted = 0
        self._url = server.url_for("").rstrip("/")
        self._gate = threading.Event()
        self._gate.set()
        self._passing = 0
        for path in (dialect.path, dialect.stream_path):
            server.expect_request(path).respond_with_handler(self._answer)

    def settings(self) -> dict[str, str]:
        """Environment of a process that asks this server in every role."""
        name = self.dialect.provider.upper()
        return {
            "MAAS_MODEL": f"{self.dialect.provider}:{self.dialect.model}",
            f"{name}_API_KEY": "sk-scripted-0123456789",
            f"{name}_BASE_URL": self._url + self.dialect.base,
            "MAAS_RETRY_DELAY": "0.05",
        }

    def paint(self, server: HTTPServer, path: str, body: dict[str, Any]) -> None:
        """Answer requests for pictures, too."""

        def handle(request: Request) -> Response:
            if self.unpainted:
                self.unpainted -= 1
                return Response(json.dumps({"error": {"message": "on purpose", "code": 400}}), 400)
            self.painted.append(request.get_data())
            return Response(json.dumps(body), content_type="application/json")

        server.expect_request(path).respond_with_handler(handle)

    def hold_after(self, requests: int) -> None:
        """Answer so many requests from now on and keep the next ones waiting."""
        self._passing = len(self.requests) + requests
        self._gate.clear()

    def release(self) -> None:
        self._gate.set()

    def systems(self) -> list[str]:
        """The system texts that it was sent."""
        return [_system(body) for body in self.requests]

    def _answer(self, request: Request) -> Response:
        body = request.get_json()
        self.requests.append(body)
        self.paths.append(request.path)
        self.headers.append(dict(request.headers))
        if len(self.requests) > self._passing:
            self._gate.wait(60)
        if self.statuses:
            error = {"error": {"message": "on purpose", "code": 500}}
            return Response(json.dumps(error), self.statuses.pop(0), content_type="application/json")
        message, number = _place(body)
        steps = self.lines.get(message, [STEADY])
        text, asked = steps[min(number, len(steps) - 1)]
        calls = [ToolCall(f"call_{number}_{place}", name, words) for place, (name, words) in enumerate(asked)]
        is_streamed = body.get("stream") or "stream" in request.path
        if not text and not calls and self.dialect is GEMINI:
            nothing = self.dialect.empty[-1]
            if is_streamed:
                return Response(sse(nothing), content_type="text/event-stream")
            return Response(json.dumps(nothing), content_type="application/json")
        if is_streamed:
            return Response("".join(self.dialect.streamed([text], calls)), content_type="text/event-stream")
        return Response(json.dumps(self.dialect.said(text, calls)), content_type="application/json")


def _system(body: dict[str, Any]) -> str:
    if "contents" in body:
        return "".join(part["text"] for part in body["systemInstruction"]["parts"])
    return "".join(str(turn["content"]) for turn in body["messages"] if turn["role"] in ("system", "developer"))


def _place(body: dict[str, Any]) -> tuple[str, int]:
    """The user's message, and how often the model has answered since."""
    turns = [
        (turn["role"], "".join(part.get("text") or "" for part in turn["parts"])) for turn in body.get("contents", ())
    ] or [(turn["role"], str(turn["content"] or "")) for turn in body["messages"] if turn["role"] != "system"]
    said = [text for role, text in turns if role == "user" and text]
    return said[-1], sum(role in ("assistant", "model") for role, _ in turns)
