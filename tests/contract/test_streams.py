"""What is said piece by piece, and that it is the same reply in the end."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from pytest_httpserver import HTTPServer

from maas.builtin_model import BuiltinModel
from shared.models import Message, Model, ModelError, Reply, Request, ToolCall, Usage, read_arguments
from tests.contract.dialects import (
    ANTHROPIC,
    CLOCK,
    GEMINI,
    OPENAI,
    WEATHER,
    Body,
    Dialect,
    ask,
    block,
    call,
    framed,
    generated,
    sse,
)
from tests.contract.hearing import events, hear, opened, serve, whole

TEXTS = ("Да", ", снег ", "❄ שלום", "\n")
CALLS = (call("weather", {"city": "Москва"}, "call_1"), call("clock", {}, "call_2"))
TOOLS = (WEATHER, CLOCK)


async def test_text_comes_as_it_is_said(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    serve(httpserver, dialect, events(*dialect.streamed(TEXTS, ())))
    *received, last = await hear(wired, ask())
    assert received == list(TEXTS)
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
    for turn in (reply.message(), replace(reply.message(), raw={})):
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
        *received, last = await hear(model, ask())
    assert received == ["Yes."]
    assert isinstance(last, Reply)
    assert last.raw["content"] == [
        {"type": "thinking", "thinking": "Hm", "signature": "sealed"},
        {"type": "redacted_thinking", "data": "secret"},
        {"type": "text", "text": "Yes."},
    ]


async def test_thoughts_of_gemini_are_kept_but_not_said(httpserver: HTTPServer) -> None:
    parts: list[Body] = [
        {"text": "H", "thought": True},
        {"text": "m", "thought": True},
        {"text": "Ye"},
        {"text": "s."},
        {"text": "", "thoughtSignature": "AAAA"},
    ]
    chunks = [sse(generated([part], "STOP" if part is parts[-1] else None)) for part in parts]
    serve(httpserver, GEMINI, events(*chunks))
    async with opened(GEMINI, httpserver.url_for("").rstrip("/")) as model:
        *received, last = await hear(model, ask())
    assert received == ["Ye", "s."]
    assert isinstance(last, Reply)
    assert last.raw["parts"] == [
        {"text": "Hm", "thought": True},
        {"text": "Yes."},
        {"text": "", "thought_signature": "AAAA"},
    ]


async def test_arguments_that_are_no_json_crash_nothing(httpserver: HTTPServer) -> None:
    """They come as they are, and go back as an empty object."""
    bad = ToolCall("call_1", "weather", '{"city": "Mos')
    streams = {
        OPENAI.provider: OPENAI.streamed((), (bad,)),
        ANTHROPIC.provider: framed(
            *block(
                0,
                {"type": "tool_use", "id": "call_1", "name": "weather", "input": {}},
                {"type": "input_json_delta", "partial_json": bad.arguments},
            ),
            stop="tool_use",
        ),
    }
    for dialect in (OPENAI, ANTHROPIC):
        httpserver.clear()
        serve(httpserver, dialect, events(*streams[dialect.provider]))
        async with opened(dialect, httpserver.url_for("").rstrip("/")) as model:
            reply = whole(await hear(model, ask(tools=TOOLS)))
            assert reply.calls == (bad,)
            with pytest.raises(ValueError):
                read_arguments(reply.calls[0].arguments)
            request = ask(tools=TOOLS)
            turns = (*request.messages, reply.message(), bad.result("not JSON", is_error=True))
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


async def test_a_stream_of_the_built_in_model() -> None:
    model = BuiltinModel()
    inputs = {"user_query": "What is my cat called?", "candidates": (), "memory_score": 0.0}
    request = Request("Analyzer", (Message("user", "?"),), inputs=inputs)
    text, reply = await hear(model, request)
    assert reply == await model.complete(request, 1)
    assert isinstance(text, str) and isinstance(json.loads(text), dict)
    with pytest.raises(ModelError):
        await hear(model, ask())
