"""Reading bodies. Whatever is wrong raises one MaasError that says what."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from typing import BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from maas.http.access import check_user
from shared.errors import MaasError, problems_of

BODY_BYTES = 1024 * 1024
Model = TypeVar("Model", bound=BaseModel)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object; who checks a body on its way here may have read the other of two values."""
    whole = dict(pairs)
    if len(whole) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return whole


_JSON = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_once)


async def read_body(request: Request, model: type[Model]) -> Model:
    """The JSON body as `model`, of a user that the caller is there for.

    Raises MaasError: unsupported_media_type, too_large, invalid_json, invalid_request, not_found.
    """
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
    return await accept(request, model, value)


async def accept(request: Request, model: type[Model], value: object) -> Model:
    """What was sent as `model`; the user it names is the caller's. Raises MaasError: invalid_request, not_found."""
    body = _check(model, value)
    if (user_id := getattr(body, "user_id", None)) is not None:
        await check_user(request, user_id)
    return body


def _check(model: type[Model], value: object) -> Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problems = {one.field or "body": one.words for one in problems_of(error)}
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
