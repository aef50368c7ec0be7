"""Reading ids, query parameters and cursors. Whatever is wrong raises one MaasError that says what."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from starlette.requests import Request

from maas.http.patterns import CURSOR, KEY
from shared.errors import MaasError

EPOCH = datetime.fromtimestamp(0, UTC)
FARTHEST = 60_000_000_000_000_000  # microseconds from there: 1,900 years, which a datetime holds either way


def read_id(request: Request, what: str) -> UUID:
    """The id in the path. Raises MaasError('not_found'): what is no id names nothing."""
    text = request.path_params["id"]
    try:
        return UUID(text)
    except ValueError as error:
        raise MaasError("not_found", f"there is no {what} {text[:80]!r}; an id is a UUID") from error


def read_parameter(request: Request, name: str, convert: Any, default: Any = None) -> Any:
    """A query parameter, sent once, through `convert`. Raises MaasError('bad_parameter')."""
    texts = request.query_params.getlist(name)
    if not texts:
        return default
    if len(texts) > 1:
        raise MaasError("bad_parameter", f"{name}: is sent {len(texts)} times")
    try:
        return convert(texts[0])
    except (ValueError, TypeError, OverflowError) as error:
        raise MaasError("bad_parameter", f"{name}: {error}"[:300]) from error


def read_switch(text: str) -> bool:
    """true or false. Raises ValueError."""
    if text not in ("true", "false"):
        raise ValueError("must be true or false")
    return text == "true"


def read_limit(request: Request) -> int:
    """`limit`, 1 to 100, default 50."""
    limit: int = read_parameter(request, "limit", _read_whole, 50)
    if not 1 <= limit <= 100:
        raise MaasError("bad_parameter", "limit: must be between 1 and 100")
    return limit


def _read_whole(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text):
        raise ValueError("must be a whole number")
    return int(text)


def read_cursor(request: Request) -> tuple[datetime, UUID] | None:
    """`before`, as `write_cursor` wrote it."""

    def parse(text: str) -> tuple[datetime, UUID]:
        if not re.fullmatch(CURSOR, text):
            raise ValueError("take it from `next` of the page before, as it is")
        microseconds, _, last = text.partition("_")
        since = max(-FARTHEST, min(int(microseconds), FARTHEST))
        return EPOCH + timedelta(microseconds=since), UUID(last)

    cursor: tuple[datetime, UUID] | None = read_parameter(request, "before", parse)
    return cursor


def write_cursor(rows: list[Any], limit: int) -> str | None:
    """The cursor of the next page; None when this page is not full."""
    if len(rows) < limit:
        return None
    return f"{(rows[-1]['created_at'] - EPOCH) // timedelta(microseconds=1)}_{rows[-1]['id']}"


def read_key(request: Request) -> str | None:
    """`Idempotency-Key`, if there is one. Raises MaasError('bad_parameter')."""
    key = request.headers.get("idempotency-key")
    if key is not None and not re.fullmatch(KEY, key):
        raise MaasError("bad_parameter", "Idempotency-Key: must be 1 to 255 printable characters of ASCII")
    return key
