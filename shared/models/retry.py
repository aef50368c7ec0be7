"""What all calls of models share: errors of providers, retries within a time budget, a circuit breaker."""

from __future__ import annotations

import asyncio
import email.utils
import math
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeVar, cast

import structlog

from shared.log import hide, mask
from shared.models import ErrorCode, ModelError, NamedModel, spec_of
from shared.models.context_window import read_refusal
from shared.text import clean, one_line, shorten

MAX_ATTEMPTS = 4
MAX_CAUSE_CHARS = 500
FIRST_OPEN_S, MAX_OPEN_S = 5.0, 60.0
MAX_AWAY_OPEN_S = 10.0  # a probe of a server that is away costs nobody anything
MAX_RETRY_AFTER_S = 300.0  # a provider that demands a day may answer as soon as somebody has paid
LONGER_TIMEOUT_FACTOR = 1.5
PROBE_RETRY_S = 2.0  # wait of a call that is refused while another one probes
_LOADING = re.compile(r"\bload(?:ing|ed)\b|starting up|warming up", re.IGNORECASE)
_CODES: dict[int, tuple[ErrorCode, bool]] = {
    401: ("unauthorized", False),
    403: ("unauthorized", False),
    404: ("unknown_model", False),
    408: ("timeout", True),
    409: ("provider_error", True),
    429: ("rate_limited", True),
}
Answer = TypeVar("Answer")
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ProviderErrors:
    """Makes the ModelErrors of one model, `spec` being its `provider:model`; its `secret` is masked in every cause."""

    spec: str
    secret: str = field(repr=False)

    def __post_init__(self) -> None:
        hide(self.secret)

    def failure(self, code: ErrorCode, cause: str, *, retryable: bool = False) -> ModelError:
        """Return a ModelError whose message names the model and the cause."""
        return ModelError(code, f"{self.spec}: {self._tidy(cause)}", retryable=retryable)

    def of_status(self, status: int, cause: str, pause_s: float | None = None, *, body: object = None) -> ModelError:
        """Return a ModelError for an HTTP status; `pause_s` is the wait that the server asks for.

        408, 409, 429 and 5xx are retryable. `body` is the whole error where `cause` is a part of it.
        """
        code, retryable = _CODES.get(status, ("provider_error", True) if status >= 500 else ("bad_request", False))
        refusal = None if status in _CODES else read_refusal(f"{cause} {body or ''}")
        is_away = status == 503 and _LOADING.search(cause) is not None
        if refusal is not None:
            code, retryable = "context_exceeded", False
        elif is_away:
            code = "unreachable"
        error = ModelError(
            code, f"{self.spec} answered {status}: {self._tidy(cause)}", retryable=retryable, retry_after=pause_s
        )
        error.refusal, error.is_away = refusal, is_away
        return error

    def unreachable(self, cause: str, error: BaseException) -> ModelError:
        """Return a ModelError for a failure of the connection; `is_away` if there was none at all."""
        from shared.bounded_http import is_unconnected  # slow to load; the SDK that failed has loaded the most of it

        failure = self.failure("unreachable", cause or "connection failed", retryable=True)
        failure.is_away = is_unconnected(error)
        return failure

    def timeout(self, seconds: float) -> ModelError:
        """Return a ModelError for a call without an answer in time."""
        error = self.failure("timeout", f"no answer within {seconds:.1f} s", retryable=True)
        error.is_own_limit = True
        return error

    def cut(self) -> ModelError:
        """Return a ModelError for a stream that ended early."""
        return self.failure("unreachable", "the stream ended before the reply was complete", retryable=True)

    @contextmanager
    def within_limits(self) -> Iterator[None]:
        """Raise ModelError `reply_too_large`, which no retry mends, where an SDK gave up because of `bounded_http`."""
        try:
            yield
        except ModelError:
            raise
        except Exception as error:
            from shared.bounded_http import too_large  # slow to load; the SDK that failed has loaded the most of it

            if (cause := too_large(error)) is None:
                raise
            raise self.failure("reply_too_large", str(cause)) from error

    def _tidy(self, cause: str) -> str:
        return shorten(one_line(mask(clean(cause))), MAX_CAUSE_CHARS) or "no reason given"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait that a server demands by retry-after-ms or Retry-After, in seconds; None without."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return _seconds(float(milliseconds) / 1000)
        if not (value := headers.get("retry-after")):
            return None
        if value[:1].isdigit():
            return _seconds(float(value))
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


