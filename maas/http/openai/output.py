"""What an answer of an assistant is to be: text, JSON, or the arguments of a tool that the client demands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maas.http.openai import ChatRequest
from maas.http.openai.caller import bad_parameter
from shared.errors import MaasError
from shared.output_schema import check_schema, unused_rules

MAX_SCHEMA_BYTES = 65_536
MAX_TOOL_NAME_CHARS = 64


@dataclass(frozen=True, slots=True)
class WantedOutput:
    """`stored` is kept with the run, None for text. `tool`: the call whose arguments the answer is, None without.

    `finish`: why such an answer ends. `ignored` names rules of a schema that are not checked.
    """

    stored: Mapping[str, Any] | None = None
    tool: str | None = None
    finish: str = "stop"
    ignored: tuple[str, ...] = ()


TEXT = WantedOutput()


def read_output(body: ChatRequest) -> WantedOutput:
    """Read `response_format`, or the one tool that `tools` and `tool_choice` demand. Raises MaasError."""
    wanted = _read_format(body.response_format)
    name = _demanded_tool(body)
    if name is None:
        return wanted
    if wanted is not TEXT:
        raise bad_parameter(
            "response_format: cannot be combined with a tool_choice that requires a tool", "response_format"
        )
    tools = [one for one in _functions(body) if one.get("name") == name]
    if len(tools) != 1 or not 0 < len(name) <= MAX_TOOL_NAME_CHARS:
        raise bad_parameter(f"tool_choice: {name[:MAX_TOOL_NAME_CHARS]!r} is not one of the tools", "tool_choice")
    schema, is_strict = tools[0].get("parameters"), tools[0].get("strict") is True
    finish = "tool_calls" if body.tool_choice == "required" else "stop"
    stored, ignored = _read_schema(schema or {"type": "object"}, is_strict, "tools", "parameters")
    return WantedOutput(stored, name, finish, ignored)


def is_demanded(body: ChatRequest) -> bool:
    """Whether the tools of a request are there for the one that it demands."""
    return _demanded_tool(body) is not None


def _read_format(value: object) -> WantedOutput:
    if value is None or value == {"type": "text"}:
        return TEXT
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind == "json_object":
        return WantedOutput({"schema": None, "strict": False})
    named = value.get("json_schema") if isinstance(value, Mapping) and kind == "json_schema" else None
    if not isinstance(named, Mapping):
        raise MaasError(
            "unsupported_parameter",
            "response_format: must be text, json_object, or json_schema with a `json_schema`",
            {"param": "response_format"},
        )
    stored, ignored = _read_schema(named.get("schema"), named.get("strict") is True, "response_format", "schema")
    return WantedOutput(stored, ignored=ignored)


def _read_schema(schema: object, is_strict: bool, param: str, field: str) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    if len(str(schema)) > MAX_SCHEMA_BYTES:
        raise bad_parameter(f"{param}: {field}: exceeds {MAX_SCHEMA_BYTES // 1024} KiB", param)
    try:
        checked = check_schema(schema)
    except ValueError as error:
        raise bad_parameter(f"{param}: {field}: {error}", param) from error
    return {"schema": dict(checked), "strict": is_strict}, tuple(f"{param}.{rule}" for rule in unused_rules(checked))


def _demanded_tool(body: ChatRequest) -> str | None:
    """The name of the function that a request demands; None where it leaves the choice."""
    choice = body.tool_choice if body.tools else body.function_call
    if body.tools and choice == "required":
        names = [one.get("name") for one in _functions(body)]
        return names[0] if len(names) == 1 and isinstance(names[0], str) else None
    named = choice.get("function", choice) if isinstance(choice, Mapping) else None
    name = named.get("name") if isinstance(named, Mapping) else None
    return name if isinstance(name, str) else None


def _functions(body: ChatRequest) -> list[Mapping[str, Any]]:
    """The functions that a request offers, in either form."""
    offered = body.tools if isinstance(body.tools, list) and body.tools else body.functions
    found = [one.get("function", one) for one in offered or [] if isinstance(one, Mapping)]
    return [one for one in found if isinstance(one, Mapping)]
