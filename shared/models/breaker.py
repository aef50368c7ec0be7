"""A circuit breaker: who found a model dead tells the others, and one of them looks after it again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

import structlog

from shared.models.types import ErrorCode, ModelError

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0
LONGEST_ASKED = 300.0  # who asks for a day may answer again as soon as somebody has paid
MORE_PATIENT = 1.5
PROBE_PAUSE = 2.0  # who is refused while one call tries may come again after this
_log = structlog.get_logger()


class LeftAlone(ModelError):
    """The model was not asked, since it has just failed others; the code is that of their failure."""


@dataclass(slots=True)
class Call:
    """One call, all attempts: it would wait `patience` seconds. `is_probe`: it asks once, and for all others."""

    patience: float
    news: int
    is_probe: bool = False


@dataclass(frozen=True, slots=True)
class _Outage:
    """Why and until when nobody asks who is not more patient than `patience`."""

    since: datetime
    code: ErrorCode
    cause: str
    patience: float
    pause: float
    until: float


class Breaker:
    """Keeps calls from a model that is dead for `role`. Times in seconds.

    It opens when a call has failed for good and nobody was answered since that call began: what only one request
    suffers is not the model's death. After 5 s, doubling to 60 s, or what Retry-After asks, one call probes. A call
    that would wait half as long again as the failed one goes on: what 3 s are too short for may be answered in 30.
    `opens_on` says which errors count.
    """

    def __init__(
        self, model: str, role: str, clock: Callable[[], float] = time.monotonic,
        opens_on: Callable[[ModelError], bool] = lambda error: error.retryable,
    ) -> None:  # fmt: skip
        self._model = model
        self._role = role
        self._clock = clock
        self._opens_on = opens_on
        self._outage: _Outage | None = None
        self._is_probed = False
        self._news = 0

    @contextmanager
    def call(self, patience: float) -> Iterator[Call]:
        """Learn from how a call ends; `admit` it before each attempt."""
        call = Call(patience, self._news)
        try:
            yield call
        except LeftAlone:
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

    def admit(self, call: Call) -> None:
        """Return when the model may be asked. Raises LeftAlone."""
        outage = self._outage
        if outage is None or call.patience > outage.patience * MORE_PATIENT:
            return
        if self._is_probed or self._clock() < outage.until:
            raise self._refusal(outage)
        self._is_probed = call.is_probe = True
        call.news = self._news

    def rest(self) -> float:
        """Seconds until a call may be admitted; 0 where it may be now."""
        if self._outage is None:
            return 0.0
        left = self._outage.until - self._clock()
        return left if left > 0 else PROBE_PAUSE if self._is_probed else 0.0

    def _open(self, call: Call, error: ModelError) -> None:
        if call.news != self._news:
            return  # others have heard from the model since
        self._news += 1
        before = self._outage
        since = before.since if before else datetime.now(UTC)
        patience = max(call.patience, before.patience if before else 0.0)
        pause = min(before.pause * 2, LONGEST_PAUSE) if before else FIRST_PAUSE
        seconds = min(error.retry_after or pause, LONGEST_ASKED)
        code = cast(ErrorCode, error.code)
        self._outage = _Outage(since, code, error.message, patience, pause, self._clock() + seconds)
        if before is None:
            _log.warning(
                "model_left_alone", model=self._model, role=self._role, code=code, cause=error.message, seconds=seconds
            )

    def _close(self) -> None:
        self._news += 1
        if self._outage is not None:
            self._outage = None
            _log.info("model_asked_again", model=self._model, role=self._role)

    def _refusal(self, outage: _Outage) -> LeftAlone:
        left = outage.until - self._clock()
        until = f"until {datetime.now(UTC) + timedelta(seconds=left):%H:%M:%S}" if left > 0 else "while one call tries"
        since = f"{outage.since:%Y-%m-%d %H:%M:%S}"
        return LeftAlone(outage.code, f"{self._model} is left alone since {since} UTC, {until}: {outage.cause}")


NEVER_OPEN = Breaker("", "", opens_on=lambda error: False)
