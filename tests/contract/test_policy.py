"""The one retry policy as a table: each failure through the real SDKs, how often it was asked, and what came of it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from werkzeug import Request as HttpRequest
from werkzeug import Response

from shared.models import ModelError
from shared.models.calls import complete
from shared.models.retry import MAX_ATTEMPTS
from tests.contract.dialects import DIALECTS, GEMINI, Dialect, ask
from tests.http_server import HTTPServer

ONCE = 1
NO_SERVER = 0  # attempts: nobody was asked


@dataclass(frozen=True)
class Failure:
    """What a request is answered with."""

    name: str
    status: int
    body: Callable[[Dialect], object] = lambda dialect: {"error": {"message": "on purpose", "code": 0}}
    headers: dict[str, str] = field(default_factory=dict)


HANG = Failure("hang", 200)


def said(status: int, name: str = "", **headers: str) -> Failure:
    return Failure(name or str(status), status, headers={key.replace("_", "-"): one for key, one in headers.items()})


def blocked(number: int) -> Failure:
    return Failure(f"safety block {number}", 200, lambda dialect: dialect.blocked[number % len(dialect.blocked)])


TABLE: list[tuple[Failure, int, str]] = [
    (HANG, MAX_ATTEMPTS, "timeout"),
    (said(408), MAX_ATTEMPTS, "timeout"),
    (said(409), MAX_ATTEMPTS, "provider_error"),
    (said(429), MAX_ATTEMPTS, "rate_limited"),
    (said(429, "429, in no time", Retry_After="0"), MAX_ATTEMPTS, "rate_limited"),
    (said(429, "429, within the budget", retry_after_ms="20"), MAX_ATTEMPTS, "rate_limited"),
    (said(429, "429, beyond the budget", Retry_After="60"), ONCE, "rate_limited"),
    (said(500), MAX_ATTEMPTS, "provider_error"),
    (said(502), MAX_ATTEMPTS, "provider_error"),
    (said(503), MAX_ATTEMPTS, "provider_error"),
    (said(503, "503, beyond the budget", Retry_After="60"), ONCE, "provider_error"),
    (said(529), MAX_ATTEMPTS, "provider_error"),
    (said(400), ONCE, "bad_request"),
    (said(401, "wrong key"), ONCE, "unauthorized"),
    (said(403), ONCE, "unauthorized"),
    (said(404, "unknown model"), ONCE, "unknown_model"),
    (said(413), ONCE, "bad_request"),
    (said(422), ONCE, "bad_request"),
    (Failure("malformed JSON", 200, lambda dialect: b'{"choices": ['), ONCE, "malformed"),
    (Failure("no JSON", 200, lambda dialect: b"<html>Welcome</html>"), ONCE, "malformed"),
    (Failure("no candidates", 200, lambda dialect: dialect.empty), ONCE, "malformed"),
    *((blocked(number), ONCE, "filtered") for number in range(max(len(dialect.blocked) for dialect in DIALECTS))),
]


class Failing:
    """A server that lets every request fail in the same way and counts them."""

    def __init__(self, server: HTTPServer, failure: Failure, dialect: Dialect) -> None:
        self.asked = 0
        self.over = threading.Event()
        self.url = server.url_for("").rstrip("/")
        self._failure = failure
        self._dialect = dialect
        server.expect_request(dialect.path).respond_with_handler(self._answer)

    def _answer(self, _: HttpRequest) -> Response:
        self.asked += 1
        if self._failure is HANG:
            self.over.wait(30)
        body = self._failure.body(self._dialect)
        text = body if isinstance(body, bytes) else json.dumps(body)
        return Response(text, self._failure.status, self._failure.headers, content_type="application/json")


@contextmanager
def failing(failure: Failure, dialect: Dialect) -> Iterator[Failing]:
    with HTTPServer(threaded=True) as server:
        found = Failing(server, failure, dialect)
        try:
            yield found
        finally:
            found.over.set()


async def outcome(dialect: Dialect, url: str, attempt_timeout: float = 2.5) -> tuple[int, str]:
    """Attempts, and the code of the error or the finish of the reply."""
    model = dialect.open(url)
    try:
        done = await complete(model, ask(), budget=10, attempt_timeout=attempt_timeout, first_delay=0.01)
    except ModelError as error:
        assert error.message.startswith(f"{dialect.provider}:{dialect.model}")
        return error.attempts, error.code
    finally:
        await model.close()
    assert done.reply.text == "" or done.reply.finish == "filtered"
    return done.attempts, done.reply.finish


@pytest.mark.parametrize(("failure", "attempts", "code"), [pytest.param(*row, id=row[0].name) for row in TABLE])
async def test_each_failure(dialect: Dialect, failure: Failure, attempts: int, code: str) -> None:
    with failing(failure, dialect) as server:
        attempt_timeout = 0.5 if failure is HANG else 2.5
        assert await outcome(dialect, server.url, attempt_timeout) == (attempts, code)
        assert server.asked == attempts


async def test_reset_connection(dialect: Dialect) -> None:
    asked = 0

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        writer.transport.abort()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert await outcome(dialect, f"http://127.0.0.1:{port}") == (MAX_ATTEMPTS, "unreachable")
    assert asked == MAX_ATTEMPTS


async def test_refused_connection(dialect: Dialect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert await outcome(dialect, f"http://127.0.0.1:{port}") == (NO_SERVER, "unreachable")


async def test_unknown_host(dialect: Dialect) -> None:
    assert await outcome(dialect, "http://nowhere.invalid") == (NO_SERVER, "unreachable")


async def test_geminis_wait_in_the_body_is_obeyed() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "60s"}
    body = {"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [info]}}
    with failing(Failure("quota", 429, lambda dialect: body), GEMINI) as server:
        assert await outcome(GEMINI, server.url) == (ONCE, "rate_limited")
        assert server.asked == ONCE
