"""How each provider speaks: where it is asked, and what its answers look like on the wire, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from maas.model_registry import open_model
from maas.settings import load_settings
from shared.models import Message, Model, Request, ToolCall, ToolSpec

KEY = "sk-contract-0123456789abcdef"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolSpec("weather", "The weather of a city now.", CITY)
CLOCK = ToolSpec("clock", "The time now.")
Body = dict[str, Any]
Calls = Sequence[ToolCall]


@dataclass(frozen=True)
class Dialect:
    """`said` makes the body of a 200, `streamed` the events of a stream that says the same; both count 21, 8 and 5.

    `live` is the model that `make test-live` asks, `refusal` what aimock calls the end of a refused answer.
    """

    provider: str
    model: str
    live: str
    base: str
    path: str
    stream_path: str
    refusal: str
    said: Callable[[str, Calls], Body]
    streamed: Callable[[Sequence[str], Calls], list[str]]
    empty: tuple[Body, ...]
    blocked: tuple[Body, ...]

    def open(self, url: str, model: str | None = None) -> Model:
        names = {f"{self.provider}_api_key": KEY, f"{self.provider}_base_url": url + self.base}
        return open_model(f"{self.provider}:{model or self.model}", load_settings(**names))


def sse(data: Any, event: str | None = None) -> str:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {event}\n" if event else "") + f"data: {text}\n\n"


_COUNTED = {
    "prompt_tokens": 21,
    "completion_tokens": 8,
    "total_tokens": 29,
    "prompt_tokens_details": {"cached_tokens": 5},
}


def completion(text: str | None, finish: str = "stop", **message: Any) -> Body:
    """A chat completion as OpenAI and its followers send it."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text} | message}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": _COUNTED}


def chunk(finish: str | None = None, **delta: Any) -> str:
    """One event of a streamed chat completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return sse({"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})


def _openai_said(text: str, calls: Calls = ()) -> Body:
    if not calls:
        return completion(text)
    asked = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]
    return completion(text or None, "tool_calls", tool_calls=asked)


def _openai_streamed(texts: Sequence[str], calls: Calls = ()) -> list[str]:
    asked = []
    for index, call in enumerate(calls):
        start = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        halves = call.arguments[:4], call.arguments[4:]
        rest = [{"index": index, "function": {"arguments": half}} for half in halves]
        asked += [chunk(tool_calls=[piece]) for piece in (start, *rest)]
    counted = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []}
    return [
        chunk(role="assistant", content=""),
        *(chunk(content=text) for text in texts),
        *asked,
        chunk("tool_calls" if calls else "stop"),
        sse(counted | {"usage": _COUNTED}),
        sse("[DONE]"),
    ]


def generated(parts: Sequence[Body], finish: str | None = "STOP") -> Body:
    """Generated content of Gemini."""
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    usage = {
        "promptTokenCount": 21,
        "candidatesTokenCount": 6,
        "thoughtsTokenCount": 2,
        "cachedContentTokenCount": 5,
        "totalTokenCount": 29,
    }
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], "usageMetadata": usage}


def _gemini_parts(texts: Sequence[str], calls: Calls) -> list[Body]:
    asked = [{"id": call.id, "name": call.name, "args": json.loads(call.arguments)} for call in calls]
    return [{"text": text} for text in texts if text] + [{"functionCall": call} for call in asked]


def _gemini_said(text: str, calls: Calls = ()) -> Body:
    return generated(_gemini_parts([text], calls))


def _gemini_streamed(texts: Sequence[str], calls: Calls = ()) -> list[str]:
    *first, last = _gemini_parts(texts, calls)
    return [*(sse(generated([part], None)) for part in first), sse(generated([last]))]


def message(content: Sequence[Body], stop: str = "end_turn") -> Body:
    """A message of Anthropic."""
    usage = {
        "input_tokens": 12,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 4,
        "output_tokens": 8,
    }
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def _anthropic_said(text: str, calls: Calls = ()) -> Body:
    said: list[Body] = [{"type": "text", "text": text}] if text else []
    asked = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)} for call in calls
    ]
    return message(said + asked, "tool_use" if calls else "end_turn")


def block(index: int, start: Body, *deltas: Body) -> list[str]:
    """The events of one block of a streamed message."""
    events: list[Body] = [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]
    return [sse(event, event["type"]) for event in events]


def framed(*blocks: str, stop: str = "end_turn") -> list[str]:
    """A streamed message around its blocks."""
    begun = message([]) | {"stop_reason": None}
    begun["usage"] = begun["usage"] | {"output_tokens": 1}
    delta = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 8}}
    return [
        sse({"type": "message_start", "message": begun}, "message_start"),
        sse({"type": "ping"}, "ping"),
        *blocks,
        sse(delta, "message_delta"),
        sse({"type": "message_stop"}, "message_stop"),
    ]


def _anthropic_streamed(texts: Sequence[str], calls: Calls = ()) -> list[str]:
    said = block(0, {"type": "text", "text": ""}, *({"type": "text_delta", "text": text} for text in texts))
    asked = []
    for index, call in enumerate(calls, start=int(bool(texts))):
        start = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        halves = call.arguments[:4], call.arguments[4:]
        asked += block(index, start, *({"type": "input_json_delta", "partial_json": half} for half in halves))
    return framed(*(said if texts else ()), *asked, stop="tool_use" if calls else "end_turn")


OPENAI = Dialect(
    provider="openai",
    model="gpt-4o",
    live="gpt-4.1-mini",
    base="/v1",
    path="/v1/chat/completions",
    stream_path="/v1/chat/completions",
    refusal="content_filter",
    said=_openai_said,
    streamed=_openai_streamed,
    empty=(completion("") | {"choices": []}, completion(""), completion(None)),
    blocked=(completion("", "content_filter"), completion(None, refusal="I cannot help with that.")),
)
GEMINI = Dialect(
    provider="gemini",
    model="gemini-2.5-flash",
    live="gemini-2.5-flash",
    base="",
    path="/v1beta/models/gemini-2.5-flash:generateContent",
    stream_path="/v1beta/models/gemini-2.5-flash:streamGenerateContent",
    refusal="content_filter",
    said=_gemini_said,
    streamed=_gemini_streamed,
    empty=({"candidates": []}, generated([]), generated([{"text": ""}])),
    blocked=(
        {"promptFeedback": {"blockReason": "SAFETY"}},
        {"candidates": [{"finishReason": "SAFETY", "index": 0}]},
        {"candidates": [{"content": {"role": "model"}, "finishReason": "PROHIBITED_CONTENT"}]},
    ),
)
ANTHROPIC = Dialect(
    provider="anthropic",
    model="claude-sonnet-4-6",
    live="claude-haiku-5-5",
    base="",
    path="/v1/messages",
    stream_path="/v1/messages",
    refusal="refusal",
    said=_anthropic_said,
    streamed=_anthropic_streamed,
    empty=(message([]), message([{"type": "text", "text": ""}])),
    blocked=(message([], "refusal"), message([{"type": "text", "text": "I can"}], "refusal")),
)
DIALECTS = (OPENAI, GEMINI, ANTHROPIC)


def ask(text: str = "Hello?", **changes: Any) -> Request:
    """A request with one user message."""
    return Request(role="FinalResponder", messages=(Message("user", text),), **changes)


def call(name: str, arguments: Body | None = None, call_id: str = "call_1") -> ToolCall:
    """A call with its arguments as JSON."""
    return ToolCall(call_id, name, json.dumps(arguments or {}, ensure_ascii=False))
