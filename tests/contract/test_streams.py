"""What is said piece by piece: the same reply in the end, and every way in which a stream fails."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as HttpRequest
from werkzeug import Response

from shared.models.dialogue import read_arguments
from shared.models.registry import open_model
from shared.models.types import Message, Model, ModelError, Piece, Reply, Request, ToolCall, Usage
from shared.settings import load_settings
from tests.aimock import Aimock
from tests.contract.dialects import (
    ANTHROPIC,
    CLOCK,
    GEMINI,
    KEY,
    OPENAI,
    WEATHER,
    Body,
    Dialect,
    ask,
    block,
    call,
    chunk,
    framed,
    generated,
    sse,
)
from tests.polling import apoll

TEXTS = ("Да", ", снег ", "❄ שלום", "\n")
CALLS = (call("weather", {"city": "Москва"}, "call_1"), call("clock", {}, "call_2"))
TOOLS = (WEATHER, CLOCK)


def events(*texts: str) -> Response:
    return Response("".join(texts), content_type="text/event-stream")


def serve(httpserver: HTTPServer, dialect: Dialect, answer: Response) -> None:
    httpserver.expect_request(dialect.stream_path).respond_with_response(answer)


async def hear(model: Model, request: Request, timeout: float = 10) -> list[Piece]:
    async with aclosing(model.stream(request, timeout)) as pieces:
        return [piece async for piece in pieces]


async def broken(model: Model, timeout: float = 10) -> tuple[list[Piece], ModelError]:
    """What came before the failure, and the failure."""
    heard: list[Piece] = []
    with pytest.raises(ModelError) as caught:
        async with aclosing(model.stream(ask(), timeout)) as pieces:
            async for piece in pieces:
                heard.append(piece)
    return heard, caught.value


def whole(pieces: Sequence[Piece]) -> Reply:
    assert [type(piece) for piece in pieces].count(Reply) == 1
    assert isinstance(pieces[-1], Reply)
    return pieces[-1]


async def test_text_comes_as_it_is_said(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    serve(httpserver, dialect, events(*dialect.streamed(TEXTS, ())))
    *heard, last = await hear(wired, ask())
    assert heard == list(TEXTS)
    assert isinstance(last, Reply)
    assert (last.text, last.finish, last.calls, last.usage) == ("".join(TEXTS), "stop", (), Usage(21, 8, 5))


async def test_the_whole_is_what_complete_gives(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    request = ask(tools=TOOLS)
    serve(httpserver, dialect, events(*dialect.streamed(("Да, ", "снег"), CALLS)))
    streamed = whole(await hear(wired, request))
    httpserver.clear()
    httpserver.expect_request(dialect.path).respond_with_json(dialect.said("Да, снег", CALLS))
    assert streamed == await wired.complete(request, 10)


async def test_calls_come_once_they_are_whole(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    serve(httpserver, dialect, events(*dialect.streamed(("Смотрю",), CALLS)))
    pieces = await hear(wired, ask(tools=TOOLS))
    assert pieces[:-1] == ["Смотрю", *CALLS]
    assert (whole(pieces).calls, whole(pieces).finish) == (CALLS, "tool_calls")


async def test_calls_without_ids_are_named_once(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    nameless = tuple(replace(one, id="") for one in CALLS)
    serve(httpserver, dialect, events(*dialect.streamed((), nameless)))
    pieces = await hear(wired, ask(tools=TOOLS))
    assert tuple(pieces[:-1]) == whole(pieces).calls
    assert len({one.id for one in whole(pieces).calls} - {""}) == 2


async def test_a_streamed_turn_goes_back_like_another(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    request = ask(tools=TOOLS)
    serve(httpserver, dialect, events(*dialect.streamed(("Смотрю",), CALLS)))
    reply = whole(await hear(wired, request))
    results = [one.result("снег") for one in reply.calls]
    httpserver.clear()
    httpserver.expect_request(dialect.path).respond_with_json(dialect.said("Снег.", ()))
    bodies = []
    for turn in (reply.turn(), replace(reply.turn(), raw={})):
        await wired.complete(replace(request, messages=(*request.messages, turn, *results)), 10)
        bodies.append(httpserver.log[-1][0].get_json())
    assert bodies[0] == bodies[1]


async def test_usage_may_be_missing(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    said = "".join(dialect.streamed(("ok",), ())).replace('"usage', '"unknown')
    serve(httpserver, dialect, events(said))
    assert (whole(await hear(wired, ask())).text, whole(await hear(wired, ask())).usage) == ("ok", Usage())


async def test_thoughts_of_anthropic_are_kept_but_not_said(httpserver: HTTPServer) -> None:
    thought: list[Body] = [{"type": "thinking_delta", "thinking": "H"}, {"type": "thinking_delta", "thinking": "m"}]
    signed = {"type": "signature_delta", "signature": "sealed"}
    said = [
        *block(0, {"type": "thinking", "thinking": "", "signature": ""}, *thought, signed),
        *block(1, {"type": "redacted_thinking", "data": "secret"}),
        *block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Yes."}),
    ]
    serve(httpserver, ANTHROPIC, events(*framed(*said)))
    async with opened(ANTHROPIC, httpserver.url_for("").rstrip("/")) as model:
        *heard, last = await hear(model, ask())
    assert heard == ["Yes."]
    assert isinstance(last, Reply)
    assert last.raw["content"] == [
        {"type": "thinking", "thinking": "Hm", "signature": "sealed"},
        {"type": "redacted_thinking", "data": "secret"},
        {"type": "text", "text": "Yes."},
    ]


async def test_thoughts_of_gemini_are_kept_but_not_said(httpserver: HTTPServer) -> None:
    parts: list[Body] = [
        {"text": "H", "thought": True}, {"text": "m", "thought": True}, {"text": "Ye"}, {"text": "s."},
        {"text": "", "thoughtSignature": "AAAA"},
    ]  # fmt: skip
    chunks = [sse(generated([part], "STOP" if part is parts[-1] else None)) for part in parts]
    serve(httpserver, GEMINI, events(*chunks))
    async with opened(GEMINI, httpserver.url_for("").rstrip("/")) as model:
        *heard, last = await hear(model, ask())
    assert heard == ["Ye", "s."]
    assert isinstance(last, Reply)
    assert last.raw["parts"] == [
        {"text": "Hm", "thought": True}, {"text": "Yes."}, {"text": "", "thought_signature": "AAAA"},
    ]  # fmt: skip


async def test_arguments_that_are_no_json_crash_nothing(httpserver: HTTPServer) -> None:
    """[STK-43] They come as they are, and go back as an empty object."""
    bad = ToolCall("call_1", "weather", '{"city": "Mos')
    streams = {
        OPENAI.provider: OPENAI.streamed((), (bad,)),
        ANTHROPIC.provider: framed(
            *block(0, {"type": "tool_use", "id": "call_1", "name": "weather", "input": {}},
                   {"type": "input_json_delta", "partial_json": bad.arguments}),
            stop="tool_use",
        ),
    }  # fmt: skip
    for dialect in (OPENAI, ANTHROPIC):
        httpserver.clear()
        serve(httpserver, dialect, events(*streams[dialect.provider]))
        async with opened(dialect, httpserver.url_for("").rstrip("/")) as model:
            reply = whole(await hear(model, ask(tools=TOOLS)))
            assert reply.calls == (bad,)
            with pytest.raises(ValueError):
                read_arguments(reply.calls[0].arguments)
            request = ask(tools=TOOLS)
            turns = (*request.messages, reply.turn(), bad.result("not JSON", is_error=True))
            await hear(model, replace(request, messages=turns))
        asked = httpserver.log[-1][0].get_json()["messages"][1]
        sent = asked["tool_calls"][0]["function"]["arguments"] if dialect is OPENAI else asked["content"][0]["input"]
        assert sent == ("{}" if dialect is OPENAI else {})


def test_openai_asks_for_usage_at_the_end(httpserver: HTTPServer) -> None:
    async def run() -> None:
        async with opened(OPENAI, httpserver.url_for("").rstrip("/")) as model:
            await hear(model, ask())

    serve(httpserver, OPENAI, events(*OPENAI.streamed(("ok",), ())))
    asyncio.run(run())
    body = httpserver.log[0][0].get_json()
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


async def test_gemini_may_take_longer_than_its_silence(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    serve(httpserver, dialect, events(*dialect.streamed(("ok",), ())))
    await hear(wired, ask(), timeout=3)
    assert httpserver.log[0][0].headers.get("X-Server-Timeout") == ("600" if dialect is GEMINI else None)


# Failures


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [(400, "bad_request", False), (401, "unauthorized", False), (404, "unknown_model", False),
     (429, "rate_limited", True), (503, "provider_error", True), (529, "provider_error", True)],
)  # fmt: skip
async def test_status(
    wired: Model, dialect: Dialect, httpserver: HTTPServer, status: int, code: str, retryable: bool
) -> None:
    body = {"error": {"message": f"no luck with {KEY}"}}
    httpserver.expect_request(dialect.stream_path).respond_with_json(body, status, {"Retry-After": "7"})
    heard, error = await broken(wired)
    assert (heard, error.code, error.retryable, error.retry_after) == ([], code, retryable, 7)
    assert KEY not in error.message
    assert len(httpserver.log) == 1


async def test_a_stream_without_its_end_is_cut(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    """The connection is closed in good order, but the reply is not whole."""
    said = dialect.streamed(("one", " two"), ())
    last = next(place for place, event in enumerate(said) if " two" in event)
    serve(httpserver, dialect, events(*said[:last]))
    heard, error = await broken(wired)
    assert heard == ["one"]
    assert (error.code, error.retryable) == ("unreachable", True)


async def test_a_stream_that_breaks_off(model: Model, aimock: Aimock) -> None:
    """The protocol server hangs up after eight events."""
    words = {"match": {}, "response": {"content": "word " * 200}, "chunkSize": 5, "latency": 20}
    aimock.fixtures(words | {"truncateAfterChunks": 8})
    heard, error = await broken(model)
    assert heard
    assert (error.code, error.retryable) == ("unreachable", True)


async def test_nothing_at_all(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    serve(httpserver, dialect, events())
    heard, error = await broken(wired)
    assert (heard, error.code, error.retryable) == ([], "unreachable", True)


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
    heard, error = await broken(wired)
    assert (heard, error.code, error.retryable) == (["one"], code, retryable)
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
    *heard, reply = await hear(wired, ask())
    assert heard == ["one"]
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


@asynccontextmanager
async def opened(dialect: Dialect, url: str) -> AsyncIterator[Model]:
    model = dialect.open(url)
    try:
        yield model
    finally:
        await model.close()


def until(said: Sequence[str], word: str) -> tuple[str, str]:
    """The events up to the one with `word`, and the others."""
    place = next(place for place, event in enumerate(said) if word in event) + 1
    return "".join(said[:place]), "".join(said[place:])


async def test_silence_is_a_timeout(dialect: Dialect, line: Callable[..., Line]) -> None:
    first, _ = until(dialect.streamed(("one", " two"), ()), "one")
    async with opened(dialect, line(first).url) as model:
        heard, error = await broken(model, timeout=0.3)
    assert heard == ["one"]
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
                assert piece == "one"
                return
        async with aclosing(model.stream(ask(), 10)) as pieces:
            assert await anext(pieces) == "one"
            if how == "cancelled":
                await anext(pieces)

    async with opened(dialect, server.url) as model:
        if how == "cancelled":
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await leave()
        else:
            await leave()
        await apoll(server.hung_up.is_set, 5, "the server sees that nobody listens")


async def test_a_stream_of_the_built_in_model() -> None:
    model = open_model("extractive:builtin", load_settings())
    inputs = {"user_query": "What is my cat called?", "candidates": (), "memory_score": 0.0}
    request = Request("Analyzer", (Message("user", "?"),), inputs=inputs)
    text, reply = await hear(model, request)
    assert reply == await model.complete(request, 1)
    assert isinstance(text, str) and isinstance(json.loads(text), dict)
    with pytest.raises(ModelError):
        await hear(model, ask())
