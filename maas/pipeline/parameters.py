"""Arguments against the schema of a tool as the table `tools` holds it, for those who have no tool at hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from shared.errors import MaasError

Schema = Mapping[str, Any]
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


def check_arguments(arguments: Mapping[str, Any], schema: Schema) -> None:
    """Raises MaasError('invalid_request') that names each argument that the schema refuses.

    Strict: nothing is coerced and nothing dropped, for a person says what shall be done. What a schema cannot say, the
    tool's own model checks when it is executed.
    """
    problems = dict(_problems(arguments, schema, "arguments"))
    if problems:
        name, message = next(iter(problems.items()))
        raise MaasError("invalid_request", f"{name}: {message}", problems)


def _problems(value: Any, schema: Schema, path: str) -> Iterator[tuple[str, str]]:
    if branches := schema.get("anyOf"):
        if all(list(_problems(value, branch, path)) for branch in branches):
            yield path, "fits none of the forms that the tool takes"
        return
    kind = schema["type"]
    if not _is_of(value, kind):
        yield path, f"must be of type {kind}"
        return
    match kind:
        case "object":
            yield from _of_object(value, schema, path)
        case "array":
            yield from _outside(len(value), schema.get("minItems"), schema.get("maxItems"), path, "items")
            for place, one in enumerate(value):
                yield from _problems(one, schema["items"], f"{path}[{place}]")
        case "string":
            yield from _of_string(value, schema, path)
        case "integer" | "number":
            yield from _outside(value, schema.get("minimum"), schema.get("maximum"), path, "")


def _is_of(value: Any, kind: str) -> bool:
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _of_object(value: dict[str, Any], schema: Schema, path: str) -> Iterator[tuple[str, str]]:
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}.{name}", "is required"
    properties = schema.get("properties")
    if properties is None:
        return
    for name, one in value.items():
        if name not in properties:
            yield f"{path}.{name}", "is no argument of the tool"
        elif one is not None or name in schema.get("required", ()):  # null stands for an argument that is not given
            yield from _problems(one, properties[name], f"{path}.{name}")


def _of_string(value: str, schema: Schema, path: str) -> Iterator[tuple[str, str]]:
    yield from _outside(len(value), schema.get("minLength"), schema.get("maxLength"), path, "characters")
    if "enum" in schema and value not in schema["enum"]:
        yield path, f"must be one of {', '.join(schema['enum'])}"
    if not _fits(schema.get("pattern"), value):
        yield path, f"must match {schema['pattern']}"


def _outside(size: float, least: float | None, most: float | None, path: str, unit: str) -> Iterator[tuple[str, str]]:
    if least is not None and size < least:
        yield path, f"must be at least {least} {unit}".rstrip()
    if most is not None and size > most:
        yield path, f"must be at most {most} {unit}".rstrip()


def _fits(pattern: str | None, value: str) -> bool:
    """A pattern that Python does not know is left to the tool's own model."""
    try:
        return pattern is None or re.search(pattern, value) is not None
    except re.error:
        return True
