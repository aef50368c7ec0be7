"""Reading ids, query parameters and cursors. Whatever is wrong raises one MaasError that says what."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from starlette.requests import Request

from shared.errors import MaasError


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


def read_key(request: Request) -> str | None:
    """`Idempotency-Key`, if there is one. Raises MaasError('bad_parameter')."""
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= 255 and key.isprintable()):
        raise MaasError("bad_parameter", "Idempotency-Key: must be 1 to 255 printable characters")
    return key
