"""Anthropic's Messages, through the official SDK; installed by the extra `anthropic`."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2

from shared.models.dialogue import Names, in_words, sendable, settle, turns
from shared.models.faults import Faults, retry_after
from shared.models.types import ALIVE, Finish, Message, Piece, Reply, Request, ToolCall, Usage
from shared.text import clean

_OLD = r"claude-(?:\d|instant)"  # before the family's name stood first
_DATED = r"(?:$|-\d{8}|-latest|@)"
# Opus 4.7 and all that came later refuse any temperature; other makers' models behind a compatible server take one.
_TEMPERATURE = re.compile(rf"(?!claude)|{_OLD}|claude-(?:opus|sonnet|haiku)-4(?:-[0-6])?{_DATED}")
_NO_SCHEMA = re.compile(rf"{_OLD}|claude-(?:opus|sonnet)-4(?:-0)?{_DATED}")
_CONCESSIONS = {
    "temperature": re.compile("temperature"),
    "output_config": re.compile("output.?(?:config|format)|schema|structured", re.IGNORECASE),
}
_FINISH: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",  # more was to come; only the server's own tools pause, and we offer none
    "refusal": "filtered",
}
_NO_ARGUMENTS = {"type": "object", "properties": {}}
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}
_STATUSES = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500,
    "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip


class AnthropicModel:
    """One model behind the official SDK, whose own retries are off."""

    provider = "anthropic"

    def __init__(self, name: str, *, api_key: str, base_url: str | None = None) -> None:
        self.name = name
        self._faults = Faults(f"anthropic:{name}", api_key)
        self._client = anthropic.AsyncAnthropic(api_key=api_key, base_url=base_url, max_retries=0)
        refused = {"temperature": not _TEMPERATURE.match(name), "output_config": bool(_NO_SCHEMA.match(name))}
        self._refused = {what for what, is_refused in refused.items() if is_refused}

    async def complete(self, request: Request, timeout: float) -> Reply:
        """Answer once, within `timeout` seconds. Raises ModelError."""
        with _named(self._faults, timeout, "a message"):
            done = await self._ask(request, timeout)
            name = Names(request.messages)
            made = [block.to_dict(warnings=False) for block in done.content]
            calls = [name(_call(block)) for block in made if block["type"] == "tool_use"]
            usage = getattr(done, "usage", None)
            return self._reply(made, calls, done.stop_reason, usage.to_dict(warnings=False) if usage else {})

    async def stream(self, request: Request, timeout: float) -> AsyncGenerator[Piece, None]:
        """Answer piece by piece, `timeout` being the longest silence. Raises ModelError."""
        with _named(self._faults, timeout, "a stream of a message"):
            async with await self._ask(request, timeout, stream=True) as events:
                draft = _Draft(Names(request.messages))
                async for event in events:
                    yield ALIVE
                    for piece in draft.take(event):
                        yield piece
            if not draft.is_whole:
                raise self._faults.cut()
            yield self._reply(draft.blocks, draft.calls, draft.finish, draft.usage)

    async def close(self) -> None:
        await self._client.close()

    async def _ask(self, request: Request, timeout: float, **options: Any) -> Any:
        while True:
            asked = self._parameters(request) | options
            try:
                return await self._client.messages.create(model=self.name, timeout=timeout, **asked)
            except anthropic.BadRequestError as error:
                used = {*asked, *asked.get("extra_body", ())}
                refused = {what for what, said in _CONCESSIONS.items() if what in used and said.search(error.message)}
                if not refused:
                    raise
                self._refused |= refused

    def _parameters(self, request: Request) -> dict[str, Any]:
        parameters: dict[str, Any] = {"max_tokens": request.max_tokens, "messages": _messages(request, self.provider)}
        if "temperature" not in self._refused:
            parameters["extra_body"] = {"temperature": min(request.temperature, 1.0)}  # the SDK no longer knows it
        if request.tools:
            parameters |= {"tools": _tools(request), "tool_choice": {"type": _CHOICES[request.tool_choice]}}
        system = request.system
        if request.json_schema is not None:
            if "output_config" in self._refused:
                system = f"{system}\n\n{in_words(request.json_schema)}".strip()
            else:
                schema = anthropic.transform_schema(dict(request.json_schema))
                parameters["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return parameters | ({"system": clean(system)} if system else {})

    def _reply(
        self, made: Sequence[dict[str, Any]], calls: Sequence[ToolCall], finish: str | None, counts: Mapping[str, Any]
    ) -> Reply:
        text = clean("".join(block["text"] for block in made if block["type"] == "text"))
        raw = {"provider": self.provider, "model": self.name, "content": list(made)}
        said = _FINISH.get(str(finish), "stop")
        return Reply(text, settle(said, text, calls), tuple(calls), _usage(counts), raw)


class _Draft:
    """The blocks of a stream as far as they have come, in the form of a whole message."""

    def __init__(self, name: Names) -> None:
        self.blocks: list[dict[str, Any]] = []
        self.calls: list[ToolCall] = []
        self.finish: str | None = None
        self.usage: dict[str, Any] = {}
        self.is_whole = False
        self._name = name
        self._json = ""

    def take(self, event: Any) -> Iterator[Piece]:
        """What became whole with this event."""
        match event.type:
            case "message_start":
                self._count(event.message)
            case "content_block_start":
                self.blocks.append(event.content_block.to_dict(warnings=False))
                self._json = ""
                if shown := clean(self.blocks[-1].get("text") or ""):
                    yield shown
            case "content_block_delta":
                yield from self._grow(event.delta)
            case "content_block_stop" if self.blocks[-1]["type"] == "tool_use":
                call = self._name(_call(self.blocks[-1], self._json))
                self.blocks[-1]["input"] = sendable(call)
                self.calls.append(call)
                yield call
            case "message_delta":
                self.finish = event.delta.stop_reason or self.finish
                self._count(event)
            case "message_stop":
                self.is_whole = True

    def _grow(self, delta: Any) -> Iterator[str]:
        block = self.blocks[-1]
        match delta.type:
            case "text_delta":
                block["text"] += delta.text
                if shown := clean(delta.text):
                    yield shown
            case "input_json_delta":
                self._json += delta.partial_json
            case "thinking_delta":
                block["thinking"] += delta.thinking
            case "signature_delta":
                block["signature"] = (block.get("signature") or "") + delta.signature

    def _count(self, told: Any) -> None:
        if usage := getattr(told, "usage", None):
            self.usage |= {what: number for what, number in usage.to_dict(warnings=False).items() if number is not None}


@contextmanager
def _named(faults: Faults, timeout: float, expected: str) -> Iterator[None]:
    """Failures of the SDK under our own names."""
    try:
        yield
    except (anthropic.APITimeoutError, httpx2.TimeoutException) as error:
        raise faults.timeout(timeout) from error
    except anthropic.APIStatusError as error:
        # An error amid a stream has the status of the stream, 200.
        status = error.status_code if error.status_code >= 400 else _STATUSES.get(str(error.type), 500)
        raise faults.of_status(
            status, error.api_message or error.message, retry_after(error.response.headers)
        ) from error
    except (anthropic.APIConnectionError, httpx2.TransportError) as error:
        cause = str(error.__cause__ or "") or "connection failed"
        raise faults.failure("unreachable", cause, retryable=True) from error
    except (anthropic.APIResponseValidationError, ValueError, AttributeError, TypeError, LookupError) as error:
        # The SDK does not check what it parsed: any JSON, or none, may stand where the reply should.
        raise faults.failure("malformed", f"the reply is not {expected}") from error
    except anthropic.AnthropicError as error:
        raise faults.failure("provider_error", str(error)) from error


def _messages(request: Request, provider: str) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []
    for group in turns(request.messages, provider):
        match group[0].role:
            case "user":
                sent.append({"role": "user", "content": clean(group[0].text)})
            case "tool":
                sent.append({"role": "user", "content": [_result(turn) for turn in group]})
            case "assistant":
                if blocks := _blocks(group[0]):  # an empty message is refused
                    sent.append({"role": "assistant", "content": blocks})
    return sent


def _blocks(turn: Message) -> list[dict[str, Any]]:
    if turn.raw:
        ids = iter(turn.calls)
        return [
            block | {"id": next(ids).id} if block["type"] == "tool_use" else block
            for block in turn.raw["content"]
            if block.get("text") != ""
        ]
    said = [{"type": "text", "text": clean(turn.text)}] if turn.text.strip() else []
    return said + [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": sendable(call)} for call in turn.calls
    ]


def _result(turn: Message) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": turn.call_id, "is_error": turn.is_error}
    return result | ({"content": clean(turn.text)} if turn.text else {})


def _tools(request: Request) -> list[dict[str, Any]]:
    return [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters) or _NO_ARGUMENTS}
        for tool in request.tools
    ]


def _call(block: Mapping[str, Any], text: str = "") -> ToolCall:
    arguments = text or json.dumps(block.get("input") or {}, ensure_ascii=False)
    return ToolCall(block.get("id") or "", block.get("name") or "", arguments)


def _usage(counts: Mapping[str, Any]) -> Usage:
    cached = counts.get("cache_read_input_tokens") or 0
    read = (counts.get("input_tokens") or 0) + cached + (counts.get("cache_creation_input_tokens") or 0)
    return Usage(read, counts.get("output_tokens") or 0, cached)
