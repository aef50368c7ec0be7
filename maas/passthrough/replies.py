"""What a provider answered, whole or in chunks, as far as MaaS reads it: chat completions, responses, messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.text import clean, is_blank

MAX_ID_CHARS = 200
MAX_COUNT = 100_000_000  # of tokens; what says more is no count, and sums of these fit Postgres's int
MAX_KEPT_CHARS = 1_000_000  # of an answer; the client gets all of it
FAILED = ("content_filter", "error", "failed", "cancelled", "queued", "in_progress", "pause_turn", "refusal")
RESPONSE_ENDS = ("response.completed", "response.incomplete", "response.failed")
STREAM_ENDS = (*RESPONSE_ENDS, "message_stop")
MESSAGE_PARTS = ("message", "message_start", "content_block_start", "content_block_delta", "message_delta")
CLIENT_CALLS = ("function_call", "custom_tool_call")


@dataclass(slots=True)
class ProviderReply:
    """The first choice of a reply: its text, whether it calls tools, why it ended, and the tokens that were counted.

    `response_id` is the id under which a provider may keep a response.
    """

    text: str = ""
    has_calls: bool = False
    finish: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int = 0
    calls: list[dict[str, Any]] = field(default_factory=list)
    response_id: str | None = None

    def read(self, value: object) -> None:
        """Take what a whole reply or the next chunk says. Anything else is passed over."""
        if not isinstance(value, Mapping):
            return
        response = value.get("response") if value.get("type") in RESPONSE_ENDS else value
        if isinstance(response, Mapping) and isinstance(response.get("output"), list):
            self._read_response(response)
            return
        if value.get("error"):
            self.finish = "error"
        if (kind := value.get("type")) in MESSAGE_PARTS:
            self._read_message(kind, value)
            return
        for choice in _maps(value.get("choices")):
            if choice.get("index") in (0, None):
                self._read_choice(choice)
        if isinstance(usage := value.get("usage"), Mapping):
            self._read_usage(usage)

    @property
    def ends_turn(self) -> bool:
        """Whether it ends in text, so that the user has an answer."""
        return not self.has_calls and self.finish not in FAILED and not is_blank(self.text)

    def _read_response(self, response: Mapping[str, Any]) -> None:
        self.text, self.finish = "", str(response.get("status"))[:40]
        if isinstance(response_id := response.get("id"), str):
            self.response_id = response_id[:MAX_ID_CHARS]
        for item in _maps(response["output"]):
            if item.get("type") == "message":
                texts = (part.get("text") for part in _maps(item.get("content")) if part.get("type") == "output_text")
                self.text += clean("".join(text for text in texts if isinstance(text, str)))[:MAX_KEPT_CHARS]
            elif item.get("type") in CLIENT_CALLS:
                self.has_calls = True
                self.calls.append({"name": clean(str(item.get("name")))[:200]})
        if isinstance(usage := response.get("usage"), Mapping):
            names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
            details = {"prompt_tokens_details": usage.get("input_tokens_details")}
            self._read_usage({name: usage.get(own) for name, own in names.items()} | details)

    def _read_message(self, kind: str, value: Mapping[str, Any]) -> None:
        """Read a message of Anthropic, or an event of its stream."""
        message = value.get("message") if kind == "message_start" else value
        delta = value.get("delta")
        blocks = [value.get("content_block"), delta]
        if isinstance(message, Mapping):
            blocks += _maps(message.get("content"))
            if isinstance(usage := message.get("usage"), Mapping):
                self._read_message_usage(usage)
        for block in _maps(blocks):
            if block.get("type") in ("text", "text_delta") and isinstance(text := block.get("text"), str):
                self._add_text(text)
            elif block.get("type") == "tool_use":
                self.has_calls = True
                self.calls.append({"name": clean(str(block.get("name")))[:200]})
        ending = value if kind == "message" else delta
        if isinstance(ending, Mapping) and isinstance(finish := ending.get("stop_reason"), str):
            self.finish = finish[:40]

    def _read_message_usage(self, usage: Mapping[str, Any]) -> None:
        """Tokens that the provider read from its cache, or wrote into it, are not among its input tokens."""
        parts = [usage.get(f"{name}_input_tokens") for name in ("cache_read", "cache_creation")]
        if (tokens_in := _count(usage.get("input_tokens"))) is not None:
            self.tokens_cached = _count(parts[0]) or 0
            self.tokens_in = tokens_in + sum(_count(part) or 0 for part in parts)
        if (tokens_out := _count(usage.get("output_tokens"))) is not None:
            self.tokens_out = tokens_out

    def _read_choice(self, choice: Mapping[str, Any]) -> None:
        said = choice.get("delta") or choice.get("message")
        if isinstance(said, Mapping):
            if isinstance(text := said.get("content"), str):
                self._add_text(text)
            if calls := list(_maps(said.get("tool_calls"))) or list(_maps([said.get("function_call")])):
                self.has_calls = True
                names = (one.get("function", one) for one in calls)
                self.calls += [
                    {"name": clean(str(one["name"]))[:200]}
                    for one in names
                    if isinstance(one, Mapping) and one.get("name")
                ]
        if isinstance(finish := choice.get("finish_reason"), str):
            self.finish = finish[:40]

    def _add_text(self, text: str) -> None:
        if len(self.text) < MAX_KEPT_CHARS:
            self.text += clean(text)[:MAX_KEPT_CHARS]

    def _read_usage(self, usage: Mapping[str, Any]) -> None:
        self.tokens_in = _count(usage.get("prompt_tokens"))
        self.tokens_out = _count(usage.get("completion_tokens"))
        details = usage.get("prompt_tokens_details")
        self.tokens_cached = _count(details.get("cached_tokens")) or 0 if isinstance(details, Mapping) else 0


def _maps(value: object) -> Iterator[Mapping[str, Any]]:
    return (one for one in value if isinstance(one, Mapping)) if isinstance(value, list) else iter(())


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT else None
