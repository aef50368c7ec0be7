"""Memories of mem0, as get_all and its export return them: sentences about a user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from maas.memory.transfer.sources.parts import Draft, Part

NAME = "mem0"


def matches(item: Mapping[str, Any]) -> bool:
    """Whether it is a memory."""
    return isinstance(item.get("memory"), str) and "id" in item and bool(item.keys() & {"hash", "user_id", "metadata"})


def read(item: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the memory as words of the user: what was said itself is not kept by mem0."""
    run = item.get("run_id") or item.get("session_id")
    yield Draft("user", item["memory"], item["id"], item.get("updated_at") or item.get("created_at"), run)
