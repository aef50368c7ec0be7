"""How each provider speaks: where it is asked, and what its answers look like on the wire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shared.models.registry import open_model
from shared.models.types import Message, Model, Request
from shared.settings import load_settings

KEY = "sk-contract-0123456789abcdef"


@dataclass(frozen=True)
class Dialect:
    """`said`, `empty`, `blocked` build the body of a 200."""

    provider: str
    model: str
    base: str
    path: str
    said: Callable[[str], dict[str, Any]]
    empty: dict[str, Any]
    blocked: tuple[dict[str, Any], ...]

    def open(self, url: str, model: str | None = None) -> Model:
        names = {f"{self.provider}_api_key": KEY, f"{self.provider}_base_url": url + self.base}
        return open_model(f"{self.provider}:{model or self.model}", load_settings(**names))


def _completion(text: str | None, finish: str = "stop", **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text} | message}
    usage = {
        "prompt_tokens": 21, "completion_tokens": 8, "total_tokens": 29, "prompt_tokens_details": {"cached_tokens": 5},
    }  # fmt: skip
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def _generated(text: str) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP", "index": 0}
    usage = {
        "promptTokenCount": 21, "candidatesTokenCount": 6, "thoughtsTokenCount": 2, "cachedContentTokenCount": 5,
        "totalTokenCount": 29,
    }  # fmt: skip
    return {"candidates": [candidate], "usageMetadata": usage}


OPENAI = Dialect(
    provider="openai",
    model="gpt-4o",
    base="/v1",
    path="/v1/chat/completions",
    said=_completion,
    empty=_completion("") | {"choices": []},
    blocked=(_completion("", "content_filter"), _completion(None, refusal="I cannot help with that.")),
)
GEMINI = Dialect(
    provider="gemini",
    model="gemini-2.5-flash",
    base="",
    path="/v1beta/models/gemini-2.5-flash:generateContent",
    said=_generated,
    empty={"candidates": []},
    blocked=(
        {"promptFeedback": {"blockReason": "SAFETY"}},
        {"candidates": [{"finishReason": "SAFETY", "index": 0}]},
        {"candidates": [{"content": {"role": "model"}, "finishReason": "PROHIBITED_CONTENT"}]},
    ),
)
DIALECTS = (OPENAI, GEMINI)


def ask(text: str = "Hello?", **changes: Any) -> Request:
    """A request with one user message."""
    return Request(role="FinalResponder", messages=(Message("user", text),), **changes)
