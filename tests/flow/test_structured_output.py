"""Answers of assistants as JSON: by response_format, or as the arguments of a tool that the client demands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import openai
import pydantic
import pytest
from openai import OpenAI

from tests.provider import Provider, openai_client, said
from tests.stack import Stack

PET = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "legs": {"type": "integer", "minimum": 0}},
    "required": ["name", "legs"],
    "additionalProperties": False,
}
RIGHT = '{"name": "Gerda", "legs": 4}'
WRONG = '{"name": "Gerda", "legs": "four"}'
TOOL = {"type": "function", "function": {"name": "save_pet", "parameters": PET}}
QUESTION: list[Any] = [{"role": "user", "content": "Describe my pet Gerda, a cat."}]


class Pet(pydantic.BaseModel):
    """What `parse` of the SDK makes of an answer."""

    name: str
    legs: int


@pytest.fixture(scope="module")
def settings(provider: Provider) -> dict[str, str]:
    return provider.settings


@pytest.fixture
def client(stack: Stack, provider: Provider) -> Iterator[OpenAI]:
    provider.reset()
    with openai_client(stack) as client:
        yield client


def replies(provider: Provider, *texts: str) -> None:
    """The provider says these texts, one after another, and then the last one."""
    left = list(texts)
    provider.answer = lambda body: said(left.pop(0) if len(left) > 1 else left[0])


def ask(client: OpenAI, **more: Any) -> Any:
    return client.chat.completions.create(
        model=more.pop("model", "mentor"), user=str(uuid4()), messages=more.pop("messages", QUESTION), **more
    )


def by_schema(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "pet", "schema": schema, **more}}}


@pytest.mark.parametrize("is_streamed", [False, True])
def test_json_that_fits(client: OpenAI, provider: Provider, stack: Stack, is_streamed: bool) -> None:
    replies(provider, f"Here it is:\n```json\n{RIGHT}\n```")
    reply = ask(client, **by_schema(PET, strict=True), stream=is_streamed)
    text = (
        "".join(one.choices[0].delta.content or "" for one in reply)
        if is_streamed
        else reply.choices[0].message.content
    )
    assert json.loads(text) == json.loads(RIGHT)
    assert text.startswith("{") and text.endswith("}")
    assert provider.sent[-1]["response_format"]["json_schema"]["schema"]["required"] == ["name", "legs"]


def test_the_sdk_parses_it(client: OpenAI, provider: Provider) -> None:
    replies(provider, RIGHT)
    reply = client.chat.completions.parse(model="mentor", user=str(uuid4()), messages=QUESTION, response_format=Pet)
    assert reply.choices[0].message.parsed == Pet(name="Gerda", legs=4)


def test_any_object(client: OpenAI, provider: Provider) -> None:
    replies(provider, WRONG)
    reply = ask(client, response_format={"type": "json_object"})
    assert json.loads(reply.choices[0].message.content) == json.loads(WRONG)


def test_what_does_not_fit_is_repaired_once(client: OpenAI, provider: Provider, stack: Stack) -> None:
    replies(provider, WRONG, RIGHT)
    reply = ask(client, **by_schema(PET))
    assert json.loads(reply.choices[0].message.content) == json.loads(RIGHT)
    assert len(provider.sent) == 2
    assert "legs" in provider.sent[1]["messages"][-1]["content"], "it is told what does not fit"


@pytest.mark.parametrize("text", [WRONG, "I had rather not.", "[1, 2]", '{"name": "Gerda"}'])
def test_after_that_it_is_an_error(client: OpenAI, provider: Provider, text: str) -> None:
    replies(provider, text)
    with pytest.raises(openai.InternalServerError) as raised:
        ask(client, **by_schema(PET))
    assert raised.value.code == "bad_format"
    assert len(provider.sent) == 2


@pytest.mark.parametrize(
    ("choice", "finish"), [({"type": "function", "function": {"name": "save_pet"}}, "stop"), ("required", "tool_calls")]
)
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_tool_that_is_demanded(
    client: OpenAI, provider: Provider, choice: Any, finish: str, is_streamed: bool
) -> None:
    replies(provider, WRONG, RIGHT)
    reply = ask(client, tools=[TOOL], tool_choice=choice, stream=is_streamed)
    if is_streamed:
        chunks = list(reply)
        call = next(one for chunk in chunks for one in chunk.choices[0].delta.tool_calls or [])
        assert chunks[-1].choices[0].finish_reason == finish
    else:
        call = reply.choices[0].message.tool_calls[0]
        assert reply.choices[0].finish_reason == finish
        assert reply.choices[0].message.content is None
        assert reply.model_extra["maas"]["ignored"] == []
    assert call.function.name == "save_pet"
    assert json.loads(call.function.arguments) == json.loads(RIGHT)


def test_an_old_function_that_is_demanded(client: OpenAI, provider: Provider) -> None:
    replies(provider, RIGHT)
    reply = ask(client, functions=[TOOL["function"]], function_call={"name": "save_pet"})
    assert json.loads(reply.choices[0].message.tool_calls[0].function.arguments) == json.loads(RIGHT)


def test_a_schema_that_refers_to_itself(client: OpenAI, provider: Provider) -> None:
    tree = {"type": "object", "properties": {"child": {"$ref": "#"}}, "required": ["child"]}
    replies(provider, '{"child": {"child": {}}}')
    with pytest.raises(openai.InternalServerError) as raised:
        ask(client, **by_schema(tree))
    assert raised.value.code == "bad_format"
    endless = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}}
    replies(provider, '{"a": 1}')
    with pytest.raises(openai.InternalServerError):
        ask(client, **by_schema(endless))


def test_expressions_are_not_run(client: OpenAI, provider: Provider) -> None:
    slow = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    replies(provider, json.dumps({"a": "a" * 40 + "!"}))
    reply = ask(client, **by_schema(slow))
    assert reply.model_extra["maas"]["ignored"] == ["response_format.pattern"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"response_format": {"type": "xml"}}, "response_format"),
        ({"response_format": "json"}, "response_format"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
        (by_schema({"type": "array"}), "outermost"),
        (by_schema({"type": "objekt"}), "outermost"),
        (by_schema({"properties": {"a": {"type": "objekt"}}}), "objekt"),
        (by_schema({"properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}), "$ref"),
        (by_schema({"properties": {"a": {"$ref": "file:///etc/passwd"}}}), "$ref"),
        (by_schema({"patternProperties": {"^(a+)+$": {}}}), "patternProperties"),
        (by_schema({"description": "x" * 70_000}), "64 KiB"),
        (by_schema({"properties": {"a": {"const": "\x00"}}}), "NUL"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "other"}}}, "tool_choice"),
        ({"tools": [TOOL, TOOL], "tool_choice": "required"}, "tool_choice"),
        ({"tools": [TOOL], "tool_choice": "required", "response_format": {"type": "json_object"}}, "response_format"),
    ],
)
def test_bad_input(client: OpenAI, provider: Provider, stack: Stack, more: dict[str, Any], message: str) -> None:
    before = stack.rows("select count(*) as n from pipeline_runs")[0]["n"]
    with pytest.raises(openai.BadRequestError) as raised:
        ask(client, **more)
    assert message in raised.value.message
    assert stack.rows("select count(*) as n from pipeline_runs")[0]["n"] == before
    assert provider.sent == []
