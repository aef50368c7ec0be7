"""The base classes of request and response schemas, the field types that they share, and JSON responses."""

from __future__ import annotations

import json
import math
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, WithJsonSchema
from starlette.responses import Response

from maas.memory.dates import to_utc
from maas.runs.answers import RunAnswer
from shared.json import MAX_JSON_DEPTH, is_too_deep, json_parts
from shared.text import is_blank

MAX_QUERY_BYTES = 64 * 1024
MAX_MESSAGE_BYTES = 256 * 1024
MAX_METADATA_BYTES = 4096
MAX_METADATA_LEVELS = 20
JSON_VALUE_REF = "#/components/schemas/Json"  # openapi.py adds this component

# Code points that show nothing (shared.text.is_blank), as first and last of each range.
INVISIBLE_RANGES = (
    0x0, 0x20, 0x7F, 0xA0, 0xAD, 0xAD, 0x34F, 0x34F, 0x600, 0x605, 0x61C, 0x61C, 0x6DD, 0x6DD, 0x70F, 0x70F,
    0x890, 0x891, 0x8E2, 0x8E2, 0x115F, 0x1160, 0x1680, 0x1680, 0x17B4, 0x17B5, 0x180B, 0x180E, 0x2000, 0x200F,
    0x2028, 0x202F, 0x205F, 0x2064, 0x2066, 0x206F, 0x2800, 0x2800, 0x3000, 0x3000, 0x3164, 0x3164,
    0xFE00, 0xFE0F, 0xFEFF, 0xFEFF, 0xFFA0, 0xFFA0, 0xFFF9, 0xFFFB, 0x110BD, 0x110BD, 0x110CD, 0x110CD,
    0x13430, 0x1343F, 0x1BCA0, 0x1BCA3, 0x1D173, 0x1D17A, 0xE0001, 0xE0001, 0xE0020, 0xE007F, 0xE0100, 0xE01EF,
)  # fmt: skip


def _escape(point: int) -> str:
    return f"\\u{point:04x}" if point < 0x10000 else chr(point)


_invisible = "".join(f"{_escape(first)}-{_escape(last)}" for first, last in list(pairwise(INVISIBLE_RANGES))[::2])

# JSON Schema patterns for OpenAPI; each states the same rule as the validator that is named beside it.
STORABLE_PATTERN = "^[^\\u0000]*$"  # _check_storable
VISIBLE_CHARACTER_PATTERN = f"[^{_invisible}]"  # not is_blank
VISIBLE_PATTERN = f"^[^\\u0000]*[^{_invisible}][^\\u0000]*$"  # _check_visible


class Schema(BaseModel):
    """Base of all request and response schemas; a validator is built when it is first used, which keeps start short."""

    model_config = ConfigDict(defer_build=True)


