"""Reading a request: bodies, ids, cursors. Whatever is wrong raises one MaasError that says what."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from datetime import datetime
from typing import Any, BinaryIO, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from shared.errors import MaasError

BODY_BYTES = 1024 * 1024
Model = TypeVar("Model", bound=BaseModel)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")


_JSON = json.JSONDecoder(parse_constant=_refuse)


async def read_body(request: Request, model: type[Model]) -> Model:
    """The JSON body as `model`. Raises MaasError: unsupported_media_type, too_large, invalid_json, invalid_request."""
    kind = content_type(request)
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise MaasError("unsupported_media_type", "send the body as application/json")
    raw = bytearray()
    async for chunk in read_chunks(request, BODY_BYTES):
        raw += chunk
    try:
        value = _JSON.decode(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise MaasError("invalid_json", f"the body is not UTF-8: {error.reason} at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise MaasError("invalid_json", f"the body is not JSON: {error}"[:300]) from error
    return check(model, value)


def check(model: type[Model], value: object) -> Model:
    """What was sent as `model`. Raises MaasError('invalid_request')."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problems = {".".join(map(str, one["loc"])) or "body": one["msg"] for one in error.errors()}
        name, message = next(iter(problems.items()))
        raise MaasError("invalid_request", f"{name}: {message}", problems) from error


async def read_into(request: Request, file: BinaryIO, most: int, types: Sequence[str]) -> None:
    """The body into a file, which stands at its start then. Raises MaasError: unsupported_media_type, too_large."""
    if content_type(request) not in types:
        raise MaasError("unsupported_media_type", f"send the body as {' or '.join(types)}")
    async for chunk in read_chunks(request, most):
        file.write(chunk)
    file.seek(0)


def content_type(request: Request) -> str:
    """The media type of the body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_chunks(request: Request, most: int) -> AsyncGenerator[bytes, None]:
    """The body as it comes. Raises MaasError('too_large')."""
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > most:
            raise MaasError("too_large", f"the body exceeds {most} bytes")
        yield chunk


def read_id(request: Request, what: str) -> UUID:
    """The id in the path. Raises MaasError('not_found'): what is no id names nothing."""
    text = request.path_params["id"]
    try:
        return UUID(text)
    except ValueError as error:
        raise MaasError("not_found", f"there is no {what} {text[:80]!r}; an id is a UUID") from error


def read_parameter(request: Request, name: str, convert: Any, default: Any = None) -> Any:
    """A query parameter through `convert`. Raises MaasError('bad_parameter')."""
    text = request.query_params.get(name)
    if text is None or text == "":
        return default
    try:
        return convert(text)
    except (ValueError, TypeError, OverflowError) as error:
        raise MaasError("bad_parameter", f"{name}: {error}"[:300]) from error


def read_limit(request: Request) -> int:
    """`limit`, 1 to 100, default 50."""
    limit: int = read_parameter(request, "limit", int, 50)
    if not 1 <= limit <= 100:
        raise MaasError("bad_parameter", "limit: must be between 1 and 100")
    return limit


def read_cursor(request: Request) -> tuple[datetime, UUID] | None:
    """`before`, as `write_cursor` wrote it."""

    def parse(text: str) -> tuple[datetime, UUID]:
        at, _, last = text.partition("_")
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is None:
            raise ValueError("take it from `next` of the page before, as it is")
        return moment, UUID(last)

    cursor: tuple[datetime, UUID] | None = read_parameter(request, "before", parse)
    return cursor


def write_cursor(rows: list[Any], limit: int) -> str | None:
    """The cursor of the next page; None when this page is not full."""
    if len(rows) < limit:
        return None
    at = rows[-1]["created_at"].isoformat().replace("+00:00", "Z")
    return f"{at}_{rows[-1]['id']}"
