"""When a call is sent again: where nobody can tell whether it was done, and where it was refused for the moment."""

from __future__ import annotations

from typing import Any

import httpx2
from tenacity import RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_exponential_jitter

from maas.clients.calls import Call, Reply
from maas.clients.errors import MaaSError, NotFound, RateLimited, Unavailable, error_of

FIRST, MOST = 0.2, 10.0  # seconds before the second attempt, and between any two
LONGEST = 60.0  # seconds that a server may ask for; who asks for more is told of at once
_backoff = wait_exponential_jitter(initial=FIRST, max=MOST, jitter=FIRST)


def policy(retries: int) -> dict[str, Any]:
    """Arguments for Retrying and AsyncRetrying."""
    return {
        "stop": stop_after_attempt(retries + 1),
        "wait": _pause,
        "retry": retry_if_exception(_may_pass),
        "reraise": True,
    }


def lost(error: httpx2.TransportError, url: str) -> Unavailable:
    """The error of a connection that broke."""
    cause = str(error) or type(error).__name__
    return Unavailable("unreachable", f"{url} does not answer ({cause})")


def read(call: Call, response: httpx2.Response, attempt: int) -> Reply:
    """The reply, or the error that it holds."""
    if response.is_success:
        return Reply(response.content)
    try:
        body = response.json()
    except ValueError:
        body = None
    error = error_of(response.status_code, body, response.headers.get("retry-after"))
    if isinstance(error, NotFound) and call.is_done_if_gone and attempt > 1:
        return Reply(b"")
    raise error


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, RateLimited):
        return (error.retry_after or 0) <= LONGEST
    return isinstance(error, Unavailable)


def _pause(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    told = (error.details or {}).get("retry_after") if isinstance(error, MaaSError) else None
    return max(float(told or 0), _backoff(state))
