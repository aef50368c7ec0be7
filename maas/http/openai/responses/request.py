"""A request for a response as one for a chat completion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from maas.http.openai.caller import bad_parameter, unsupported_parameter
from maas.http.openai.responses.items import to_messages

SAME_FIELDS = (
    "model",
    "user",
    "safety_identifier",
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "parallel_tool_calls",
    "metadata",
    "prompt_cache_key",
    "service_tier",
    "seed",
    "maas",
)
OWN_FIELDS = (  # what is read here, or by the handler
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "text",
    "reasoning",
    "max_output_tokens",
    "stream",
    "store",
    "background",
    "previous_response_id",
    "conversation",
    "top_logprobs",
)
UNSUPPORTED = {"prompt": "prompts are not stored here", "max_tool_calls": "tools are called by the client"}


def to_chat(
    body: Mapping[str, Any], items: Sequence[Mapping[str, Any]], earlier: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], list[str]]:
    """The body of a chat completion for these items after `earlier` ones, and the fields that have no effect.

    Raises MaasError: `bad_parameter`, `unsupported_parameter`.
    """
    for name, reason in UNSUPPORTED.items():
        if body.get(name) is not None:
            raise unsupported_parameter(f"{name}: {reason}; leave it out", name)
    if body.get("truncation") not in (None, "disabled", "auto"):
        raise bad_parameter("truncation: must be disabled or auto", "truncation")
    messages, unused = to_messages([*earlier, *items])
    if (instructions := body.get("instructions")) is not None:
        if not isinstance(instructions, str):
            raise bad_parameter("instructions: must be text", "instructions")
        messages.insert(0, {"role": "system", "content": instructions})
    chat = {name: body[name] for name in SAME_FIELDS if body.get(name) is not None} | {"messages": messages}
    known = {*SAME_FIELDS, *OWN_FIELDS, *UNSUPPORTED, "truncation"}
    unused += [name for name, value in body.items() if name not in known and value not in (None, [], {})]
    chat |= _tools(body) | _text(body) | _reasoning(body)
    if body.get("max_output_tokens") is not None:
        chat["max_tokens"] = body["max_output_tokens"]
    if body.get("top_logprobs"):
        chat |= {"logprobs": True, "top_logprobs": body["top_logprobs"]}
    if body.get("stream") is True:
        chat |= {"stream": True, "stream_options": {"include_usage": True}}
    return chat, unused


def _tools(body: Mapping[str, Any]) -> dict[str, Any]:
    tools, choice = body.get("tools"), body.get("tool_choice")
    if not tools:
        return {}
    if not isinstance(tools, list):
        raise bad_parameter("tools: must be a list", "tools")
    functions = [_function(tool) for tool in tools]
    if isinstance(choice, Mapping) and choice.get("type") == "allowed_tools":
        allowed = {one.get("name") for one in choice.get("tools") or [] if isinstance(one, Mapping)}
        functions = [one for one in functions if one["function"]["name"] in allowed]
        choice = choice.get("mode", "auto")
    if isinstance(choice, Mapping):
        if choice.get("type") != "function" or not isinstance(choice.get("name"), str):
            raise unsupported_parameter("tool_choice: must name a function", "tool_choice")
        choice = {"type": "function", "function": {"name": choice["name"]}}
    return {"tools": functions} | ({} if choice is None else {"tool_choice": choice})


def _function(tool: object) -> dict[str, Any]:
    kind = tool.get("type") if isinstance(tool, Mapping) else None
    if not isinstance(tool, Mapping) or kind != "function" or not isinstance(tool.get("name"), str):
        raise unsupported_parameter(f"tools: only functions with a name are supported, not {str(kind)[:40]!r}", "tools")
    fields = ("name", "description", "parameters", "strict")
    return {"type": "function", "function": {one: tool[one] for one in fields if tool.get(one) is not None}}


def _text(body: Mapping[str, Any]) -> dict[str, Any]:
    text = body.get("text")
    if text is None:
        return {}
    if not isinstance(text, Mapping):
        raise bad_parameter("text: must be an object", "text")
    verbosity = {"verbosity": text["verbosity"]} if isinstance(text.get("verbosity"), str) else {}
    form = text.get("format")
    if not isinstance(form, Mapping) or form.get("type") == "text":
        return verbosity
    if form.get("type") == "json_schema":
        named = {name: form[name] for name in ("name", "description", "schema", "strict") if form.get(name) is not None}
        return verbosity | {"response_format": {"type": "json_schema", "json_schema": named}}
    return verbosity | {"response_format": {"type": form.get("type")}}


def _reasoning(body: Mapping[str, Any]) -> dict[str, Any]:
    reasoning = body.get("reasoning")
    effort = reasoning.get("effort") if isinstance(reasoning, Mapping) else None
    return {"reasoning_effort": effort} if isinstance(effort, str) else {}
