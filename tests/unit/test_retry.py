"""The one retry policy: how often, after which pauses, and never beyond its budget."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator

import pytest
from structlog.testing import capture_logs

from shared.models import ALIVE, Message, Model, ModelError, Piece, Reply, Request
from shared.models.calls import Pace, complete
from shared.models.retry import ProviderErrors, retry_after

REQUEST = Request("FinalResponder", (Message("user", "Hello?"),))


def busy(code: str = "provider_error", retry_after: float | None = None) -> ModelError:
    assert code in ("provider_error", "rate_limited", "timeout", "unreachable")
    return ModelError(code, "busy", retryable=True, retry_after=retry_after)  # type: ignore[arg-type]


class Scripted:
    """A model that fails as scripted, then answers."""

    provider = "scripted"
    name = "one"

    def __init__(self, *failures: ModelError) -> None:
        self.failures = list(failures)
        self.timeouts: list[float] = []

    async def complete(self, request: Request, timeout: float) -> Reply:
        self.timeouts.append(timeout)
        if self.failures:
            raise self.failures.pop(0)
        return Reply("at last")

    async def stream(self, request: Request, timeout: float) -> AsyncGenerator[Piece, None]:
        yield await self.complete(request, timeout)

    async def close(self) -> None: ...


class Slow(Scripted):
    """A model that never answers."""

    async def complete(self, request: Request, timeout: float) -> Reply:
        self.timeouts.append(timeout)
        await asyncio.sleep(60)
        return Reply("too late")


class Talkative(Scripted):
    """A model that says a word every 20 ms, for ever or so often, and then no more."""

    def __init__(self, words: int = 10_000, word: str = "on ") -> None:
        super().__init__()
        self._words, self._word = words, word

    async def stream(self, request: Request, timeout: float) -> AsyncGenerator[Piece, None]:
        self.timeouts.append(timeout)
        for _ in range(self._words):
            await asyncio.sleep(0.02)
            yield self._word
        await asyncio.sleep(60)


class Listening:
    """Receives an answer."""

    def __init__(self) -> None:
        self.begun = 0
        self.received = ""

    def begin(self) -> None:
        self.begun, self.received = self.begun + 1, ""

    def text(self, delta: str) -> None:
        self.received += delta


class Clock:
    """Time that passes only in pauses."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


async def test_a_good_answer_is_taken_at_once() -> None:
    model: Model = Scripted()
    done = await complete(model, REQUEST, budget=10, attempt_timeout=3)
    assert (done.reply.text, done.attempts) == ("at last", 1)


@pytest.mark.parametrize("failures", [1, 2, 3])
async def test_failures_then_success(failures: int) -> None:
    clock = Clock()
    model = Scripted(*(busy() for _ in range(failures)))
    done = await complete(
        model, REQUEST, budget=100, attempt_timeout=30, sleep=clock.sleep, clock=clock, jitter=lambda: 0.0
    )
    assert (done.reply.text, done.attempts) == ("at last", failures + 1)
    assert clock.pauses == [1.0, 2.0, 4.0][:failures]


async def test_it_gives_up_after_four() -> None:
    clock = Clock()
    model = Scripted(*(busy() for _ in range(9)))
    with pytest.raises(ModelError) as caught:
        await complete(model, REQUEST, budget=100, attempt_timeout=30, sleep=clock.sleep, clock=clock)
    assert (caught.value.attempts, len(model.timeouts), len(clock.pauses)) == (4, 4, 3)


@pytest.mark.parametrize("word", ["on ", ALIVE])
async def test_what_is_still_being_said_is_cut_and_not_asked_for_again(word: str) -> None:
    """It would be as long the next time; the message names what to set."""
    model, listener = Talkative(word=word), Listening()
    began = time.monotonic()
    with pytest.raises(ModelError) as caught:
        await complete(model, REQUEST, budget=20, attempt_timeout=0.4, first_delay=0.01, listener=listener)
    assert time.monotonic() - began < 5
    error = caught.value
    assert (error.code, error.attempts, error.retryable, listener.begun) == ("too_slow", 1, False, 1)
    assert "MAAS_ATTEMPT_TIMEOUT" in error.message and "MAAS_MAX_TOKENS" in error.message


async def test_who_falls_silent_is_asked_again() -> None:
    model, listener = Talkative(words=1), Listening()
    with pytest.raises(ModelError) as caught:
        await complete(model, REQUEST, budget=20, attempt_timeout=0.1, first_delay=0.01, listener=listener)
    assert (caught.value.code, caught.value.attempts, listener.begun) == ("timeout", 4, 4)


async def test_a_timeout_names_the_setting_that_ended_it() -> None:
    sources = ("MAAS_ATTEMPT_TIMEOUT", "MAAS_ANALYZER_TIMEOUT")
    for attempt_timeout, budget, named in ((0.05, 0.1, sources[0]), (0.05, 0.05, sources[1]), (9, 0.05, sources[1])):
        with pytest.raises(ModelError) as caught:
            await complete(Slow(), REQUEST, budget=budget, attempt_timeout=attempt_timeout, attempts=1, sources=sources)
        assert caught.value.message.endswith(f" s ({named})"), caught.value.message


