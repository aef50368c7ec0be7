"""Calls of opened models: completions whole or streamed, vectors of search queries."""

from __future__ import annotations

import asyncio
import json
import math
import random
import time
from array import array
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from typing import Protocol
from weakref import WeakKeyDictionary

from shared.models import (
    Embedder,
    Embeddings,
    Message,
    Model,
    ModelError,
    Purpose,
    Reply,
    Request,
    gen_ai,
    spec_of,
)
from shared.models.retry import MAX_ATTEMPTS, NEVER_OPEN, Breaker, no_answer, once, repeat

DELAY_FACTOR = 1.1  # an attempt that lasted this much longer than its limit was delayed by this process
WHOLE_SHARE = 0.95  # of its time; an attempt that had less was the last of several
ATTEMPT_SETTING = "MAAS_ATTEMPT_TIMEOUT"  # unless a caller names another one
PACE_GRACE_S = 15.0  # for which a stream may stand still at its beginning, or once in between
TOKEN_CHARS = 4  # of a piece of text, where nobody has counted
MAX_QUERY_CHARS = 2000
MAX_EMBEDDED_TEXTS = 100  # in one call
MAX_CACHED_QUERIES = 128  # one query is embedded several times
_breakers: WeakKeyDictionary[Model, dict[str, Breaker]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply and the number of attempts that were made, from 1.

    `first_piece_s`: seconds from the last attempt to the first sign of life of its stream; None unless it was streamed.
    """

    reply: Reply
    attempts: int
    first_piece_s: float | None = None


class StreamListener(Protocol):
    """Receives the text of an answer while the model writes it."""

    def begin(self) -> None:
        """An attempt begins: the text of an earlier one is void."""
        ...

    def text(self, delta: str) -> None:
        """A piece of the answer."""
        ...


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a stream must come: `first_token_s` seconds at most until each sign of life before the first text, then
    `tokens_per_s` on average after PACE_GRACE_S. None: no limit of that kind.
    """

    first_token_s: float | None = None
    tokens_per_s: float | None = None


ANY_PACE = Pace()


async def complete(
    model: Model,
    request: Request,
    *,
    budget: float,
    attempt_timeout: float,
    first_delay: float = 1.0,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
    jitter: Callable[[], float] = random.random,
    breaker: Breaker | None = None,
    listener: StreamListener | None = None,
    attempts: int = MAX_ATTEMPTS,
    pace: Pace = ANY_PACE,
    breaker_failures: int = 1,
    is_patient: bool = False,
    sources: tuple[str, str] = ("", ""),
    on_refusal: Callable[[ModelError], Awaitable[None]] | None = None,
) -> Completion:
    """Call `model` for a completion, with the retries of `repeat`. Raises ModelError of the last attempt.

    `budget`, `attempt_timeout` and `first_delay` are seconds, the first for all attempts together.
    While the circuit of this model and role is open, CircuitOpen is raised at once; it opens after
    `breaker_failures` failed calls, with 0 never. A `listener` receives the text as it arrives; an answer that is still
    arriving after `attempt_timeout`, or falls behind the `pace`, fails as `too_slow`.
    """
    source = sources[attempt_timeout >= budget] or ATTEMPT_SETTING
    stream = None if listener is None else _Stream(model, request, listener, attempt_timeout, pace, source)
    reply, attempts_made = await repeat(
        model,
        stream.call if stream else partial(model.complete, request),
        budget=budget,
        attempt_timeout=attempt_timeout,
        attempts=attempts,
        cut=stream.cut if stream else None,
        first_delay=first_delay,
        sleep=sleep,
        clock=clock,
        jitter=jitter,
        is_patient=is_patient,
        sources=sources,
        on_refusal=on_refusal,
        breaker=breaker or _breaker(model, request.role, clock, breaker_failures),
    )
    return Completion(reply, attempts_made, None if stream is None else stream.first_piece_at - stream.began_at)


def _breaker(model: Model, role: str, clock: Callable[[], float], failures: int) -> Breaker:
    """Return the breaker of a model in one role; roles differ in timeout and length, so each has its own."""
    if not failures:
        return NEVER_OPEN
    roles = _breakers.setdefault(model, {})
    if role not in roles:
        roles[role] = Breaker(spec_of(model), role, clock, failures=failures)
    return roles[role]


@dataclass(slots=True)
class _Stream:
    """Streams an answer to a listener; `allowed` is the timeout of an attempt, in seconds, and `source` its setting."""

    model: Model
    request: Request
    listener: StreamListener
    allowed: float
    pace: Pace
    source: str
    began_at: float = 0.0
    first_piece_at: float = math.inf
    last_piece_at: float = -math.inf

    async def call(self, limit: float) -> Reply:
        self.listener.begin()
        self.began_at, self.first_piece_at, self.last_piece_at = time.monotonic(), math.inf, -math.inf
        text_began_at, tokens = None, 0.0
        try:
            async with asyncio.timeout(self.pace.first_token_s) as deadline:
                async with aclosing(self.model.stream(self.request, limit)) as pieces:
                    async for piece in pieces:
                        now = self.last_piece_at = time.monotonic()
                        self.first_piece_at = min(self.first_piece_at, now)
                        if isinstance(piece, Reply):
                            return piece
                        if isinstance(piece, str) and piece:
                            text_began_at = text_began_at or now
                            self.listener.text(piece)
                        tokens += len(piece) / TOKEN_CHARS if isinstance(piece, str) and piece else 1
                        deadline.reschedule(self._deadline(text_began_at, tokens, now))
        except TimeoutError as error:
            if not deadline.expired():
                raise
            raise self._fell_behind(text_began_at is not None) from error
        raise ModelError("unreachable", f"{spec_of(self.model)}: the stream ended early", retryable=True)

    def _deadline(self, text_began_at: float | None, tokens: float, now: float) -> float | None:
        """Return when the next piece must be there, by the clock of the event loop; None for no limit."""
        if text_began_at is None:
            return (
                None
                if self.pace.first_token_s is None
                else asyncio.get_running_loop().time() + (self.pace.first_token_s)
            )
        if self.pace.tokens_per_s is None:
            return None
        due_at = text_began_at + PACE_GRACE_S + tokens / self.pace.tokens_per_s
        return asyncio.get_running_loop().time() + due_at - now

    def _fell_behind(self, has_text: bool) -> ModelError:
        name = spec_of(self.model)
        if has_text:
            return ModelError(
                "too_slow",
                f"{name} wrote fewer than {self.pace.tokens_per_s:g} tokens a second and was cut off "
                "(tokens_per_second in MAAS_MODELS)",
            )
        seconds = self.pace.first_token_s
        cause = f"{name} gave no first token within {seconds:g} s (first_token_timeout in MAAS_MODELS)"
        return ModelError("timeout", cause, retryable=True)

    def cut(self, limit: float) -> ModelError:
        """Return the error of an attempt that ran out of time; it is final if the answer was still arriving."""
        now = time.monotonic()
        is_own_delay = now - self.began_at > limit * DELAY_FACTOR  # this process stood still
        if is_own_delay or limit < self.allowed * WHOLE_SHARE or now - self.last_piece_at > limit / 2:
            return no_answer(self.model, limit)
        name = spec_of(self.model)
        return ModelError(
            "too_slow",
            f"{name} was still answering after {round(limit, 2):g} s and was cut off; raise {self.source} "
            "or lower MAAS_MAX_TOKENS",
        )


def fingerprint(model: Model, request: Request) -> str:
    """Return sha256, in hex, of everything that reaches the model; `inputs` do not.

    Names are sorted: a reply that was stored as jsonb comes back with its names in another order.
    """
    texts = [request.system or "", *(message.text for message in request.messages)]
    raw_texts = [text.encode("utf-8", "replace") for text in texts]
    parts = [
        model.provider,
        model.name,
        request.system is None,
        [_hashable(one) for one in request.messages],
        request.json_schema,
        request.temperature,
        request.max_tokens,
        [asdict(tool) for tool in request.tools],
        request.tool_choice,
        list(map(len, raw_texts)),
    ]
    digest = sha256(json.dumps(parts, ensure_ascii=False, default=str, sort_keys=True).encode("utf-8", "replace"))
    for raw in raw_texts:  # as they are: to write a prompt as JSON takes longer than to hash it
        digest.update(raw)
    return digest.hexdigest()


def _hashable(message: Message) -> object:
    return asdict(message) if message.calls or message.call_id else message.role


class NoVector(Exception):
    """A query could not be embedded; `is_busy`: because many queries were being embedded."""

    def __init__(self, cause: str, is_busy: bool = False) -> None:
        super().__init__(cause)
        self.is_busy = is_busy


class QueryEmbedder:
    """Embeds queries in one attempt of at most `timeout` seconds, behind a circuit breaker."""

    def __init__(self, embedder: Embedder, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.model = spec_of(embedder)
        self.timeout = timeout
        self._embedder = embedder
        self._cache: dict[str, array[float]] = {}
        self._in_progress = 0
        # A wrong key makes every query fail, so it opens the circuit, too.
        self._breaker = Breaker(self.model, "question", clock, lambda error: error.code != "bad_request")

    async def vector(self, query: str) -> array[float]:
        """Return the vector of a query. Raises NoVector: at once if the circuit is open or many wait."""
        query = query[:MAX_QUERY_CHARS]
        if (cached := self._cache.get(query)) is not None:
            return cached
        if self._in_progress >= self._embedder.max_questions:
            raise NoVector(f"{self._in_progress} queries are being embedded", is_busy=True)
        self._in_progress += 1
        try:
            with self._breaker.call(self.timeout) as call:
                self._breaker.admit(call)
                result = await self._embed([query], "question", self.timeout)
        except ModelError as error:
            raise NoVector(str(error)) from error
        finally:
            self._in_progress -= 1
        vector = self._cache[query] = array("f", result.vectors[0])
        if len(self._cache) > MAX_CACHED_QUERIES:
            del self._cache[next(iter(self._cache))]
        return vector

    async def embed(self, texts: Sequence[str], purpose: Purpose, timeout: float) -> tuple[list[Sequence[float]], int]:
        """Embed texts in portions, all within `timeout` seconds; return vectors and tokens used. Raises ModelError."""
        vectors: list[Sequence[float]] = []
        used, end = 0, time.monotonic() + timeout
        size = max(1, min(self._embedder.batch, MAX_EMBEDDED_TEXTS))
        for at in range(0, len(texts), size):
            portion = texts[at : at + size]
            result = await self._embed(portion, purpose, max(end - time.monotonic(), 0.001))
            vectors += result.vectors
            used += result.tokens
        return vectors, used

    async def _embed(self, texts: Sequence[str], purpose: Purpose, timeout: float) -> Embeddings:
        with gen_ai.embedding(self._embedder) as operation:
            result = await once(self._embedder, partial(self._embedder.embed, texts, purpose), timeout)
            operation.embedded(result)
            return result
