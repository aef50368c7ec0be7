"""Conversations of LibreChat as it exports them, and the collection `messages` as mongoexport writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from maas.memory.transfer.sources.parts import Draft, LeftOut, Part, branch, text_of

NAME = "LibreChat"


def matches(item: Mapping[str, Any]) -> bool:
    """Whether it is a conversation or a message."""
    is_conversation = isinstance(item.get("messagesTree", item.get("messages")), list)
    return "conversationId" in item and (is_conversation or "isCreatedByUser" in item)


def read(item: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the branch that ends with the newest message; of the collection each message."""
    if "isCreatedByUser" in item:
        yield from _message(item)
        return
    messages = list(_flat(item.get("messagesTree", item.get("messages")), None))
    nodes = {message["messageId"]: message for message in messages}
    last = max(messages, key=lambda message: str(message.get("createdAt")), default={})
    shown = branch(nodes, last.get("messageId"), "parentMessageId")
    for message in shown:
        yield from _message(message)
    if len(nodes) > len(shown):
        yield LeftOut("messages of other branches", len(nodes) - len(shown))


def _flat(tree: list[Any], parent: object) -> Iterator[dict[str, Any]]:
    """The messages of a tree, or of a list; those before their children."""
    stack = [(message, parent) for message in reversed(tree)]
    while stack:
        message, above = stack.pop()
        children = message.get("children") or []
        yield {**message, "parentMessageId": message.get("parentMessageId") or above, "children": None}
        stack += [(child, message["messageId"]) for child in reversed(children)]


def _message(message: Mapping[str, Any]) -> Iterator[Part]:
    text, others = text_of(message.get("content"))
    yield from others
    if files := [*(message.get("files") or []), *(message.get("attachments") or [])]:
        yield LeftOut("attached files", len(files))
    if message.get("error"):
        yield LeftOut("errors that were shown")
        return
    at = message.get("createdAt")
    yield Draft(
        "user" if message["isCreatedByUser"] else "assistant",
        message.get("text") or text,
        message["messageId"],
        at["$date"] if isinstance(at, dict) else at,  # as mongoexport writes times
        message["conversationId"],
    )
