"""The circuit breaker: when it opens, for whom, how long, and who finds out that the model is back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

import pytest
from structlog.testing import capture_logs

from shared.models import ErrorCode, Message, ModelError, Piece, Reply, Request
from shared.models.calls import complete
from shared.models.retry import FIRST_OPEN_S, MAX_RETRY_AFTER_S, Breaker, CircuitOpen, repeat


class Clock:
    """Time that passes only when a test moves it."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker("p:m", "Analyzer", clock)


def dead(code: ErrorCode = "timeout", retry_after: float | None = None) -> ModelError:
    return ModelError(code, "p:m: no answer", retryable=True, retry_after=retry_after)


def try_once(breaker: Breaker, error: BaseException | None = None, timeout_s: float = 3.0) -> None:
    """One admitted call that ends with `error`, or well. Raises CircuitOpen."""
    with suppress(type(error) if error else ZeroDivisionError), breaker.call(timeout_s) as call:
        breaker.admit(call)
        if error is not None:
            raise error


def is_open(breaker: Breaker, timeout_s: float = 3.0) -> bool:
    """Whether a call would be refused; it leaves no trace, not even as a probe."""
    try:
        with breaker.call(timeout_s) as call:
            breaker.admit(call)
            raise asyncio.CancelledError
    except CircuitOpen:
        return True
    except asyncio.CancelledError:
        return False


@pytest.mark.parametrize("code", ["timeout", "unreachable", "rate_limited", "provider_error"])
def test_one_dead_call_opens_it(breaker: Breaker, code: ErrorCode) -> None:
    assert not is_open(breaker)
    try_once(breaker, dead(code))
    with pytest.raises(CircuitOpen) as caught:
        try_once(breaker)
    assert (caught.value.code, caught.value.retryable, caught.value.attempts) == (code, False, 0)
    assert "p:m has been paused since " in caught.value.message
    assert " UTC, until " in caught.value.message and caught.value.message.endswith(": p:m: no answer")


@pytest.mark.parametrize("code", ["unauthorized", "unknown_model", "bad_request", "filtered", "malformed"])
def test_who_answers_is_alive(breaker: Breaker, code: ErrorCode) -> None:
    try_once(breaker, ModelError(code, "no"))
    assert not is_open(breaker)


def test_bugs_and_cancelling_say_nothing(breaker: Breaker, clock: Clock) -> None:
    try_once(breaker, KeyError("a bug"))
    assert not is_open(breaker)
    try_once(breaker, dead())
    clock.now += FIRST_OPEN_S
    try_once(breaker, asyncio.CancelledError())
    try_once(breaker, dead())  # the next one may probe, and its failure counts
    clock.now += FIRST_OPEN_S
    assert is_open(breaker)


def test_pauses_double_up_to_a_minute_and_begin_anew(breaker: Breaker, clock: Clock) -> None:
    for _ in range(2):
        for pause in (5, 10, 20, 40, 60, 60):
            try_once(breaker, dead())
            clock.now += pause - 0.01
            assert is_open(breaker)
            clock.now += 0.02
            assert not is_open(breaker)
        try_once(breaker)


def test_a_server_that_is_away_is_looked_for_more_often(breaker: Breaker, clock: Clock) -> None:
    error = dead("unreachable")
    error.is_away = True
    for pause in (5, 10, 10, 10):
        try_once(breaker, error)
        clock.now += pause - 0.01
        assert is_open(breaker)
        clock.now += 0.02
        assert not is_open(breaker)


@pytest.mark.parametrize(
    ("asked", "pause"), [(17.0, 17.0), (0.5, 0.5), (0.0, FIRST_OPEN_S), (86400.0, MAX_RETRY_AFTER_S)]
)
def test_as_long_as_the_provider_asks(breaker: Breaker, clock: Clock, asked: float, pause: float) -> None:
    try_once(breaker, dead("rate_limited", asked))
    clock.now += pause - 0.01
    assert is_open(breaker)
    clock.now += 0.02
    assert not is_open(breaker)


def test_one_probes_while_the_others_are_refused(breaker: Breaker, clock: Clock) -> None:
    try_once(breaker, dead())
    clock.now += FIRST_OPEN_S
    with breaker.call(3.0) as probe:
        breaker.admit(probe)
        assert probe.is_probe
        for _ in range(3):
            with pytest.raises(CircuitOpen, match="while one call tests it"):
                try_once(breaker)
    for _ in range(3):
        try_once(breaker)


def test_the_more_patient_may_ask(breaker: Breaker) -> None:
    """A repair call with half a second left does not keep the next stage from its three seconds."""
    try_once(breaker, dead(), timeout_s=0.5)
    assert is_open(breaker, 0.7) and not is_open(breaker, 3.0)
    try_once(breaker, dead(), timeout_s=3.0)
    assert is_open(breaker, 0.5) and is_open(breaker, 3.0)


def test_what_one_request_suffers_is_not_the_models_death(breaker: Breaker) -> None:
    """Somebody was answered while it failed."""
    with suppress(ModelError), breaker.call(3.0) as poisonous:
        breaker.admit(poisonous)
        try_once(breaker)
        raise dead()
    assert not is_open(breaker)


