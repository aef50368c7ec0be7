"""Reading a form with one file in it; whatever is wrong raises one MaasError that says what."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from pydantic import BaseModel
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from maas.http.reading import accept, content_type, read_chunks
from shared.errors import MaasError

FORM_BYTES = 16 * 1024  # what may stand around the file
Model = TypeVar("Model", bound=BaseModel)


@asynccontextmanager
async def read_form(
    request: Request, model: type[Model], file: str, most: int, places: Semaphore
) -> AsyncIterator[Model]:
    """A multipart form as `model`, its field `file` as at most `most` bytes, which are in memory while it has a place.

    Raises MaasError: unsupported_media_type, too_large, invalid_request, not_found.
    """
    if content_type(request) != "multipart/form-data":
        raise MaasError("unsupported_media_type", "send the body as multipart/form-data")
    chunks = read_chunks(request, most + FORM_BYTES)
    try:
        parser = MultiPartParser(request.headers, chunks, max_files=1, max_fields=10, max_part_size=FORM_BYTES)
        form = await parser.parse()
    except MultiPartException as error:
        raise MaasError("invalid_request", f"body: {error.message}") from error
    values: dict[str, object] = {}
    try:
        async with places:
            for name, value in form.multi_items():
                if name in values:
                    raise MaasError("invalid_request", f"{name[:80]!r}: is sent twice")
                values[name] = await _read(name, value, file, most)
            yield await accept(request, model, values)
    finally:
        await form.close()


async def _read(name: str, value: UploadFile | str, file: str, most: int) -> str | bytes:
    if isinstance(value, str):
        if name == file:
            raise MaasError("invalid_request", f"{name}: must be a file, with a filename")
        return value
    if "\x00" in f"{name}{value.filename}":
        raise MaasError("invalid_request", f"{file}: its name must not contain a NUL character")
    content = await value.read()
    if len(content) > most:
        raise MaasError("too_large", f"{file}: exceeds {most} bytes")
    return content
