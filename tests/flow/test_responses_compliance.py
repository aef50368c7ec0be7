"""The cases of the public compliance suite of OpenResponses, held to the types of OpenAI's client, strictly read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from tests.provider import Provider, called, said
from tests.stack import Stack

MODELS = ["openai:gpt-4o", "mentor"]
REQUIRED = {
    "id",
    "object",
    "created_at",
    "completed_at",
    "status",
    "incomplete_details",
    "model",
    "previous_response_id",
    "instructions",
    "output",
    "error",
    "tools",
    "tool_choice",
    "truncation",
    "parallel_tool_calls",
    "text",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "top_logprobs",
    "temperature",
    "reasoning",
    "user",
    "usage",
    "max_output_tokens",
    "max_tool_calls",
    "store",
    "background",
    "service_tier",
    "metadata",
    "safety_identifier",
    "prompt_cache_key",
}
EVENTS: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Get the current weather for a location",
    "parameters": {
        "type": "object",
        "properties": {"location": {"type": "string", "description": "The city and state."}},
        "required": ["location"],
    },
}
HEART = "data:image/png;base64,iVBORw0KGgo="


def message(role: str, content: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


ASK_WEATHER = {"input": [message("user", "What is the weather like in San Francisco?")], "tools": [WEATHER]}
CASES: dict[str, dict[str, Any]] = {
    "basic response": {"input": [message("user", "Say hello in exactly 3 words.")]},
    "streaming response": {"input": [message("user", "Count from 1 to 5.")], "stream": True},
    "system prompt": {"input": [message("system", "You are a pirate."), message("user", "Say hello.")]},
    "tool calling": ASK_WEATHER,
    "tool calling, streamed": ASK_WEATHER | {"stream": True},
    "image input": {
        "input": [
            message(
                "user",
                [
                    {"type": "input_text", "text": "What do you see in this image?"},
                    {"type": "input_image", "image_url": HEART},
                ],
            )
        ]
    },
    "phases of messages": {
        "input": [
            message("assistant", "I should answer with the saved number.") | {"phase": "commentary"},
            message("assistant", "The number is four.") | {"phase": "final_answer"},
            message("user", "Repeat only the number."),
        ]
    },
    "multi-turn": {
        "input": [
            message("user", "My name is Alice."),
            message("assistant", "Hello Alice! Nice to meet you."),
            message("user", "What is my name?"),
        ]
    },
}
OF_MODELS = {"tool calling", "tool calling, streamed", "image input"}  # an assistant has tools and eyes of its own


@pytest.fixture(scope="module")
def settings(provider: Provider) -> dict[str, str]:
    provider.answer = lambda body: (
        called("get_weather", '{"location": "San Francisco, CA"}') if body.get("tools") else said("Hello to you.")
    )
    return provider.settings


def read_events(text: str) -> list[dict[str, Any]]:
    """The events of a stream; each names its type twice, and the last line is [DONE]."""
    *blocks, last = [block for block in text.split("\n\n") if block and not block.startswith(":")]
    assert last == "data: [DONE]"
    events = []
    for block in blocks:
        name, data = block.split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}"
    return events


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("case", CASES)
def test_a_case(stack: Stack, model: str, case: str) -> None:
    reply = stack.client.post("/v1/responses", json={"model": model, **CASES[case]})
    if model == "mentor" and case in OF_MODELS:
        assert reply.status_code == 400 and reply.json()["error"]["code"] == "unsupported_parameter"
        return
    assert reply.status_code == 200, reply.text
    if CASES[case].get("stream"):
        events = read_events(reply.text)
        for event in events:
            EVENTS.validate_python(event)
        kinds = [event["type"] for event in events]
        resource = events[-1]["response"]
        if "tools" in CASES[case]:
            assert "response.function_call_arguments.delta" in kinds
            assert "response.function_call_arguments.done" in kinds
            items = [event["item"]["type"] for event in events if event["type"].startswith("response.output_item.")]
            assert items == ["function_call", "function_call"]
    else:
        resource = reply.json()
    assert resource.keys() >= REQUIRED
    Response.model_validate(resource)
    assert resource["status"] == "completed" and resource["output"]
    if "tools" in CASES[case]:
        assert [item["type"] for item in resource["output"]] == ["function_call"]