async def test_a_slow_model_at_home_is_not_asked_four_times_for_as_long() -> None:
    """What follows a timeout may take all the time that is left."""
    model = Slow()
    with pytest.raises(ModelError) as caught:
        await complete(model, REQUEST, budget=0.5, attempt_timeout=0.1, first_delay=0.01, is_patient=True)
    assert (caught.value.attempts, len(model.timeouts)) == (2, 2)
    assert model.timeouts[0] == 0.1 and model.timeouts[1] > 0.3


async def test_a_first_token_has_a_time_of_its_own() -> None:
    class Thinking(Talkative):
        async def stream(self, request: Request, timeout: float) -> AsyncGenerator[Piece, None]:
            for _ in range(5):
                await asyncio.sleep(0.05)
                yield ALIVE
            async for piece in super().stream(request, timeout):
                yield piece

    listener = Listening()
    with pytest.raises(ModelError) as caught:
        await complete(
            Thinking(words=0), REQUEST, budget=9, attempt_timeout=9, listener=listener, attempts=1, pace=Pace(0.1)
        )
    assert (caught.value.code, caught.value.retryable) == ("timeout", True)
    assert "no first token within 0.1 s (first_token_timeout in MAAS_MODELS)" in caught.value.message


async def test_an_answer_that_keeps_its_pace_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shared.models.calls.PACE_GRACE_S", 0.05)
    with pytest.raises(ModelError) as caught:
        await complete(
            Talkative(words=10), REQUEST, budget=9, attempt_timeout=9, listener=Listening(), pace=Pace(None, 20)
        )
    assert (caught.value.code, caught.value.attempts) == ("too_slow", 1)
    assert "fewer than 20 tokens a second" in caught.value.message
    listener = Listening()
    with pytest.raises(ModelError) as caught:
        await complete(Talkative(), REQUEST, budget=0.5, attempt_timeout=0.5, listener=listener, pace=Pace(None, 1))
    assert caught.value.code == "too_slow" and "still answering after 0.5 s" in caught.value.message


async def test_attempts_that_were_made_before_count() -> None:
    clock, model = Clock(), Scripted(*(busy() for _ in range(9)))
    with pytest.raises(ModelError) as caught:
        await complete(model, REQUEST, budget=100, attempt_timeout=30, sleep=clock.sleep, clock=clock, attempts=2)
    assert (caught.value.attempts, len(model.timeouts), caught.value.wait) == (2, 2, None)


def away() -> ModelError:
    error = busy("unreachable")
    error.is_away = True
    return error


async def test_a_server_that_is_away_is_no_attempt() -> None:
    """It is tried as often, and then waited for: the caller learns how long."""
    clock, model = Clock(), Scripted(*(away() for _ in range(9)))
    with pytest.raises(ModelError) as caught:
        await complete(model, REQUEST, budget=100, attempt_timeout=30, sleep=clock.sleep, clock=clock)
    assert (caught.value.attempts, len(model.timeouts), caught.value.wait) == (0, 4, 5.0)


async def test_a_server_that_comes_back_is_asked_once() -> None:
    clock, model = Clock(), Scripted(away(), busy(), away())
    done = await complete(model, REQUEST, budget=100, attempt_timeout=30, sleep=clock.sleep, clock=clock)
    assert (done.reply.text, done.attempts, len(model.timeouts)) == ("at last", 2, 4)


async def test_pauses_grow_with_jitter_on_top() -> None:
    clock = Clock()
    with pytest.raises(ModelError):
        await complete(
            Scripted(*(busy() for _ in range(4))),
            REQUEST,
            budget=100,
            attempt_timeout=30,
            first_delay=0.5,
            sleep=clock.sleep,
            clock=clock,
        )
    for pause, least in zip(clock.pauses, (0.5, 1.0, 2.0), strict=True):
        assert least <= pause <= least * 1.25
    assert all(later > earlier for earlier, later in itertools.pairwise(clock.pauses))


async def test_pauses_are_real() -> None:
    began = time.monotonic()
    done = await complete(Scripted(busy(), busy()), REQUEST, budget=10, attempt_timeout=3, first_delay=0.02)
    assert done.attempts == 3
    assert time.monotonic() - began >= 0.06


@pytest.mark.parametrize(("asked", "pause"), [(9.0, 9.0), (0.2, 1.0), (None, 1.0)])
async def test_retry_after(asked: float | None, pause: float) -> None:
    clock = Clock()
    await complete(
        Scripted(busy("rate_limited", asked)),
        REQUEST,
        budget=20,
        attempt_timeout=3,
        sleep=clock.sleep,
        clock=clock,
        jitter=lambda: 0.0,
    )
    assert clock.pauses == [pause]


