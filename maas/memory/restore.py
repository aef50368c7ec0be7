"""An export on its way back: each line checked, ids kept for the same user and made anew for another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, TypeVar
from uuid import UUID, uuid5

from pydantic import BaseModel, ValidationError

from maas.memory.exported import KINDS, SKIPPED, Exported, Header
from maas.memory.lines import Line, bad, first_line, read_lines
from shared.text import is_storable

PORTION_LINES = 500
PORTION_CHARS = 2_000_000
Model = TypeVar("Model", bound=BaseModel)


class Portion(NamedTuple):
    """Rows of one table that follow each other in the file."""

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


def read_portions(file: BinaryIO, name: str, user_id: UUID) -> Iterator[Portion]:
    """What an export brings back, as rows of this user. Raises MaasError('bad_import')."""
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
            yield Portion(table, where, rows)
            rows, chars = [], 0
        if not rows:
            table, where = found.table, f"{line.where} and following"
        row = _row(found, user_id, header.user_id)
        rows.append(row)
        chars += len(row.get("content") or "") + 40 * len(row.get("raw_log_ids") or ())
    if rows:
        yield Portion(table, where, rows)


def _row(line: Exported, user_id: UUID, exported: UUID) -> dict[str, Any]:
    def own(old: str | None) -> str | None:
        return old if old is None or exported == user_id else str(uuid5(user_id, old))

    row = line.row()
    return row | {name: own(row[name]) for name in line.ids} | {
        name: [own(one) for one in row[name]] for name in line.id_lists}  # fmt: skip


def _check(model: type[Model], line: Line) -> Model:
    if not is_storable(line.body):
        raise bad(line.where, "holds a NUL character, a lone surrogate or an infinite number")
    try:
        return model.model_validate(line.body)
    except ValidationError as error:
        first = error.errors()[0]
        raise bad(line.where, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
