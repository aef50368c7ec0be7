"""Messages as the server takes them, in pieces that fit into one request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, TypeAlias
from uuid import uuid4

from .results import InvalidRequest

MAX_BATCH_MESSAGES = 500
MAX_BATCH_BYTES = 256 * 1024  # of content; escaped as JSON it stays below the server's limit for a body
ROLES = ("user", "assistant")
Messages: TypeAlias = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
Time: TypeAlias = datetime | date | str


def normalize(messages: Messages, at: datetime | int | str | None) -> list[dict[str, Any]]:
    """Messages as the server takes them, each with an external_id, which makes sending them twice harmless.

    Only user and assistant messages with text remain. Raises InvalidRequest if there are none.
    """
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    elif isinstance(messages, Mapping):
        messages = [messages]
    prefix, normalized = uuid4().hex, []
    for number, message in enumerate(messages):
        content = _text(message.get("content"))
        if message.get("role", "user") in ROLES and content:
            normalized.append(
                {
                    "role": message.get("role", "user"),
                    "content": content,
                    "speaker": message.get("speaker") or message.get("name"),
                    "at": _timestamp(message.get("at") or message.get("timestamp") or at),
                    "external_id": str(message.get("external_id") or f"{prefix}:{number}"),
                }
            )
    if not normalized:
        raise InvalidRequest("invalid_request", "messages: none is a user or assistant message with text")
    return normalized


def batches(messages: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The messages in pieces that fit into one request each."""
    batch: list[dict[str, Any]] = []
    batch_bytes = 0
    for message in messages:
        size = len(message["content"].encode(errors="surrogatepass"))
        if batch and (len(batch) == MAX_BATCH_MESSAGES or batch_bytes + size > MAX_BATCH_BYTES):
            yield batch
            batch, batch_bytes = [], 0
        batch.append(message)
        batch_bytes += size
    yield batch


def _text(content: Any) -> str:
    """The text of a message; of a message in parts, its text parts."""
    if isinstance(content, str):
        return content.strip() and content
    if isinstance(content, Sequence):
        parts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
        return "\n".join(part for part in parts if part)
    return ""


def _timestamp(at: datetime | float | str | None) -> str | None:
    if isinstance(at, int | float):
        at = datetime.fromtimestamp(at, UTC)
    return at.isoformat() if isinstance(at, datetime) else at


def isoformat(at: Time | None) -> str | None:
    """A time as the server takes it."""
    return at if isinstance(at, str | None) else at.isoformat()
