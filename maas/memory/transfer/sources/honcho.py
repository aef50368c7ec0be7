"""Messages of Honcho, as its lists return them: what peers said in sessions; and its conclusions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from maas.memory.transfer.sources.parts import Draft, LeftOut, Part

NAME = "Honcho"
ASSISTANTS = ("assistant", "agent", "ai", "bot")


def matches(item: Mapping[str, Any]) -> bool:
    """Whether it is a message or a conclusion."""
    return "content" in item and (
        {"peer_id", "session_id"} <= item.keys() or {"observer_id", "observed_id"} <= item.keys()
    )


def read(item: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the message. A peer is an assistant if its metadata or its name says so, else a person."""
    if "observer_id" in item:
        yield LeftOut("conclusions that were derived")
        return
    peer = item["peer_id"]
    role = (item.get("metadata") or {}).get("role")
    if role not in ("user", "assistant"):
        role = (
            "assistant" if any(part in ASSISTANTS for part in peer.casefold().replace("-", "_").split("_")) else "user"
        )
    yield Draft(role, item["content"], item["id"], item.get("created_at"), item["session_id"], peer)
