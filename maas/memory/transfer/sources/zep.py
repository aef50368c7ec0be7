"""Messages of a thread of Zep, as GET /threads/{id} returns them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from maas.memory.transfer.sources.parts import Draft, Part

NAME = "Zep"


def matches(item: Mapping[str, Any]) -> bool:
    """Whether it is a message of a thread."""
    return "uuid" in item and "content" in item and ("role" in item or "role_type" in item)


def read(item: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the message; older versions name the speaker `role` and have the role in `role_type`."""
    role, name = item.get("role_type") or item["role"], item.get("name")
    speaker = name or (item.get("role") if item.get("role_type") else None)
    yield Draft(role, item["content"], item["uuid"], item.get("created_at"), item.get("thread_id"), speaker)
