"""The arguments of a call: a model's JSON text made into what its tool takes, or a sentence about what is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from pydantic import BaseModel, ValidationError

from maas.agents.tools import Tool
from maas.pipeline.parameters import problems
from shared.errors import problems_of
from shared.text import JSON_LEVELS, is_storable, is_too_deep, shorten

CHARS = 65_536
_SHOWN = 5
_TOO_DEEP = f"arguments are nested deeper than {JSON_LEVELS} levels: send them flatter"


class WrongArguments(ValueError):
    """The message says to the model what to send instead."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """`values` is the JSON of `model`, defaults included; `ignored` names what the tool does not know.

    A tool that has a schema only is given the values themselves.
    """

    model: BaseModel | Mapping[str, Any]
    values: Mapping[str, Any]
    ignored: tuple[str, ...]


def read_arguments(tool: Tool, text: str) -> Arguments:
    """Coerce what is meant ("5" for 5, 17 for "17", null for nothing); an empty text means no arguments.

    Unknown arguments are dropped and named, but a dangerous tool refuses them: a person approves all that was meant or
    nothing. Raises WrongArguments.
    """
    value = _read(text)
    ignored: list[str] = []
    fitted = _fit(value, tool.parameters, "", ignored)
    if is_too_deep(fitted):  # with what was unpacked
        raise WrongArguments(_TOO_DEEP)
    if ignored and tool.effect == "dangerous":
        raise WrongArguments(f"unknown: {shorten(', '.join(ignored), 300)}; send only what the tool takes")
    if tool.arguments is None:
        if found := problems(fitted, tool.parameters):
            raise WrongArguments(_message(found))
        return Arguments(fitted, fitted, tuple(ignored))
    try:
        model = tool.arguments.model_validate(fitted)
        return Arguments(model, model.model_dump(mode="json", by_alias=True), tuple(ignored))
    except ValidationError as error:
        raise WrongArguments(_message([(one.path, one.words) for one in problems_of(error)])) from error
    except (ValueError, RecursionError) as error:  # of the way back into JSON
        raise WrongArguments("arguments are nested too deeply") from error


def _read(text: str) -> dict[str, Any]:
    """The object that a model wrote. Raises WrongArguments."""
    if len(text) > CHARS:
        raise WrongArguments(f"arguments exceed {CHARS:,} characters: send less")
    try:
        value = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise WrongArguments("arguments are not JSON: send one JSON object") from error
    if not isinstance(value, dict):
        raise WrongArguments("arguments must be one JSON object")
    if is_too_deep(value):
        raise WrongArguments(_TOO_DEEP)
    if not is_storable(value):
        raise WrongArguments("arguments hold NUL, half a surrogate pair or an infinite number: send them without")
    return value


def fingerprint(tool: Tool, values: Mapping[str, Any]) -> str:
    """One hash for one tool version with these arguments: of reads made once, and of what a person approved."""
    text = json.dumps([tool.version, values], sort_keys=True, ensure_ascii=False)
    return sha256(text.encode()).hexdigest()


def _fit(value: Any, schema: Mapping[str, Any], path: str, ignored: list[str]) -> Any:
    """`value` nearer to `schema`; the names of unknown arguments are added to `ignored`."""
    kind = schema.get("type")
    if kind in ("object", "array") and isinstance(value, str):
        value = _unpacked(value)
    if kind == "string" and type(value) is int:
        return str(value)
    if kind in ("integer", "number") and isinstance(value, bool):
        raise WrongArguments(f"{path}: must be a number, not true or false")
    if kind == "array" and isinstance(value, list):
        return [_fit(one, schema["items"], f"{path}[{place}]", ignored) for place, one in enumerate(value)]
    if kind == "object" and isinstance(value, dict) and "properties" in schema:
        found = {}
        for name, one in value.items():
            where = f"{path}.{name}" if path else name
            if name not in schema["properties"]:
                ignored.append(where)
            elif one is not None or name in schema["required"]:
                found[name] = _fit(one, schema["properties"][name], where, ignored)
        return found
    return value


def _unpacked(text: str) -> Any:
    """What a model wrapped into a string once too often."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict | list) and is_storable(value) else text


def _message(found: Sequence[tuple[tuple[int | str, ...], str]]) -> str:
    lines = [f"{'.'.join(map(str, place)) or 'arguments'}: {message}" for place, message in found]
    more = f"; and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return shorten("; ".join(lines[:_SHOWN]), 1000) + more
