"""Reading a request: path ids, query parameters, headers, pagination cursors and bodies.

Everything that is wrong raises one MaasError that names the parameter or field.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, BinaryIO, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from shared.bounded_http import weigh
from shared.errors import MaasError, problems_of
from shared.json import is_storable, parse_json
from shared.text import is_blank, offload

MAX_JSON_BODY_BYTES = 1024 * 1024
MAX_WEIGHT = 4  # of a body, by what its lists and objects take in memory, in parts of the bytes that it may have
MAX_PAGE_SIZE = 100
DEFAULT_PAGE_SIZE = 50
MAX_LEVEL = 3  # of summaries: months
CURSOR_EPOCH = datetime.fromtimestamp(0, UTC)
MAX_CURSOR_US = 60_000_000_000_000_000  # 1,900 years: a datetime can hold the epoch plus or minus as much

# JSON Schema patterns for OpenAPI; the functions below check with the same ones.
IDEMPOTENCY_KEY_PATTERN = "^[!-~]([ -~]{0,253}[!-~])?$"
CURSOR_PATTERN = "^-?[0-9]{1,18}_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
MAX_SEARCH_CHARS = 200
RESPONSE_PREFIX = "resp_"
Model = TypeVar("Model", bound=BaseModel)


def read_id(request: Request, resource: str) -> UUID:
    """Return the id in the path; that of a response may begin with resp_.

    Raises MaasError('not_found') when it is not a UUID, so that it names nothing.
    """
    text = request.path_params["id"]
    try:
        return UUID(text.removeprefix(RESPONSE_PREFIX) if resource == "response" else text)
    except ValueError as error:
        raise MaasError("not_found", f"there is no {resource} {text[:80]!r}; an id is a UUID") from error


def read_parameter(request: Request, name: str, convert: Any, default: Any = None) -> Any:
    """Return a query parameter, converted by `convert`. Raises MaasError('bad_parameter'), also when it is repeated."""
    texts = request.query_params.getlist(name)
    if not texts:
        return default
    if len(texts) > 1:
        raise MaasError("bad_parameter", f"{name}: must be sent once, not {len(texts)} times")
    try:
        return convert(texts[0])
    except (ValueError, TypeError, OverflowError) as error:
        raise MaasError("bad_parameter", f"{name}: {error}"[:300]) from error


def to_bool(text: str) -> bool:
    """Convert `true` or `false`. Raises ValueError."""
    if text not in ("true", "false"):
        raise ValueError("must be true or false")
    return text == "true"


def to_level(text: str) -> int:
    """Convert the level of a summary. Raises ValueError."""
    if text not in map(str, range(MAX_LEVEL + 1)):
        raise ValueError(f"must be a whole number from 0 to {MAX_LEVEL}")
    return int(text)


def to_year(text: str) -> int:
    """Convert a year of the calendar. Raises ValueError."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 4 and int(text)):
        raise ValueError("must be a year from 1 to 9999")
    return int(text)


def to_seconds(text: str) -> float:
    """Convert a decimal number. Raises ValueError."""
    if "_" in text:
        raise ValueError("must be a number")
    return float(text)


def in_zone(zone: tzinfo, at: datetime | None) -> datetime | None:
    """Interpret a time without an offset in `zone`."""
    return at.replace(tzinfo=zone) if at and not at.tzinfo else at


def to_storable_text(text: str) -> str:
    """Check a name to filter by: 1 to MAX_SEARCH_CHARS characters. Raises ValueError."""
    if not is_storable(text) or not 1 <= len(text) <= MAX_SEARCH_CHARS:
        raise ValueError(f"must be 1 to {MAX_SEARCH_CHARS} characters without NUL")
    return text


def to_search_text(text: str) -> str:
    """Check a text to search for: as `to_storable_text`, and not blank. Raises ValueError."""
    if is_blank(text):
        raise ValueError("must not be blank")
    return to_storable_text(text)


def _to_page_size(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text):
        raise ValueError("must be a whole number")
    return int(text)


