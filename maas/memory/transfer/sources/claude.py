"""conversations.json of a claude.ai export: conversations with `chat_messages`; and memories.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from maas.memory.transfer.sources.parts import Draft, LeftOut, Part, text_of

NAME = "Claude"
MEMORY = "conversations_memory"


def matches(item: Mapping[str, Any]) -> bool:
    """Whether it is a conversation, or what was derived from all of them."""
    return isinstance(item.get("chat_messages"), list) or MEMORY in item


def read(item: Mapping[str, Any]) -> Iterator[Part]:
    """Yield its messages; older exports have `text` alone, newer ones blocks of `content`."""
    if MEMORY in item:
        derived = [item[MEMORY], *(item.get("project_memories") or {}).values()]
        yield from (LeftOut("memories that were derived") for one in derived if one)
        return
    for message in item["chat_messages"]:
        text, others = text_of(message.get("content"))
        yield from others
        if files := [*(message.get("attachments") or []), *(message.get("files") or [])]:
            yield LeftOut("attached files", len(files))
        yield Draft(
            message["sender"],
            text or message.get("text") or "",
            message["uuid"],
            message.get("created_at"),
            item.get("uuid"),
            title=item.get("name"),
        )
