"""Episodes of Graphiti and of Zep's graphs: what was said, as it was said; and what was derived from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from maas.memory.transfer.sources.parts import Draft, LeftOut, Part

NAME = "Graphiti"
DERIVED = {"fact": "facts that were derived", "summary": "entities that were derived"}
_LINE = re.compile(r"^([^\n:]{1,100}): ", re.MULTILINE)
ASSISTANTS = frozenset(("assistant", "ai", "bot", "agent", "system"))


def matches(item: Mapping[str, Any]) -> bool:
    """Whether it is an episode, a fact or an entity of a graph."""
    if "uuid" not in item:
        return False
    is_episode = "content" in item and item.get("source") in ("message", "text", "json")
    return is_episode or ("fact" in item and "source_node_uuid" in item) or ("summary" in item and "labels" in item)


def read(item: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the messages of an episode: a line `name: words` begins each one of the kind message."""
    for field, what in DERIVED.items():
        if field in item and "content" not in item:
            yield LeftOut(what)
            return
    if item["source"] == "json":
        yield LeftOut("episodes that are JSON")
        return
    at = item.get("valid_at") or item.get("created_at")
    conversation = item.get("thread_id") or item.get("session_id") or item.get("group_id")
    if role := item.get("role_type"):
        yield Draft(role, item["content"], item["uuid"], at, conversation, item.get("role") or None)
        return
    if item["source"] == "text":
        yield Draft("user", item["content"], item["uuid"], at, conversation)
        return
    starts = list(_LINE.finditer(item["content"]))
    ends = [start.start() for start in starts[1:]] + [len(item["content"])]
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        name = start[1].strip()
        kind = re.search(r"\((\w+)\)$", name)  # "Ann (user): words", as Zep writes them
        role = "assistant" if (kind[1] if kind else name).casefold() in ASSISTANTS else "user"
        said = item["content"][start.end() : end].strip()
        yield Draft(role, said, f"{item['uuid']} {number}", at, conversation, name)
    if not starts:
        yield Draft("user", item["content"], item["uuid"], at, conversation)
