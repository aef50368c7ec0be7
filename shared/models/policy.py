"""The one place where a model call is repeated."""

from __future__ import annotations

import asyncio
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

from shared.models.breaker import NEVER_OPEN, Breaker
from shared.models.types import Model, ModelError, Reply, Request

ATTEMPTS = 4
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
) -> Completion:
    """Ask `model`, repeating as `repeat` does. Raises ModelError of the last attempt.

    One that is dead for this role of the request is left alone for a while: LeftAlone is raised at once. A `listener`
    hears the text as it comes; then `attempt_timeout` is the longest silence, and only the budget bounds the whole.
    """
    call = partial(model.complete, request) if listener is None else partial(_stream, model, request, listener)
    reply, attempts = await repeat(
        model, call, budget=budget, attempt_timeout=attempt_timeout, is_stream=listener is not None,
        first_delay=first_delay, sleep=sleep, clock=clock, jitter=jitter,
        breaker=breaker or _breaker(model, request.role, clock),
    )  # fmt: skip
    return Completion(reply, attempts)


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
    is_stream: bool = False,
) -> tuple[Answer, int]:
    """What `call(timeout)` answers, repeated up to three times where that may help, and the attempts. Times in seconds.

    Pauses are `first_delay`, then twice and four times that, with up to a quarter of jitter on top; a Retry-After
    that is longer is obeyed. A pause that would reach past `budget` is not begun: the last error is raised at once.
    `breaker` is asked before each attempt, and a probe is not repeated. An attempt is cut off after `attempt_timeout`,
    a stream, which minds its silences itself, at the end of the budget.
    Raises ModelError of the last attempt, with its attribute `attempts` set.
    """
    end = clock() + budget

    def pause(state: RetryCallState) -> float:
        delay = first_delay * 2.0 ** (state.attempt_number - 1)
        delay *= 1 + jitter() / 4
        error = _error(state)
        return max(delay, (error.retry_after if error else None) or 0.0)

    def exhausted(state: RetryCallState) -> bool:
        return state.attempt_number >= ATTEMPTS or asking.is_probe or clock() + state.upcoming_sleep >= end

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
    attempts = 0
    try:
        with breaker.call(budget) as asking:
            async for attempt in retrying:
                with attempt:
                    breaker.admit(asking)
                    attempts += 1
                    rest = max(end - clock(), 0.0)
                    limit = min(attempt_timeout, rest)
                    answer = await once(asked, call, limit, rest if is_stream else limit)
    except ModelError as error:
        error.attempts = attempts
        raise
    return answer, attempts


async def once(
    asked: Asked, call: Callable[[float], Awaitable[Answer]], limit: float, whole: float | None = None
) -> Answer:
    """What `call(limit)` answers; it is cut off after `whole` seconds, `limit` if not given. Raises ModelError."""
    whole = limit if whole is None else whole
    try:
        async with asyncio.timeout(whole):
            return await call(limit)
    except TimeoutError as error:
        message = f"{asked.provider}:{asked.name} gave no answer within {whole:.1f} s"
        raise ModelError("timeout", message, retryable=True) from error


async def _stream(model: Model, request: Request, listener: Listener, silence: float) -> Reply:
    listener.begin()
    async with aclosing(model.stream(request, silence)) as pieces:
        async for piece in pieces:
            if isinstance(piece, str):
                listener.text(piece)
            elif isinstance(piece, Reply):
                return piece
    raise ModelError("unreachable", f"{model.provider}:{model.name}: the stream ended early", retryable=True)


def _error(state: RetryCallState) -> ModelError | None:
    error = state.outcome.exception() if state.outcome else None
    return error if isinstance(error, ModelError) else None
