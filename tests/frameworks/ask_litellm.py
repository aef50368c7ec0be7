"""LiteLLM: chat completions, whole and streamed, tools, and a response."""

from __future__ import annotations

from typing import Any

import litellm

from tests.frameworks.cases import Target, serve

litellm.suppress_debug_info = True
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a town.",
        "parameters": {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]},
    },
}


def complete(target: Target, messages: list[Any] | None = None, **more: Any) -> Any:
    asked = messages or [{"role": "user", "content": target.text}]
    return litellm.completion(f"openai/{target.model}", asked, api_base=target.url, api_key="none", **more)


def chat(target: Target) -> object:
    reply = complete(target)
    return [reply.choices[0].message.content, reply.choices[0].finish_reason, reply.usage.total_tokens]


def hasty(target: Target) -> object:
    """LiteLLM asks again by itself, without the header by which OpenAI's SDK marks a retry."""
    return complete(target, timeout=0.8, num_retries=3, max_retries=0).choices[0].message.content


def named(target: Target) -> object:
    """The question is the user's name, too: LiteLLM passes it on, for a model that it does not know, when told to."""
    return complete(target, user=target.text, allowed_openai_params=["user"]).choices[0].message.content


def stream(target: Target) -> object:
    return {"pieces": [one.choices[0].delta.content or "" for one in complete(target, stream=True)]}


def tools(target: Target) -> object:
    messages: list[Any] = [{"role": "user", "content": target.text}]
    first = complete(target, messages, tools=[WEATHER]).choices[0].message
    (call,) = first.tool_calls
    messages += [first, {"role": "tool", "tool_call_id": call.id, "content": "snow"}]
    last = complete(target, messages, tools=[WEATHER]).choices[0].message
    return [call.function.name, call.function.arguments, last.content]


def respond(target: Target) -> object:
    reply = litellm.responses(input=target.text, model=f"openai/{target.model}", api_base=target.url, api_key="none")
    return reply.output[0].content[0].text


serve({"chat": chat, "hasty": hasty, "named": named, "stream": stream, "tools": tools, "responses": respond})
