"""A file on its way in: read and checked as a whole, and kept as portions of rows until the database takes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import BinaryIO
from uuid import UUID

from maas.memory.history import BATCH, read_turns
from maas.memory.restore import PORTION_CHARS, Portion, is_export, read_portions

TURNS = "turns"


def stage(file: BinaryIO, name: str, staged: BinaryIO) -> int:
    """Check all of a file and write its portions into another; how many rows. Raises MaasError('bad_import').

    It takes as long as the file is large: not for the event loop. Images are decoded in turn with all others.
    """
    count = 0
    for portion in read_portions(file, name) if is_export(file) else _turns(file, name):
        _write(staged, portion)
        count += portion.length
        del portion  # its image is not kept while the next one is decoded
    return count


def _write(staged: BinaryIO, portion: Portion) -> None:
    rows, image = portion.rows.encode(), portion.image or b""
    exported = str(portion.exported) if portion.exported is not None else None
    head = [portion.table, portion.where, portion.length, len(rows), len(image), exported]
    staged.write(json.dumps(head).encode() + b"\n")
    staged.write(rows)
    staged.write(image)


def read_staged(staged: BinaryIO) -> Iterator[Portion]:
    """The portions that `stage` has written."""
    staged.seek(0)
    while head := staged.readline():
        table, where, length, rows, image, exported = json.loads(head)
        yield Portion(
            table, where, length, staged.read(rows).decode(), staged.read(image) or None,
            UUID(exported) if exported is not None else None,
        )  # fmt: skip


def _turns(file: BinaryIO, name: str) -> Iterator[Portion]:
    rows: list[str] = []
    first = size = 0
    for turn in read_turns(file, name):
        rows.append(json.dumps(asdict(turn), ensure_ascii=False))
        size += len(rows[-1])
        if len(rows) == BATCH or size > PORTION_CHARS:
            yield _portion_of_turns(name, first, rows)
            first, size, rows = first + len(rows), 0, []
    if rows:
        yield _portion_of_turns(name, first, rows)


def _portion_of_turns(name: str, first: int, rows: list[str]) -> Portion:
    return Portion(TURNS, f"{name}: turns {first + 1} and following", len(rows), f"[{','.join(rows)}]")
