"""The vocabulary of every model provider: one request, one reply, nothing of an SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
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


Purpose = Literal["document", "question"]


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Vectors in the order of their texts, all of one length, and the tokens that they cost."""

    vectors: tuple[Sequence[float], ...]
    tokens: int = 0


def embeddings(vectors: Sequence[Sequence[float]], count: int, tokens: int) -> Embeddings:
    """What a provider gave for `count` texts. Raises ValueError unless it is one finite vector each, of one length."""
    lengths = {len(vector) for vector in vectors}
    if len(vectors) != count or len(lengths) > 1 or 0 in lengths or not all(isfinite(sum(one)) for one in vectors):
        raise ValueError("not one vector for each text")
    return Embeddings(tuple(vectors), tokens)


class Embedder(Protocol):
    """One configured embedding model; vectors of one `provider:name` may be compared."""

    @property
    def provider(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def batch(self) -> int:
        """How many texts it is best asked for at once."""
        ...

    async def embed(self, texts: Sequence[str], purpose: Purpose, timeout: float) -> Embeddings:
        """Embed at most 100 texts once, within `timeout` seconds. Raises ModelError; never retries by itself."""
        ...

    async def close(self) -> None: ...
