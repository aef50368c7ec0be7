"""The vocabulary of every model provider: one request, one reply, nothing of an SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from shared.errors import MaasError

Finish = Literal["stop", "tool_calls", "length", "filtered", "malformed", "error"]
ErrorCode = Literal[
    "timeout",
    "unreachable",
    "rate_limited",
    "provider_error",
    "unauthorized",
    "unknown_model",
    "bad_request",
    "filtered",
    "malformed",
]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn: `role` is user or assistant."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """What a stage asks of a model.

    `inputs` holds the values that were put into the prompt, under their placeholder names; network providers ignore
    it, the built-in model works from it. `json_schema` asks for a JSON object. `max_tokens` counts tokens of the reply.
    """

    role: str
    messages: tuple[Message, ...]
    system: str = ""
    json_schema: Mapping[str, Any] | None = None
    temperature: float = 0.7
    max_tokens: int = 2000
    inputs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them."""

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for; `arguments` is JSON text as it came."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered; `raw` keeps the provider's own parts to be sent back unchanged."""

    text: str
    finish: Finish = "stop"
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    raw: Mapping[str, Any] = field(default_factory=dict)


class ModelError(MaasError):
    """A model call that failed. `retryable`: the same call may succeed later; `retry_after` in seconds if told.

    `attempts` is how often the retry policy had asked when it gave up; 0 outside the policy.
    """

    def __init__(
        self, code: ErrorCode, message: str, *, retryable: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(code, message)
        self.retryable = retryable
        self.retry_after = retry_after
        self.attempts = 0


class Model(Protocol):
    """One configured model of one provider."""

    @property
    def provider(self) -> str: ...

    @property
    def name(self) -> str: ...

    async def complete(self, request: Request, timeout: float) -> Reply:
        """Answer once, within `timeout` seconds. Raises ModelError; never retries by itself."""
        ...

    async def close(self) -> None: ...
