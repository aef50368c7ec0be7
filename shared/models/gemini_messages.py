"""Requests and replies in the form of the Gemini API."""

from __future__ import annotations

import json
from typing import Any

from google.genai import types

from shared.models import Message, Request, Usage, arguments_or_empty
from shared.text import clean

_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def is_plain(part: types.Part) -> bool:
    """Whether a part is text alone, which later text may be appended to."""
    return part.text is not None and part.thought_signature is None


def parts_of(message: Message) -> list[types.Part]:
    """A message of the assistant; one that Gemini wrote goes back as it came, with its signatures."""
    if message.raw:
        # As JSON, the only form in which the SDK accepts text for bytes: signatures are bytes.
        parts = [part for part in message.raw["parts"] if part != {"text": ""}]
        return [types.Part.model_validate_json(json.dumps(part)) for part in parts]
    text = [types.Part(text=clean(message.text))] if message.text else []
    calls = (types.FunctionCall(id=call.id, name=call.name, args=arguments_or_empty(call)) for call in message.calls)
    return text + [types.Part(function_call=call) for call in calls]


def result_of(message: Message, without_id: set[str]) -> types.Part:
    """The result of a tool call; `without_id` are the calls to which Gemini gave no id."""
    response = {"error" if message.is_error else "output": clean(message.text)}
    call_id = None if message.call_id in without_id else message.call_id
    return types.Part(function_response=types.FunctionResponse(id=call_id, name=message.name, response=response))


def config_of(request: Request, options: types.HttpOptions) -> types.GenerateContentConfig:
    """Everything of a request but its messages."""
    json_mode: dict[str, Any] = {}
    if request.json_schema is not None:
        json_mode = {"response_mime_type": "application/json", "response_json_schema": dict(request.json_schema)}
    tools: dict[str, Any] = {}
    if request.tools:
        offered = [
            types.FunctionDeclaration(
                name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters) or None
            )
            for tool in request.tools
        ]
        mode = types.FunctionCallingConfigMode(_MODES[request.tool_choice])
        config = types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode=mode))
        tools = {"tools": [types.Tool(function_declarations=offered)], "tool_config": config}
    return types.GenerateContentConfig(
        system_instruction=clean(request.system) or None,
        temperature=request.temperature,
        max_output_tokens=request.max_tokens,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        http_options=options,
        **tools,
        **json_mode,
    )


def usage_of(counts: types.GenerateContentResponseUsageMetadata) -> Usage:
    """Return the tokens of a reply; thoughts count as tokens out."""
    tokens_out = (counts.candidates_token_count or 0) + (counts.thoughts_token_count or 0)
    return Usage(counts.prompt_token_count or 0, tokens_out, counts.cached_content_token_count or 0)
