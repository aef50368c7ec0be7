"""Wait for what a test expects, with a deadline and never for luck."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")
PAUSE = 0.02
DEADLINE_S = 60.0  # much longer than anything takes, on a busy machine, too


class NotWithin(AssertionError):
    """What was expected did not happen before the deadline."""


def poll(until: Callable[[], T], deadline_s: float = DEADLINE_S, what: str = "") -> T:
    """Call `until` until it returns something true, and return that. Raises NotWithin after `deadline_s` seconds."""
    end = time.monotonic() + deadline_s
    while True:
        value = until()
        if value:
            return value
        if time.monotonic() >= end:
            raise NotWithin(_message(until, deadline_s, what, value))
        time.sleep(PAUSE)


@overload
async def apoll(until: Callable[[], Awaitable[T]], deadline_s: float = ..., what: str = ...) -> T: ...
@overload
async def apoll(until: Callable[[], T], deadline_s: float = ..., what: str = ...) -> T: ...
async def apoll(until: Callable[[], Any], deadline_s: float = DEADLINE_S, what: str = "") -> Any:
    """The same in a coroutine; `until` may be a coroutine function."""
    end = time.monotonic() + deadline_s
    while True:
        found = until()
        value = await found if inspect.isawaitable(found) else found
        if value:
            return value
        if time.monotonic() >= end:
            raise NotWithin(_message(until, deadline_s, what, value))
        await asyncio.sleep(PAUSE)


def _message(until: Callable[..., object], deadline_s: float, what: str, value: object) -> str:
    if not what:
        try:
            what = " ".join(inspect.getsource(until).split())
        except (OSError, TypeError):
            what = repr(until)
    return f"not within {deadline_s} s: {what}; last value {value!r}"
