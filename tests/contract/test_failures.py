"""What goes wrong at a provider, under our own names; asked once a call, and repeated by the policy alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from email.utils import formatdate
from time import time

import pytest
from werkzeug import Request as HttpRequest
from werkzeug import Response

from shared.models import Model, ModelError
from shared.models.calls import complete
from tests.aimock import Aimock
from tests.contract.dialects import DIALECTS, GEMINI, KEY, OPENAI, Dialect, ask
from tests.http_server import HTTPServer


async def failure(model: Model, timeout: float = 10) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await model.complete(ask(), timeout)
    return caught.value


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "bad_request", False),
        (401, "unauthorized", False),
        (403, "unauthorized", False),
        (404, "unknown_model", False),
        (408, "timeout", True),
        (409, "provider_error", True),
        (422, "bad_request", False),
        (429, "rate_limited", True),
        (500, "provider_error", True),
        (502, "provider_error", True),
        (503, "provider_error", True),
        (529, "provider_error", True),
    ],
)
async def test_status(model: Model, aimock: Aimock, dialect: Dialect, status: int, code: str, retryable: bool) -> None:
    aimock.fail(status, f"no luck with {KEY}", times=2)
    error = await failure(model)
    assert (error.code, error.retryable) == (code, retryable)
    assert f"{dialect.provider}:{dialect.model} answered {status}: no luck with ***" in error.message
    assert KEY not in error.message
    assert len(aimock.journal()) == 1


async def test_retry_after(model: Model, aimock: Aimock) -> None:
    aimock.fail(429, retryAfter=7)
    assert (await failure(model)).retry_after == 7


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"Retry-After": formatdate(time() + 7200, usegmt=True)}, 3600, 7200),
        ({"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0, 0),
        ({"retry-after-ms": "1500"}, 1.5, 1.5),
        ({"Retry-After": "soon"}, None, None),
        ({"Retry-After": "-5"}, None, None),
        ({"Retry-After": ""}, None, None),
        ({}, None, None),
    ],
    ids=["date", "past", "milliseconds", "word", "negative", "empty", "none"],
)
async def test_forms_of_retry_after(
    wired: Model, dialect: Dialect, httpserver: HTTPServer, headers: dict[str, str], low: float | None, high: float
) -> None:
    httpserver.expect_request(dialect.path).respond_with_json({"error": {"message": "x"}}, 429, headers)
    asked = (await failure(wired)).retry_after
    assert asked is None if low is None else asked is not None and low <= asked <= high


async def test_gemini_says_in_the_body_when_to_retry(httpserver: HTTPServer) -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37.5s"}
    body = {"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [info]}}
    httpserver.expect_request(GEMINI.path).respond_with_json(body, 429)
    model = GEMINI.open(httpserver.url_for("").rstrip("/"))
    assert (await failure(model)).retry_after == 37.5
    await model.close()


async def test_gemini_calls_a_wrong_key_a_bad_request(httpserver: HTTPServer) -> None:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    body = {"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": [info]}}
    httpserver.expect_request(GEMINI.path).respond_with_json(body, 400)
    model = GEMINI.open(httpserver.url_for("").rstrip("/"))
    assert (await failure(model)).code == "unauthorized"
    await model.close()


async def test_a_spent_quota_is_not_waited_for(httpserver: HTTPServer) -> None:
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    httpserver.expect_request(OPENAI.path).respond_with_json(body, 429)
    model = OPENAI.open(httpserver.url_for("").rstrip("/"))
    error = await failure(model)
    await model.close()
    assert (error.code, error.retryable) == ("rate_limited", False)


async def test_failures_then_success(model: Model, aimock: Aimock) -> None:
    aimock.fail(500, times=2)
    aimock.say("at last")
    done = await complete(model, ask(), budget=20, attempt_timeout=10, first_delay=0.01)
    assert (done.reply.text, done.attempts) == ("at last", 3)
    assert [entry["response"]["status"] for entry in aimock.journal()] == [500, 500, 200]


async def test_the_pause_that_was_asked_for_is_kept(model: Model, aimock: Aimock) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    aimock.fail(429, retryAfter=9)
    aimock.say("ok")
    done = await complete(model, ask(), budget=20, attempt_timeout=10, first_delay=0.01, sleep=sleep)
    assert (done.attempts, pauses) == (2, [9.0])


async def test_failures_for_ever(model: Model, aimock: Aimock) -> None:
    with pytest.raises(ModelError) as caught:  # nothing matches: a strict aimock answers 503
        await complete(model, ask(), budget=20, attempt_timeout=10, first_delay=0.01)
    assert (caught.value.code, caught.value.attempts, len(aimock.journal())) == ("provider_error", 4, 4)


async def test_a_wrong_key_is_not_tried_again(model: Model, aimock: Aimock) -> None:
    aimock.fail(401, times=4)
    with pytest.raises(ModelError) as caught:
        await complete(model, ask(), budget=20, attempt_timeout=10, first_delay=0.01)
    assert (caught.value.code, caught.value.attempts, len(aimock.journal())) == ("unauthorized", 1, 1)


@pytest.fixture
def hanging() -> Iterator[HTTPServer]:
    """Takes requests and answers none before the test is over."""
    over = threading.Event()

    def wait(_: HttpRequest) -> Response:
        over.wait(30)
        return Response("late")

    with HTTPServer(threaded=True) as server:
        for path in {path for one in DIALECTS for path in (one.path, one.stream_path)}:
            server.expect_request(path).respond_with_handler(wait)
        yield server
        over.set()


async def test_hang(dialect: Dialect, hanging: HTTPServer) -> None:
    model = dialect.open(hanging.url_for("").rstrip("/"))
    error = await failure(model, timeout=0.3)
    await model.close()
    assert (error.code, error.retryable) == ("timeout", True)
    assert error.message == f"{dialect.provider}:{dialect.model}: no answer within 0.3 s"


async def test_hang_is_cut_by_the_policy(dialect: Dialect, hanging: HTTPServer) -> None:
    model = dialect.open(hanging.url_for("").rstrip("/"))
    began = time()
    with pytest.raises(ModelError) as caught:
        await complete(model, ask(), budget=0.5, attempt_timeout=0.2, first_delay=0.01)
    await model.close()
    assert (caught.value.code, caught.value.attempts > 1) == ("timeout", True)
    assert time() - began < 3


@pytest.fixture
async def resetting() -> AsyncIterator[str]:
    """Hangs up on everybody who asks."""

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.close()
    await server.wait_closed()


async def test_connection_reset(dialect: Dialect, resetting: str) -> None:
    model = dialect.open(resetting)
    error = await failure(model)
    await model.close()
    assert (error.code, error.retryable, error.is_away) == ("unreachable", True, False)


async def test_connection_refused(dialect: Dialect, httpserver: HTTPServer) -> None:
    url = httpserver.url_for("").rstrip("/")
    httpserver.stop()
    model = dialect.open(url)
    error = await failure(model)
    await model.close()
    httpserver.start()
    assert (error.code, error.retryable, error.is_away) == ("unreachable", True, True)
    assert error.message.startswith(f"{dialect.provider}:{dialect.model}: ")


@pytest.mark.parametrize("message", ["Loading model", "Model qwen is currently loading"])
async def test_a_server_that_loads_its_model(
    wired: Model, dialect: Dialect, httpserver: HTTPServer, message: str
) -> None:
    body = {"error": {"message": message, "type": "unavailable_error", "code": 503}}
    httpserver.expect_request(dialect.path).respond_with_json(body, 503)
    error = await failure(wired)
    assert (error.code, error.retryable, error.is_away) == ("unreachable", True, True)
    assert f"answered 503: {message}" in error.message


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ('{"choices": [', "application/json"),
        ("[]", "application/json"),
        ('"a string"', "application/json"),
        ("null", "application/json"),
        ('{"choices": [{}], "candidates": "none"}', "application/json"),
        ("<html>Welcome</html>", "text/html"),
        ("", "application/json"),
    ],
    ids=["cut JSON", "list", "string", "null", "wrong fields", "page", "nothing"],
)
async def test_malformed_reply(wired: Model, dialect: Dialect, httpserver: HTTPServer, body: str, kind: str) -> None:
    """As an error or as the finish of an empty reply: SDKs differ in what they let through."""
    httpserver.expect_request(dialect.path).respond_with_data(body, content_type=kind)
    try:
        reply = await wired.complete(ask(), 10)
    except ModelError as error:
        assert (error.code, error.retryable) == ("malformed", False)
    else:
        assert (reply.text, reply.finish) == ("", "malformed")


async def test_error_page_instead_of_json(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    httpserver.expect_request(dialect.path).respond_with_data("<h1>Bad gateway</h1>", 502, content_type="text/html")
    error = await failure(wired)
    assert (error.code, error.retryable) == ("provider_error", True)
    assert "answered 502" in error.message
