"""conversations.json of a ChatGPT export: conversations whose messages are a tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from maas.memory.transfer.sources.parts import Draft, LeftOut, Part, branch

NAME = "ChatGPT"


def matches(item: Mapping[str, Any]) -> bool:
    """Whether it is a conversation."""
    return isinstance(item.get("mapping"), dict)


def read(item: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the branch that the user saw last."""
    mapping = item["mapping"]
    if not all(isinstance(node, dict) for node in mapping.values()):
        raise TypeError("a node of `mapping` is not an object")
    conversation = item.get("conversation_id") or item.get("id")
    shown = branch(mapping, item.get("current_node") or next(reversed(mapping), ""), "parent")
    messages = [node["message"] for node in shown if isinstance(node.get("message"), dict)]
    for message in messages:
        yield from _message(message, conversation)
    if others := sum(isinstance(node.get("message"), dict) for node in mapping.values()) - len(messages):
        yield LeftOut("messages of other branches", others)


def _message(message: Mapping[str, Any], conversation: object) -> Iterator[Part]:
    role = (message.get("author") or {}).get("role", "")
    parts = (message.get("content") or {}).get("parts") or []
    text = "\n".join(part for part in parts if isinstance(part, str))
    if (message.get("metadata") or {}).get("is_visually_hidden_from_conversation"):
        yield LeftOut("hidden messages")
        return
    if media := sum(isinstance(part, dict) for part in parts):
        yield LeftOut("images", media)
    yield Draft(role, text, message.get("id"), message.get("create_time"), conversation)
