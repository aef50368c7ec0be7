"""Loading of stored data: the lines of an NDJSON file become rows of a table that is open for it.

Lines are committed in batches, so after an interruption the same file is loaded again from its start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Any, BinaryIO, NamedTuple
from uuid import UUID

import asyncpg

from maas import queries
from shared.db import UNAVAILABLE, Database, unreachable
from shared.errors import MaasError
from shared.group_commit import BAD_DATA
from shared.json import is_storable, parse_json
from shared.text import one_line, shorten
from shared.transaction import Transaction

BATCH_LINES = 500
BATCH_BYTES = 4_000_000
MAX_LINE_BYTES = 1024 * 1024
MAX_CAUSE_CHARS = 500
_BOM = b"\xef\xbb\xbf"
REFUSALS = (
    *BAD_DATA,
    asyncpg.FeatureNotSupportedError,
    asyncpg.ProgramLimitExceededError,
    asyncpg.RaiseError,  # of a trigger of the table
    asyncpg.SyntaxOrAccessError,
)


class RowLine(NamedTuple):
    """One line of a file: its number, its JSON text, and the names of its columns."""

    number: int
    text: str
    names: frozenset[str]


@dataclass(slots=True)
class LoadCounts:
    """The numbers of rows that were inserted, updated, and there already as they are."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0

    def add(self, row: queries.LoadRowsRow) -> None:
        self.added += row["added"]
        self.changed += row["changed"]
        self.unchanged += row["unchanged"]


async def load_file(
    db: Database,
    file: BinaryIO,
    name: str,
    table: str,
    user_id: UUID | None,
    actor: str,
    on_progress: Callable[[int], object] = lambda lines: None,
) -> LoadCounts:
    """Load all lines of a file into `table`; `user_id`: all rows are of this user.

    `on_progress` receives the number of lines of each batch that was committed. Raises MaasError('bad_load'), which
    names the line; the batches before it stay, nothing of its own batch does. Raises MaasError('database_unreachable').
    """
    if not is_storable(table):
        raise MaasError("bad_parameter", "--table: must be the name of a table")
    counts = LoadCounts()
    try:
        for batch in _batches(_read_lines(file, name)):
            counts_before = (counts.added, counts.changed, counts.unchanged)
            try:
                async with db.transaction() as transaction:
                    for _, lines in groupby(batch, lambda line: line.names):
                        counts.add(await _load(transaction, table, list(lines), user_id))
            except REFUSALS as error:
                counts.added, counts.changed, counts.unchanged = counts_before
                raise await _refusal(db, name, table, batch, user_id, error) from error
            except UNAVAILABLE as error:
                raise unreachable(error) from error
            on_progress(len(batch))
    finally:
        if counts.added or counts.changed:
            details = {"table": table, "added": counts.added, "changed": counts.changed}
            with suppress(*UNAVAILABLE):
                await db.value(queries.note_audit, "load", user_id, None, details, actor)
    return counts


def count_lines(file: BinaryIO) -> int:
    """The number of line breaks in a file, which is rewound."""
    lines = 0
    while chunk := file.read(MAX_LINE_BYTES):
        lines += chunk.count(b"\n")
    file.seek(0)
    return lines


async def _load(
    transaction: Transaction, table: str, lines: list[RowLine], user_id: UUID | None
) -> queries.LoadRowsRow:
    row = await transaction.row(queries.load_rows, table, f"[{','.join(line.text for line in lines)}]", user_id)
    assert row is not None
    return row


async def _refusal(
    db: Database, name: str, table: str, batch: list[RowLine], user_id: UUID | None, error: Exception
) -> MaasError:
    """The error of the first line of a refused batch that is refused alone, found in a transaction that is undone."""
    number = batch[0].number
    try:
        async with db.transaction() as transaction:
            for line in batch:
                number = line.number
                await _load(transaction, table, [line], user_id)
            raise _Undone
    except _Undone:
        return _bad_line(name, batch[0].number, f"{_cause(error)} (in this line or one of the next {len(batch) - 1})")
    except REFUSALS as first:
        return _bad_line(name, number, _cause(first))


class _Undone(Exception):
    """Rolls a transaction back."""


def _cause(error: Exception) -> str:
    parts = (str(getattr(error, name, None) or "") for name in ("message", "detail", "hint"))
    return shorten(one_line("; ".join(filter(None, parts)) or str(error)), MAX_CAUSE_CHARS)


def _bad_line(name: str, number: int, cause: str) -> MaasError:
    return MaasError("bad_load", f"{name}, line {number}: {cause}")


def _batches(lines: Iterator[RowLine]) -> Iterator[list[RowLine]]:
    batch: list[RowLine] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line.text)
        if len(batch) == BATCH_LINES or size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _read_lines(file: BinaryIO, name: str) -> Iterator[RowLine]:
    """Yield every line that is not blank. Raises MaasError('bad_load')."""
    number = 0
    while raw := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(raw) > MAX_LINE_BYTES:
            raise _bad_line(name, number, f"exceeds {MAX_LINE_BYTES // 1024 // 1024} MiB")
        if number == 1:
            raw = raw.removeprefix(_BOM)
        if raw.strip():
            yield _read_line(raw, name, number)


def _read_line(raw: bytes, name: str, number: int) -> RowLine:
    try:
        text = raw.decode()
        body: Any = parse_json(text, unique_names=True)
    except UnicodeDecodeError as error:
        raise _bad_line(name, number, f"not UTF-8 (byte {error.start})") from error
    except ValueError as error:
        raise _bad_line(name, number, shorten(f"not JSON: {error}", MAX_CAUSE_CHARS)) from error
    if not isinstance(body, dict) or not body:
        raise _bad_line(name, number, "must be a JSON object with the columns of a row")
    if not is_storable(body):
        raise _bad_line(name, number, "holds a NUL character, a lone surrogate, an infinite number or too many levels")
    return RowLine(number, text, frozenset(body))
