"""Tools: how they are offered, what calls become, and how a dialogue goes on, on its own provider or another."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from shared.models import Message, Model, Reply, Request, read_arguments
from tests.aimock import Aimock
from tests.contract.dialects import (
    ANTHROPIC,
    CITY,
    CLOCK,
    DIALECTS,
    GEMINI,
    KEY,
    OPENAI,
    WEATHER,
    Body,
    Dialect,
    ask,
    call,
    completion,
    generated,
    message,
)

SIGNATURE = base64.b64encode(b"\x00\xff\xfesigned").decode()
SENT = SIGNATURE.replace("+", "-").replace("/", "_")  # the same bytes, as Gemini's SDK writes them
TWO = (call("weather", {"city": "Москва"}, "call_1"), call("weather", {"city": "Париж 🗼"}, "call_2"))


def url(httpserver: HTTPServer) -> str:
    return httpserver.url_for("").rstrip("/")


def sent(httpserver: HTTPServer) -> Body:
    body: Body = httpserver.log[-1][0].get_json()
    return body


def grown(request: Request, *turns: Message) -> Request:
    return replace(request, messages=(*request.messages, *turns))


async def say(dialect: Dialect, httpserver: HTTPServer, body: Body, request: Request, name: str = "") -> Reply:
    """What the provider's model makes of `body`."""
    httpserver.clear()
    path = dialect.path.replace(dialect.model, name or dialect.model)
    httpserver.expect_request(path).respond_with_json(body)
    model = dialect.open(url(httpserver), name or None)
    try:
        return await model.complete(request, 10)
    finally:
        await model.close()


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
async def test_how_tools_are_offered(dialect: Dialect, httpserver: HTTPServer, choice: Any) -> None:
    await say(dialect, httpserver, dialect.said("ok", ()), ask(tools=(WEATHER, CLOCK), tool_choice=choice))
    body, headers = sent(httpserver), httpserver.log[-1][0].headers
    nothing = {"type": "object", "properties": {}}
    offered: Any
    if dialect is OPENAI:
        offered = [
            {"name": "weather", "description": WEATHER.description, "parameters": CITY},
            {"name": "clock", "description": CLOCK.description, "parameters": nothing},
        ]
        assert body["tools"] == [{"type": "function", "function": one} for one in offered]
        assert body["tool_choice"] == choice
        assert headers["authorization"] == f"Bearer {KEY}"
    elif dialect is GEMINI:
        offered = [
            {"name": "weather", "description": WEATHER.description, "parameters_json_schema": CITY},
            {"name": "clock", "description": CLOCK.description},
        ]
        assert body["tools"] == [{"functionDeclarations": offered}]
        mode = {"auto": "AUTO", "none": "NONE", "required": "ANY"}[choice]
        assert body["toolConfig"] == {"functionCallingConfig": {"mode": mode}}
        assert headers["x-goog-api-key"] == KEY
    else:
        offered = [
            {"name": "weather", "description": WEATHER.description, "input_schema": CITY},
            {"name": "clock", "description": CLOCK.description, "input_schema": nothing},
        ]
        assert body["tools"] == offered
        assert body["tool_choice"] == {"type": {"required": "any"}.get(choice, choice)}
        assert headers["authorization"] == f"Bearer {KEY}"


