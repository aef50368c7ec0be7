"""Formats of import files: messages as NDJSON or a JSON array, exports of other products, or an export of MaaS."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from tempfile import TemporaryFile
from typing import Any, BinaryIO, NamedTuple, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError

from maas.memory.dates import to_utc
from maas.memory.transfer.export_rows import ROW_TYPES, SKIPPED_TYPES, AttachmentRow, ExportHeader
from maas.memory.transfer.interchange import unwrap
from maas.memory.transfer.ndjson import (
    MAX_VALUE_SIZE,
    JsonLine,
    first_line,
    import_error,
    read_items,
    read_lines,
    read_value,
)
from maas.memory.transfer.sources import Source, find_source, unwrapped
from maas.memory.transfer.sources.parts import Draft, LeftOut
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
    """A message to be imported; `at` is an ISO 8601 time with zone, or None for the time of the import.

    `title` is that of its conversation.
    """

    role: str
    content: str
    at: str | None
    speaker: str | None
    conversation: str | None
    external_id: str
    title: str | None = None


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


def read_batches(file: BinaryIO, name: str, left_out: Counter[str]) -> Iterator[RowBatch]:
    """Check a file of any format, yield its rows in batches and count what is left out.

    Raises MaasError('bad_import').
    """
    return read_export(file, name) if is_export(file) else _message_batches(file, name, left_out)


def is_export(file: BinaryIO) -> bool:
    """Return whether a file begins with the header of a MaaS export."""
    try:
        header = parse_json(first_line(file))
    except ValueError:
        return False
    return isinstance(header, dict) and header.get("maas") == "export"


def exported_user(file: BinaryIO, name: str) -> UUID | None:
    """Return the user in the header of a MaaS export, None for other formats. Raises MaasError('bad_import')."""
    with TemporaryFile() as unwrapped:
        source = unwrapped if unwrap(file, name, unwrapped) else file
        return _validate(ExportHeader, next(read_lines(source, name))).user_id if is_export(source) else None


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


def _message_batches(file: BinaryIO, name: str, left_out: Counter[str]) -> Iterator[RowBatch]:
    rows: list[str] = []
    first = size = 0
    for message in read_messages(file, name, left_out):
        rows.append(json.dumps(asdict(message), ensure_ascii=False))
        size += len(rows[-1])
        if len(rows) == BATCH_ROWS or size > BATCH_CHARS:
            yield _message_batch(name, first, rows)
            first, size, rows = first + len(rows), 0, []
    if rows:
        yield _message_batch(name, first, rows)


def _message_batch(name: str, first: int, rows: list[str]) -> RowBatch:
    return RowBatch(MESSAGES, f"{name}: turns {first + 1} and following", len(rows), f"[{','.join(rows)}]")


def read_messages(file: BinaryIO, name: str, left_out: Counter[str]) -> Iterator[ImportedMessage]:
    """Yield the messages of a file that is not an export of MaaS, in order, and count what is left out.

    Raises MaasError('bad_import'), which names the line, the item or the conversation.
    """
    head = first_line(file)
    if head.startswith(b"["):
        for number, item in read_items(file, name):
            is_message = isinstance(item, dict) and "role" in item
            where = f"{name}, {'item' if is_message else 'conversation'} {number}"
            yield from _messages(item, where, str(number), left_out)
    elif head.startswith(b"{") and not _is_line(file):
        yield from _messages(read_value(file, name), name, "1", left_out)
    else:
        for line in read_lines(file, name):
            yield from _messages(line.body, line.where, str(line.number), left_out)


def _is_line(file: BinaryIO) -> bool:
    """Whether the first line is a value of its own, and not the beginning of one that goes on."""
    line = file.readline(MAX_VALUE_SIZE)
    is_alone = not line.endswith(b"\n") or not file.read(1)
    file.seek(0)
    return is_alone or line.strip(b"\xef\xbb\xbf \t\r\n").endswith(b"}")


def _messages(item: Any, where: str, number: str, left_out: Counter[str]) -> Iterator[ImportedMessage]:
    """The messages of one object: one of ours, an item of another product, or a list of such items."""
    if not isinstance(item, dict):
        raise import_error(where, "must be an object {role, content, at}, or from an export of another product")
    if (source := find_source(item)) is not None:
        yield from _from_source(source, item, where, number, left_out)
    elif "role" in item or "content" in item:
        yield _message(item, where, number)
    elif (items := unwrapped(item)) is not None:
        for place, one in enumerate(items, 1):
            inner = find_source(one) if isinstance(one, dict) else None
            if inner is None and not (isinstance(one, dict) and "role" in one):
                raise import_error(f"{where}, item {place}", "is of no product that MaaS reads exports of")
            yield from _messages(one, f"{where}, item {place}", f"{number}.{place}", left_out)
    else:
        raise import_error(where, "role and content are missing, and it is of no product that MaaS reads exports of")


def _from_source(
    source: Source, item: dict[str, Any], where: str, number: str, left_out: Counter[str]
) -> Iterator[ImportedMessage]:
    try:
        parts = list(source.read(item))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise import_error(where, f"is not as exports of {source.NAME} are: {error!r}"[:300]) from error
    for place, part in enumerate(parts):
        if isinstance(part, LeftOut):
            left_out[part.what] += part.count
        elif (what := _why_left_out(part)) is not None:
            left_out[what] += 1
        else:
            body = {
                "role": part.role,
                "content": part.content,
                "at": part.at,
                "conversation": _short(part.conversation),
                "external_id": part.external_id,
                "speaker": _short(part.speaker),
            }
            message = _message(body, f"{where}, message {str(part.external_id)[:80]}", f"{number}.{place}")
            yield replace(message, title=clean(part.title)[:200] or None) if isinstance(part.title, str) else message


def _why_left_out(draft: Draft) -> str | None:
    if str(draft.role).casefold() not in ROLES:
        return f"messages of {'the system' if draft.role in ('system', 'developer') else 'tools and others'}"
    if not isinstance(draft.content, str) or is_blank(clean(draft.content)):
        return "messages without text"
    return None if len(draft.content.encode(errors="replace")) <= MAX_CONTENT_BYTES else "messages of more than 1 MiB"


def _short(value: object) -> str | None:
    return None if value is None else str(value)[:200]


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
