"""Exports that other products read: AIMEM bundles (draft-vu-aimem-bundle-00) and records of memorywire.

Both are made from our own export: messages and facts that are true now, notes among them, stand in their form, and
beside them every line of ours as it is. So an import of either restores what an import of ours would.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from shutil import copyfileobj
from typing import Any, BinaryIO

from maas.memory.transfer.ndjson import MAX_IMAGE_LINE_BYTES, MAX_VALUE_SIZE, first_line, import_error
from shared.json import parse_json

PRODUCER = "maas"
MAX_CONTENT_CHARS = 65_536  # of a chunk of a bundle; a longer text is several
MAX_LINE_BYTES = 2 * MAX_IMAGE_LINE_BYTES  # a line of ours as a JSON string
OURS = "x-maas"
_BUNDLE_START = b'{"checksum":"sha256:'
_CHECKSUM_BYTES = len(_BUNDLE_START) + 64 + len('",')
_LINES_START = f'"{OURS}":[\n'.encode()
MEMORY_TYPES = {"identity": "identity", "preference": "preference", "plan": "goal", "event": "episodic"}


class ExportFormat(StrEnum):
    """What an export may be written as."""

    MAAS = "maas"
    AIMEM = "aimem"
    MEMORYWIRE = "memorywire"


@dataclass(frozen=True, slots=True)
class Memory:
    """A message or a fact. `kind` is that of the fact, else `message`; `by` said it."""

    id: str
    content: str
    kind: str
    at: datetime
    by: str | None

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> Memory | None:
        """The memory in a line of our export; None for all others, and for what is not remembered or true."""
        match line.get("type"):
            case "log" if line["is_remembered"]:
                return cls(line["id"], line["content"], "message", _time(line["at"]), line["speaker"] or line["role"])
            case "fact" if line["true_until"] is None and line["change"] != "ends":
                return cls(line["id"], line["statement"], line["kind"], _time(line["said_at"]), line["said_by"])
            case _:
                return None


def convert(export: BinaryIO, form: ExportFormat, out: BinaryIO) -> None:
    """Write our export in another form, a line at a time; `out` must be a file."""
    match form:
        case ExportFormat.AIMEM:
            _write_bundle(export, out)
        case ExportFormat.MEMORYWIRE:
            _write_records(export, out)
        case ExportFormat.MAAS:
            copyfileobj(export, out)


def unwrap(file: BinaryIO, name: str, out: BinaryIO) -> bool:
    """Write the export of ours that a file of these forms holds; False, and nothing, for every other file.

    Raises MaasError('bad_import').
    """
    head = first_line(file)
    is_bundle = head.startswith(_BUNDLE_START)
    if not is_bundle and not head.startswith(b'{"' + OURS.encode() + b'":'):
        return False
    for line in _lines_of_bundle(file, name) if is_bundle else _lines_of_records(file, name):
        out.write(line.encode() + b"\n")
    out.seek(0)
    return True


def _write_bundle(export: BinaryIO, out: BinaryIO) -> None:
    """A bundle in its canonical form, but for line breaks, so that its checksum is that of what is written."""
    header = json.loads(export.readline())
    digest = hashlib.sha256(b"{")
    out.write(_BUNDLE_START + b"0" * 64 + b'",\n')

    def write(text: str) -> None:
        encoded = text.encode()
        digest.update(encoded.replace(b"\n", b""))
        out.write(encoded)

    write('"chunk_entities":[],\n"chunks":[\n')
    _write_items(write, (chunk for memory in _memories(export) for chunk in _chunks(memory)))
    at = _zulu(datetime.fromisoformat(header["exported_at"]))
    write(f'],\n"edges":[],\n"entities":[],\n"exported_at":{_canonical(at)},\n"format":"aimem-bundle",\n')
    write(f'"producer":"{PRODUCER}",\n"scope":"FULL",\n"tenant_id":{_canonical(header["user_id"])},\n"version":"1",\n')
    write(_LINES_START.decode())
    export.seek(0)
    _write_items(write, (line.decode().rstrip("\n") for line in export))
    write("]}\n")
    end = out.tell()
    out.seek(len(_BUNDLE_START))
    out.write(digest.hexdigest().encode())
    out.seek(end)


def _write_items(write: Callable[[str], None], items: Iterator[object]) -> None:
    for number, item in enumerate(items):
        write((",\n" if number else "") + _canonical(item))
    write("\n")


def _chunks(memory: Memory) -> Iterator[dict[str, Any]]:
    starts = range(0, len(memory.content), MAX_CONTENT_CHARS)
    for number, start in enumerate(starts):
        content = memory.content[start : start + MAX_CONTENT_CHARS]
        yield {
            "id": f"urn:aimem:{PRODUCER}:{memory.id}" + (f".{number}" if number else ""),
            "content": content,
            "content_hash": f"sha256:{hashlib.sha256(content.encode()).hexdigest()}",
            "memory_type": "episodic" if memory.kind == "message" else MEMORY_TYPES.get(memory.kind, "fact"),
            "created_at": _zulu(memory.at),
            "is_pinned": memory.kind == "note",
            "tags": [memory.kind, *([memory.by[:64]] if memory.by else [])],
        }


def _write_records(export: BinaryIO, out: BinaryIO) -> None:
    """Lines of JSON: ours first, each as the only member of an object, then a record a line."""
    user_id = json.loads(export.readline())["user_id"]
    export.seek(0)
    for line in export:
        out.write(_canonical({OURS: line.decode().rstrip("\n")}).encode() + b"\n")
    export.seek(0)
    for memory in _memories(export):
        at = round(memory.at.timestamp() * 1000)
        is_message = memory.kind == "message"
        record: dict[str, Any] = {
            "id": memory.id,
            "agent_id": PRODUCER,
            "user_id": user_id,
            "type": "episodic" if is_message or memory.kind == "event" else "semantic",
            "content": memory.content,
            "source": PRODUCER,
            "created_at": at,
            "metadata": {"kind": memory.kind},
        }
        if is_message:
            record |= {"event_time": at, "participants": [memory.by]}
        out.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


def _memories(export: BinaryIO) -> Iterator[Memory]:
    for line in export:
        if len(line) <= MAX_VALUE_SIZE and (memory := Memory.of(json.loads(line))) is not None:  # else an image
            yield memory


def _lines_of_bundle(file: BinaryIO, name: str) -> Iterator[str]:
    """The lines of ours in a bundle as we write it; its checksum is compared at the end."""
    start = file.readline(MAX_LINE_BYTES)
    digest = hashlib.sha256(b"{" + start[_CHECKSUM_BYTES:].rstrip(b"\n"))
    is_ours = False
    while line := file.readline(MAX_LINE_BYTES):
        digest.update(line.replace(b"\n", b""))
        if is_ours and line.startswith(b'"'):
            yield _text(line.rstrip().removesuffix(b","), name)
        is_ours = is_ours or line == _LINES_START
    if digest.hexdigest().encode() != start[len(_BUNDLE_START) : len(_BUNDLE_START) + 64]:
        raise import_error(name, "its checksum is not that of its content: the bundle was changed or cut off")


def _lines_of_records(file: BinaryIO, name: str) -> Iterator[str]:
    while line := file.readline(MAX_LINE_BYTES):
        if not line.startswith(b'{"' + OURS.encode()):
            return  # records for others follow
        yield _text(line, name, OURS)


def _text(line: bytes, name: str, member: str | None = None) -> str:
    try:
        value = parse_json(line)
        text = value[member] if member is not None else value
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise import_error(name, f"a line of {OURS} is no JSON: {error}"[:300]) from error
    if not isinstance(text, str) or "\n" in text:
        raise import_error(name, f"a line of {OURS} must be text of one line")
    return text


def _canonical(value: object) -> str:
    """JSON by RFC 8785 of a value without numbers, whose names are ASCII."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _zulu(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