async def test_calls_beside_text(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    """Several calls, and what was said with them."""
    httpserver.expect_request(dialect.path).respond_with_json(dialect.said("Let me look. 🔎", TWO))
    reply = await wired.complete(ask(tools=(WEATHER,)), 10)
    assert (reply.text, reply.finish, reply.calls) == ("Let me look. 🔎", "tool_calls", TWO)


async def test_a_call_cut_off_is_no_call_to_run(wired: Model, dialect: Dialect, httpserver: HTTPServer) -> None:
    cut = {
        "openai": completion(None, "length", tool_calls=OPENAI.said("", TWO)["choices"][0]["message"]["tool_calls"]),
        "gemini": generated(GEMINI.said("", TWO)["candidates"][0]["content"]["parts"], "MAX_TOKENS"),
        "anthropic": message(ANTHROPIC.said("", TWO)["content"], "max_tokens"),
    }
    httpserver.expect_request(dialect.path).respond_with_json(cut[dialect.provider])
    assert (await wired.complete(ask(tools=(WEATHER,)), 10)).finish == "length"


async def test_results_are_grouped_as_the_provider_wants_them(dialect: Dialect, httpserver: HTTPServer) -> None:
    """They came in another order than the calls, one of them is an error and one has no words."""
    request = ask(tools=(WEATHER,))
    reply = await say(dialect, httpserver, dialect.said("", TWO), request)
    results = (reply.calls[1].result("", is_error=True), reply.calls[0].result("снег ❄"))
    await say(
        dialect, httpserver, dialect.said("ok", ()), grown(request, reply.message(), *results, Message("user", "И?"))
    )
    body = sent(httpserver)
    if dialect is OPENAI:
        assert body["messages"][2:] == [
            {"role": "tool", "tool_call_id": "call_1", "content": "снег ❄"},
            {"role": "tool", "tool_call_id": "call_2", "content": ""},
            {"role": "user", "content": "И?"},
        ]
    elif dialect is GEMINI:
        parts = [
            {"functionResponse": {"id": "call_1", "name": "weather", "response": {"output": "снег ❄"}}},
            {"functionResponse": {"id": "call_2", "name": "weather", "response": {"error": ""}}},
        ]
        assert body["contents"][2:] == [
            {"role": "user", "parts": parts},
            {"role": "user", "parts": [{"text": "И?"}]},
        ]
    else:
        answers: list[Body] = [
            {"type": "tool_result", "tool_use_id": "call_1", "content": "снег ❄", "is_error": False},
            {"type": "tool_result", "tool_use_id": "call_2", "is_error": True},
        ]
        assert body["messages"][2:] == [{"role": "user", "content": answers}, {"role": "user", "content": "И?"}]


OWN: dict[str, tuple[Body, Body]] = {
    "openai": (
        completion(
            "Hm.",
            "tool_calls",
            reasoning_content="weather?",
            tool_calls=[
                {"id": "functions.weather:0", "type": "function", "extra_content": {"google": {"thought": "x"}},
                 "function": {"name": "weather", "arguments": '{"city":  "Москва"}'}},
            ],
        ),
        {
            "role": "assistant", "content": "Hm.", "reasoning_content": "weather?",
            "tool_calls": [
                {"id": "functions.weather:0", "type": "function", "extra_content": {"google": {"thought": "x"}},
                 "function": {"name": "weather", "arguments": '{"city":  "Москва"}'}},
            ],
        },
    ),
    "gemini": (
        generated([
            {"text": "Which city?", "thought": True},
            {"text": "Hm.", "thoughtSignature": SIGNATURE},
            {"functionCall": {"name": "weather", "args": {"city": "Москва"}}, "thoughtSignature": SIGNATURE},
        ]),
        {
            "role": "model",
            "parts": [
                {"text": "Which city?", "thought": True},
                {"text": "Hm.", "thoughtSignature": SENT},
                {"functionCall": {"name": "weather", "args": {"city": "Москва"}}, "thoughtSignature": SENT},
            ],
        },
    ),
    "anthropic": (
        message([
            {"type": "thinking", "thinking": "Which city?", "signature": SIGNATURE},
            {"type": "redacted_thinking", "data": "sealed"},
            {"type": "text", "text": "Hm."},
            {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Москва"}},
        ], "tool_use"),
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Which city?", "signature": SIGNATURE},
                {"type": "redacted_thinking", "data": "sealed"},
                {"type": "text", "text": "Hm."},
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Москва"}},
            ],
        },
    ),
}  # fmt: skip