def _seconds(number: float) -> float | None:
    return number if math.isfinite(number) and number >= 0 else None


class CircuitOpen(ModelError):
    """The model was not called because its circuit is open; the code is that of the failure that opened it."""


@dataclass(slots=True)
class GuardedCall:
    """One call, all attempts, with a timeout in seconds. `is_probe`: it may try once, and decides for all others.

    `results_seen` is the breaker's count of results when the call began.
    """

    timeout_s: float
    results_seen: int
    is_probe: bool = False


@dataclass(frozen=True, slots=True)
class _OpenCircuit:
    """An open circuit: its cause, when the next probe may go out, and the longest timeout that has failed."""

    since: datetime
    code: ErrorCode
    cause: str
    timeout_s: float
    pause_s: float
    next_probe_at: float


class Breaker:
    """Refuses calls of a model in one role while it fails. Times in seconds.

    The circuit opens when a call has failed finally and no other call had a result since that call began, because a
    failure of one request alone says nothing about the model; `failures` is the number of such calls in a row. After
    5 s, doubling to 60 s (to 10 s where the server was away), or after the Retry-After of the provider, one call
    probes. A call whose timeout is 1.5 times the failed one is admitted: a model that needs more than 3 s may answer
    within 30. `opens_on` decides which errors count.
    """

    def __init__(
        self,
        model: str,
        role: str,
        clock: Callable[[], float] = time.monotonic,
        opens_on: Callable[[ModelError], bool] = lambda error: error.retryable,
        failures: int = 1,
    ) -> None:
        self._model = model
        self._role = role
        self._clock = clock
        self._opens_on = opens_on
        self._failures_left = self._failures = failures
        self._open_circuit: _OpenCircuit | None = None
        self._is_probed = False
        self._results = 0

    @contextmanager
    def call(self, timeout_s: float) -> Iterator[GuardedCall]:
        """Record the result of a call; `admit` it before each attempt."""
        call = GuardedCall(timeout_s, self._results)
        try:
            yield call
        except CircuitOpen:
            raise
        except ModelError as error:
            if self._opens_on(error):
                self._open(call, error)
            else:
                self._close()
            raise
        else:
            self._close()
        finally:
            if call.is_probe:
                self._is_probed = False

    def admit(self, call: GuardedCall) -> None:
        """Return if the model may be called now. Raises CircuitOpen."""
        circuit = self._open_circuit
        if circuit is None or call.timeout_s > circuit.timeout_s * LONGER_TIMEOUT_FACTOR:
            return
        if self._is_probed or self._clock() < circuit.next_probe_at:
            raise self._refusal(circuit)
        self._is_probed = call.is_probe = True
        call.results_seen = self._results

    def wait_s(self) -> float:
        """Return the seconds until a call may be admitted; 0 if it may be now."""
        if self._open_circuit is None:
            return 0.0
        left = self._open_circuit.next_probe_at - self._clock()
        return left if left > 0 else PROBE_RETRY_S if self._is_probed else 0.0

    def _open(self, call: GuardedCall, error: ModelError) -> None:
        if call.results_seen != self._results:
            return  # the model has answered another call since
        self._results += 1
        self._failures_left -= 1
        before = self._open_circuit
        if before is None and self._failures_left > 0:
            return
        since = before.since if before else datetime.now(UTC)
        timeout_s = max(call.timeout_s, before.timeout_s if before else 0.0)
        longest_s = MAX_AWAY_OPEN_S if error.is_away else MAX_OPEN_S
        pause_s = min(before.pause_s * 2, longest_s) if before else FIRST_OPEN_S
        seconds = min(error.retry_after or pause_s, MAX_RETRY_AFTER_S)
        code = cast(ErrorCode, error.code)
        self._open_circuit = _OpenCircuit(since, code, error.message, timeout_s, pause_s, self._clock() + seconds)
        if before is None:
            _log.warning(
                "model_unavailable", model=self._model, role=self._role, code=code, cause=error.message, seconds=seconds
            )

    def _close(self) -> None:
        self._results += 1
        self._failures_left = self._failures
        if self._open_circuit is not None:
            self._open_circuit = None
            _log.info("model_recovered", model=self._model, role=self._role)

    def _refusal(self, circuit: _OpenCircuit) -> CircuitOpen:
        left = circuit.next_probe_at - self._clock()
        until = (
            f"until {datetime.now(UTC) + timedelta(seconds=left):%H:%M:%S}" if left > 0 else "while one call tests it"
        )
        since = f"{circuit.since:%Y-%m-%d %H:%M:%S}"
        return CircuitOpen(circuit.code, f"{self._model} has been paused since {since} UTC, {until}: {circuit.cause}")


