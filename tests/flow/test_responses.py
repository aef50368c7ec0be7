"""OpenAI's Responses API: the official client, with assistants and with pass-through models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import openai
import pydantic
import pytest
from openai import OpenAI

from tests.polling import poll
from tests.provider import Provider, called, openai_client, refused, said
from tests.stack import Stack

MODEL = "openai:gpt-4o"
ROWS = "select message_type, content from raw_logs where user_id = %s order by seq"
WEATHER: Any = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a place.",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
}
HEART = "data:image/png;base64,iVBORw0KGgo="


class Pet(pydantic.BaseModel):
    """What `parse` makes of an answer."""

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


@pytest.fixture
def user() -> str:
    return str(uuid4())


both = pytest.mark.parametrize("model", [MODEL, "mentor"])


@both
def test_an_answer(client: OpenAI, stack: Stack, user: str, model: str) -> None:
    response = client.responses.create(model=model, input="I keep bees.", user=user)
    assert response.status == "completed"
    assert response.output_text
    assert (
        response.usage is not None
        and response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens
    )
    assert stack.rows(ROWS, user)[0]["content"] == "I keep bees."
    again = client.responses.retrieve(response.id)
    assert again.output == response.output and again.status == "completed"


@both
def test_a_stream(client: OpenAI, provider: Provider, user: str, model: str) -> None:
    provider.answer = lambda body: said("One two three.")
    events = list(client.responses.create(model=model, input="Count to three.", user=user, stream=True))
    kinds = [one.type for one in events]
    assert kinds[:4] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert kinds[-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [one.sequence_number for one in events] == list(range(len(events)))
    text = "".join(one.delta for one in events if one.type == "response.output_text.delta")
    last: Any = events[-1]
    assert text.strip() == "One two three." and last.response.output_text == text
    assert last.response.usage.output_tokens > 0
    assert last.response.model_extra["maas"]["memory"] == "ok"
    assert client.responses.retrieve(last.response.id).output_text == text


@both
def test_instructions_and_a_history(client: OpenAI, provider: Provider, user: str, model: str) -> None:
    items: Any = [
        {"type": "message", "role": "user", "content": "My name is Alice."},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello Alice!"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "What is my name?"}]},
    ]
    client.responses.create(model=model, instructions="Talk like a pirate.", input=items, user=user)
    sent = json.dumps(provider.sent[-1]["messages"])
    assert "Talk like a pirate." in sent and "My name is Alice." in sent and "What is my name?" in sent
    if model == MODEL:
        assert provider.sent[-1]["messages"] == [
            {"role": "system", "content": "Talk like a pirate."},
            {"role": "user", "content": "My name is Alice."},
            {"role": "assistant", "content": "Hello Alice!"},
            {"role": "user", "content": "What is my name?"},
        ]


@both
def test_a_dialogue_goes_on(client: OpenAI, provider: Provider, stack: Stack, user: str, model: str) -> None:
    provider.answer = lambda body: said("Aye.")
    first = client.responses.create(model=model, input="The code word is plum.", user=user)
    second = client.responses.create(model=model, input="And now?", previous_response_id=first.id, user=user)
    third = client.responses.create(model=model, input="Say it.", previous_response_id=second.id, user=user)
    assert third.previous_response_id == second.id
    sent = json.dumps(provider.sent[-1]["messages"])
    assert "The code word is plum." in sent and "And now?" in sent
    if model == MODEL:
        assert [one["role"] for one in provider.sent[-1]["messages"] if one["role"] != "system"] == [
            "user",
            "assistant",
            "user",
            "assistant",
            "user",
        ]
    assert len(stack.rows(ROWS, user)) == 6, "each message once"


@pytest.mark.parametrize("is_streamed", [False, True])
def test_tools(client: OpenAI, provider: Provider, stack: Stack, user: str, is_streamed: bool) -> None:
    provider.answer = lambda body: (
        said("Sunny.") if body["messages"][-1]["role"] == "tool" else called("get_weather", '{"location": "Rome"}')
    )
    question: Any = [{"role": "user", "content": "Weather in Rome?"}]
    first: Any = client.responses.create(
        model=MODEL, input=question, tools=[WEATHER], tool_choice="auto", user=user, stream=is_streamed
    )
    if is_streamed:
        events = list(first)
        kinds = [one.type for one in events]
        assert "response.function_call_arguments.delta" in kinds and "response.function_call_arguments.done" in kinds
        first = events[-1].response
    (call,) = first.output
    assert (call.type, call.name, json.loads(call.arguments)) == ("function_call", "get_weather", {"location": "Rome"})
    assert provider.sent[0]["tools"] == [
        {"type": "function", "function": {name: WEATHER[name] for name in ("name", "description", "parameters")}}
    ]
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "sun"}
    resent = client.responses.create(model=MODEL, input=[*question, call.to_dict(), result], tools=[WEATHER], user=user)
    assert resent.output_text == "Sunny."
    assert provider.sent[-1]["messages"][-2:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": call.call_id,
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"location": "Rome"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": call.call_id, "content": "sun"},
    ]
    continued = client.responses.create(
        model=MODEL, input=[result], previous_response_id=first.id, tools=[WEATHER], user=user
    )
    assert continued.output_text == "Sunny."
    assert provider.sent[-1]["messages"] == provider.sent[-2]["messages"]
    poll(lambda: len(stack.rows(ROWS, user)) == 2, what="one exchange is remembered")


@both
def test_items_are_named_instead_of_sent_again(client: OpenAI, provider: Provider, user: str, model: str) -> None:
    """As the AI SDK does when a dialogue goes on."""
    provider.answer = lambda body: said("Aye.")
    items: Any = [{"role": "user", "content": "The code word is plum."}]
    for question, is_streamed in (("And now?", False), ("Say it.", True)):
        first: Any = client.responses.create(model=model, input=items, user=user, stream=is_streamed)
        response = list(first)[-1].response if is_streamed else first
        reference = {"type": "item_reference", "id": response.output[0].id}
        items += [reference, {"role": "user", "content": question}]
    items[1].pop("type")  # it may be left out
    client.responses.create(model=model, input=items, user=user)
    sent = json.dumps(provider.sent[-1]["messages"])
    assert sent.count("Aye.") == 2 and "plum" in sent and "And now?" in sent
    for item_id in (response.output[0].id, "msg_1", f"msg_{uuid4().hex}_0", 5):
        with pytest.raises(openai.BadRequestError, match="no stored item"):
            named: Any = [{"type": "item_reference", "id": item_id}, items[-1]]
            client.responses.create(model=model, input=named, user=str(uuid4()))


@both
def test_json(client: OpenAI, provider: Provider, user: str, model: str) -> None:
    provider.answer = lambda body: said('{"name": "Gerda", "legs": 4}')
    response = client.responses.parse(model=model, input="Describe Gerda.", text_format=Pet, user=user)
    assert response.output_parsed == Pet(name="Gerda", legs=4)
    assert provider.sent[-1]["response_format"]["json_schema"]["strict"] is True


def test_a_picture(client: OpenAI, provider: Provider, user: str) -> None:
    content = [{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": HEART}]
    client.responses.create(model=MODEL, input=[{"role": "user", "content": content}], user=user)  # type: ignore[list-item,misc]
    assert provider.sent[-1]["messages"][-1]["content"][1] == {"type": "image_url", "image_url": {"url": HEART}}


def test_what_is_not_stored_cannot_be_read(client: OpenAI, user: str) -> None:
    response = client.responses.create(model=MODEL, input="Hello.", store=False, user=user)
    assert (response.model_extra or {})["store"] is False
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(response.id)


def test_items_and_deletion(client: OpenAI, user: str) -> None:
    items: Any = [{"role": "user", "content": "One."}, {"role": "assistant", "content": "Two."}]
    items.append({"role": "user", "content": "Three."})
    response = client.responses.create(model=MODEL, input=items, user=user)
    page = client.responses.input_items.list(response.id, limit=2)
    assert [one.content for one in page.data] == ["Three.", "Two."] and page.has_more  # type: ignore[union-attr]
    assert [one.content for one in client.responses.input_items.list(response.id, order="asc")] == [  # type: ignore[union-attr]
        "One.",
        "Two.",
        "Three.",
    ]
    client.responses.delete(response.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(response.id)


def test_in_the_background(client: OpenAI, provider: Provider, stack: Stack, user: str) -> None:
    provider.answer = lambda body: said("Done at last.")
    response = client.responses.create(model="mentor", input="Take your time.", background=True, user=user)
    assert response.status == "queued"
    poll(lambda: client.responses.retrieve(response.id).status == "completed", what="finished")
    assert client.responses.retrieve(response.id).output_text == "Done at last."
    with pytest.raises(openai.BadRequestError):
        client.responses.cancel(response.id)
    provider.delay_s = 3
    slow = client.responses.create(model="mentor", input="Slower.", background=True, user=user)
    assert client.responses.cancel(slow.id).status == "cancelled"
    poll(lambda: client.responses.retrieve(slow.id).status == "cancelled", what="cancelled")


@both
def test_errors_are_those_of_a_chat(client: OpenAI, provider: Provider, user: str, model: str) -> None:
    provider.answer = lambda body: refused(401, "invalid_api_key", "No.")
    with pytest.raises(openai.AuthenticationError):
        client.responses.create(model=model, input="Hello.", user=user)


def test_a_stream_that_fails(client: OpenAI, provider: Provider, user: str) -> None:
    provider.answer = lambda body: refused(401, "invalid_api_key", "No.")
    with pytest.raises(openai.AuthenticationError):
        list(client.responses.create(model=MODEL, input="Hello.", user=user, stream=True))
    events = list(client.responses.create(model="mentor", input="Hello.", user=user, stream=True))
    last: Any = events[-1]
    assert last.type == "response.failed" and last.response.error.code


def test_somebody_elses_response_is_not_there(client: OpenAI, stack: Stack, user: str) -> None:
    first = client.responses.create(model=MODEL, input="A secret.", user=user)
    with pytest.raises(openai.BadRequestError) as raised:
        client.responses.create(model=MODEL, input="Go on.", previous_response_id=first.id, user=str(uuid4()))
    assert "no stored response" in raised.value.message


def test_a_user_who_is_erased_leaves_none(client: OpenAI, stack: Stack, user: str) -> None:
    client.responses.create(model=MODEL, input="A secret.", user=user)
    assert len(stack.rows("select from responses where user_id = %s", user)) == 1
    assert stack.client.delete(f"/v1/users/{user}").status_code == 200
    assert stack.rows("select from responses where user_id = %s", user) == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"input": []}, "input"),
        ({"input": 5}, "input"),
        ({"input": [5]}, "input"),
        ({"input": [{"type": "web_search_call"}]}, "web_search_call"),
        ({"input": [{"role": "robot", "content": "Hi"}]}, "role"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]}, "input_image"),
        ({"input": [{"role": "user", "content": []}]}, "content"),
        ({"input": [{"type": "function_call_output", "output": "x"}]}, "call_id"),
        ({"tools": [{"type": "web_search"}]}, "web_search"),
        ({"tools": [WEATHER], "tool_choice": {"type": "web_search"}}, "tool_choice"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt"),
        ({"truncation": "some"}, "truncation"),
        ({"text": "json"}, "text"),
        ({"background": True}, "background"),
        ({"previous_response_id": "resp_none"}, "previous_response_id"),
        ({"previous_response_id": "\x00"}, "previous_response_id"),
        ({"instructions": 5}, "instructions"),
    ],
)
def test_bad_input(
    client: OpenAI, stack: Stack, provider: Provider, user: str, more: dict[str, Any], message: str
) -> None:
    body = {"model": MODEL, "input": "Hello.", "user": user} | more
    reply = stack.client.post("/v1/responses", json=body)
    assert reply.status_code == 400, reply.text
    assert message in reply.json()["error"]["message"]
    assert provider.sent == []
    assert stack.rows("select from pipeline_runs where user_id = %s", user) == []


@pytest.fixture
def native(stack: Stack, provider: Provider, tmp_path: Any) -> Iterator[OpenAI]:
    """A client of a server whose provider has the Responses API itself."""
    provider.reset()
    provider.has_responses = True
    with Stack(stack.dsn, tmp_path, **provider.settings) as other, openai_client(other) as client:
        other.start_server()
        yield client


def test_a_provider_that_has_this_api_is_asked_by_it(
    native: OpenAI, provider: Provider, stack: Stack, user: str
) -> None:
    first = native.responses.create(model=MODEL, input="I keep bees.", user=user, tools=[{"type": "web_search"}])
    assert first.id == "resp_1" and first.output_text == "Noted: I keep bees."
    assert provider.sent == [
        {"model": "gpt-4o", "input": "I keep bees.", "user": user, "tools": [{"type": "web_search"}]}
    ]
    assert (first.model_extra or {})["maas"]["remembered"] is True
    events = list(
        native.responses.create(
            model=MODEL, input="What do I keep?", user=user, stream=True, previous_response_id="resp_of_the_provider"
        )
    )
    sent = provider.sent[-1]
    assert sent["previous_response_id"] == "resp_of_the_provider"
    block, question = sent["input"]
    assert question == {"role": "user", "content": "What do I keep?"} and "I keep bees." in block["content"]
    assert [one.type for one in events if "item" not in one.type and "part" not in one.type] == [
        "response.created",
        "response.output_text.delta",
        "response.output_text.done",
        "response.completed",
    ]
    assert [row["content"] for row in stack.rows(ROWS, user)] == [
        "I keep bees.",
        "Noted: I keep bees.",
        "What do I keep?",
        "Noted: What do I keep?",
    ]


def test_what_a_provider_keeps_is_continued_by_its_user_alone(native: OpenAI, provider: Provider, user: str) -> None:
    first = native.responses.create(model=MODEL, input="A secret.", user=user)
    native.responses.create(model=MODEL, input="Go on.", user=user, previous_response_id=first.id)
    with pytest.raises(openai.BadRequestError) as raised:
        native.responses.create(model=MODEL, input="Go on.", user=str(uuid4()), previous_response_id=first.id)
    assert "no stored response" in raised.value.message and len(provider.sent) == 2
    with pytest.raises(openai.NotFoundError):
        native.responses.retrieve(first.id)


def test_calls_of_a_provider_with_this_api_are_no_answer(
    native: OpenAI, provider: Provider, stack: Stack, user: str
) -> None:
    provider.answer = lambda body: called("get_weather", "{}")
    response = native.responses.create(model=MODEL, input="Weather?", user=user, tools=[WEATHER])
    assert response.output[0].type == "function_call"
    assert stack.rows(ROWS, user) == []
    assert [row["kind"] for row in stack.rows("select kind from pipeline_runs where user_id = %s", user)] == ["call"]


def test_a_provider_without_this_api_leaves_no_trace_of_the_question(client: OpenAI, stack: Stack, user: str) -> None:
    client.responses.create(model=MODEL, input="Hello.", user=user)
    assert [row["kind"] for row in stack.rows("select kind from pipeline_runs where user_id = %s", user)] == ["ask"]