async def test_retry_after_beyond_the_budget_is_not_begun() -> None:
    clock = Clock()
    with pytest.raises(ModelError) as caught:
        await complete(
            Scripted(busy("rate_limited", 30.0)), REQUEST, budget=20, attempt_timeout=3, sleep=clock.sleep, clock=clock
        )
    assert (caught.value.code, caught.value.attempts, clock.pauses) == ("rate_limited", 1, [])


async def test_a_pause_beyond_the_budget_is_not_begun() -> None:
    clock = Clock()
    with pytest.raises(ModelError) as caught:
        await complete(
            Scripted(busy(), busy(), busy()),
            REQUEST,
            budget=3,
            attempt_timeout=3,
            sleep=clock.sleep,
            clock=clock,
            jitter=lambda: 0.0,
        )
    assert (caught.value.attempts, clock.pauses) == (2, [1.0])


async def test_an_attempt_gets_no_more_time_than_is_left() -> None:
    clock = Clock()
    model = Scripted(busy(), busy())
    await complete(model, REQUEST, budget=5, attempt_timeout=3.5, sleep=clock.sleep, clock=clock, jitter=lambda: 0.0)
    assert model.timeouts == [3.5, 3.5, 2.0]


@pytest.mark.parametrize("code", ["unauthorized", "unknown_model", "bad_request", "filtered", "malformed"])
async def test_what_will_not_get_better_is_not_repeated(code: str) -> None:
    model = Scripted(ModelError(code, "no"))  # type: ignore[arg-type]
    with pytest.raises(ModelError) as caught:
        await complete(model, REQUEST, budget=10, attempt_timeout=3)
    assert (caught.value.code, caught.value.attempts, len(model.timeouts)) == (code, 1, 1)


async def test_other_exceptions_pass() -> None:
    class Broken(Scripted):
        async def complete(self, request: Request, timeout: float) -> Reply:
            raise KeyError("a bug")

    with pytest.raises(KeyError):
        await complete(Broken(), REQUEST, budget=10, attempt_timeout=3)


async def test_a_hanging_attempt_is_cut_and_repeated() -> None:
    model = Slow()
    began = time.monotonic()
    with pytest.raises(ModelError) as caught:
        await complete(model, REQUEST, budget=5, attempt_timeout=0.05, first_delay=0.01)
    assert (caught.value.code, caught.value.retryable, caught.value.attempts) == ("timeout", True, 4)
    assert "scripted:one gave no answer within" in caught.value.message
    assert time.monotonic() - began < 2


async def test_the_whole_never_exceeds_its_budget() -> None:
    began = time.monotonic()
    with pytest.raises(ModelError) as caught:
        await complete(Slow(), REQUEST, budget=0.2, attempt_timeout=30, first_delay=0.01)
    assert (caught.value.code, caught.value.attempts) == ("timeout", 1)
    assert 0.15 < time.monotonic() - began < 1


async def test_cancelling_is_not_a_failure() -> None:
    task = asyncio.create_task(complete(Slow(), REQUEST, budget=9, attempt_timeout=9))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_each_repetition_is_logged() -> None:
    with capture_logs() as logs:
        await complete(Scripted(busy("timeout")), REQUEST, budget=9, attempt_timeout=9, first_delay=0)
    (line,) = logs
    assert line["event"] == "model_call_retried"
    assert (line["provider"], line["model"], line["code"], line["attempts"]) == ("scripted", "one", "timeout", 1)


@pytest.mark.parametrize(
    ("status", "code", "is_retryable"),
    [
        (400, "bad_request", False),
        (401, "unauthorized", False),
        (408, "timeout", True),
        (409, "provider_error", True),
        (418, "bad_request", False),
        (428, "bad_request", False),
        (429, "rate_limited", True),
        (430, "bad_request", False),
        (499, "bad_request", False),
        (500, "provider_error", True),
        (503, "provider_error", True),
        (504, "provider_error", True),
        (599, "provider_error", True),
    ],
)
def test_what_a_status_means(status: int, code: str, is_retryable: bool) -> None:
    error = ProviderErrors("p:m", "").of_status(status, "no", 3.0)
    assert (error.code, error.retryable, error.retry_after) == (code, is_retryable, 3.0)
    assert not error.is_away and error.message == f"p:m answered {status}: no"


@pytest.mark.parametrize(("status", "is_away"), [(500, False), (502, False), (503, True), (504, False)])
def test_a_model_that_is_loading_is_away(status: int, is_away: bool) -> None:
    assert ProviderErrors("p:m", "").of_status(status, "Loading model").is_away is is_away


def test_a_failure_names_its_cause_or_that_there_is_none() -> None:
    errors = ProviderErrors("p:m", "")
    assert errors.failure("malformed", " \x00").message == "p:m: no reason given"
    lost = errors.unreachable("", OSError())
    assert (lost.message, lost.retryable) == ("p:m: connection failed", True)
    assert errors.cut().retryable and errors.timeout(3).is_own_limit


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "-1"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
    ],
)
def test_how_long_a_server_demands_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds
