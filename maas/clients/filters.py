"""The filters of mem0, as far as memories here can be told apart by them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from maas.clients.errors import InvalidRequest

Filters: TypeAlias = Mapping[str, Any]
_TIMES = {"gte": "from", "lt": "to"}


def flat(filters: Filters | None) -> dict[str, Any]:
    """Filters without their AND. Raises InvalidRequest for what cannot be filtered by."""
    found: dict[str, Any] = {}
    for name, value in _each(filters or {}):
        if name not in ("user_id", "tags", "created_at"):
            raise InvalidRequest(
                "invalid_request", f"filters: {name} is none of user_id, tags, created_at and an AND of them"
            )
        found[name] = value
    return found


def reach_of(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Tags and times of flat filters, as a search takes them. Raises InvalidRequest."""
    reach: dict[str, Any] = {}
    if "tags" in filters:
        tags = filters["tags"]
        reach["tags"] = [tags] if isinstance(tags, str) else tags["in"] if isinstance(tags, Mapping) else list(tags)
    for sign, moment in filters.get("created_at", {}).items():
        if sign not in _TIMES:
            raise InvalidRequest("invalid_request", f"filters: created_at takes gte and lt, not {sign}")
        reach[_TIMES[sign]] = moment
    return reach


def _each(filters: Filters) -> Iterator[tuple[str, Any]]:
    for name, value in filters.items():
        if name == "AND":
            for one in value:
                yield from _each(one)
        else:
            yield name, value
