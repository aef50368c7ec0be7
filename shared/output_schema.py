"""JSON schemas of clients: what of them is taken, and whether a value fits.

A schema comes from outside: nothing that it refers to is fetched, and none of its regular expressions is used, since
one of them could take for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.json import is_storable, json_parts

MAX_SCHEMA_PARTS = 5000
UNUSED = ("pattern", "format")  # left out of the check
REFUSED = ("patternProperties", "$dynamicRef", "$recursiveRef")
MAX_ERROR_CHARS = 300


def check_schema(schema: object) -> Mapping[str, Any]:
    """The schema without what is not checked. Raises ValueError, which says what is wrong with it."""
    from jsonschema import Draft202012Validator, SchemaError  # slow to load, seldom needed

    if not isinstance(schema, Mapping) or not is_storable(schema):
        raise ValueError("must be an object of JSON, without NUL and at most 100 levels deep")
    parts = list(json_parts(schema))
    if len(parts) > MAX_SCHEMA_PARTS:
        raise ValueError(f"has more than {MAX_SCHEMA_PARTS} parts")
    objects = [part for part in parts if isinstance(part, dict)]
    if found := [name for name in REFUSED if any(name in part for part in objects)]:
        raise ValueError(f"{found[0]} is not supported")
    refs = [part["$ref"] for part in objects if isinstance(part.get("$ref"), str)]
    if foreign := [ref for ref in refs if not ref.startswith("#")]:
        raise ValueError(f"$ref {foreign[0][:80]!r}: only references within the schema are followed")
    if schema.get("type", "object") != "object":
        raise ValueError("type: the outermost value must be an object")
    try:
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError as error:
        raise ValueError(error.message[:MAX_ERROR_CHARS]) from error
    return schema


def unused_rules(schema: Mapping[str, Any]) -> list[str]:
    """The keywords of a schema that the check passes over."""
    objects = [part for part in json_parts(schema) if isinstance(part, dict)]
    return [name for name in UNUSED if any(isinstance(part.get(name), str) for part in objects)]


def check_fit(schema: Mapping[str, Any], value: object) -> None:
    """Raises ValueError, which says where the value does not fit the schema."""
    from jsonschema import Draft202012Validator, validators
    from jsonschema.exceptions import best_match
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    lenient = validators.extend(Draft202012Validator, dict.fromkeys(UNUSED))
    try:
        error = best_match(lenient(dict(schema), registry=Registry()).iter_errors(value))
    except (Unresolvable, RecursionError) as problem:
        raise ValueError(f"the schema cannot be followed: {type(problem).__name__}") from problem
    if error is not None:
        path = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in error.absolute_path)
        raise ValueError(f"{path.lstrip('.') or 'the object'}: {error.message}"[:MAX_ERROR_CHARS])
