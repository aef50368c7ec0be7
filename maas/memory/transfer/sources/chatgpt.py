"""conversations.json of a ChatGPT export: conversations whose messages are a tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from maas.memory.transfer.sources.parts import Draft, LeftOut, Part, branch

NAME = "ChatGPT"
NOT_SAID = {
    "thoughts": "thoughts of a model",
    "reasoning_recap": "thoughts of a model",
    "user_editable_context": "settings of the user",
    "model_editable_context": "memories that were derived",
}


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
        yield from _message(message, conversation, item.get("title"))
    if others := sum(isinstance(node.get("message"), dict) for node in mapping.values()) - len(messages):
        yield LeftOut("messages of other branches", others)


def _message(message: Mapping[str, Any], conversation: object, title: object) -> Iterator[Part]:
    role = (message.get("author") or {}).get("role", "")
    content = message.get("content") or {}
    if (message.get("metadata") or {}).get("is_visually_hidden_from_conversation"):
        yield LeftOut("hidden messages")
        return
    if what := NOT_SAID.get(str(content.get("content_type"))):
        yield LeftOut(what)
        return
    if role == "assistant" and message.get("recipient") not in (None, "all"):  # a search, a picture, a memory
        yield LeftOut("tool calls")
        return
    texts: list[str] = []
    for part in content.get("parts") or []:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and part.get("content_type") == "audio_transcription":
            texts.append(part.get("text") or "")
        elif isinstance(part, dict):
            yield LeftOut("recordings" if "audio" in str(part.get("content_type")) else "images")
    text = "\n".join(text for text in texts if text)
    yield Draft(role, text, message.get("id"), message.get("create_time"), conversation, title=title)
