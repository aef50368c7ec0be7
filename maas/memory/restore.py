"""An export on its way back: each line checked; `maas_restore` says under which ids."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO, NamedTuple, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError

from maas.memory.exported import KINDS, SKIPPED, AttachmentRow, Header
from maas.memory.lines import Line, bad, first_line, read_lines
from shared.errors import problems_of
from shared.pictures import in_turn
from shared.text import JSON_LEVELS, is_storable

PORTION_ROWS = 500
PORTION_CHARS = 2_000_000  # a row of more has a portion of its own
LINE_LEVELS = JSON_LEVELS + 4  # what stands around the JSON of others in a line
Model = TypeVar("Model", bound=BaseModel)


class Portion(NamedTuple):
    """Rows of one table, or turns, that follow each other in the file: a JSON array.

    `image` are the bytes of an attachment, which is alone in its portion; `exported` is the user whose an export was.
    """

    table: str
    where: str
    length: int
    rows: str
    image: bytes | None = None
    exported: UUID | None = None


def is_export(file: BinaryIO) -> bool:
    """Whether the file begins as an export does."""
    try:
        header = json.loads(first_line(file))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and header.get("maas") == "export"


def read_portions(file: BinaryIO, name: str) -> Iterator[Portion]:
    """What an export brings back; images are decoded in turn with all others. Raises MaasError('bad_import')."""
    lines = read_lines(file, name)
    exported = _check(Header, next(lines)).user_id
    rows: list[str] = []
    table, where, size = "", "", 0
    for line in lines:
        kind = line.body.get("type")
        if kind in SKIPPED:
            continue
        if kind not in KINDS:
            known = ", ".join(sorted({*KINDS, *SKIPPED}))
            raise bad(line.where, f"type must be one of {known}, not {str(kind)[:80]!r}")
        model = KINDS[kind]
        if rows and (model.table != table or len(rows) == PORTION_ROWS or size > PORTION_CHARS):
            yield Portion(table, where, len(rows), f"[{','.join(rows)}]", None, exported)
            rows, size = [], 0
        if model is AttachmentRow:
            yield in_turn(partial(_image, line, exported)).result()
            continue
        if not rows:
            table, where = model.table, f"{line.where} and following"
        rows.append(json.dumps(_check(model, line).row(), ensure_ascii=False))
        size += len(rows[-1])
    if rows:
        yield Portion(table, where, len(rows), f"[{','.join(rows)}]", None, exported)


def _image(line: Line, exported: UUID) -> Portion:
    found = _check(AttachmentRow, line)
    line.body.clear()  # it holds the image once more
    row = json.dumps(found.row(), ensure_ascii=False)
    return Portion(found.table, line.where, 1, f"[{row}]", found.content.data, exported)


def _check(model: type[Model], line: Line) -> Model:
    if not is_storable(line.body, LINE_LEVELS):
        told = f"holds a NUL character, a lone surrogate, an infinite number or more than {LINE_LEVELS} levels"
        raise bad(line.where, told)
    try:
        return model.model_validate(line.body)
    except ValidationError as error:
        first = problems_of(error)[0]
        if first.path == ("version",):
            raise bad(
                line.where, "version: this MaaS reads exports of version 1; a newer one needs a newer MaaS"
            ) from error
        if first.kind == "extra_forbidden":
            told = f"{first.path[0]!r:.80}: no column that this version knows; an export of a newer MaaS needs that one"
            raise bad(line.where, told) from error
        raise bad(line.where, str(first)) from error
