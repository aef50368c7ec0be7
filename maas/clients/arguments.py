"""Arguments as people write them."""

from __future__ import annotations

from datetime import date, datetime
from typing import TypeAlias
from uuid import UUID

from maas.clients.errors import InvalidRequest
from maas.clients.users import UserId

Moment: TypeAlias = datetime | date | str


def read_id(given: UserId) -> UUID:
    """Raises InvalidRequest for what is no UUID."""
    try:
        return UUID(str(given))
    except ValueError as error:
        raise InvalidRequest("invalid_request", f"{str(given)[:80]!r} is no id; an id is a UUID") from error


def write_moment(at: Moment | None) -> str | None:
    """As the server reads it."""
    return at if isinstance(at, str | None) else at.isoformat()