def turns_of(body: Body) -> list[Body]:
    found: list[Body] = body.get("contents") or body["messages"]
    return found


async def test_own_parts_go_back_as_they_came(dialect: Dialect, httpserver: HTTPServer) -> None:
    """Through JSON, as a ledger would keep them."""
    came, expected = OWN[dialect.provider]
    request = ask(tools=(WEATHER,))
    reply = await say(dialect, httpserver, came, request)
    assert (reply.text, reply.finish) == ("Hm.", "tool_calls")
    assert read_arguments(reply.calls[0].arguments) == {"city": "Москва"}
    kept = replace(reply.message(), raw=json.loads(json.dumps(reply.raw)))
    await say(dialect, httpserver, dialect.said("ok", ()), grown(request, kept, reply.calls[0].result("снег")))
    assert turns_of(sent(httpserver))[1] == expected


@pytest.mark.parametrize(
    ("begun", "continued"),
    list(permutations(DIALECTS, 2)),
    ids=lambda value: value.provider,
)
async def test_a_dialogue_moves_to_another_provider(begun: Dialect, continued: Dialect, httpserver: HTTPServer) -> None:
    """Its calls and results go along, what only its own provider understands stays behind."""
    request = ask("Погода?", tools=(WEATHER,))
    reply = await say(begun, httpserver, OWN[begun.provider][0], request)
    request = grown(request, reply.message(), reply.calls[0].result("снег"))
    done = await say(continued, httpserver, continued.said("Снег.", ()), request)
    assert done.text == "Снег."
    said = json.dumps(sent(httpserver))
    assert not [word for word in (SIGNATURE, "sealed", "Which city?", "weather?", "extra_content") if word in said]
    asked, answered = turns_of(sent(httpserver))[1:]
    if continued is OPENAI:
        (one,) = asked["tool_calls"]
        assert (asked["content"], one["function"]["name"]) == ("Hm.", "weather")
        assert json.loads(one["function"]["arguments"]) == {"city": "Москва"}
        assert answered == {"role": "tool", "tool_call_id": one["id"], "content": "снег"}
    elif continued is GEMINI:
        text, one = asked["parts"]
        assert (text, one["functionCall"]["args"]) == ({"text": "Hm."}, {"city": "Москва"})
        answer = {"id": one["functionCall"]["id"], "name": "weather", "response": {"output": "снег"}}
        assert answered["parts"] == [{"functionResponse": answer}]
    else:
        text, one = asked["content"]
        assert (text, one["input"]) == ({"type": "text", "text": "Hm."}, {"city": "Москва"})
        assert one["id"].replace("-", "").replace("_", "").isalnum()
        assert answered["content"][0]["tool_use_id"] == one["id"]
    request = grown(request, done.message(), Message("user", "Точно?"))
    back = await say(begun, httpserver, begun.said("Да.", ()), request)
    assert back.text == "Да."
    assert turns_of(sent(httpserver))[1] == OWN[begun.provider][1]


@pytest.mark.parametrize(("name", "signed"), [("gemini-2.5-flash", False), ("gemini-3-pro-preview", True)])
async def test_a_foreign_call_gets_the_word_that_gemini_takes_for_a_signature(
    httpserver: HTTPServer, name: str, signed: bool
) -> None:
    foreign = Message("assistant", "", calls=TWO)
    request = grown(ask(tools=(WEATHER,)), foreign, TWO[0].result("1"), TWO[1].result("2"))
    await say(GEMINI, httpserver, GEMINI.said("ok", ()), request, name)
    one, other = sent(httpserver)["contents"][1]["parts"]
    word = base64.urlsafe_b64decode(one.get("thoughtSignature", ""))
    assert word == (b"skip_thought_signature_validator" if signed else b"")
    assert "thoughtSignature" not in other


