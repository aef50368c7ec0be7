"""What a model says, and how it is asked."""

from __future__ import annotations

import json

import pytest
from pytest_httpserver import HTTPServer

from shared.models import Message, Model, Reply, Request, Usage
from tests.aimock import Aimock
from tests.contract.dialects import ANTHROPIC, DIALECTS, GEMINI, OPENAI, Body, Dialect, ask, generated, message

SCHEMA = {"type": "object", "properties": {"scope": {"type": "string"}}, "required": ["scope"]}


async def test_text_of_any_language(model: Model, aimock: Aimock) -> None:
    said = "Рекс — собака 🐕, 你好 \n\tend"
    aimock.say(said, to="Как зовут собаку")
    reply = await model.complete(ask("Как зовут собаку? <b>&amp;</b>"), 10)
    assert (reply.text, reply.finish, reply.calls) == (said, "stop", ())


async def test_request_on_the_wire(model: Model, aimock: Aimock, dialect: Dialect) -> None:
    aimock.say("ok")
    talk = (Message("user", "Привет"), Message("assistant", "Здравствуйте"), Message("user", "Кто я?"))
    await model.complete(
        Request("FinalResponder", talk, system="Ты наставник.", temperature=0.25, max_tokens=123, inputs={"x": 1}), 10
    )
    (entry,) = aimock.journal()
    assert entry["path"] == dialect.path
    body = entry["body"]
    assert body["model"] == dialect.model
    assert (body["temperature"], body["max_tokens"]) == (0.25, 123)
    assert [(turn["role"], turn["content"]) for turn in body["messages"]] == [
        ("system", "Ты наставник."),
        ("user", "Привет"),
        ("assistant", "Здравствуйте"),
        ("user", "Кто я?"),
    ]


async def test_what_cannot_be_sent_is_left_out(model: Model, aimock: Aimock) -> None:
    aimock.say("ok")
    await model.complete(ask("a\x00b\ud800c", system="d\x01e"), 10)
    (entry,) = aimock.journal()
    assert [turn["content"] for turn in entry["body"]["messages"]] == ["de", "abc"]


