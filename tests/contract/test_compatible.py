"""What servers that speak like OpenAI do otherwise: Ollama, vLLM, LM Studio, gateways. Each difference alone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as HttpRequest
from werkzeug import Response

from shared.models import ALIVE, Message, Model, ModelError, Piece, Reply, Request, ToolCall, Usage
from tests.contract.dialects import OPENAI, WEATHER, Body, ask, chunk, completion, sse

SCHEMA = {"type": "object", "properties": {"scope": {"type": "string"}}, "required": ["scope"]}
MOSCOW = {"city": "Москва"}


@pytest.fixture
async def local(httpserver: HTTPServer) -> AsyncIterator[Model]:
    """A model of a compatible server."""
    model = OPENAI.open(httpserver.url_for("").rstrip("/"), "qwen3:8b")
    yield model
    await model.close()


class Picky:
    """Answers 400 with `refusal` to whatever `minds`, and 200 to the rest."""

    def __init__(self, httpserver: HTTPServer, answer: Body | str) -> None:
        self.answer = answer
        self.rules: list[tuple[Any, str]] = []
        self.sent: list[Body] = []
        httpserver.expect_request(OPENAI.path).respond_with_handler(self._answer)

    def _answer(self, request: HttpRequest) -> Response:
        body = request.get_json()
        self.sent.append(body)
        for minds, refusal in self.rules:
            if minds(body):
                return Response(json.dumps({"error": {"message": refusal}}), 400, content_type="application/json")
        if isinstance(self.answer, str):
            return Response(self.answer, content_type="text/event-stream")
        return Response(json.dumps(self.answer), content_type="application/json")


def form(body: Body) -> str | None:
    wanted: str | None = body.get("response_format", {}).get("type")
    return wanted


async def hear(model: Model, **changes: Any) -> list[Piece]:
    return [piece async for piece in model.stream(ask(**changes), 10) if piece != ALIVE]


def called(arguments: Any, **rest: Any) -> Body:
    return {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": arguments}} | rest


async def whole(model: Model, httpserver: HTTPServer, body: Body) -> Reply:
    httpserver.clear()
    httpserver.expect_request(OPENAI.path).respond_with_json(body)
    return await model.complete(ask(tools=(WEATHER,)), 10)


async def spoken(model: Model, httpserver: HTTPServer, *events: str) -> Reply:
    httpserver.clear()
    httpserver.expect_request(OPENAI.path).respond_with_data("".join(events), content_type="text/event-stream")
    *received, reply = await hear(model, tools=(WEATHER,))
    assert isinstance(reply, Reply)
    assert tuple(piece for piece in received if not isinstance(piece, str)) == reply.calls
    return reply


async def test_nothing_strict_is_asked_for(local: Model, httpserver: HTTPServer) -> None:
    httpserver.expect_request(OPENAI.path).respond_with_json(completion('{"scope": "hot"}'))
    await local.complete(ask(tools=(WEATHER,), json_schema=SCHEMA), 10)
    assert "strict" not in json.dumps(httpserver.log[0][0].get_json())


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 3, "completion_tokens": None}])
async def test_odd_usage(local: Model, httpserver: HTTPServer, usage: Any) -> None:
    reply = await whole(local, httpserver, completion("ok") | {"usage": usage})
    assert reply.usage == Usage(3 if usage else 0, 0, 0)


@pytest.mark.parametrize("arguments", [MOSCOW, '{"city": "Москва"}'], ids=["object", "text"])
async def test_a_call_as_local_servers_make_it(local: Model, httpserver: HTTPServer, arguments: Any) -> None:
    """No text, arguments as an object, no id, no type, `stop` for an end."""
    call = {"function": {"name": "weather", "arguments": arguments}}
    reply = await whole(local, httpserver, completion(None, "stop", tool_calls=[call]))
    assert (reply.text, reply.finish, reply.calls[0].name) == ("", "tool_calls", "weather")
    assert json.loads(reply.calls[0].arguments) == MOSCOW
    assert reply.calls[0].id


@pytest.mark.parametrize("arguments", [None, "", "  ", {}])
async def test_no_arguments(local: Model, httpserver: HTTPServer, arguments: Any) -> None:
    reply = await whole(local, httpserver, completion(None, "tool_calls", tool_calls=[called(arguments)]))
    request = ask(tools=(WEATHER,))
    messages = (*request.messages, reply.message(), reply.calls[0].result("ok"))
    httpserver.clear()
    httpserver.expect_request(OPENAI.path).respond_with_json(completion("ok"))
    await local.complete(Request("FinalResponder", messages, tools=(WEATHER,)), 10)
    assert httpserver.log[-1][0].get_json()["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"


async def test_no_calls_said_with_null(local: Model, httpserver: HTTPServer) -> None:
    reply = await whole(local, httpserver, completion("ok", tool_calls=None, reasoning_content="Let me think."))
    assert (reply.text, reply.calls, reply.finish) == ("ok", (), "stop")
    assert reply.raw["message"]["reasoning_content"] == "Let me think."


async def test_text_in_parts(local: Model, httpserver: HTTPServer) -> None:
    parts: Any = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "o"}, {"type": "text", "text": "k"}]
    assert (await whole(local, httpserver, completion(parts))).text == "ok"


async def test_json_schema_refused(local: Model, httpserver: HTTPServer) -> None:
    """Asked once; from then on for a JSON object, with the schema in words."""
    server = Picky(httpserver, completion('{"scope": "hot"}'))
    server.rules.append((lambda body: form(body) == "json_schema", "'response_format.type' must be 'json_object'"))
    for _ in range(2):
        assert (await local.complete(ask(json_schema=SCHEMA, system="Be brief."), 10)).text == '{"scope": "hot"}'
    assert [form(body) for body in server.sent] == ["json_schema", "json_object", "json_object"]
    system = server.sent[-1]["messages"][0]["content"]
    assert system.startswith("Be brief.\n\n") and json.dumps(SCHEMA) in system
    assert (await local.complete(ask(), 10)).finish == "stop"
    assert form(server.sent[-1]) is None


async def test_any_response_format_refused(local: Model, httpserver: HTTPServer) -> None:
    server = Picky(httpserver, completion('{"scope": "hot"}'))
    server.rules.append((lambda body: "response_format" in body, "This response_format type is unavailable now"))
    for _ in range(2):
        await local.complete(ask(json_schema=SCHEMA), 10)
    assert [form(body) for body in server.sent] == ["json_schema", "json_object", None, None]


async def test_a_refusal_for_another_reason_is_not_asked_again(local: Model, httpserver: HTTPServer) -> None:
    server = Picky(httpserver, completion("ok"))
    server.rules.append((lambda body: True, "this model's maximum context length is 4096 tokens"))
    with pytest.raises(ModelError) as caught:
        await local.complete(ask(json_schema=SCHEMA), 10)
    assert (caught.value.code, len(server.sent)) == ("context_exceeded", 1)


async def test_a_refusal_that_stays_is_given_up(local: Model, httpserver: HTTPServer) -> None:
    server = Picky(httpserver, completion("ok"))
    server.rules.append((lambda body: True, "temperature is not supported, nor response_format"))
    with pytest.raises(ModelError):
        await local.complete(ask(json_schema=SCHEMA), 10)
    assert len(server.sent) == 4


async def test_a_reasoning_model_behind_another_name(local: Model, httpserver: HTTPServer) -> None:
    server = Picky(httpserver, completion("ok"))
    server.rules += [
        (
            lambda body: "max_tokens" in body,
            "'max_tokens': use 'max_completion_tokens' instead",
        ),
        (lambda body: "temperature" in body, "Unsupported value: 'temperature' does not support 0.7 with this model."),
    ]
    for _ in range(2):
        assert (await local.complete(ask(max_tokens=50), 10)).text == "ok"
    assert len(server.sent) == 4
    assert server.sent[-1]["max_completion_tokens"] == 50
    assert not {"max_tokens", "temperature"} & server.sent[-1].keys()


async def test_stream_options_refused(local: Model, httpserver: HTTPServer) -> None:
    server = Picky(httpserver, "".join((chunk(content="ok"), chunk("stop"), sse("[DONE]"))))
    server.rules.append((lambda body: "stream_options" in body, "Extra inputs are not permitted: stream_options"))
    for _ in range(2):
        *received, reply = await hear(local)
        assert received == ["ok"]
        assert isinstance(reply, Reply)
        assert (reply.text, reply.usage) == ("ok", Usage())
    assert ["stream_options" in body for body in server.sent] == [True, False, False]


async def test_a_stream_without_done_and_with_usage_in_its_last_chunk(local: Model, httpserver: HTTPServer) -> None:
    last = json.loads(chunk("stop").removeprefix("data: ")) | {"usage": {"prompt_tokens": 3, "completion_tokens": 1}}
    reply = await spoken(local, httpserver, ": keep-alive\n\n", chunk(content="ok"), sse(last))
    assert (reply.text, reply.usage) == ("ok", Usage(3, 1))


@pytest.mark.parametrize("numbered", [{"index": 0}, {}], ids=["all zero", "none"])
@pytest.mark.parametrize("named", [True, False], ids=["ids", "no ids"])
async def test_streamed_calls_without_numbers(
    local: Model, httpserver: HTTPServer, numbered: Body, named: bool
) -> None:
    """Two whole calls in one place: neither lost nor run together."""
    calls = [
        {**called(json.dumps({"city": city}), **({"id": f"c{n}"} if named else {"id": None})), **numbered}
        for n, city in enumerate(("Москва", "Париж"))
    ]
    events = [chunk(content=None, tool_calls=[call]) for call in calls]
    reply = await spoken(local, httpserver, *events, chunk("stop"), sse("[DONE]"))
    assert reply.finish == "tool_calls"
    assert [json.loads(call.arguments)["city"] for call in reply.calls] == ["Москва", "Париж"]
    assert len({call.id for call in reply.calls} - {""}) == 2


async def test_streamed_calls_that_take_turns(local: Model, httpserver: HTTPServer) -> None:
    """Both begin before either goes on; one repeats its id and name."""
    begun = [chunk(tool_calls=[called("", id=f"c{n}", index=n)]) for n in range(2)]
    halves = [
        chunk(tool_calls=[{"index": n, "function": {"arguments": half}}]) for half in ('{"a"', ":1}") for n in range(2)
    ]
    again = chunk(tool_calls=[called(" ", id="c1", index=1)])
    reply = await spoken(local, httpserver, *begun, *halves, again, chunk("tool_calls"), sse("[DONE]"))
    assert [(call.id, call.arguments.strip()) for call in reply.calls] == [("c0", '{"a":1}'), ("c1", '{"a":1}')]


async def test_a_call_is_given_out_before_the_next_begins(local: Model, httpserver: HTTPServer) -> None:
    first, second = (chunk(tool_calls=[called('{"a":1}', id=f"c{n}", index=n)]) for n in range(2))
    events = (first, second, chunk(content="Done."), chunk("tool_calls"))
    httpserver.expect_request(OPENAI.path).respond_with_data("".join(events), content_type="text/event-stream")
    pieces = await hear(local, tools=(WEATHER,))
    assert [piece.id if isinstance(piece, ToolCall) else piece for piece in pieces[:-1]] == ["c0", "Done.", "c1"]


async def test_streamed_arguments_as_an_object(local: Model, httpserver: HTTPServer) -> None:
    reply = await spoken(local, httpserver, chunk(tool_calls=[called(MOSCOW, index=0)]), chunk("tool_calls"))
    assert json.loads(reply.calls[0].arguments) == MOSCOW


async def test_streamed_reasoning_is_kept_but_not_said(local: Model, httpserver: HTTPServer) -> None:
    thought = (chunk(reasoning_content="Let me ", content=None), chunk(reasoning_content="think.", content=""))
    reply = await spoken(local, httpserver, *thought, chunk(content="ok"), chunk("stop"))
    assert (reply.text, reply.raw["message"]["reasoning_content"]) == ("ok", "Let me think.")


async def test_what_only_its_own_model_understands_stays_with_it(local: Model, httpserver: HTTPServer) -> None:
    reply = await whole(local, httpserver, completion("ok", reasoning_content="Let me think."))
    other = OPENAI.open(httpserver.url_for("").rstrip("/"), "gpt-4o")
    messages = (*ask().messages, reply.message(), Message("user", "And?"))
    for model, kept in ((local, True), (other, False)):
        await model.complete(Request("FinalResponder", messages), 10)
        assert ("reasoning_content" in httpserver.log[-1][0].get_json()["messages"][1]) is kept
    await other.close()
