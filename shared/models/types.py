"""The values and protocols of model providers: requests, replies, errors; no type of an SDK."""

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
    """A tool call that a model requests; `arguments` is JSON text as received, see `dialogue.read_arguments`."""

    id: str
    name: str
    arguments: str

    def result(self, text: str, *, is_error: bool = False) -> Message:
        """Return the message that answers this call."""
        return Message("tool", text, call_id=self.id, name=self.name, is_error=is_error)


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the user, of the assistant (text, calls), or a tool's result (`call_id`, `name`, `is_error`).

    `raw` is an assistant's message in the provider's own form; it is sent back unchanged, to that provider only.
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
    """A request of a stage to a model.

    `inputs` holds the values of the prompt's placeholders; the built-in model works from it, providers ignore it.
    `json_schema` requests a JSON object. `max_tokens` limits the reply. A dialogue with calls must name its `tools` in
    every request; `tool_choice` none forbids further calls.
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
    """A model's reply; `raw` names its provider and keeps the message in that provider's form, as plain JSON."""

    text: str
    finish: Finish = "stop"
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    raw: Mapping[str, Any] = field(default_factory=dict)

    def message(self) -> Message:
        """Return the assistant's message to append to the dialogue."""
        return Message("assistant", self.text, calls=self.calls, raw=self.raw)


Piece: TypeAlias = str | ToolCall | Reply
ALIVE = ""  # a piece without text: the provider sends something else, such as its thoughts


class ModelError(MaasError):
    """A failed model call. `retryable`: it may succeed later; `retry_after`: the server demands this wait, in s.

    `attempts` counts the attempts that `retry` made before it gave up; 0 elsewhere. `wait` is set if it gave up only
    because the circuit is open: seconds until a call may be admitted.
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
        """Yield text as it arrives, each call once it is complete, and the Reply last; ALIVE in between.

        The Reply equals that of `complete`. `timeout` is the longest silence in seconds, a keep-alive counts as a sign
        of life; the caller bounds the whole duration. Raises ModelError, `unreachable` for a stream that ends early.
        Closing the generator closes the connection.
        """
        ...

    async def close(self) -> None: ...


Purpose = Literal["document", "question"]


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Vectors in the order of their texts, all of one length, and the tokens that were used."""

    vectors: tuple[Sequence[float], ...]
    tokens: int = 0


def embeddings(vectors: Sequence[Sequence[float]], count: int, tokens: int) -> Embeddings:
    """Return the vectors of `count` texts. Raises ValueError unless there is one finite vector each, of one length."""
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
        """The best number of texts for one call."""
        ...

    async def embed(self, texts: Sequence[str], purpose: Purpose, timeout: float) -> Embeddings:
        """Embed at most 100 texts once, within `timeout` seconds. Raises ModelError; never retries by itself."""
        ...

    async def close(self) -> None: ...
