"""The one place where a model call is repeated."""

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

from shared.models.breaker import NEVER_OPEN, Breaker, LeftAlone
from shared.models.types import Model, ModelError, Reply, Request
from shared.settings import attempt_setting

ATTEMPTS = 4
LATE = 1.1
Answer = TypeVar("Answer")
_breakers: WeakKeyDictionary[Model, dict[str, Breaker]] = WeakKeyDictionary()
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply and the number of attempts that it took, from 1."""

    reply: Reply
    attempts: int


class Listener(Protocol):
    """Who hears an answer while it comes."""

    def begin(self) -> None:
        """An attempt begins: what was heard of an earlier one is void."""
        ...

    def text(self, delta: str) -> None:
        """A piece of the answer."""
        ...


class Asked(Protocol):
    """Who is asked, for the log."""

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
    listener: Listener | None = None,
    attempts: int = ATTEMPTS,
) -> Completion:
    """Ask `model`, repeating as `repeat` does. Raises ModelError of the last attempt.

    One that is dead for this role of the request is left alone for a while: LeftAlone is raised at once. A `listener`
    hears the text as it comes; what is still being said after `attempt_timeout` is cut off as `too_slow`.
    """
    stream = None if listener is None else _Stream(model, request, listener, attempt_timeout)
    reply, made = await repeat(
        model, stream.ask if stream else partial(model.complete, request), budget=budget,
        attempt_timeout=attempt_timeout, attempts=attempts, cut=stream.cut if stream else None,
        first_delay=first_delay, sleep=sleep, clock=clock, jitter=jitter,
        breaker=breaker or _breaker(model, request.role, clock),
    )  # fmt: skip
    return Completion(reply, made)


def _breaker(model: Model, role: str, clock: Callable[[], float]) -> Breaker:
    """That of a model in one role: each role has a time and a length of its own, in which another may be too slow."""
    roles = _breakers.setdefault(model, {})
    if role not in roles:
        roles[role] = Breaker(f"{model.provider}:{model.name}", role, clock)
    return roles[role]


async def repeat(
    asked: Asked,
    call: Callable[[float], Awaitable[Answer]],
    *,
    budget: float,
    attempt_timeout: float,
    first_delay: float = 1.0,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
    jitter: Callable[[], float] = random.random,
    breaker: Breaker = NEVER_OPEN,
    attempts: int = ATTEMPTS,
    cut: Callable[[float], ModelError] | None = None,
) -> tuple[Answer, int]:
    """What `call(timeout)` answers, asked up to `attempts` times where that may help, and how often. Times in seconds.

    Pauses are `first_delay`, then twice and four times that, with up to a quarter of jitter on top; a Retry-After
    that is longer is obeyed. A pause that would reach past `budget` is not begun: the last error is raised at once.
    `breaker` is asked before each attempt, and a probe is not repeated. An attempt is cut off after `attempt_timeout`.
    Raises ModelError of the last attempt, with its attribute `attempts` set; `wait`, too, where the breaker stopped it.
    """
    end = clock() + budget

    def pause(state: RetryCallState) -> float:
        delay = first_delay * 2.0 ** (state.attempt_number - 1)
        delay *= 1 + jitter() / 4
        error = _error(state)
        return max(delay, (error.retry_after if error else None) or 0.0)

    def exhausted(state: RetryCallState) -> bool:
        return state.attempt_number >= attempts or asking.is_probe or clock() + state.upcoming_sleep >= end

    def note(state: RetryCallState) -> None:
        error = _error(state)
        _log.warning(
            "model_call_repeated",
            provider=asked.provider,
            model=asked.name,
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
    made = 0
    try:
        with breaker.call(budget) as asking:
            async for attempt in retrying:
                with attempt:
                    breaker.admit(asking)
                    made += 1
                    answer = await once(asked, call, min(attempt_timeout, max(end - clock(), 0.0)), cut)
    except ModelError as error:
        error.attempts = made
        if made < attempts and (isinstance(error, LeftAlone) or (error.retryable and asking.is_probe)):
            error.wait = breaker.rest()
        raise
    return answer, made


async def once(
    asked: Asked,
    call: Callable[[float], Awaitable[Answer]],
    limit: float,
    cut: Callable[[float], ModelError] | None = None,
) -> Answer:
    """What `call(limit)` answers; it is cut off after `limit` seconds, as `cut(limit)` calls it. Raises ModelError."""
    try:
        async with asyncio.timeout(limit):
            return await call(limit)
    except TimeoutError as error:
        raise (cut(limit) if cut else _no_answer(asked, limit)) from error


def _no_answer(asked: Asked, limit: float) -> ModelError:
    return ModelError("timeout", f"{asked.provider}:{asked.name} gave no answer within {limit:.1f} s", retryable=True)


@dataclass(slots=True)
class _Stream:
    """Asks for an answer piece by piece; `allowed` is what an attempt may take."""

    model: Model
    request: Request
    listener: Listener
    allowed: float
    began: float = 0.0
    heard: float = -math.inf

    async def ask(self, limit: float) -> Reply:
        self.listener.begin()
        self.began, self.heard = time.monotonic(), -math.inf
        async with aclosing(self.model.stream(self.request, limit)) as pieces:
            async for piece in pieces:
                self.heard = time.monotonic()
                if isinstance(piece, Reply):
                    return piece
                if isinstance(piece, str) and piece:
                    self.listener.text(piece)
        name = f"{self.model.provider}:{self.model.name}"
        raise ModelError("unreachable", f"{name}: the stream ended early", retryable=True)

    def cut(self, limit: float) -> ModelError:
        """What it means that the time is over. An answer that was still coming would be as long the next time."""
        now = time.monotonic()
        is_own_delay = now - self.began > limit * LATE  # this process stood still, and hears the model only now
        if is_own_delay or limit < self.allowed or now - self.heard > limit / 2:
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
