"""What stands in the bodies of requests: texts, times and values that can be stored, each with its schema."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from maas.http.patterns import STORABLE, VISIBLE
from maas.memory.history import CONTENT_BYTES, keep_time
from shared.text import JSON_LEVELS, is_blank, is_too_deep

QUERY_BYTES = 64 * 1024
JSON = "#/components/schemas/Json"  # which openapi.py adds


def _visible(text: str) -> str:
    if is_blank(text):
        raise ValueError("must not be blank")
    return _storable(text)


def _visible_turn(text: str) -> str:
    if is_blank(text):
        raise ValueError("must not be blank")
    return _storable(text, CONTENT_BYTES)


def _storable(text: str, most: int = QUERY_BYTES) -> str:
    if "\x00" in text:
        raise ValueError("must not contain a NUL character")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise ValueError("must not contain lone surrogates") from error
    if size > most:
        raise ValueError(f"must not exceed {most} bytes of UTF-8; this has {size}")
    return text


def _written(value: object) -> object:
    if not isinstance(value, str | datetime):
        raise ValueError("must be a time in ISO 8601")
    return value


def _counted(value: object) -> object:
    if isinstance(value, str | bool):
        raise ValueError("must be a number")
    return value


def _storable_values(value: dict[str, Any]) -> dict[str, Any]:
    if is_too_deep(value):
        raise ValueError(f"must not be nested deeper than {JSON_LEVELS} levels")
    stack: list[Any] = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            _storable(one)
        elif isinstance(one, dict):
            stack += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            stack += one
        elif isinstance(one, float) and one in (float("inf"), float("-inf")):
            raise ValueError("must not contain infinite numbers")
    return value


def _known(at: datetime) -> datetime:
    known = keep_time(at)
    return known if at.tzinfo else at  # without an offset it is told by the clock of MAAS_TIMEZONE


def _matching(pattern: str, most: int | None = None) -> dict[str, Any]:
    limit = {} if most is None else {"description": f"at most {most} bytes of UTF-8"}
    return {"pattern": pattern, **limit}


_object = {
    "type": "object",
    "description": f"at most {JSON_LEVELS} levels deep",
    "propertyNames": {"pattern": STORABLE},
    "additionalProperties": {"x-ref": JSON},
}
Words = Annotated[str, AfterValidator(_visible), Field(json_schema_extra=_matching(VISIBLE, QUERY_BYTES))]
Turn = Annotated[str, AfterValidator(_visible_turn), Field(json_schema_extra=_matching(VISIBLE, CONTENT_BYTES))]
Text = Annotated[str, AfterValidator(_storable), Field(json_schema_extra=_matching(STORABLE))]
Time = Annotated[datetime, BeforeValidator(_written), AfterValidator(_known)]
SaidAt = Annotated[datetime, BeforeValidator(_written), AfterValidator(keep_time)]
Name = Annotated[Text, Field(min_length=1, max_length=200)]
Assistant = Annotated[
    Text, Field(min_length=1, max_length=50), WithJsonSchema({"type": "string", "format": "assistant"})
]  # one that is there, and its name is no longer than that
Values = Annotated[dict[str, Any], AfterValidator(_storable_values), WithJsonSchema(_object)]
Count = Annotated[int, BeforeValidator(_counted)]