def read_limit(request: Request) -> int:
    """Return the page size, `limit`: 1 to MAX_PAGE_SIZE. Raises MaasError('bad_parameter')."""
    limit: int = read_parameter(request, "limit", _to_page_size, DEFAULT_PAGE_SIZE)
    if not 1 <= limit <= MAX_PAGE_SIZE:
        raise MaasError("bad_parameter", f"limit: must be between 1 and {MAX_PAGE_SIZE}")
    return limit


def read_cursor(request: Request, name: str = "before") -> tuple[datetime, UUID] | None:
    """Return the time and id that `write_cursor` wrote into a parameter. Raises MaasError('bad_parameter')."""
    cursor: tuple[datetime, UUID] | None = read_parameter(request, name, to_cursor)
    return cursor


def to_cursor(text: str) -> tuple[datetime, UUID]:
    """Convert what `write_cursor` wrote. Raises ValueError."""
    if not re.fullmatch(CURSOR_PATTERN, text):
        raise ValueError("must be `next` of the previous page, unchanged")
    microseconds, _, last_id = text.partition("_")
    since = max(-MAX_CURSOR_US, min(int(microseconds), MAX_CURSOR_US))
    return CURSOR_EPOCH + timedelta(microseconds=since), UUID(last_id)


def write_cursor(rows: list[Any], limit: int, by: str = "created_at") -> str | None:
    """Return the cursor of the next page, or None when this page is not full and therefore the last.

    `by`: the column with the time that rows are ordered by, before their id.
    """
    if len(rows) < limit:
        return None
    return f"{(rows[-1][by] - CURSOR_EPOCH) // timedelta(microseconds=1)}_{rows[-1]['id']}"


def read_idempotency_key(request: Request) -> str | None:
    """Return the header `Idempotency-Key`, if it was sent. Raises MaasError('bad_parameter')."""
    key = request.headers.get("idempotency-key")
    if key is not None and not re.fullmatch(IDEMPOTENCY_KEY_PATTERN, key):
        raise MaasError("bad_parameter", "Idempotency-Key: must be 1 to 255 printable characters of ASCII")
    return key


def content_type(request: Request) -> str:
    """Return the media type of the body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_chunks(request: Request, max_bytes: int) -> AsyncGenerator[bytes, None]:
    """Yield the body as it arrives. Raises MaasError('too_large')."""
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > max_bytes:
            raise MaasError("too_large", f"the body exceeds {max_bytes} bytes")
        yield chunk


async def read_to_file(request: Request, file: BinaryIO, max_bytes: int, media_types: Sequence[str]) -> None:
    """Write the body to `file` and rewind it. Raises MaasError: unsupported_media_type, too_large."""
    if content_type(request) not in media_types:
        raise MaasError("unsupported_media_type", f"send the body as {' or '.join(media_types)}")
    async for chunk in read_chunks(request, max_bytes):
        file.write(chunk)
    file.seek(0)


async def read_json(request: Request, max_bytes: int = MAX_JSON_BODY_BYTES) -> object:
    """Return the body as a JSON value. Raises MaasError: unsupported_media_type, too_large, invalid_json."""
    media_type = content_type(request)
    if media_type != "application/json" and not (
        media_type.startswith("application/") and media_type.endswith("+json")
    ):
        raise MaasError("unsupported_media_type", "send the body as application/json")
    raw = bytearray()
    async for chunk in read_chunks(request, max_bytes):
        raw += chunk
    if weigh(bytes(raw)) > max_bytes * MAX_WEIGHT:
        raise MaasError("too_large", "the body has too many lists and objects")
    try:
        value: object = await offload(len(raw), parse_json, bytes(raw), unique_names=True)
    except UnicodeDecodeError as error:
        raise MaasError("invalid_json", f"the body is not UTF-8: {error.reason} at byte {error.start}") from error
    except ValueError as error:
        raise MaasError("invalid_json", f"the body is not JSON: {error}"[:300]) from error
    return value


def validate(model: type[Model], value: object) -> Model:
    """Return `value` as `model`. Raises MaasError('invalid_request') with the problem of each field in its details."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problems = {problem.field or "body": problem.message for problem in problems_of(error)}
        name, message = next(iter(problems.items()))
        raise MaasError("invalid_request", f"{name}: {message}", problems) from error
