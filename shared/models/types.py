"""The vocabulary of every model provider: one request, one reply, nothing of an SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal, Protocol, TypeAlias

from shared.errors import MaasError

Finish = Literal["stop", "tool_calls", "length", "filtered", "malformed", "error"]
ErrorCode = Literal[
    "timeout",
    "too_slow",
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
class ToolSpec:
    """A tool that a model may call; `parameters` is the JSON schema of its arguments, an object."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for; `arguments` is JSON text as it came, see `dialogue.read_arguments`."""

    id: str
    name: str
    arguments: str

    def result(self, text: str, *, is_error: bool = False) -> Message:
        """The turn that answers this call."""
        return Message("tool", text, call_id=self.id, name=self.name, is_error=is_error)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn: of the user, of the assistant (text, calls), or a tool's result (`call_id`, `name`, `is_error`).

    `raw` is what the provider made of an assistant's turn; it goes back unchanged to that provider only.
    """

    role: Literal["user", "assistant", "tool"]
    text: str
    calls: tuple[ToolCall, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict)
    call_id: str = ""
    name: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What a stage asks of a model.

    `inputs` holds the values that were put into the prompt, under their placeholder names; network providers ignore
    it, the built-in model works from it. `json_schema` asks for a JSON object. `max_tokens` counts tokens of the reply.
    A dialogue that holds calls needs its `tools` to the end; `tool_choice` none keeps them from being called again.
    """

    role: str
    messages: tuple[Message, ...]
    system: str = ""
    json_schema: Mapping[str, Any] | None = None
    temperature: float = 0.7
    max_tokens: int = 2000
    inputs: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "none", "required"] = "auto"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; `tokens_cached` are part of `tokens_in`."""

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered; `raw` names its provider and keeps that provider's own parts, as plain JSON."""

    text: str
    finish: Finish = "stop"
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    raw: Mapping[str, Any] = field(default_factory=dict)

    def turn(self) -> Message:
        """The assistant's turn to append to the dialogue."""
        return Message("assistant", self.text, calls=self.calls, raw=self.raw)


Piece: TypeAlias = str | ToolCall | Reply
ALIVE = ""  # a piece without words: the provider sends something, such as what it thinks


class ModelError(MaasError):
    """A model call that failed. `retryable`: the same call may succeed later; `retry_after` in seconds if told.

    `attempts` is how often the retry policy had asked when it gave up; 0 outside the policy. `wait` is set where it
    gave up only because others found the model dead: seconds until it may be asked again.
    """

    def __init__(
        self, code: ErrorCode, message: str, *, retryable: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(code, message)
        self.retryable = retryable
        self.retry_after = retry_after
        self.attempts = 0
        self.wait: float | None = None


class Model(Protocol):
    """One configured model of one provider."""

    @property
    def provider(self) -> str: ...

    @property
    def name(self) -> str: ...

    async def complete(self, request: Request, timeout: float) -> Reply:
        """Answer once, within `timeout` seconds. Raises ModelError; never retries by itself."""
        ...

    def stream(self, request: Request, timeout: float) -> AsyncGenerator[Piece, None]:
        """Answer piece by piece: text as it comes, each call once it is whole, at the end the Reply; ALIVE in between.

        The Reply is what `complete` would give. `timeout` is the longest silence of the provider in seconds, keep-alive
        counting as a sign of life; how long the whole may take is for the caller to bound. Raises ModelError, a stream
        that ends early being `unreachable`. Closing the generator hangs up.
        """
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
