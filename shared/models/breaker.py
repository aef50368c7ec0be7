"""A circuit breaker: after a failed call, calls of a model are refused for a while, then one call probes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

import structlog

from shared.models.types import ErrorCode, ModelError

FIRST_OPEN_S, MAX_OPEN_S = 5.0, 60.0
MAX_RETRY_AFTER_S = 300.0  # a provider that demands a day may answer as soon as somebody has paid
LONGER_TIMEOUT_FACTOR = 1.5
PROBE_RETRY_S = 2.0  # wait of a call that is refused while another one probes
_log = structlog.get_logger()


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
    failure of one request alone says nothing about the model. After 5 s, doubling to 60 s, or after the Retry-After
    of the provider, one call probes. A call whose timeout is 1.5 times the failed one is admitted: a model that needs
    more than 3 s may answer within 30. `opens_on` decides which errors count.
    """

    def __init__(
        self, model: str, role: str, clock: Callable[[], float] = time.monotonic,
        opens_on: Callable[[ModelError], bool] = lambda error: error.retryable,
    ) -> None:  # fmt: skip
        self._model = model
        self._role = role
        self._clock = clock
        self._opens_on = opens_on
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
        before = self._open_circuit
        since = before.since if before else datetime.now(UTC)
        timeout_s = max(call.timeout_s, before.timeout_s if before else 0.0)
        pause_s = min(before.pause_s * 2, MAX_OPEN_S) if before else FIRST_OPEN_S
        seconds = min(error.retry_after or pause_s, MAX_RETRY_AFTER_S)
        code = cast(ErrorCode, error.code)
        self._open_circuit = _OpenCircuit(since, code, error.message, timeout_s, pause_s, self._clock() + seconds)
        if before is None:
            _log.warning(
                "model_left_alone", model=self._model, role=self._role, code=code, cause=error.message, seconds=seconds
            )

    def _close(self) -> None:
        self._results += 1
        if self._open_circuit is not None:
            self._open_circuit = None
            _log.info("model_asked_again", model=self._model, role=self._role)

    def _refusal(self, circuit: _OpenCircuit) -> CircuitOpen:
        left = circuit.next_probe_at - self._clock()
        until = f"until {datetime.now(UTC) + timedelta(seconds=left):%H:%M:%S}" if left > 0 else "while one call tries"
        since = f"{circuit.since:%Y-%m-%d %H:%M:%S}"
        return CircuitOpen(circuit.code, f"{self._model} is left alone since {since} UTC, {until}: {circuit.cause}")


NEVER_OPEN = Breaker("", "", opens_on=lambda error: False)
