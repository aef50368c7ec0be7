"""What a model says, and how it is asked."""

from __future__ import annotations

import base64
import json

import pytest
from pytest_httpserver import HTTPServer

from shared.models.types import Message, Model, Request, Usage
from tests.aimock import Aimock
from tests.contract.dialects import GEMINI, OPENAI, Dialect, ask

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
        ("system", "Ты наставник."), ("user", "Привет"), ("assistant", "Здравствуйте"), ("user", "Кто я?"),
    ]  # fmt: skip


async def test_what_cannot_be_sent_is_left_out(model: Model, aimock: Aimock) -> None:
    aimock.say("ok")
    await model.complete(ask("a\x00b\ud800c", system="d\x01e"), 10)
    (entry,) = aimock.journal()
    assert [turn["content"] for turn in entry["body"]["messages"]] == ["de", "abc"]


async def test_what_postgres_refuses_is_left_out(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    httpserver.expect_request(dialect.path).respond_with_json(dialect.said("a\x00b\x1fc\r\nd"))
    assert (await wired.complete(ask(), 10)).text == "abc\nd"


async def test_usage(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    httpserver.expect_request(dialect.path).respond_with_json(dialect.said("ok"))
    assert (await wired.complete(ask(), 10)).usage == Usage(21, 8, 5)


async def test_usage_may_be_missing(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    body = {key: value for key, value in dialect.said("ok").items() if not key.startswith("usage")}
    httpserver.expect_request(dialect.path).respond_with_json(body)
    reply = await wired.complete(ask(), 10)
    assert (reply.text, reply.usage) == ("ok", Usage())


async def test_json_schema(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    httpserver.expect_request(dialect.path).respond_with_json(dialect.said('{"scope": "hot"}'))
    reply = await wired.complete(ask(json_schema=SCHEMA), 10)
    assert json.loads(reply.text) == {"scope": "hot"}
    sent = httpserver.log[0][0].get_json()
    if dialect is OPENAI:
        form = {"type": "json_schema", "json_schema": {"name": "FinalResponder", "schema": SCHEMA}}
        assert sent["response_format"] == form
    else:
        assert sent["generationConfig"]["responseMimeType"] == "application/json"
        assert sent["generationConfig"]["responseJsonSchema"] == SCHEMA


async def test_text_is_asked_for_without_a_schema(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    httpserver.expect_request(dialect.path).respond_with_json(dialect.said("ok"))
    await wired.complete(ask(), 10)
    sent = httpserver.log[0][0].get_json()
    assert "response_format" not in sent
    assert "responseMimeType" not in sent.get("generationConfig", {})


@pytest.mark.parametrize(("finish", "expected"), [("length", "length"), ("content_filter", "filtered")])
async def test_finish(model: Model, aimock: Aimock, finish: str, expected: str) -> None:
    aimock.say("cut", finishReason=finish)
    assert (await model.complete(ask(), 10)).finish == expected


async def test_tool_calls(model: Model, aimock: Aimock) -> None:
    call = {"name": "find", "arguments": {"city": "Москва"}}
    aimock.fixtures({"match": {}, "response": {"toolCalls": [call], "finishReason": "stop"}})
    reply = await model.complete(ask(), 10)
    (found,) = reply.calls
    assert (found.name, json.loads(found.arguments), reply.finish) == ("find", {"city": "Москва"}, "tool_calls")
    assert found.id


async def test_nothing_was_said(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    httpserver.expect_request(dialect.path).respond_with_json(dialect.empty)
    reply = await wired.complete(ask(), 10)
    assert (reply.text, reply.finish) == ("", "malformed")


@pytest.mark.parametrize(
    ("dialect", "number"),
    [(dialect, number) for dialect in (OPENAI, GEMINI) for number in range(len(dialect.blocked))],
    ids=lambda value: value.provider if isinstance(value, Dialect) else str(value),
)
async def test_safety_block(wired: Model, dialect: Dialect, httpserver: HTTPServer, number: int) -> None:
    httpserver.expect_request(dialect.path).respond_with_json(dialect.blocked[number])
    assert (await wired.complete(ask(), 10)).finish == "filtered"


@pytest.mark.parametrize("name", ["gpt-5", "gpt-5-mini", "gpt-5.2", "o1", "o3-mini", "o4-mini", "openai/gpt-5"])
async def test_reasoning_models_get_their_own_parameters(httpserver: HTTPServer, name: str) -> None:
    sent = await _sent_to_openai(httpserver, name)
    assert sent["max_completion_tokens"] == 50
    assert not {"max_tokens", "temperature"} & sent.keys()


@pytest.mark.parametrize("name", ["gpt-4o", "gpt-4.1-mini", "gpt-oss:20b", "llama3.2", "omni", "qwen/qwen3-8b"])
async def test_other_models_get_the_usual_parameters(httpserver: HTTPServer, name: str) -> None:
    sent = await _sent_to_openai(httpserver, name)
    assert (sent["max_tokens"], sent["temperature"]) == (50, 0.5)
    assert "max_completion_tokens" not in sent


async def _sent_to_openai(httpserver: HTTPServer, name: str) -> dict[str, object]:
    httpserver.expect_request(OPENAI.path).respond_with_json(OPENAI.said("ok"))
    model = OPENAI.open(httpserver.url_for("").rstrip("/"), name)
    await model.complete(ask(temperature=0.5, max_tokens=50), 10)
    await model.close()
    sent: dict[str, object] = httpserver.log[0][0].get_json()
    assert sent["model"] == name
    return sent


async def test_gemini_parts_are_kept_as_they_came(httpserver: HTTPServer) -> None:
    signature = base64.b64encode(b"\x00\xffsigned").decode()
    parts = [
        {"text": "Let me think.", "thought": True},
        {"text": "Rex.", "thoughtSignature": signature},
        {"functionCall": {"name": "find", "args": {"q": "Рекс"}}, "thoughtSignature": signature},
    ]
    body = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
    httpserver.expect_request(GEMINI.path).respond_with_json(body)
    model = GEMINI.open(httpserver.url_for("").rstrip("/"))
    reply = await model.complete(ask(), 10)
    await model.close()
    assert (reply.text, reply.finish) == ("Rex.", "tool_calls")
    assert [(call.id, call.name, call.arguments) for call in reply.calls] == [("call-2", "find", '{"q": "Рекс"}')]
    assert [part.get("thought_signature") for part in reply.raw["parts"]] == [None, signature, signature]
