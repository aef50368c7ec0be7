"""Import: adds messages to memory without answering them, from a file or from the body of a request."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from tempfile import TemporaryFile
from typing import Any, BinaryIO, TypeVar
from uuid import UUID

import asyncpg

from maas import queries
from maas.memory.transfer.formats import MESSAGES, RowBatch, is_export, read_batches
from maas.memory.transfer.interchange import unwrap
from maas.memory.transfer.ndjson import import_error
from shared.db import Database
from shared.group_commit import BAD_DATA
from shared.models import gen_ai
from shared.transaction import Transaction

MAX_CONCURRENT_IMPORTS = 2
REFUSALS = (*BAD_DATA, asyncpg.ProgramLimitExceededError)
Result = TypeVar("Result")
_threads = ThreadPoolExecutor(max_workers=MAX_CONCURRENT_IMPORTS, thread_name_prefix="import")


@dataclass(frozen=True, slots=True)
class ImportedBatch:
    """What the import of one batch did; `run_id` is None when all its messages were known already."""

    run_id: UUID | None
    added: int
    known: int


@dataclass(slots=True)
class ImportResult:
    """What the import of a file did.

    `added` and `known` count messages, `records` summaries, and `others` the facts, conversations, their messages and
    images of an export. `run_ids` are the runs that will archive messages without a summary. `left_out` says what was
    not imported, and how many of each.
    """

    added: int = 0
    known: int = 0
    records: int = 0
    others: int = 0
    run_ids: list[UUID] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


async def import_file(
    db: Database, user_id: UUID, file: BinaryIO, name: str, actor: str, *, is_operator: bool = False
) -> ImportResult:
    """Import a file of any format in one transaction, which opens when the whole file has been checked.

    From an export of the same user, an operator keeps the ids that are free; otherwise new ones are made.

    Raises MaasError: `bad_import`, which names the line; `quota_exceeded`. Nothing is imported then.
    """
    result = ImportResult()
    with TemporaryFile() as staged, TemporaryFile() as unwrapped:
        file = unwrapped if await _in_thread(partial(unwrap, file, name, unwrapped)) else file
        is_restored = is_export(file)
        await _in_thread(partial(stage_file, file, name, staged, result.left_out))
        batches = read_staged(staged)
        async with db.transaction() as transaction:
            await transaction.allow_long_statements()
            while batch := await _in_thread(partial(next, batches, None)):
                await _import(transaction, user_id, batch, name, result, is_operator)
            if is_restored:
                await _finish_restore(transaction, user_id, name, result)
            await transaction.value(queries.check_memory, user_id)
            counts = {"logs": result.added, "known": result.known, "records": result.records, "others": result.others}
            await transaction.value(queries.note_audit, "import", user_id, None, counts, actor)
    return result


async def _import(
    transaction: Transaction, user_id: UUID, batch: RowBatch, name: str, result: ImportResult, is_operator: bool
) -> None:
    try:
        if batch.table == MESSAGES:
            imported = await import_batch(transaction, user_id, batch, name)
            result.added += imported.added
            result.known += imported.known
            result.run_ids += [imported.run_id] if imported.run_id is not None else []
            return
        keeps_ids = is_operator and batch.exported_user_id == user_id
        added = await transaction.value(queries.restore_rows, batch.table, user_id, batch.rows, keeps_ids, batch.image)
    except REFUSALS as error:
        raise import_error(batch.where, str(error)) from error
    if batch.table == "raw_logs":
        result.added += added
        result.known += batch.length - added
    elif batch.table == "lsm_storage":
        result.records += added
    else:
        result.others += added


async def _finish_restore(transaction: Transaction, user_id: UUID, name: str, result: ImportResult) -> None:
    """Add a run that archives the restored messages without a summary."""
    try:
        run_id = await transaction.value(queries.settle_restore, user_id, f"words of {name} that no record covered")
    except REFUSALS as error:
        raise import_error(name, str(error)) from error
    result.run_ids += [run_id] if run_id is not None else []


async def import_batch(db: Database | Transaction, user_id: UUID, batch: RowBatch, name: str) -> ImportedBatch:
    """Add the messages of a batch that are not known yet, and one run of kind archive for them."""
    label = f"import of {batch.length} turns from {name}"
    row = await db.row(queries.import_portion, user_id, label, batch.rows, "import")
    assert row is not None
    return ImportedBatch(row["run_id"], row["added"], row["known"])


async def remember(db: Database, user_id: UUID, messages: Sequence[dict[str, Any]]) -> tuple[UUID, list[UUID]]:
    """Add messages {role, content, at, speaker, conversation, external_id}; return the id of their run, and their ids.

    `client` of a message, a JSON object, is kept beside it; client_memories reads it. A message whose external_id is
    known is not added again; the id returned for it is that of the existing one.
    """
    with gen_ai.memory("create_memory", user_id, count=len(messages)):
        row = await db.row(queries.remember, user_id, messages)
    assert row is not None
    return row["run_id"], row["log_ids"]


def stage_file(file: BinaryIO, name: str, staged: BinaryIO, left_out: Counter[str]) -> int:
    """Check a whole file and write its batches to `staged`; return the number of rows, and count what is left out.

    The time it takes grows with the file, so it must not run in the event loop. Raises MaasError('bad_import').
    """
    count = 0
    for batch in read_batches(file, name, left_out):
        _write(staged, batch)
        count += batch.length
        del batch  # frees its image before the next one is decoded
    return count


def _write(staged: BinaryIO, batch: RowBatch) -> None:
    rows, image = batch.rows.encode(), batch.image or b""
    exported_user_id = str(batch.exported_user_id) if batch.exported_user_id is not None else None
    head = [batch.table, batch.where, batch.length, len(rows), len(image), exported_user_id]
    staged.write(json.dumps(head).encode() + b"\n")
    staged.write(rows)
    staged.write(image)


def read_staged(staged: BinaryIO) -> Iterator[RowBatch]:
    """Yield the batches that `stage_file` wrote."""
    staged.seek(0)
    while head := staged.readline():
        table, where, length, rows, image, exported_user_id = json.loads(head)
        yield RowBatch(
            table,
            where,
            length,
            staged.read(rows).decode(),
            staged.read(image) or None,
            UUID(exported_user_id) if exported_user_id is not None else None,
        )


async def _in_thread(work: Callable[[], Result]) -> Result:
    """Run `work` in a thread for imports and return its result."""
    return await asyncio.get_running_loop().run_in_executor(_threads, work)
