"""Chats of Open WebUI, as it exports them and as the table `chat` of webui.db holds them, and its memories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from maas.memory.transfer.sources.parts import Draft, LeftOut, Part, branch, text_of

NAME = "Open WebUI"
_DETAILS, _END = "<details", "</details>"


def matches(item: Mapping[str, Any]) -> bool:
    """Whether it is a chat, or a memory that the user has noted."""
    chat = item.get("chat")
    return (isinstance(chat, dict) and ("history" in chat or "messages" in chat)) or _is_memory(item)


def read(item: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the branch that was shown last, without reasoning and tool calls; or the memory."""
    if _is_memory(item):
        yield Draft("user", item["content"], f"memory {item['id']}", item.get("created_at"))
        return
    chat = item["chat"]
    history = chat.get("history") or {}
    nodes = history.get("messages") or {message["id"]: message for message in chat["messages"]}
    last = history.get("currentId")
    shown = branch(nodes, last, "parentId") if last else list(nodes.values())
    for message in shown:
        text, others = text_of(message.get("content"))
        if not text and message.get("output"):  # where newer versions keep what a model has written
            text, others = _text_of_output(message["output"])
        yield from others
        if files := message.get("files"):
            yield LeftOut("attached files", len(files))
        text, details = _without_details(text)
        if details:
            yield LeftOut("thoughts and tool calls of a model", details)
        yield Draft(message["role"], text, message["id"], message.get("timestamp"), item.get("id"))
    if len(nodes) > len(shown):
        yield LeftOut("messages of other branches", len(nodes) - len(shown))


def _text_of_output(output: list[Mapping[str, Any]]) -> tuple[str, list[LeftOut]]:
    """The text of items as OpenAI's Responses have them, and what else there is."""
    texts: list[str] = []
    others: list[LeftOut] = []
    for item in output:
        text, more = text_of(item.get("content") if item.get("type") == "message" else [item])
        texts.append(text)
        others += more
    return "\n".join(text for text in texts if text), others


def _without_details(text: str) -> tuple[str, int]:
    """The text without what Open WebUI folds, reasoning and tool calls, and how often there was some."""
    kept: list[str] = []
    start = count = 0
    while (begin := text.find(_DETAILS, start)) >= 0 and (end := text.find(_END, begin)) >= 0:
        kept.append(text[start:begin])
        start, count = end + len(_END), count + 1
    return "".join((*kept, text[start:])), count


def _is_memory(item: Mapping[str, Any]) -> bool:
    return (
        item.keys() <= {"id", "user_id", "content", "updated_at", "created_at"}
        and "content" in item
        and ("user_id" in item and "updated_at" in item)
    )
