"""An export on its way back: each line checked; `maas_restore` says under which ids."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError

from maas.memory.exported import KINDS, SKIPPED, Header
from maas.memory.lines import Line, bad, first_line, read_lines
from shared.errors import problems_of
from shared.text import is_storable

PORTION_LINES = 500
PORTION_CHARS = 2_000_000
Model = TypeVar("Model", bound=BaseModel)


class Portion(NamedTuple):
    """Rows of one table that follow each other in the file; `exported` is the user whose they were."""

    exported: UUID
    table: str
    where: str
    rows: list[dict[str, Any]]


def is_export(file: BinaryIO) -> bool:
    """Whether the file begins as an export does."""
    try:
        header = json.loads(first_line(file))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and header.get("maas") == "export"


def read_portions(file: BinaryIO, name: str) -> Iterator[Portion]:
    """What an export brings back. Raises MaasError('bad_import')."""
    lines = read_lines(file, name)
    header = _check(Header, next(lines))
    rows: list[dict[str, Any]] = []
    table, where, chars = "", "", 0
    for line in lines:
        kind = line.body.get("type")
        if kind in SKIPPED:
            continue
        if kind not in KINDS:
            known = ", ".join(sorted({*KINDS, *SKIPPED}))
            raise bad(line.where, f"type must be one of {known}, not {str(kind)[:80]!r}")
        found = _check(KINDS[kind], line)
        if rows and (table != found.table or len(rows) == PORTION_LINES or chars > PORTION_CHARS):
            yield Portion(header.user_id, table, where, rows)
            rows, chars = [], 0
        if not rows:
            table, where = found.table, f"{line.where} and following"
        row = found.row()
        rows.append(row)
        chars += len(row.get("content") or "") + 40 * len(row.get("raw_log_ids") or ())
    if rows:
        yield Portion(header.user_id, table, where, rows)


def _check(model: type[Model], line: Line) -> Model:
    if not is_storable(line.body):
        raise bad(line.where, "holds a NUL character, a lone surrogate or an infinite number")
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
