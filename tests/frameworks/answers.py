"""What the provider answers to frameworks, in either API: a call of each tool, JSON of a schema, or text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.provider import Json, called, last_text, said

PET = {"name": "Gerda", "legs": 4}
_VALUES = {"string": "Gerda", "integer": 4, "number": 4.5, "boolean": True}


def answer(body: Json) -> Json:
    """The same for the same request, whatever memory adds to it."""
    messages = body.get("messages") or body["input"]
    last = messages[-1] if isinstance(messages, list) else {}
    has_result = last.get("role") == "tool" or last.get("type") == "function_call_output"
    tools = [one.get("function") or one for one in body.get("tools") or []]
    if tools and not has_result:
        calls = [
            called(one["name"], json.dumps(_value_of(one.get("parameters") or {})), f"call_{number}")
            for number, one in enumerate(tools, 1)
        ]
        return calls[0] | {"tool_calls": [call for one in calls for call in one["tool_calls"]]}
    wanted = body.get("response_format") or (body.get("text") or {}).get("format") or {}
    if wanted.get("type") == "json_schema":
        return said(json.dumps(_value_of((wanted.get("json_schema") or wanted)["schema"]) or PET))
    if wanted.get("type") == "json_object" or '"properties"' in json.dumps(messages).replace('\\"', '"'):
        return said(json.dumps(PET))
    return said(f"Noted: {last_text(body)}")


def _value_of(schema: Mapping[str, Any]) -> object:
    """A value that fits a schema without references."""
    kind = schema.get("type", "object")
    if kind == "object":
        return {name: _value_of(one) for name, one in schema.get("properties", {}).items()}
    return _VALUES[kind]
