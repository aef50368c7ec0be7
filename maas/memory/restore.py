"""An export on its way back: each line checked, ids kept for the same user and made anew for another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple, TypeVar
from uuid import UUID, uuid5

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from maas.memory.history import keep_time
from maas.memory.lines import Line, bad, first_line, read_lines
from shared.text import is_storable

PORTION_LINES = 500
PORTION_CHARS = 2_000_000
Model = TypeVar("Model", bound=BaseModel)
TABLES = {"log": "raw_logs", "record": "lsm_storage"}

Time = Annotated[AwareDatetime, AfterValidator(keep_time)]
Name = Annotated[str, Field(max_length=200)]


def _day(day: date) -> date:
    keep_time(datetime(day.year, day.month, day.day))
    return day


Day = Annotated[date, AfterValidator(_day)]


class _Row(BaseModel):
    """Columns that this version does not know go through as they are."""

    model_config = ConfigDict(extra="allow")

    id: UUID
    run_id: UUID | None
    known_at: Time
    created_at: Time


class Header(BaseModel):
    version: Literal[1]
    user_id: UUID


class LogRow(_Row):
    run_id: UUID
    turn_no: int = Field(0, ge=0, lt=2**31)
    role: Literal["user", "assistant"]
    content: str
    speaker: str | None
    conversation: Name
    external_id: Name | None
    metadata: dict[str, Any] | None
    at: Time
    archived_at: Time | None
    archived_run_id: UUID | None
    record_id: UUID | None


class RecordRow(_Row):
    level: int = Field(ge=0, le=9)
    time_bucket_start: Day
    time_bucket_end: Day
    tags: list[Name] = Field(max_length=1000)
    summary: str
    raw_log_ids: list[UUID]
    is_provisional: Literal[False] = False
    occurred_at: Time
    superseded_by: UUID | None
    superseded_at: Time | None


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
    """The logs and records of an export as rows of this user. Raises MaasError('bad_import')."""
    lines = read_lines(file, name)
    header = _check(Header, next(lines))
    rows: list[dict[str, Any]] = []
    table, where, chars = "", "", 0
    for line in lines:
        kind = line.body.get("type")
        if kind == "run":
            continue
        if kind not in TABLES:
            raise bad(line.where, f"type must be log, record or run, not {str(kind)[:80]!r}")
        row = _row(line, user_id, header.user_id)
        if rows and (table != TABLES[kind] or len(rows) == PORTION_LINES or chars > PORTION_CHARS):
            yield Portion(table, where, rows)
            rows, chars = [], 0
        if not rows:
            table, where = TABLES[kind], f"{line.where} and following"
        rows.append(row)
        chars += len(row.get("content") or "") + 40 * len(row.get("raw_log_ids") or ())
    if rows:
        yield Portion(table, where, rows)


def _row(line: Line, user_id: UUID, exported: UUID) -> dict[str, Any]:
    def own(old: UUID | None) -> UUID | None:
        return old if old is None or exported == user_id else uuid5(user_id, str(old))

    if line.body["type"] == "log":
        log = _check(LogRow, line)
        row = log.model_dump(mode="json", exclude={"type", "role", "at"})
        kind = "user_query" if log.role == "user" else "assistant_response"
        ids = {"id": log.id, "run_id": log.run_id, "archived_run_id": log.archived_run_id, "record_id": log.record_id}
        row |= {"message_type": kind, "occurred_at": log.at.isoformat()}
    else:
        record = _check(RecordRow, line)
        row = record.model_dump(mode="json", exclude={"type"})
        ids = {"id": record.id, "run_id": record.run_id, "superseded_by": record.superseded_by}
        row["raw_log_ids"] = [str(own(one)) for one in record.raw_log_ids]
    return row | {name: None if one is None else str(own(one)) for name, one in ids.items()}


def _check(model: type[Model], line: Line) -> Model:
    if not is_storable(line.body):
        raise bad(line.where, "holds a NUL character, a lone surrogate or an infinite number")
    try:
        return model.model_validate(line.body)
    except ValidationError as error:
        first = error.errors()[0]
        raise bad(line.where, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
