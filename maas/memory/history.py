"""Conversations from elsewhere: turns of an NDJSON file, a JSON array or a ChatGPT export, logged once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from maas.memory.lines import bad, first_line, read_items, read_lines
from shared.db import Database, Transaction
from shared.errors import MaasError
from shared.text import clean, is_blank

BATCH = 500
CONTENT_BYTES = 256 * 1024
ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}


@dataclass(frozen=True, slots=True)
class ImportedTurn:
    """One turn of an import; `at` is an ISO time with zone or None for now."""

    role: str
    content: str
    at: str | None
    speaker: str | None
    conversation: str | None
    external_id: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What one batch came to. `run_id` is None when every turn was known."""

    run_id: UUID | None
    added: int
    known: int


async def import_turns(
    db: Database | Transaction, user_id: UUID, turns: Sequence[ImportedTurn], label: str
) -> Imported:
    """Log the turns of one batch that are not there yet, and one run of kind archive that records them."""
    row = await db.row("import_turns", user_id, label, [asdict(turn) for turn in turns], "import")
    assert row is not None
    return Imported(row["run_id"], row["added"], row["known"])


def read_history(path: Path) -> list[ImportedTurn]:
    """All turns of a file, in order. Raises MaasError('bad_import') that names the line or the conversation."""
    try:
        with path.open("rb") as file:
            return list(read_turns(file, path.name))
    except OSError as error:
        raise MaasError("bad_import", f"{path} cannot be read: {error.strerror}") from error


def read_turns(file: BinaryIO, name: str) -> Iterator[ImportedTurn]:
    """The turns of an open file one by one. Raises as `read_history` does."""
    if not first_line(file).startswith(b"["):
        for line in read_lines(file, name):
            yield _turn(line.body, line.where, str(line.number))
        return
    for number, item in read_items(file, name):
        if isinstance(item, dict) and "role" in item:
            yield _turn(item, f"{name}, item {number}", str(number))
        else:
            yield from _conversation(item, number, f"{name}, conversation {number}")


def _turn(body: dict[str, Any], where: str, number: str) -> ImportedTurn:
    role = ROLES.get(str(body.get("role", "")).casefold())
    content = body.get("content")
    if role is None:
        raise bad(where, f"role must be user or assistant, not {str(body.get('role'))[:80]!r}")
    if not isinstance(content, str) or is_blank(content):
        raise bad(where, "content must be text that is not blank")
    content = clean(content)
    if len(content.encode()) > CONTENT_BYTES:
        raise bad(where, f"content exceeds {CONTENT_BYTES // 1024} KiB; split it into turns")
    conversation, speaker = _word(body, "conversation", where), _word(body, "speaker", where)
    given = body.get("external_id")
    if isinstance(given, dict | list | bool):
        raise bad(where, "external_id must be text")
    digest = hashlib.sha256(f"{number}\0{conversation}\0{role}\0{content}".encode()).hexdigest()[:16]
    return ImportedTurn(
        role, content, _time(body.get("at"), where), speaker, conversation,
        clean(str(given))[:200] if given not in (None, "") else f"line-{number}-{digest}",
    )  # fmt: skip


def _word(body: dict[str, Any], name: str, where: str) -> str | None:
    value = body.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str | int) or isinstance(value, bool) or len(str(value)) > 200:
        raise bad(where, f"{name} must be text of at most 200 characters")
    return clean(str(value))


def _time(value: object, where: str) -> str | None:
    if value is None:
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            at = datetime.fromtimestamp(value, UTC)
        else:
            at = datetime.fromisoformat(str(value))
        return keep_time(at).isoformat()
    except (ValueError, OverflowError, OSError) as error:
        raise bad(where, f"at must be an ISO 8601 time, not {str(value)[:80]!r}") from error


def keep_time(at: datetime) -> datetime:
    """In UTC, the zone that is meant where none is given. Raises ValueError for years that not every reader knows."""
    try:
        at = (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as error:
        raise ValueError("must lie in the years 2 to 9998") from error
    if not 2 <= at.year <= 9998:
        raise ValueError("must lie in the years 2 to 9998")
    return at


def _conversation(item: Any, number: int, where: str) -> Iterator[ImportedTurn]:
    """The turns of one conversation of a ChatGPT export."""
    if not isinstance(item, dict) or not isinstance(item.get("mapping"), dict):
        raise bad(where, "is not of a ChatGPT export (no `mapping`)")
    if not all(isinstance(node, dict) for node in item["mapping"].values()):
        raise bad(where, "is not of a ChatGPT export (a node of `mapping` is no object)")
    name = str(item.get("conversation_id") or item.get("id") or f"conversation-{number}")
    try:
        turns = [_chatgpt_turn(message, name, where) for message in _branch(item)]
    except (AttributeError, KeyError, TypeError) as error:
        raise bad(where, "is not of a ChatGPT export (its messages have another form)") from error
    yield from (turn for turn in turns if turn is not None)


def _branch(conversation: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of the branch that the user saw last, oldest first."""
    mapping = conversation["mapping"]
    node_id = conversation.get("current_node") or next(reversed(mapping), "")
    messages: list[dict[str, Any]] = []
    seen: set[str] = set()
    while node_id in mapping and node_id not in seen:
        seen.add(node_id)
        node = mapping[node_id]
        if isinstance(node.get("message"), dict):
            messages.append(node["message"])
        node_id = node.get("parent") or ""
    return messages[::-1]


def _chatgpt_turn(message: dict[str, Any], conversation: str, where: str) -> ImportedTurn | None:
    role = ROLES.get(str((message.get("author") or {}).get("role", "")))
    parts = (message.get("content") or {}).get("parts") or []
    content = clean("\n".join(part for part in parts if isinstance(part, str)))
    hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
    if role is None or hidden or is_blank(content):
        return None
    body = {
        "role": role, "content": content, "at": message.get("create_time"), "conversation": conversation[:200],
        "external_id": message.get("id"),
    }  # fmt: skip
    return _turn(body, where, str(message.get("id")))
