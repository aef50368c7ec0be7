"""A room of MemPalace as Markdown, which its `export_palace` writes, turned into the lines that it is imported from.

The form is that of `mempalace/exporter.py` in MemPalace 3.11.0: a heading `# WING / ROOM`; for each drawer its id as a
heading, its text as a quotation, and a table of where it came from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import BinaryIO

from maas.memory.transfer.ndjson import MAX_VALUE_SIZE, import_error

_DRAWER = re.compile(r"## (\S.*)")
_FIELD = re.compile(r"\| (Source|Filed|Added by) \| (.*) \|")
_NAMES = {"Source": "source_file", "Filed": "filed_at", "Added by": "added_by"}
_UNKNOWN = "unknown"
_END = "---"


def is_room(head: bytes) -> bool:
    """Whether a file that begins so is a room."""
    return bool(_place(head.partition(b"\n")[0].decode(errors="replace")))


def write_room_lines(file: BinaryIO, name: str, lines: BinaryIO) -> None:
    """Write the drawers of a room as NDJSON. Raises MaasError('bad_import') for a file of another form."""
    if not (place := _place(next(_texts(file, name), ""))):
        raise import_error(name, "is no room of MemPalace: its first line must be '# WING / ROOM'")
    drawer, quoted, about, size = "", [""], dict(place), 0
    for text in _texts(file, name):
        if text.startswith(">"):
            quoted.append(text.removeprefix(">").removeprefix(" "))
            size += len(text)
            if size > MAX_VALUE_SIZE:
                raise import_error(name, f"the drawer {drawer[:80]} is longer than {MAX_VALUE_SIZE} characters")
        elif heading := _DRAWER.fullmatch(text):
            drawer, quoted, about, size = heading[1], [], dict(place), 0
        elif (field := _FIELD.fullmatch(text)) and field[2] != _UNKNOWN:
            about[_NAMES[field[1]]] = field[2]
        elif text == _END and drawer:
            if any(line.startswith(">") for line in quoted):  # the user's words in a conversation
                about["ingest_mode"] = "convos"
            row = {"id": drawer, "document": "\n".join(quoted), "metadata": about}
            lines.write(json.dumps(row, ensure_ascii=False).encode(errors="replace") + b"\n")
            drawer = ""


def _place(heading: str) -> dict[str, str]:
    """The wing and the room of a heading; empty for another one."""
    wing, mark, room = heading.removeprefix("# ").rstrip("\r").partition(" / ")
    return {"wing": wing, "room": room} if mark and heading.startswith("# ") else {}


def _texts(file: BinaryIO, name: str) -> Iterator[str]:
    while raw := file.readline(MAX_VALUE_SIZE + 1):
        if len(raw) > MAX_VALUE_SIZE:
            raise import_error(name, f"holds a line of more than {MAX_VALUE_SIZE} bytes")
        yield raw.decode(errors="replace").rstrip("\r\n")
