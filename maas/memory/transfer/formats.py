"""Formats of import files: messages as NDJSON or a JSON array, an export of ChatGPT, or an export of MaaS."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, BinaryIO, NamedTuple, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError

from maas.memory.dates import to_utc
from maas.memory.transfer.export import ROW_TYPES, SKIPPED_TYPES, AttachmentRow, ExportHeader
from maas.memory.transfer.ndjson import JsonLine, first_line, import_error, read_items, read_lines
from shared.errors import problems_of
from shared.images import submit_in_order
from shared.json import MAX_JSON_DEPTH, is_storable, parse_json
from shared.text import clean, is_blank

BATCH_ROWS = 500
BATCH_CHARS = 2_000_000  # a longer row has a batch of its own
MAX_CONTENT_BYTES = 1024 * 1024  # of one turn; its line in an export stays below MAX_VALUE_SIZE
MAX_LINE_LEVELS = MAX_JSON_DEPTH + 4  # a line of an export nests stored JSON in its own objects and arrays
MESSAGES = "turns"  # takes the place of a table in batches of messages
ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """A message to be imported; `at` is an ISO 8601 time with zone, or None for the time of the import."""

    role: str
    content: str
    at: str | None
    speaker: str | None
    conversation: str | None
    external_id: str


class RowBatch(NamedTuple):
    """Consecutive rows of a file for one table, as a JSON array.

    `where` names the place in the file, in error messages. `image` is the content of an attachment, which has a batch
    of its own. `exported_user_id` is the user in the header of an export.
    """

    table: str
    where: str
    length: int
    rows: str
    image: bytes | None = None
    exported_user_id: UUID | None = None


def read_batches(file: BinaryIO, name: str) -> Iterator[RowBatch]:
    """Check a file of any format and yield its rows in batches. Raises MaasError('bad_import')."""
    return read_export(file, name) if is_export(file) else _message_batches(file, name)


def is_export(file: BinaryIO) -> bool:
    """Return whether a file begins with the header of a MaaS export."""
    try:
        header = parse_json(first_line(file))
    except ValueError:
        return False
    return isinstance(header, dict) and header.get("maas") == "export"


def exported_user(file: BinaryIO, name: str) -> UUID | None:
    """Return the user in the header of a MaaS export, None for other formats. Raises MaasError('bad_import')."""
    return _validate(ExportHeader, next(read_lines(file, name))).user_id if is_export(file) else None


def read_export(file: BinaryIO, name: str) -> Iterator[RowBatch]:
    """Yield the rows of a MaaS export; the process decodes one image at a time. Raises MaasError('bad_import')."""
    lines = read_lines(file, name)
    user_id = _validate(ExportHeader, next(lines)).user_id
    rows: list[str] = []
    table, where, size = "", "", 0
    for line in lines:
        kind = line.body.get("type")
        if kind in SKIPPED_TYPES:
            continue
        if kind not in ROW_TYPES:
            known = ", ".join(sorted({*ROW_TYPES, *SKIPPED_TYPES}))
            raise import_error(line.where, f"type must be one of {known}, not {str(kind)[:80]!r}")
        model = ROW_TYPES[kind]
        if rows and (model.table != table or len(rows) == BATCH_ROWS or size > BATCH_CHARS):
            yield RowBatch(table, where, len(rows), f"[{','.join(rows)}]", None, user_id)
            rows, size = [], 0
        if model is AttachmentRow:
            yield submit_in_order(partial(_attachment, line, user_id)).result()
            continue
        if not rows:
            table, where = model.table, f"{line.where} and following"
        rows.append(json.dumps(_validate(model, line).row(), ensure_ascii=False))
        size += len(rows[-1])
    if rows:
        yield RowBatch(table, where, len(rows), f"[{','.join(rows)}]", None, user_id)


def _attachment(line: JsonLine, user_id: UUID) -> RowBatch:
    attachment = _validate(AttachmentRow, line)
    line.body.clear()  # frees a second copy of the image
    row = json.dumps(attachment.row(), ensure_ascii=False)
    return RowBatch(attachment.table, line.where, 1, f"[{row}]", attachment.content.data, user_id)


def _validate(model: type[Model], line: JsonLine) -> Model:
    if not is_storable(line.body, MAX_LINE_LEVELS):
        problem = f"holds a NUL character, a lone surrogate, an infinite number or more than {MAX_LINE_LEVELS} levels"
        raise import_error(line.where, problem)
    try:
        return model.model_validate(line.body)
    except ValidationError as error:
        first = problems_of(error)[0]
        problem = str(first)
        if first.path == ("version",):
            problem = "version: this MaaS reads exports of version 1; a newer one needs a newer MaaS"
        elif first.kind == "extra_forbidden":
            column = f"{first.path[0]!r:.80}"
            problem = f"{column}: no column that this version knows; an export of a newer MaaS needs that one"
        raise import_error(line.where, problem) from error


def _message_batches(file: BinaryIO, name: str) -> Iterator[RowBatch]:
    rows: list[str] = []
    first = size = 0
    for message in read_messages(file, name):
        rows.append(json.dumps(asdict(message), ensure_ascii=False))
        size += len(rows[-1])
        if len(rows) == BATCH_ROWS or size > BATCH_CHARS:
            yield _message_batch(name, first, rows)
            first, size, rows = first + len(rows), 0, []
    if rows:
        yield _message_batch(name, first, rows)


def _message_batch(name: str, first: int, rows: list[str]) -> RowBatch:
    return RowBatch(MESSAGES, f"{name}: turns {first + 1} and following", len(rows), f"[{','.join(rows)}]")


def read_messages(file: BinaryIO, name: str) -> Iterator[ImportedMessage]:
    """Yield the messages of a file that is not an export of MaaS, in order.

    Raises MaasError('bad_import'), which names the line, the item or the conversation.
    """
    if not first_line(file).startswith(b"["):
        for line in read_lines(file, name):
            yield _message(line.body, line.where, str(line.number))
        return
    for number, item in read_items(file, name):
        if isinstance(item, dict) and "role" in item:
            yield _message(item, f"{name}, item {number}", str(number))
        else:
            yield from _chatgpt_conversation(item, number, f"{name}, conversation {number}")


def _message(body: dict[str, Any], where: str, number: str) -> ImportedMessage:
    role = ROLES.get(str(body.get("role", "")).casefold())
    content = body.get("content")
    if role is None:
        raise import_error(where, f"role must be user or assistant, not {str(body.get('role'))[:80]!r}")
    if not isinstance(content, str) or is_blank(content):
        raise import_error(where, "content must be text that is not blank")
    content = clean(content)
    if len(content.encode()) > MAX_CONTENT_BYTES:
        raise import_error(where, f"content exceeds {MAX_CONTENT_BYTES // 1024 // 1024} MiB; split it into turns")
    conversation, speaker = _name(body, "conversation", where), _name(body, "speaker", where)
    external_id = body.get("external_id")
    if isinstance(external_id, dict | list | bool):
        raise import_error(where, "external_id must be text")
    digest = hashlib.sha256(f"{number}\0{conversation}\0{role}\0{content}".encode()).hexdigest()[:16]
    return ImportedMessage(
        role,
        content,
        _time(body.get("at"), where),
        speaker,
        conversation,
        clean(str(external_id))[:200] if external_id not in (None, "") else f"line-{number}-{digest}",
    )


def _name(body: dict[str, Any], field: str, where: str) -> str | None:
    value = body.get(field)
    if value is None or value == "":
        return None
    if not isinstance(value, str | int) or isinstance(value, bool) or len(str(value)) > 200:
        raise import_error(where, f"{field} must be text of at most 200 characters")
    return clean(str(value))


def _time(value: object, where: str) -> str | None:
    if value is None:
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            at = datetime.fromtimestamp(value, UTC)
        else:
            at = datetime.fromisoformat(str(value))
        return to_utc(at).isoformat()
    except (ValueError, OverflowError, OSError) as error:
        raise import_error(where, f"at must be an ISO 8601 time, not {str(value)[:80]!r}") from error


def _chatgpt_conversation(item: Any, number: int, where: str) -> Iterator[ImportedMessage]:
    if not isinstance(item, dict) or not isinstance(item.get("mapping"), dict):
        raise import_error(where, "is not from a ChatGPT export (no `mapping`)")
    if not all(isinstance(node, dict) for node in item["mapping"].values()):
        raise import_error(where, "is not from a ChatGPT export (a node of `mapping` is not an object)")
    name = str(item.get("conversation_id") or item.get("id") or f"conversation-{number}")
    try:
        messages = [_chatgpt_message(message, name, where) for message in _branch(item)]
    except (AttributeError, KeyError, TypeError) as error:
        raise import_error(where, "is not from a ChatGPT export (its messages have a different form)") from error
    yield from (message for message in messages if message is not None)


def _branch(conversation: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of the branch that the user saw last, oldest first."""
    mapping = conversation["mapping"]
    node_id = conversation.get("current_node") or next(reversed(mapping), "")
    messages: list[dict[str, Any]] = []
    visited: set[str] = set()
    while node_id in mapping and node_id not in visited:
        visited.add(node_id)
        node = mapping[node_id]
        if isinstance(node.get("message"), dict):
            messages.append(node["message"])
        node_id = node.get("parent") or ""
    return messages[::-1]


def _chatgpt_message(message: dict[str, Any], conversation: str, where: str) -> ImportedMessage | None:
    role = ROLES.get(str((message.get("author") or {}).get("role", "")))
    parts = (message.get("content") or {}).get("parts") or []
    content = clean("\n".join(part for part in parts if isinstance(part, str)))
    is_hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
    if role is None or is_hidden or is_blank(content):
        return None
    body = {
        "role": role,
        "content": content,
        "at": message.get("create_time"),
        "conversation": conversation[:200],
        "external_id": message.get("id"),
    }
    return _message(body, f"{where}, message {str(message.get('id'))[:80]}", str(message.get("id")))