def test_failures_at_one_time_are_one(breaker: Breaker, clock: Clock) -> None:
    """Calls that began before it opened do not prolong it, and cannot open it again once the model is back."""
    with suppress(ModelError), breaker.call(3.0) as late:
        breaker.admit(late)
        with suppress(ModelError), breaker.call(3.0) as later:
            breaker.admit(later)
            try_once(breaker, dead())
            clock.now += 1.0
            raise dead()
        clock.now += FIRST_OPEN_S - 1.0
        try_once(breaker)
        raise dead()
    assert not is_open(breaker)


def test_so_many_failures_in_a_row(clock: Clock) -> None:
    breaker = Breaker("p:m", "Analyzer", clock, failures=3)
    for error in (dead(), dead(), None, dead(), dead()):
        try_once(breaker, error)
        assert not is_open(breaker)
    try_once(breaker, dead())
    assert is_open(breaker)


def test_it_is_logged_once(breaker: Breaker, clock: Clock) -> None:
    with capture_logs() as logs:
        for _ in range(3):
            try_once(breaker, dead())
            is_open(breaker)
            clock.now += 60
        try_once(breaker)
        try_once(breaker)
    assert [(line["event"], line["log_level"]) for line in logs] == [
        ("model_unavailable", "warning"),
        ("model_recovered", "info"),
    ]
    first = logs[0]
    assert (first["model"], first["role"], first["code"], first["seconds"]) == ("p:m", "Analyzer", "timeout", 5.0)


class Scripted:
    """A model that fails a given number of times, then answers."""

    provider = "p"
    name = "m"

    def __init__(self, failures: int = 10**9) -> None:
        self.failures = failures
        self.asked = 0

    async def complete(self, request: Request, timeout: float) -> Reply:
        self.asked += 1
        await asyncio.sleep(0)
        if self.asked <= self.failures:
            raise dead("provider_error")
        return Reply("at last")

    async def stream(self, request: Request, timeout: float) -> AsyncGenerator[Piece, None]:
        yield await self.complete(request, timeout)

    async def close(self) -> None: ...


async def ask(model: Scripted, clock: Clock, role: str = "FinalResponder") -> str | ModelError:
    request = Request(role, (Message("user", "Hello?"),))
    try:
        done = await complete(model, request, budget=150, attempt_timeout=30, sleep=clock.sleep, clock=clock)
    except ModelError as error:
        return error
    return done.reply.text


async def test_a_hiccup_is_still_answered(clock: Clock) -> None:
    """500, 500, 500, 200."""
    model = Scripted(failures=3)
    assert await ask(model, clock) == "at last"
    assert await ask(model, clock) == "at last"
    assert model.asked == 5


async def test_a_dead_model_costs_its_four_attempts_once(clock: Clock) -> None:
    model = Scripted()
    first = await ask(model, clock)
    assert isinstance(first, ModelError) and (first.attempts, type(first)) == (4, ModelError)
    for _ in range(20):
        refused = await ask(model, clock)
        assert isinstance(refused, CircuitOpen) and refused.attempts == 0
    assert model.asked == 4


async def test_a_probe_is_not_repeated(clock: Clock) -> None:
    model = Scripted(failures=5)
    await ask(model, clock)
    clock.now += FIRST_OPEN_S
    probe = await ask(model, clock)
    assert isinstance(probe, ModelError) and (probe.attempts, model.asked) == (1, 5)
    clock.now += 2 * FIRST_OPEN_S
    assert await ask(model, clock) == "at last"


async def test_roles_are_apart(clock: Clock) -> None:
    model = Scripted()
    await ask(model, clock, "Analyzer")
    assert isinstance(await ask(model, clock, "Analyzer"), CircuitOpen)
    assert not isinstance(await ask(model, clock, "FinalResponder"), CircuitOpen)


async def test_who_waits_in_a_pause_gives_up(clock: Clock) -> None:
    """Of a hundred in flight one uses up its attempts; the others end at their next one."""
    breaker = Breaker("p:m", "FinalResponder", clock)
    over = asyncio.Event()
    attempts = 0

    async def attempt(_: float) -> Reply:
        nonlocal attempts
        attempts += 1
        raise dead("unreachable")

    async def wait(_: float) -> None:
        await over.wait()

    waiting = [
        asyncio.create_task(
            repeat(Scripted(), attempt, budget=150, attempt_timeout=30, sleep=wait, clock=clock, breaker=breaker)
        )
        for _ in range(100)
    ]
    while attempts < 100:
        await asyncio.sleep(0)
    with pytest.raises(ModelError):
        await repeat(
            Scripted(), attempt, budget=150, attempt_timeout=30, sleep=clock.sleep, clock=clock, breaker=breaker
        )
    clock.now = 101.0
    over.set()
    ended = await asyncio.gather(*waiting, return_exceptions=True)
    assert {(type(one), getattr(one, "attempts", None)) for one in ended} == {(CircuitOpen, 1)}
    assert attempts == 104
