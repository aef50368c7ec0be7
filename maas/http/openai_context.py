"""What a chat completion brings along beside its query: system text, earlier messages, and what has no effect here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from maas.http.openai_bodies import ChatMessage, ChatRequest
from maas.pipeline.client_context import ClientContext, ClientMessage, Role
from shared.errors import MaasError
from shared.text import clean, is_blank

SYSTEM_BYTES = 65_536
EARLIER_CHARS = 32_768
EARLIER_MESSAGES = 200
IGNORED_NAMES = 100
NAME_CHARS = 64
HEADER_NAMES = 40
_SYSTEM = ("system", "developer")
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "tool": "tool", "function": "tool"}
_WORDLESS = ("tool_calls", "function_call", "refusal", "audio")


def read_context(messages: Sequence[ChatMessage]) -> ClientContext:
    """The system's texts and what was said before the last message, the newest of it as far as it may be stored.

    Raises MaasError('query_too_long'), as the Assembler does for what it counts.
    """
    system = "\n\n".join(text for one in messages if one.role in _SYSTEM and not is_blank(text := _words(one)))
    if len(system.encode()) > SYSTEM_BYTES:
        raise MaasError("query_too_long", f"messages: the system's exceed {SYSTEM_BYTES // 1024} KiB; shorten them")
    earlier: list[ClientMessage] = []
    left = EARLIER_CHARS
    for one in _said(messages)[:-1][::-1]:
        words = _words(one)
        if is_blank(words):
            continue
        if left <= 0 or len(earlier) == EARLIER_MESSAGES:
            break
        earlier.append(ClientMessage(_ROLES[one.role], words[:left]))
        left -= len(words)
    return ClientContext(system, tuple(reversed(earlier)))


def ignored(body: ChatRequest) -> tuple[str, ...]:
    """What the request asks for and does not get, by name, each once."""
    asked = [name for name, value in (body.model_extra or {}).items() if value not in (None, [], {})]
    names = dict.fromkeys(clean(name)[:NAME_CHARS] for name in (*asked, *_dropped(body.messages)))
    return tuple(names)[:IGNORED_NAMES]


def header_of(names: Sequence[str]) -> dict[str, str]:
    """X-MaaS-Ignored, where there is anything to name; what ASCII lacks is percent-encoded."""
    return {"X-MaaS-Ignored": ", ".join(quote(name, safe="[].-_") for name in names[:HEADER_NAMES])} if names else {}


def _dropped(messages: Sequence[ChatMessage]) -> Iterator[str]:
    """What stands in messages beside their text; the images of the last one are kept."""
    last = _said(messages)[-1]
    for one in messages:
        yield from (f"messages[].{name}" for name in _WORDLESS if (one.model_extra or {}).get(name))
        if one is not last:
            yield from (f"messages[].{kind}" for kind in _kinds(one.content) if kind != "text")


def _said(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    return [one for one in messages if one.role not in _SYSTEM]


def _words(message: ChatMessage) -> str:
    parts = message.content if isinstance(message.content, list) else [{"type": "text", "text": message.content or ""}]
    texts = [part.get("text") for part in parts if part.get("type") == "text"]
    return clean("\n".join(text for text in texts if isinstance(text, str)))


def _kinds(content: str | list[dict[str, Any]] | None) -> Iterator[str]:
    return (str(part.get("type")) for part in content) if isinstance(content, list) else iter(())
