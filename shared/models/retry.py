"""Model calls with retries: timeouts of attempts, backoff within a time budget, the circuit breaker."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar
from weakref import WeakKeyDictionary

import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from shared.models.breaker import NEVER_OPEN, Breaker, CircuitOpen
from shared.models.types import Model, ModelError, Reply, Request
from shared.settings import attempt_setting

MAX_ATTEMPTS = 4
DELAY_FACTOR = 1.1  # an attempt that lasted this much longer than its limit was delayed by this process
Answer = TypeVar("Answer")
_breakers: WeakKeyDictionary[Model, dict[str, Breaker]] = WeakKeyDictionary()
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply and the number of attempts that were made, from 1."""

    reply: Reply
    attempts: int


class StreamListener(Protocol):
    """Receives the text of an answer while the model writes it."""

    def begin(self) -> None:
        """An attempt begins: the text of an earlier one is void."""
        ...

    def text(self, delta: str) -> None:
        """A piece of the answer."""
        ...


class NamedModel(Protocol):
    """A model of any kind, as logs and errors name it."""

    @property
    def provider(self) -> str: ...

    @property
    def name(self) -> str: ...


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
) -> Completion:
    """Call `model` for a completion, with the retries of `repeat`. Raises ModelError of the last attempt.

    While the circuit of this model and role is open, CircuitOpen is raised at once. A `listener` receives the text as
    it arrives; an answer that is still arriving after `attempt_timeout` fails as `too_slow`.
    """
    stream = None if listener is None else _Stream(model, request, listener, attempt_timeout)
    reply, attempts_made = await repeat(
        model, stream.call if stream else partial(model.complete, request), budget=budget,
        attempt_timeout=attempt_timeout, attempts=attempts, cut=stream.cut if stream else None,
        first_delay=first_delay, sleep=sleep, clock=clock, jitter=jitter,
        breaker=breaker or _breaker(model, request.role, clock),
    )  # fmt: skip
    return Completion(reply, attempts_made)


def _breaker(model: Model, role: str, clock: Callable[[], float]) -> Breaker:
    """Return the breaker of a model in one role; roles differ in timeout and length, so each has its own."""
    roles = _breakers.setdefault(model, {})
    if role not in roles:
        roles[role] = Breaker(f"{model.provider}:{model.name}", role, clock)
    return roles[role]


async def repeat(
    model: NamedModel,
    call: Callable[[float], Awaitable[Answer]],
    *,
    budget: float,
    attempt_timeout: float,
    first_delay: float = 1.0,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
    jitter: Callable[[], float] = random.random,
    breaker: Breaker = NEVER_OPEN,
    attempts: int = MAX_ATTEMPTS,
    cut: Callable[[float], ModelError] | None = None,
) -> tuple[Answer, int]:
    """Return the result of `call(timeout)`, tried up to `attempts` times, and the number of attempts. Times in seconds.

    Pauses are `first_delay`, then two and four times that, with up to a quarter of jitter on top, or Retry-After if
    that is longer. A pause that would exceed `budget` is not begun: the last error is raised at once. `breaker` is
    asked before each attempt; a probe is not repeated. An attempt ends after `attempt_timeout`.
    Raises ModelError of the last attempt with `attempts` set, and with `wait` if the breaker stopped the call.
    """
    end = clock() + budget

    def pause(state: RetryCallState) -> float:
        delay = first_delay * 2.0 ** (state.attempt_number - 1)
        delay *= 1 + jitter() / 4
        error = _error(state)
        return max(delay, (error.retry_after if error else None) or 0.0)

    def exhausted(state: RetryCallState) -> bool:
        return state.attempt_number >= attempts or guarded.is_probe or clock() + state.upcoming_sleep >= end

    def note(state: RetryCallState) -> None:
        error = _error(state)
        _log.warning(
            "model_call_repeated",
            provider=model.provider,
            model=model.name,
            code=error.code if error else None,
            attempts=state.attempt_number,
            pause=round(state.upcoming_sleep, 3),
        )

    retrying = AsyncRetrying(
        retry=retry_if_exception(lambda error: isinstance(error, ModelError) and error.retryable),
        stop=exhausted,
        wait=pause,
        sleep=sleep,
        before_sleep=note,
        reraise=True,
    )
    attempts_made = 0
    try:
        with breaker.call(budget) as guarded:
            async for attempt in retrying:
                with attempt:
                    breaker.admit(guarded)
                    attempts_made += 1
                    answer = await once(model, call, min(attempt_timeout, max(end - clock(), 0.0)), cut)
    except ModelError as error:
        error.attempts = attempts_made
        if attempts_made < attempts and (isinstance(error, CircuitOpen) or (error.retryable and guarded.is_probe)):
            error.wait = breaker.wait_s()
        raise
    return answer, attempts_made


async def once(
    model: NamedModel,
    call: Callable[[float], Awaitable[Answer]],
    limit: float,
    cut: Callable[[float], ModelError] | None = None,
) -> Answer:
    """Return the result of `call(limit)`. Raises ModelError; after `limit` seconds `cut(limit)` or a timeout."""
    try:
        async with asyncio.timeout(limit):
            return await call(limit)
    except TimeoutError as error:
        raise (cut(limit) if cut else _no_answer(model, limit)) from error


def _no_answer(model: NamedModel, limit: float) -> ModelError:
    return ModelError("timeout", f"{model.provider}:{model.name} gave no answer within {limit:.1f} s", retryable=True)


@dataclass(slots=True)
class _Stream:
    """Streams an answer to a listener; `allowed` is the timeout of an attempt, in seconds."""

    model: Model
    request: Request
    listener: StreamListener
    allowed: float
    began_at: float = 0.0
    last_piece_at: float = -math.inf

    async def call(self, limit: float) -> Reply:
        self.listener.begin()
        self.began_at, self.last_piece_at = time.monotonic(), -math.inf
        async with aclosing(self.model.stream(self.request, limit)) as pieces:
            async for piece in pieces:
                self.last_piece_at = time.monotonic()
                if isinstance(piece, Reply):
                    return piece
                if isinstance(piece, str) and piece:
                    self.listener.text(piece)
        name = f"{self.model.provider}:{self.model.name}"
        raise ModelError("unreachable", f"{name}: the stream ended early", retryable=True)

    def cut(self, limit: float) -> ModelError:
        """Return the error of an attempt that ran out of time; it is final if the answer was still arriving."""
        now = time.monotonic()
        is_own_delay = now - self.began_at > limit * DELAY_FACTOR  # this process stood still
        if is_own_delay or limit < self.allowed or now - self.last_piece_at > limit / 2:
            return _no_answer(self.model, limit)
        setting = attempt_setting(self.request.role)
        name = f"{self.model.provider}:{self.model.name}"
        return ModelError(
            "too_slow", f"{name} was still answering after {limit:g} s and was cut off; raise {setting} or lower "
            "MAAS_MAX_TOKENS",
        )  # fmt: skip


def _error(state: RetryCallState) -> ModelError | None:
    error = state.outcome.exception() if state.outcome else None
    return error if isinstance(error, ModelError) else None