class RequestBody(Schema):
    """Base of the bodies that clients send; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


def only_field(name: str, *without: str) -> dict[str, Any]:
    """Return the JSON schema of a body that has the field `name` and none of the fields `without`."""
    absent: dict[str, Any] = {other: {"type": "null"} for other in without}
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}, **absent}}


def json_response(schema: Schema, status: int = 200) -> Response:
    """Serialize `schema` as the JSON body of a response."""
    return Response(schema.model_dump_json(by_alias=True), status, media_type="application/json")


def _check_storable(text: str, max_bytes: int = MAX_QUERY_BYTES) -> str:
    if "\x00" in text:
        raise ValueError("must not contain a NUL character")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise ValueError("must not contain lone surrogates") from error
    if size > max_bytes:
        raise ValueError(f"must not exceed {max_bytes} bytes of UTF-8; this has {size}")
    return text


def _check_visible(text: str, max_bytes: int = MAX_QUERY_BYTES) -> str:
    if is_blank(text):
        raise ValueError("must not be blank")
    return _check_storable(text, max_bytes)


def _check_message(text: str) -> str:
    return _check_visible(text, MAX_MESSAGE_BYTES)


def _require_text_or_datetime(value: object) -> object:
    if not isinstance(value, str | datetime):
        raise ValueError("must be a time in ISO 8601")
    return value


def _require_number(value: object) -> object:
    if isinstance(value, str | bool):
        raise ValueError("must be a number")
    return value


def _check_json_object(value: dict[str, Any]) -> dict[str, Any]:
    if is_too_deep(value):
        raise ValueError(f"must not be nested deeper than {MAX_JSON_DEPTH} levels")
    for part in json_parts(value):
        if isinstance(part, str):
            _check_storable(part)
        elif isinstance(part, float) and math.isinf(part):
            raise ValueError("must not contain infinite numbers")
    return value


def _check_metadata(value: dict[str, Any]) -> dict[str, Any]:
    if is_too_deep(value, MAX_METADATA_LEVELS):
        raise ValueError(f"must not be nested deeper than {MAX_METADATA_LEVELS} levels")
    if len(json.dumps(value, ensure_ascii=False).encode()) > MAX_METADATA_BYTES:
        raise ValueError(f"must not exceed {MAX_METADATA_BYTES} bytes of JSON")
    return value


def _check_timestamp(at: datetime) -> datetime:
    checked = to_utc(at)
    return checked if at.tzinfo else at  # the handler interprets a time without an offset in MAAS_TIMEZONE


def _text_schema(pattern: str, max_bytes: int | None = None) -> dict[str, Any]:
    description = {} if max_bytes is None else {"description": f"At most {max_bytes} bytes of UTF-8."}
    return {"pattern": pattern, **description}


_JSON_OBJECT_SCHEMA = {
    "type": "object",
    "description": f"At most {MAX_JSON_DEPTH} levels deep.",
    "propertyNames": {"pattern": STORABLE_PATTERN},
    "additionalProperties": {"x-ref": JSON_VALUE_REF},
}
QueryText = Annotated[
    str, AfterValidator(_check_visible), Field(json_schema_extra=_text_schema(VISIBLE_PATTERN, MAX_QUERY_BYTES))
]
MessageText = Annotated[
    str, AfterValidator(_check_message), Field(json_schema_extra=_text_schema(VISIBLE_PATTERN, MAX_MESSAGE_BYTES))
]
SentenceText = Annotated[
    str, AfterValidator(_check_visible), Field(max_length=2000, json_schema_extra=_text_schema(VISIBLE_PATTERN))
]
StorableText = Annotated[str, AfterValidator(_check_storable), Field(json_schema_extra=_text_schema(STORABLE_PATTERN))]
Timestamp = Annotated[datetime, BeforeValidator(_require_text_or_datetime), AfterValidator(_check_timestamp)]
OccurredAt = Annotated[datetime, BeforeValidator(_require_text_or_datetime), AfterValidator(to_utc)]
Name = Annotated[StorableText, Field(min_length=1, max_length=200)]
AssistantName = Annotated[
    StorableText, Field(min_length=1, max_length=50), WithJsonSchema({"type": "string", "format": "assistant"})
]  # the format is not a JSON Schema one: fuzzers generate it from the names of known assistants
AttributeValue = (
    Annotated[StorableText, Field(strict=True, max_length=512)]
    | StrictBool
    | Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)]
    | Annotated[float, Field(strict=True, allow_inf_nan=False)]
)
Attributes = Annotated[
    dict[Annotated[StorableText, Field(min_length=1, max_length=64)], AttributeValue], Field(max_length=16)
]
JsonObject = Annotated[dict[str, Any], AfterValidator(_check_json_object), WithJsonSchema(_JSON_OBJECT_SCHEMA)]
MemoryMetadata = Annotated[JsonObject, AfterValidator(_check_metadata)]
NUMBER = BeforeValidator(_require_number)  # behind bounds in an Annotated, so that the JSON schema has them
Integer = Annotated[int, NUMBER]


class RunAccepted(Schema):
    """The run was inserted and will be processed in the background."""

    request_id: UUID = Field(description="The id of the run.")
    status: Literal["processing"] = "processing"
    poll_url: str = Field(description="The path of the run, which returns its state and its answer.")


class Phrase(Schema):
    en: str
    ru: str


class MemoryOrigin(Schema):
    """What a memory was made from, if not from what its user said."""

    kind: Literal["tool", "document", "import"]
    name: str
    domain: str | None = Field(None, description="Of a tool; of one of an MCP server the name of the server.")
    id: UUID | None = Field(None, description="Of a document.")


class Source(Schema):
    """A memory that was retrieved as evidence for an answer."""

    id: UUID
    kind: Literal["turn", "summary", "recent", "fact"] = Field(
        description="A message that search found, a summary of messages, a fact, or one of the most recent messages "
        "(recent)."
    )
    score: float
    number: int | None = Field(None, description="The number by which the answer cites it; null without marks.")
    origins: list[MemoryOrigin] = Field([], description="The tools and documents that it was made from.")


def to_source(row: dict[str, Any]) -> Source:
    """A source from the row of a run, which does not hold `used`."""
    return Source(**{name: row[name] for name in Source.model_fields if name in row})


def sources_of(answer: RunAnswer) -> dict[str, Any]:
    """What streams tell of an answer: its `sources` as JSON, and the ids of those that it `used`."""
    sources = [to_source(one).model_dump(mode="json") for one in answer.sources]
    return {"sources": sources, "used": [str(one["id"]) for one in answer.sources if one.get("used")]}


Effect = Literal["read", "write", "dangerous"]
StepStatus = Literal["pending", "running", "waiting", "done", "failed", "in_doubt", "skipped"]


class TaskStepState(Schema):
    """A step of a task."""

    number: int
    title: str
    tool: str | None = Field(description="The tool that it calls; null where it asks the assistant's model.")
    depends_on: list[int] = Field(description="The steps that must be done before it begins.")
    status: StepStatus = Field(description="in_doubt: a write was begun, and it is unknown whether it took effect.")
    error_code: str | None = Field(description="Why it was not done.")
    started_at: datetime | None
    ended_at: datetime | None
