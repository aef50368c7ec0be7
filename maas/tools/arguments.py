"""The arguments of a tool call: read, brought into the types of the schema, checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from pydantic import BaseModel, ValidationError

from maas.conversations.actions import argument_problems
from maas.tools.tool import Tool
from shared.errors import problems_of
from shared.json import MAX_JSON_DEPTH, is_storable, is_too_deep, parse_json
from shared.text import shorten

MAX_ARGUMENT_CHARS = 65_536
MAX_PROBLEMS = 5
_TOO_DEEP = f"arguments are nested deeper than {MAX_JSON_DEPTH} levels: send them flatter"


class WrongArguments(ValueError):
    """Arguments that the tool refuses. The message tells the model what to send instead."""


@dataclass(frozen=True, slots=True)
class ToolArguments:
    """Validated arguments. `values` is the JSON of `model` with its defaults; `ignored` names unknown arguments.

    For a tool that has only a schema, `model` is `values`. `wording` is how a call that waits is described to people.
    """

    model: BaseModel | Mapping[str, Any]
    values: Mapping[str, Any]
    ignored: tuple[str, ...]
    wording: Mapping[str, Any] | None = None


def read_arguments(tool: Tool, text: str) -> ToolArguments:
    """Parse and validate arguments; an empty text means none. Obvious types are coerced: "5" to 5, 17 to "17".

    Unknown arguments are dropped and named. A dangerous tool refuses them, because a person must approve everything
    that the model meant. Raises WrongArguments.
    """
    values = _parse(text)
    ignored: list[str] = []
    coerced = _coerce(values, tool.parameters, "", ignored)
    if is_too_deep(coerced):  # coercion unpacks strings, so the depth may have grown
        raise WrongArguments(_TOO_DEEP)
    if ignored and tool.effect == "dangerous":
        raise WrongArguments(f"unknown: {shorten(', '.join(ignored), 300)}; send only what the tool takes")
    if tool.arguments is None:
        if errors := argument_problems(coerced, tool.parameters):
            raise WrongArguments(_message(errors))
        return ToolArguments(coerced, coerced, tuple(ignored))
    try:
        model = tool.arguments.model_validate(coerced)
        return ToolArguments(model, model.model_dump(mode="json", by_alias=True), tuple(ignored))
    except ValidationError as error:
        raise WrongArguments(_message([(one.path, one.message) for one in problems_of(error)])) from error
    except (ValueError, RecursionError) as error:  # of model_dump
        raise WrongArguments("arguments are nested too deeply") from error


def fingerprint(tool: Tool, values: Mapping[str, Any]) -> str:
    """A hash of a tool version and its arguments: it identifies a repeated call, and what a person approved."""
    text = json.dumps([tool.version, values], sort_keys=True, ensure_ascii=False)
    return sha256(text.encode()).hexdigest()


def _parse(text: str) -> dict[str, Any]:
    """The object that a model wrote. Raises WrongArguments."""
    if len(text) > MAX_ARGUMENT_CHARS:
        raise WrongArguments(f"arguments exceed {MAX_ARGUMENT_CHARS:,} characters: send less")
    try:
        value = parse_json(text) if text.strip() else {}
    except ValueError as error:
        raise WrongArguments("arguments are not JSON: send one JSON object") from error
    if not isinstance(value, dict):
        raise WrongArguments("arguments must be one JSON object")
    if is_too_deep(value):
        raise WrongArguments(_TOO_DEEP)
    if not is_storable(value):
        raise WrongArguments("arguments hold NUL, half a surrogate pair or an infinite number: send them without")
    return value


def _coerce(value: Any, schema: Mapping[str, Any], path: str, ignored: list[str]) -> Any:
    """`value` in the types of `schema`, as far as the meaning is clear; names of unknown arguments go to `ignored`."""
    kind = schema.get("type")
    if kind in ("object", "array") and isinstance(value, str):
        value = _unpack(value)
    if kind == "string" and type(value) is int:
        return str(value)
    if kind in ("integer", "number") and isinstance(value, bool):
        raise WrongArguments(f"{path}: must be a number, not true or false")
    if kind == "array" and isinstance(value, list):
        return [_coerce(one, schema["items"], f"{path}[{index}]", ignored) for index, one in enumerate(value)]
    if kind == "object" and isinstance(value, dict) and "properties" in schema:
        fields = {}
        for name, one in value.items():
            field_path = f"{path}.{name}" if path else name
            if name not in schema["properties"]:
                ignored.append(field_path)
            elif one is not None or name in schema["required"]:
                fields[name] = _coerce(one, schema["properties"][name], field_path, ignored)
        return fields
    return value


def _unpack(text: str) -> Any:
    """The object or array in a string: models sometimes encode one twice. Any other text stays as it is."""
    try:
        value = parse_json(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) and is_storable(value) else text


def _message(errors: Sequence[tuple[tuple[int | str, ...], str]]) -> str:
    lines = [f"{'.'.join(map(str, path)) or 'arguments'}: {message}" for path, message in errors]
    more = f"; and {len(lines) - MAX_PROBLEMS} more" if len(lines) > MAX_PROBLEMS else ""
    return shorten("; ".join(lines[:MAX_PROBLEMS]), 1000) + more
