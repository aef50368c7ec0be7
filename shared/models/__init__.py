"""Models of all providers: the values and protocols that they share, and no type of an SDK.

| file                                  | is about                                                            |
|---------------------------------------|---------------------------------------------------------------------|
| `calls`, `drawing`                    | calls of an opened model: completions, vectors of queries; images   |
| `retry`                               | what all calls share: errors of providers, retries, circuit breaker |
| `context_window`                      | requests that are too long for a model, and what is learnt of them  |
| `options`, `places`                   | options of one model; calls at once of one model                    |
| `openai`, `gemini`, `anthropic`, `e5` | one provider each                                                   |
| `local_model`, `server_window`        | models of servers at home, and the windows that these report        |
| `thinking`, `remedies`                | thoughts within replies; what to do about failures at home          |
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import isfinite
from typing import Any, Literal, Protocol, TypeAlias

from shared.errors import MaasError
from shared.json import map_texts, parse_json
from shared.text import clean

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
    "context_exceeded",
    "filtered",
    "malformed",
    "reply_too_large",
]
_PORTABLE = re.compile(r"[A-Za-z0-9_-]{1,40}")  # a call id that every provider accepts
NO_ARGUMENTS = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model may call; `parameters` is the JSON schema of its arguments, an object."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that a model requests; `arguments` is JSON text as received, see `read_arguments`."""

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
    """A request to a model.

    `inputs` holds the values of the prompt's placeholders; the built-in model works from it, providers ignore it.
    `json_schema` requests a JSON object; with `is_strict` the provider is to enforce every rule of it. `max_tokens`
    limits the reply. A dialogue with calls must name its `tools` in every request; `tool_choice` none forbids further
    calls. Without `needs_thoughts` a model that can leave out its thoughts does.
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
    is_strict: bool = False
    needs_thoughts: bool = True


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


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a provider says of a request that is too long: its window and the request's tokens, None where unsaid."""

    window: int | None = None
    sent: int | None = None


class ModelError(MaasError):
    """A failed model call. `retryable`: it may succeed later; `retry_after`: the server demands this wait, in s.

    `attempts` counts the attempts that `retry` made before it gave up; 0 elsewhere. `wait` is set if it gave up only
    because the circuit is open: seconds until a call may be admitted. `refusal` is set with `context_exceeded`.
    `is_away`: no server took the request, because none answers there or it is still loading the model.
    `is_own_limit`: a limit of ours ended the attempt.
    """

    def __init__(
        self, code: ErrorCode, message: str, *, retryable: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(code, message)
        self.retryable = retryable
        self.retry_after = retry_after
        self.attempts = 0
        self.wait: float | None = None
        self.refusal: Refusal | None = None
        self.is_away = False
        self.is_own_limit = False


class NamedModel(Protocol):
    """A model of any kind, as logs and errors name it."""

    @property
    def provider(self) -> str:
        """The provider, the part of `provider:model` before the colon."""
        ...

    @property
    def name(self) -> str:
        """The model at its provider."""
        ...


def spec_of(model: NamedModel) -> str:
    """Return `provider:name` of a model."""
    return f"{model.provider}:{model.name}"


class Model(NamedModel, Protocol):
    """One configured model of one provider."""

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

    async def close(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True, slots=True)
class Image:
    """An image in its file format."""

    data: bytes
    media_type: str


class ImageModel(NamedModel, Protocol):
    """One configured image model of one provider."""

    async def draw(self, prompt: str, photo: Image | None, timeout: float) -> Image:
        """Draw once, within `timeout` seconds. Raises ModelError; never retries by itself."""
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


class Embedder(NamedModel, Protocol):
    """One configured embedding model; vectors of one `provider:name` may be compared."""

    @property
    def batch(self) -> int:
        """The best number of texts for one call."""
        ...

    @property
    def max_questions(self) -> int:
        """How many questions at once are answered soon; one more does not wait, but is searched by words alone."""
        ...

    async def open(self) -> None:
        """Load what the first text would wait for. Raises ModelError."""
        ...

    async def embed(self, texts: Sequence[str], purpose: Purpose, timeout: float) -> Embeddings:
        """Embed at most 100 texts once, within `timeout` seconds. Raises ModelError; never retries by itself."""
        ...

    async def close(self) -> None:
        """Close the connections, or free the model."""
        ...


def read_arguments(text: str) -> dict[str, Any]:
    """Parse the arguments of a call into values that Postgres can hold; empty text is `{}`. Raises ValueError."""
    if not text.strip():
        return {}
    value = parse_json(text)
    if not isinstance(value, dict):
        raise ValueError("the arguments are not a JSON object")
    arguments: dict[str, Any] = map_texts(value, clean)
    return arguments


def arguments_or_empty(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call, or `{}` if they are no JSON object, which a provider would refuse."""
    try:
        return read_arguments(call.arguments)
    except ValueError:
        return {}


class CallIds:
    """Gives each call of one reply an id that is new in the dialogue; an id of the provider is kept if it is new."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._taken = {call.id for message in messages for call in message.calls}
        self._count = 0

    def __call__(self, call: ToolCall) -> ToolCall:
        self._count += 1
        if not call.id or call.id in self._taken:
            # A hash of the whole dialogue: a repeated reply gets the same id, another reply never does.
            call = replace(call, id=_digest(repr((self._count, call, self._messages))))
        self._taken.add(call.id)
        return call


def group_messages(messages: Sequence[Message], provider: str) -> list[tuple[Message, ...]]:
    """Return the dialogue for `provider`: groups of one message, but the results of the calls of one reply together.

    `raw` parts of another provider are dropped, and call ids rewritten if they might be refused. Results stand in the
    order of their calls, because some providers match them by position.
    """
    groups: list[tuple[Message, ...]] = []
    ids: dict[str, str] = {}
    positions: dict[str, int] = {}
    for message in messages:
        if message.role == "tool":
            results = groups.pop() if groups and groups[-1][0].role == "tool" else ()
            one = replace(message, call_id=ids.get(message.call_id, message.call_id))
            groups.append(
                tuple(sorted((*results, one), key=lambda result: positions.get(result.call_id, len(positions))))
            )
            continue
        if message.role == "assistant":
            own = message if message.raw.get("provider") == provider else _neutral(message)
            ids |= {one.id: other.id for one, other in zip(message.calls, own.calls, strict=True)}
            positions = {call.id: position for position, call in enumerate(own.calls)}
            message = own
        groups.append((message,))
    return groups


def finish_reason(reported: Finish, text: str, calls: Sequence[ToolCall]) -> Finish:
    """Return how a reply ended: servers report `stop` also for tool calls and for an empty reply."""
    if reported not in ("stop", "tool_calls"):
        return reported
    return "tool_calls" if calls else "stop" if text else "malformed"


def schema_instruction(schema: Mapping[str, Any]) -> str:
    """Return the instruction for a model whose provider cannot enforce a JSON schema."""
    text = json.dumps(schema, ensure_ascii=False)
    return f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{text}"


def _neutral(message: Message) -> Message:
    calls = (call if _PORTABLE.fullmatch(call.id) else replace(call, id=_digest(call.id)) for call in message.calls)
    return replace(message, raw={}, calls=tuple(calls))


def _digest(text: str) -> str:
    return f"call-{sha256(text.encode(errors='replace')).hexdigest()[:24]}"
