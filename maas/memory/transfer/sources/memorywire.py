"""Records of memorywire that another product has written: what an agent remembers of a user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from maas.memory.transfer.sources.parts import Draft, LeftOut, Part

NAME = "memorywire"
TYPES = ("semantic", "episodic", "procedural", "emotional")


def matches(item: Mapping[str, Any]) -> bool:
    """Whether it is a stored memory."""
    return {"id", "agent_id", "content", "created_at"} <= item.keys() and item.get("type") in TYPES


def read(item: Mapping[str, Any]) -> Iterator[Part]:
    """Yield it as words of the user; procedures are left out. Its times are milliseconds since 1970."""
    if not isinstance(item["content"], str):
        yield LeftOut("procedures")
        return
    at = item.get("event_time") or item["created_at"]
    yield Draft("user", item["content"], item["id"], at / 1000, item["agent_id"])
