"""Anthropic's Messages API, through the official SDK, which the extra `anthropic` installs."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2

from shared.bounded_http import MAX_STREAM_BYTES, MAX_TEXT_REPLY_BYTES, bounded
from shared.models import (
    ALIVE,
    NO_ARGUMENTS,
    CallIds,
    Finish,
    Message,
    Piece,
    Reply,
    Request,
    ToolCall,
    Usage,
    arguments_or_empty,
    finish_reason,
    group_messages,
    schema_instruction,
)
from shared.models.retry import ProviderErrors, retry_after
from shared.models.schemas import accepted_name
from shared.text import clean

_OLD = r"claude-(?:\d|instant)"  # names that begin with the version, not the family
_DATED = r"(?:$|-\d{8}|-latest|@)"
# Opus 4.7 and later models refuse any temperature; other models behind a compatible server accept one.
_TAKES_TEMPERATURE = re.compile(rf"(?!claude)|{_OLD}|claude-(?:opus|sonnet|haiku)-4(?:-[0-6])?{_DATED}")
_NO_SCHEMA = re.compile(rf"{_OLD}|claude-(?:opus|sonnet)-4(?:-0)?{_DATED}")
# Parameters that a server may refuse with 400, and how its error names them: they are left out from then on.
_REFUSALS = {
    "temperature": re.compile("temperature"),
    "output_config": re.compile("output.?(?:config|format)|schema|structured", re.IGNORECASE),
}
_FINISH: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",  # only server tools pause a reply, and we offer none
    "refusal": "filtered",
}
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class AnthropicModel:
    """One chat model, through the official SDK with its own retries switched off."""

    provider = "anthropic"

    def __init__(self, name: str, *, api_key: str, base_url: str | None = None) -> None:
        self.name = name
        self._errors = ProviderErrors(f"anthropic:{name}", api_key)
        http = anthropic.DefaultAsyncHttpxClient(event_hooks=bounded(MAX_TEXT_REPLY_BYTES, MAX_STREAM_BYTES))
        self._client = anthropic.AsyncAnthropic(api_key=api_key, base_url=base_url, max_retries=0, http_client=http)
        unsupported = {"temperature": not _TAKES_TEMPERATURE.match(name), "output_config": bool(_NO_SCHEMA.match(name))}
        self._refused = {what for what, is_so in unsupported.items() if is_so}

    async def complete(self, request: Request, timeout: float) -> Reply:
        """Answer once, within `timeout` seconds. Raises ModelError."""
        with _model_errors(self._errors, timeout, "a message"):
            response = await self._send(request, timeout)
            with_id = CallIds(request.messages)
            blocks = [block.to_dict(warnings=False) for block in response.content]
            calls = [with_id(_call(block)) for block in blocks if block["type"] == "tool_use"]
            usage = getattr(response, "usage", None)
            return self._reply(blocks, calls, response.stop_reason, usage.to_dict(warnings=False) if usage else {})

    async def stream(self, request: Request, timeout: float) -> AsyncGenerator[Piece, None]:
        """Yield the answer in pieces; `timeout` is the longest silence, in seconds. Raises ModelError."""
        with _model_errors(self._errors, timeout, "a stream of a message"):
            async with await self._send(request, timeout, stream=True) as events:
                partial = _PartialReply(CallIds(request.messages))
                async for event in events:
                    yield ALIVE
                    for piece in partial.take(event):
                        yield piece
            if not partial.is_whole:
                raise self._errors.cut()
            yield self._reply(partial.blocks, partial.calls, partial.finish, partial.usage)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _send(self, request: Request, timeout: float, **options: Any) -> Any:
        while True:
            parameters = self._parameters(request) | options
            try:
                return await self._client.messages.create(model=self.name, timeout=timeout, **parameters)
            except anthropic.BadRequestError as error:
                used = {*parameters, *parameters.get("extra_body", ())}
                refused = {what for what, named in _REFUSALS.items() if what in used and named.search(error.message)}
                if not refused:
                    raise
                self._refused |= refused

    def _parameters(self, request: Request) -> dict[str, Any]:
        parameters: dict[str, Any] = {"max_tokens": request.max_tokens, "messages": _messages(request, self.provider)}
        if "temperature" not in self._refused:
            # The SDK has no such parameter any more.
            parameters["extra_body"] = {"temperature": min(request.temperature, 1.0)}
        if request.tools:
            parameters |= {"tools": _tools(request), "tool_choice": {"type": _CHOICES[request.tool_choice]}}
        system = request.system
        if request.json_schema is not None:
            if "output_config" in self._refused:
                system = f"{system}\n\n{schema_instruction(request.json_schema)}".strip()
            else:
                schema = anthropic.transform_schema(dict(request.json_schema))
                parameters["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return parameters | ({"system": clean(system)} if system else {})

    def _reply(
        self, blocks: Sequence[dict[str, Any]], calls: Sequence[ToolCall], finish: str | None, counts: Mapping[str, Any]
    ) -> Reply:
        text = clean("".join(block["text"] for block in blocks if block["type"] == "text"))
        raw = {"provider": self.provider, "model": self.name, "content": list(blocks)}
        reported = _FINISH.get(str(finish), "stop")
        return Reply(text, finish_reason(reported, text, calls), tuple(calls), _usage(counts), raw)


class _PartialReply:
    """The content blocks of a stream received so far, in the form of a whole message."""

    def __init__(self, call_ids: CallIds) -> None:
        self.blocks: list[dict[str, Any]] = []
        self.calls: list[ToolCall] = []
        self.finish: str | None = None
        self.usage: dict[str, Any] = {}
        self.is_whole = False
        self._with_id = call_ids
        self._json = ""

    def take(self, event: Any) -> Iterator[Piece]:
        """Add an event; yield the pieces that it completes."""
        match event.type:
            case "message_start":
                self._count(event.message)
            case "content_block_start":
                self.blocks.append(event.content_block.to_dict(warnings=False))
                self._json = ""
                if shown := clean(self.blocks[-1].get("text") or ""):
                    yield shown
            case "content_block_delta":
                yield from self._add_delta(event.delta)
            case "content_block_stop" if self.blocks[-1]["type"] == "tool_use":
                call = self._with_id(_call(self.blocks[-1], self._json))
                self.blocks[-1]["input"] = arguments_or_empty(call)
                self.calls.append(call)
                yield call
            case "message_delta":
                self.finish = event.delta.stop_reason or self.finish
                self._count(event)
            case "message_stop":
                self.is_whole = True

    def _add_delta(self, delta: Any) -> Iterator[str]:
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

    def _count(self, event: Any) -> None:
        if usage := getattr(event, "usage", None):
            self.usage |= {what: number for what, number in usage.to_dict(warnings=False).items() if number is not None}


@contextmanager
def _model_errors(errors: ProviderErrors, timeout: float, expected: str) -> Iterator[None]:
    """Raise the errors of the SDK as ModelErrors."""
    try:
        with errors.within_limits():
            yield
    except (anthropic.APITimeoutError, httpx2.TimeoutException) as error:
        raise errors.timeout(timeout) from error
    except anthropic.APIStatusError as error:
        # An error within a stream has the status of the stream, 200.
        status = error.status_code if error.status_code >= 400 else _STATUSES.get(str(error.type), 500)
        raise errors.of_status(
            status, error.api_message or error.message, retry_after(error.response.headers)
        ) from error
    except (anthropic.APIConnectionError, httpx2.TransportError) as error:
        raise errors.unreachable(str(error.__cause__ or ""), error) from error
    except (anthropic.APIResponseValidationError, ValueError, AttributeError, TypeError, LookupError) as error:
        # The SDK does not validate what it parsed: the reply may be any JSON, or none.
        raise errors.failure("malformed", f"the reply is not {expected}") from error
    except anthropic.AnthropicError as error:
        raise errors.failure("provider_error", str(error)) from error


def _messages(request: Request, provider: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for group in group_messages(request.messages, provider):
        match group[0].role:
            case "user":
                messages.append({"role": "user", "content": clean(group[0].text)})
            case "tool":
                messages.append({"role": "user", "content": [_result(message) for message in group]})
            case "assistant":
                if blocks := _blocks(group[0]):  # the API refuses an empty message
                    messages.append({"role": "assistant", "content": blocks})
    return messages


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.raw:
        calls = iter(message.calls)
        return [
            block | _called(next(calls)) if block["type"] == "tool_use" else block
            for block in message.raw["content"]
            if block.get("text") != ""
        ]
    text = [{"type": "text", "text": clean(message.text)}] if message.text.strip() else []
    return text + [{"type": "tool_use", **_called(call), "input": arguments_or_empty(call)} for call in message.calls]


def _called(call: ToolCall) -> dict[str, str]:
    return {"id": call.id, "name": accepted_name(call.name)}


def _result(message: Message) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.call_id, "is_error": message.is_error}
    return result | ({"content": clean(message.text)} if message.text else {})


def _tools(request: Request) -> list[dict[str, Any]]:
    return [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters) or NO_ARGUMENTS}
        for tool in request.tools
    ]


def _call(block: Mapping[str, Any], text: str = "") -> ToolCall:
    arguments = text or json.dumps(block.get("input") or {}, ensure_ascii=False)
    return ToolCall(block.get("id") or "", block.get("name") or "", arguments)


def _usage(counts: Mapping[str, Any]) -> Usage:
    cached = counts.get("cache_read_input_tokens") or 0
    tokens_in = (counts.get("input_tokens") or 0) + cached + (counts.get("cache_creation_input_tokens") or 0)
    return Usage(tokens_in, counts.get("output_tokens") or 0, cached)
