"""Messages as programs hold them, as turns that the server takes: in portions, each safe to send twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias
from uuid import uuid4

from maas.clients.errors import InvalidRequest

Messages: TypeAlias = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
MOST_TURNS = 500
MOST_BYTES = 256 * 1024  # of words; escaped in JSON they stay below what a body may have
WORDS_OF = ("user", "assistant")


def turns_of(messages: Messages, at: datetime | int | str | None) -> list[dict[str, Any]]:
    """Turns with ids of their own; what is no word of user or assistant is left out. Raises InvalidRequest."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    elif isinstance(messages, Mapping):
        messages = [messages]
    batch, turns = uuid4().hex, []
    for number, message in enumerate(messages):
        content = _words(message.get("content"))
        if message.get("role", "user") in WORDS_OF and content:
            turns.append(
                {
                    "role": message.get("role", "user"),
                    "content": content,
                    "speaker": message.get("speaker") or message.get("name"),
                    "at": _time(message.get("at") or message.get("timestamp") or at),
                    "external_id": str(message.get("external_id") or f"{batch}:{number}"),
                }
            )
    if not turns:
        raise InvalidRequest("invalid_request", "messages: there is no word of a user or an assistant in them")
    return turns


def portions(turns: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """So many as one request may hold."""
    portion: list[dict[str, Any]] = []
    size = 0
    for turn in turns:
        more = len(turn["content"].encode(errors="surrogatepass"))
        if portion and (len(portion) == MOST_TURNS or size + more > MOST_BYTES):
            yield portion
            portion, size = [], 0
        portion.append(turn)
        size += more
    yield portion


def today() -> str:
    """Where turns without a conversation stand: with what else was said that day."""
    return datetime.now(UTC).date().isoformat()


def _words(content: Any) -> str:
    """The text of a message, also of one in parts."""
    if isinstance(content, str):
        return content.strip() and content
    if isinstance(content, Sequence):
        parts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
        return "\n".join(part for part in parts if part)
    return ""


def _time(at: datetime | float | str | None) -> str | None:
    if isinstance(at, int | float):
        at = datetime.fromtimestamp(at, UTC)
    return at.isoformat() if isinstance(at, datetime) else at