async def test_what_postgres_refuses_is_left_out(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    httpserver.expect_request(dialect.path).respond_with_json(dialect.said("a\x00b\x1fc\r\nd", ()))
    assert (await wired.complete(ask(), 10)).text == "abc\nd"


async def test_usage(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    httpserver.expect_request(dialect.path).respond_with_json(dialect.said("ok", ()))
    assert (await wired.complete(ask(), 10)).usage == Usage(21, 8, 5)


async def test_usage_may_be_missing(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    body = {key: value for key, value in dialect.said("ok", ()).items() if not key.startswith("usage")}
    httpserver.expect_request(dialect.path).respond_with_json(body)
    reply = await wired.complete(ask(), 10)
    assert (reply.text, reply.usage) == ("ok", Usage())


async def test_json_schema(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    httpserver.expect_request(dialect.path).respond_with_json(dialect.said('{"scope": "hot"}', ()))
    reply = await wired.complete(ask(json_schema=SCHEMA), 10)
    assert json.loads(reply.text) == {"scope": "hot"}
    sent = httpserver.log[0][0].get_json()
    if dialect is OPENAI:
        form = {"type": "json_schema", "json_schema": {"name": "FinalResponder", "schema": SCHEMA}}
        assert sent["response_format"] == form
    elif dialect is ANTHROPIC:
        form = {"type": "json_schema", "schema": SCHEMA | {"additionalProperties": False}}
        assert sent["output_config"] == {"format": form}
    else:
        assert sent["generationConfig"]["responseMimeType"] == "application/json"
        assert sent["generationConfig"]["responseJsonSchema"] == SCHEMA


async def test_text_is_asked_for_without_a_schema(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    httpserver.expect_request(dialect.path).respond_with_json(dialect.said("ok", ()))
    await wired.complete(ask(), 10)
    sent = httpserver.log[0][0].get_json()
    assert not {"response_format", "output_config", "tools", "tool_choice", "toolConfig", "system"} & sent.keys()
    assert "responseMimeType" not in sent.get("generationConfig", {})


async def test_the_limit_was_reached(model: Model, aimock: Aimock) -> None:
    aimock.say("cut", finishReason="length")
    reply = await model.complete(ask(), 10)
    assert (reply.text, reply.finish) == ("cut", "length")


async def test_a_refused_answer(model: Model, aimock: Aimock, dialect: Dialect) -> None:
    aimock.say("I can", finishReason=dialect.refusal)
    assert (await model.complete(ask(), 10)).finish == "filtered"


@pytest.mark.parametrize(
    ("dialect", "number"),
    [(dialect, number) for dialect in DIALECTS for number in range(len(dialect.empty))],
    ids=lambda value: value.provider if isinstance(value, Dialect) else str(value),
)
async def test_nothing_was_said(wired: Model, dialect: Dialect, httpserver: HTTPServer, number: int) -> None:
    httpserver.expect_request(dialect.path).respond_with_json(dialect.empty[number])
    reply = await wired.complete(ask(), 10)
    assert (reply.text, reply.finish) == ("", "malformed")


@pytest.mark.parametrize(
    ("dialect", "number"),
    [(dialect, number) for dialect in DIALECTS for number in range(len(dialect.blocked))],
    ids=lambda value: value.provider if isinstance(value, Dialect) else str(value),
)
async def test_safety_block(wired: Model, dialect: Dialect, httpserver: HTTPServer, number: int) -> None:
    httpserver.expect_request(dialect.path).respond_with_json(dialect.blocked[number])
    assert (await wired.complete(ask(), 10)).finish == "filtered"


@pytest.mark.parametrize(
    ("said", "finish"),
    [("stop_sequence", "stop"), ("pause_turn", "length"), ("model_context_window_exceeded", "length"), ("new", "stop")],
)
async def test_other_ends_of_anthropic(httpserver: HTTPServer, said: str, finish: str) -> None:
    httpserver.expect_request(ANTHROPIC.path).respond_with_json(message([{"type": "text", "text": "Well"}], said))
    assert (await _complete(ANTHROPIC, httpserver)).finish == finish


@pytest.mark.parametrize(
    ("said", "finish"),
    [("MALFORMED_FUNCTION_CALL", "malformed"), ("OTHER", "error"), ("RECITATION", "filtered"), ("NEWER", "filtered")],
)
@pytest.mark.filterwarnings("ignore:NEWER is not a valid FinishReason")
async def test_other_ends_of_gemini(httpserver: HTTPServer, said: str, finish: str) -> None:
    httpserver.expect_request(GEMINI.path).respond_with_json(generated([{"text": "Well"}], said))
    assert (await _complete(GEMINI, httpserver)).finish == finish


async def test_all_texts_are_joined_and_thoughts_left_out(httpserver: HTTPServer) -> None:
    """Each part is read."""
    parts: list[Body] = [{"text": "Let me think.", "thought": True}, {"text": "Re"}, {"text": "x."}]
    httpserver.expect_request(GEMINI.path).respond_with_json(generated(parts))
    assert (await _complete(GEMINI, httpserver)).text == "Rex."
    blocks = [{"type": "thinking", "thinking": "Hm", "signature": "s"}, *({"type": "text", "text": t} for t in "ab")]
    httpserver.expect_request(ANTHROPIC.path).respond_with_json(message(blocks))
    assert (await _complete(ANTHROPIC, httpserver)).text == "ab"


async def _complete(dialect: Dialect, httpserver: HTTPServer) -> Reply:
    model = dialect.open(httpserver.url_for("").rstrip("/"))
    try:
        return await model.complete(ask(), 10)
    finally:
        await model.close()