NEVER_OPEN = Breaker("", "", opens_on=lambda error: False)


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
    is_patient: bool = False,
    sources: tuple[str, str] = ("", ""),
    on_refusal: Callable[[ModelError], Awaitable[None]] | None = None,
) -> tuple[Answer, int]:
    """Return the result of `call(timeout)`, tried up to `attempts` times, and the number of attempts. Times in seconds.

    Pauses are `first_delay`, then two and four times that, with up to a quarter of jitter on top, or Retry-After if
    that is longer. A pause that would exceed `budget` is not begun: the last error is raised at once. `breaker` is
    asked before each attempt; a probe is not repeated. An attempt ends after `attempt_timeout`; with `is_patient` one
    that follows a timeout may take all the time that is left, because a slow model is as slow the next time. One that
    found the server away is repeated, but does not count. `sources` name the settings of `attempt_timeout` and
    `budget`, for the error of a timeout; `on_refusal` learns of each 429. Raises ModelError of the last attempt with
    `attempts` set, and with `wait` if the breaker stopped the call or the server was away.
    """
    end = clock() + budget
    tries = attempts_made = 0
    longest = attempt_timeout
    try:
        with breaker.call(budget) as guarded:
            while True:
                breaker.admit(guarded)
                tries += 1
                limit = min(longest, max(end - clock(), 0.0))
                try:
                    answer = await once(model, call, limit, cut)
                    break
                except ModelError as error:
                    attempts_made += not error.is_away
                    if on_refusal is not None and error.code == "rate_limited":
                        await on_refusal(error)
                    if error.is_own_limit and (source := sources[limit < longest or longest >= budget]):
                        error.message += f" ({source})"
                    if is_patient and error.code == "timeout":
                        longest = budget
                    delay = first_delay * 2.0 ** (tries - 1) * (1 + jitter() / 4)
                    delay = max(delay, error.retry_after or 0.0)
                    if not error.retryable or tries >= attempts or guarded.is_probe or clock() + delay >= end:
                        raise
                    _log.warning(
                        "model_call_retried",
                        provider=model.provider,
                        model=model.name,
                        code=error.code,
                        attempts=tries,
                        pause=round(delay, 3),
                    )
                await sleep(delay)
    except ModelError as error:
        error.attempts = attempts_made
        is_stopped = isinstance(error, CircuitOpen) or (error.retryable and guarded.is_probe)
        if error.is_away or (attempts_made < attempts and is_stopped):
            error.wait = breaker.wait_s()
        raise
    return answer, attempts_made + 1


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
        raise (cut(limit) if cut else no_answer(model, limit)) from error


def no_answer(model: NamedModel, limit: float) -> ModelError:
    """Return the error of an attempt that had no answer after `limit` seconds."""
    error = ModelError("timeout", f"{spec_of(model)} gave no answer within {limit:.1f} s", retryable=True)
    error.is_own_limit = True
    return error
