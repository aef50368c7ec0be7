"""Conversations from elsewhere: read from NDJSON or a ChatGPT export, logged once, recorded in the background."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from shared.db import Database
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


async def import_turns(db: Database, user_id: UUID, turns: Sequence[ImportedTurn], label: str) -> Imported:
    """Log the turns of one batch that are not there yet, and one run of kind archive that records them."""
    row = await db.row("import_turns", user_id, label, [asdict(turn) for turn in turns], "import")
    assert row is not None
    return Imported(row["run_id"], row["added"], row["known"])


def read_history(path: Path) -> list[ImportedTurn]:
    """All turns of a file, in order. Raises MaasError('bad_import') that names the line or the conversation."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise MaasError("bad_import", f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise MaasError("bad_import", f"{path} is not UTF-8 (byte {error.start})") from error
    if text.lstrip().startswith("["):
        return list(_read_chatgpt(text, path))
    return list(_read_ndjson(text, path))


def _read_ndjson(text: str, path: Path) -> Iterator[ImportedTurn]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path.name}, line {number}"
        try:
            body = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise MaasError("bad_import", f"{where}: not JSON: {error}") from error
        if not isinstance(body, dict):
            raise MaasError("bad_import", f"{where}: must be an object {{role, content, at}}")
        yield _turn(body, where, str(number))


def _turn(body: dict[str, Any], where: str, number: str) -> ImportedTurn:
    role = ROLES.get(str(body.get("role", "")).casefold())
    content = body.get("content")
    if role is None:
        raise MaasError("bad_import", f"{where}: role must be user or assistant, not {body.get('role')!r}")
    if not isinstance(content, str) or is_blank(content):
        raise MaasError("bad_import", f"{where}: content must be text that is not blank")
    content = clean(content)
    if len(content.encode()) > CONTENT_BYTES:
        raise MaasError("bad_import", f"{where}: content exceeds {CONTENT_BYTES // 1024} KiB; split it into turns")
    conversation, speaker = _word(body, "conversation", where), _word(body, "speaker", where)
    given = body.get("external_id")
    digest = hashlib.sha256(f"{number}\0{conversation}\0{role}\0{content}".encode()).hexdigest()[:16]
    return ImportedTurn(
        role, content, _time(body.get("at"), where), speaker, conversation,
        clean(str(given))[:200] if given not in (None, "") else f"line-{number}-{digest}",
    )  # fmt: skip


def _word(body: dict[str, Any], name: str, where: str) -> str | None:
    value = body.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str | int) or len(str(value)) > 200:
        raise MaasError("bad_import", f"{where}: {name} must be text of at most 200 characters")
    return clean(str(value))


def _time(value: object, where: str) -> str | None:
    if value is None:
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            at = datetime.fromtimestamp(value, UTC)
        else:
            at = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError) as error:
        raise MaasError("bad_import", f"{where}: at must be an ISO 8601 time, not {value!r}") from error
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()


def _read_chatgpt(text: str, path: Path) -> Iterator[ImportedTurn]:
    try:
        conversations = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MaasError("bad_import", f"{path.name}: not JSON: {error}") from error
    for number, conversation in enumerate(conversations, start=1):
        where = f"{path.name}, conversation {number}"
        if not isinstance(conversation, dict) or not isinstance(conversation.get("mapping"), dict):
            raise MaasError("bad_import", f"{where}: is not of a ChatGPT export (no `mapping`)")
        name = str(conversation.get("conversation_id") or conversation.get("id") or f"conversation-{number}")
        for message in _branch(conversation):
            turn = _chatgpt_turn(message, name, where)
            if turn is not None:
                yield turn


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
