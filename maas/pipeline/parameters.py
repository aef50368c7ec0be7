"""Arguments against the schema of a tool, where there is no model of them: at the doors, for tools of servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from shared.errors import MaasError
from shared.text import shorten

Schema = Mapping[str, Any]
Place = tuple[int | str, ...]
_RULES = ("type", "items", "enum", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength",
          "anyOf")  # fmt: skip


def check_arguments(arguments: Mapping[str, Any], schema: Schema) -> None:
    """Raises MaasError('invalid_request') that names each argument that the schema refuses.

    Strict: nothing is coerced and nothing dropped, for a person says what shall be done. What a schema cannot say, the
    tool's own model checks when it is executed.
    """
    found = {".".join(map(str, ("arguments", *place))): message for place, message in problems(arguments, schema)}
    if found:
        name, message = next(iter(found.items()))
        raise MaasError("invalid_request", f"{name}: {message}", found)


def problems(value: Any, schema: Schema) -> list[tuple[Place, str]]:
    """What is wrong with a value, and where. Null stands for an argument that is not given; unknown ones are wrong.

    Without `pattern`: a stranger's regular expression could hold up the process; whoever wrote it checks it, too.
    """
    return [(tuple(one.absolute_path), shorten(one.message, 200)) for one in _validator()(schema).iter_errors(value)]


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator, ValidationError, validators  # slow to load, seldom needed

    def properties(validator: Any, known: Schema, value: Any, schema: Schema) -> Iterator[ValidationError]:
        for name, one in value.items() if isinstance(value, dict) else ():
            if name not in known:
                yield ValidationError("is no argument of the tool", path=[name])
            elif one is not None or name in schema.get("required", ()):
                yield from validator.descend(one, known[name], path=name, schema_path=name)

    def required(_: Any, names: list[str], value: Any, __: Schema) -> Iterator[ValidationError]:
        yield from (ValidationError("is required", path=[name]) for name in names if name not in value)

    rules = {word: Draft202012Validator.VALIDATORS[word] for word in _RULES}
    return validators.create({}, rules | {"properties": properties, "required": required})
