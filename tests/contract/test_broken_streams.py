"""Every way in which a stream fails, falls silent or is left."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass

import pytest
from werkzeug import Request as HttpRequest
from werkzeug import Response

from shared.models import ALIVE, Model, Reply
from tests.aimock import Aimock
from tests.contract.dialects import (
    ANTHROPIC,
    KEY,
    Dialect,
    ask,
    chunk,
    framed,
    generated,
    sse,
)
from tests.contract.hearing import broken, events, hear, opened, serve, until, whole
from tests.http_server import HTTPServer
from tests.polling import apoll


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "bad_request", False),
        (401, "unauthorized", False),
        (404, "unknown_model", False),
        (429, "rate_limited", True),
        (503, "provider_error", True),
        (529, "provider_error", True),
    ],
)
async def test_status(
    wired: Model, dialect: Dialect, httpserver: HTTPServer, status: int, code: str, retryable: bool
) -> None:
    body = {"error": {"message": f"no luck with {KEY}"}}
    httpserver.expect_request(dialect.stream_path).respond_with_json(body, status, {"Retry-After": "7"})
    received, error = await broken(wired)
    assert (received, error.code, error.retryable, error.retry_after) == ([], code, retryable, 7)
    assert KEY not in error.message
    assert len(httpserver.log) == 1


async def test_a_stream_without_its_end_is_cut(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    """The connection is closed in good order, but the reply is not whole."""
    said = dialect.streamed(("one", " two"), ())
    last = next(place for place, event in enumerate(said) if " two" in event)
    serve(httpserver, dialect, events(*said[:last]))
    received, error = await broken(wired)
    assert received == ["one"]
    assert (error.code, error.retryable) == ("unreachable", True)


async def test_a_stream_that_ends_amid_an_event(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    """Closed in good order, as a proxy does that has lost its server: asked again, as any broken attempt."""
    said = dialect.streamed(("one", " two"), ())
    last = next(place for place, event in enumerate(said) if " two" in event)
    serve(httpserver, dialect, events(*said[:last], said[last][: said[last].index(" two")]))
    received, error = await broken(wired)
    assert received == ["one"]
    assert (error.code, error.retryable) == ("unreachable", True)


async def test_a_stream_that_breaks_off(model: Model, aimock: Aimock) -> None:
    """The protocol server hangs up after eight events."""
    words = {"match": {}, "response": {"content": "word " * 200}, "chunkSize": 5, "latency": 20}
    aimock.fixtures(words | {"truncateAfterChunks": 8})
    received, error = await broken(model)
    assert received
    assert (error.code, error.retryable) == ("unreachable", True)


async def test_nothing_at_all(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    serve(httpserver, dialect, events())
    received, error = await broken(wired)
    assert (received, error.code, error.retryable) == ([], "unreachable", True)


async def test_an_event_that_is_no_json(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    serve(
        httpserver, dialect, events(*dialect.streamed(("one",), ())[:3], sse("{not json", "content_block_delta"), "\n")
    )
    _, error = await broken(wired)
    assert error.code in ("malformed", "unreachable")


ERRORS: dict[str, tuple[str, str, bool]] = {
    "openai": (sse({"error": {"message": "overloaded", "type": "server_error", "code": 503}}), "provider_error", True),
    "gemini": (sse({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}), "provider_error", True),
    "anthropic": (
        sse({"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}, "error"),
        "provider_error",
        True,
    ),
}


async def test_an_error_amid_a_stream(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    event, code, retryable = ERRORS[dialect.provider]
    said = dialect.streamed(("one", " two"), ())
    last = next(place for place, one in enumerate(said) if " two" in one)
    serve(httpserver, dialect, events(*said[:last], event))
    received, error = await broken(wired)
    assert (received, error.code, error.retryable) == (["one"], code, retryable)
    assert "overloaded" in error.message


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("rate_limit_error", "rate_limited"),
        ("invalid_request_error", "bad_request"),
        ("unknown_error", "provider_error"),
    ],
)
async def test_errors_amid_a_stream_of_anthropic(httpserver: HTTPServer, kind: str, code: str) -> None:
    serve(httpserver, ANTHROPIC, events(sse({"type": "error", "error": {"type": kind, "message": "no"}}, "error")))
    async with opened(ANTHROPIC, httpserver.url_for("").rstrip("/")) as model:
        assert (await broken(model))[1].code == code


async def test_blocked_amid_a_stream(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    ends = {
        "openai": chunk("content_filter"),
        "gemini": sse(generated([], "SAFETY")),
        "anthropic": "".join(framed(stop="refusal")[-2:]),
    }
    said = dialect.streamed(("one", " two"), ())
    last = next(place for place, one in enumerate(said) if " two" in one)
    serve(httpserver, dialect, events(*said[:last], ends[dialect.provider]))
    *received, reply = await hear(wired, ask())
    assert received == ["one"]
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish) == ("one", "filtered")


@dataclass
class Line:
    """A server that sends the pieces it is given, in the end keeps the line open, and sees who hangs up."""

    url: str
    hung_up: threading.Event
    over: threading.Event


@pytest.fixture
def line(dialect: Dialect) -> Iterator[Callable[..., Line]]:
    """Begins with `first`, then sends `each` every 50 ms, for ever or `times` times, then `last`."""
    with HTTPServer(threaded=True) as server:
        over, hung_up = threading.Event(), threading.Event()

        def begin(first: str, each: str = "", times: int | None = None, last: str = "") -> Line:
            def speak() -> Iterator[str]:
                sent = 0
                try:
                    yield first
                    while not over.is_set() and (times is None or sent < times):
                        over.wait(0.05)
                        sent += 1
                        if each:
                            yield each
                    yield last
                except GeneratorExit:
                    hung_up.set()
                    raise

            def answer(_: HttpRequest) -> Response:
                return Response(speak(), content_type="text/event-stream")

            server.expect_request(dialect.stream_path).respond_with_handler(answer)
            return Line(server.url_for("").rstrip("/"), hung_up, over)

        yield begin
        over.set()


async def test_silence_is_a_timeout(dialect: Dialect, line: Callable[..., Line]) -> None:
    first, _ = until(dialect.streamed(("one", " two"), ()), "one")
    async with opened(dialect, line(first).url) as model:
        received, error = await broken(model, timeout=0.3)
    assert received == ["one"]
    assert (error.code, error.retryable) == ("timeout", True)


async def test_slow_speech_is_none(dialect: Dialect, line: Callable[..., Line]) -> None:
    """A sign of life every 50 ms for more than twice the longest silence."""
    first, rest = until(dialect.streamed(("one", " two"), ()), "one")
    async with opened(dialect, line(first, "\n", 14, rest).url) as model:
        assert whole(await hear(model, ask(), timeout=0.3)).text == "one two"


@pytest.mark.parametrize("how", ["closed", "left", "cancelled"])
async def test_leaving_early_hangs_up(dialect: Dialect, line: Callable[..., Line], how: str) -> None:
    first, _ = until(dialect.streamed(("one", " two"), ()), "one")
    server = line(first, "\n")

    async def leave() -> None:
        if how == "left":
            async for piece in model.stream(ask(), 10):
                assert piece in (ALIVE, "one")
                if piece:
                    return
        async with aclosing(model.stream(ask(), 10)) as pieces:
            while (piece := await anext(pieces)) == ALIVE:
                pass
            assert piece == "one"
            if how == "cancelled":
                await anext(pieces)

    async with opened(dialect, server.url) as model:
        if how == "cancelled":
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await leave()
        else:
            await leave()
        await apoll(server.hung_up.is_set, what="the server sees that nobody listens")