async def test_calls_without_an_id_get_one_of_their_own(dialect: Dialect, httpserver: HTTPServer) -> None:
    """In each round another one, in the same round the same."""
    nameless = tuple(replace(one, id="") for one in TWO)
    body = dialect.said("", nameless)
    request = ask(tools=(WEATHER,))
    seen: set[str] = set()
    for number in range(1, 4):
        reply = await say(dialect, httpserver, body, request)
        assert reply.calls == (await say(dialect, httpserver, body, request)).calls
        seen |= {one.id for one in reply.calls}
        assert len(seen) == 2 * number
        request = grown(request, reply.message(), *(one.result("снег") for one in reply.calls))
    await say(dialect, httpserver, dialect.said("ok", ()), request)
    said = json.dumps(sent(httpserver))
    if dialect is not GEMINI:
        assert all(said.count(one) == 2 for one in seen)


async def test_a_name_that_servers_refuse_goes_back_as_one_that_they_accept(
    dialect: Dialect, httpserver: HTTPServer
) -> None:
    """OpenAI and Anthropic take letters, digits, _ and - alone, also in what their model has called before."""
    request = ask(tools=(WEATHER,))
    reply = await say(dialect, httpserver, dialect.said("", (replace(TWO[0], name="functions.weather"),)), request)
    (made,) = reply.calls
    assert made.name == "functions.weather"
    await say(dialect, httpserver, dialect.said("ok", ()), grown(request, reply.message(), made.result("снег")))
    said = json.dumps(turns_of(sent(httpserver)))
    assert said.count("functions.weather") == (2 if dialect is GEMINI else 0), "Gemini matches a result by the name"
    assert said.count("functions_weather") == (0 if dialect is GEMINI else 1)


async def test_an_id_that_comes_again_is_replaced(dialect: Dialect, httpserver: HTTPServer) -> None:
    request = ask(tools=(WEATHER,))
    first = await say(dialect, httpserver, dialect.said("", TWO[:1]), request)
    request = grown(request, first.message(), first.calls[0].result("снег"))
    second = await say(dialect, httpserver, dialect.said("", TWO[:1]), request)
    assert (first.calls[0].id, second.calls[0].name) == ("call_1", "weather")
    assert second.calls[0].id not in ("", "call_1")


async def test_a_turn_of_nothing_harms_nobody(dialect: Dialect, httpserver: HTTPServer) -> None:
    """An empty reply that was kept: who refuses empty content gets none."""
    request = ask()
    for body in dialect.empty:
        empty = await say(dialect, httpserver, body, request)
        await say(dialect, httpserver, dialect.said("ok", ()), grown(request, empty.message(), Message("user", "And?")))
        roles = [turn["role"] for turn in turns_of(sent(httpserver))]
        assert roles == (["user", "assistant", "user"] if dialect is OPENAI else ["user", "user"])


async def test_call_result_and_answer(model: Model, aimock: Aimock) -> None:
    """Against the protocol server: a call, its result, the answer."""
    asked = {"name": "weather", "arguments": {"city": "Москва"}, "id": "call_9"}
    stop = {"finishReason": "stop"}  # or aimock ends it in a way that Gemini does not know
    aimock.fixtures(
        {"match": {"hasToolResult": True, "toolResultContains": "снег"}, "response": {"content": "Идёт снег."}},
        {"match": {"userMessage": "Погода"}, "response": {"content": "Смотрю.", "toolCalls": [asked]} | stop},
    )
    request = ask("Погода в Москве?", tools=(WEATHER,))
    reply = await model.complete(request, 10)
    (made,) = reply.calls
    assert (made.name, read_arguments(made.arguments)) == ("weather", {"city": "Москва"})
    assert (reply.text, reply.finish) == ("Смотрю.", "tool_calls")
    done = await model.complete(grown(request, reply.message(), made.result("снег, −5°")), 10)
    assert (done.text, done.finish, done.calls) == ("Идёт снег.", "stop", ())
