"""What comes in beside the queue: a whole file or nothing of it, and memories that are simply told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from tempfile import TemporaryFile
from typing import Any, BinaryIO, TypeVar
from uuid import UUID

import asyncpg

from maas.memory.history import Imported
from maas.memory.lines import bad
from maas.memory.restore import Portion, is_export
from maas.memory.staging import TURNS, read_staged, stage
from shared.db import BAD_DATA, Database, Transaction

AT_ONCE = 2
Result = TypeVar("Result")
_threads = ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="import")
REFUSED = (*BAD_DATA, asyncpg.ProgramLimitExceededError)


@dataclass(slots=True)
class Intake:
    """What a file came to: turns added and known, records restored, runs that record what no record covers.

    `others`: conversations, messages, notes and images of an export.
    """

    added: int = 0
    known: int = 0
    records: int = 0
    others: int = 0
    run_ids: list[UUID] = field(default_factory=list)


async def import_file(
    db: Database, user_id: UUID, file: BinaryIO, name: str, actor: str, *, is_operator: bool = False
) -> Intake:
    """Take in turns, a ChatGPT export or an export of ours: all of it in one transaction, which opens when it is read.

    Of an export of ours an operator keeps the ids, where they are free; for everybody else new ones are made.

    Raises MaasError('bad_import') that names the line; then nothing was imported.
    """
    whole = Intake()
    with TemporaryFile() as staged:
        is_restored = is_export(file)
        await _aside(partial(stage, file, name, staged))
        portions = read_staged(staged)
        async with db.transaction() as transaction:
            await transaction.allow_long_statements()
            while portion := await _aside(partial(next, portions, None)):
                await _take(transaction, user_id, portion, name, whole, is_operator)
            if is_restored:
                await _settle(transaction, user_id, name, whole)
            counts = {"logs": whole.added, "known": whole.known, "records": whole.records, "others": whole.others}
            await transaction.value("note_audit", "import", user_id, None, counts, actor)
    return whole


async def _take(
    transaction: Transaction, user_id: UUID, portion: Portion, name: str, whole: Intake, is_operator: bool
) -> None:
    try:
        if portion.table == TURNS:
            done = await import_portion(transaction, user_id, portion, name)
            whole.added += done.added
            whole.known += done.known
            whole.run_ids += [done.run_id] if done.run_id is not None else []
            return
        is_kept = is_operator and portion.exported == user_id
        added = await transaction.value("restore_rows", portion.table, user_id, portion.rows, is_kept, portion.image)
    except REFUSED as error:
        raise bad(portion.where, str(error)) from error
    if portion.table == "raw_logs":
        whole.added += added
        whole.known += portion.length - added
    elif portion.table == "lsm_storage":
        whole.records += added
    else:
        whole.others += added


async def _settle(transaction: Transaction, user_id: UUID, name: str, whole: Intake) -> None:
    try:
        run_id = await transaction.value("settle_restore", user_id, f"words of {name} that no record covered")
    except REFUSED as error:
        raise bad(name, str(error)) from error
    whole.run_ids += [run_id] if run_id is not None else []


async def import_portion(db: Database | Transaction, user_id: UUID, portion: Portion, name: str) -> Imported:
    """Log the turns of a portion that are not there yet, and one run of kind archive that records them."""
    label = f"import of {portion.length} turns from {name}"
    row = await db.row("import_portion", user_id, label, portion.rows, "import")
    assert row is not None
    return Imported(row["run_id"], row["added"], row["known"])


async def _aside(work: Callable[[], Result]) -> Result:
    """Have it done in a thread of imports, off the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_threads, work)


async def remember(db: Database, user_id: UUID, turns: Sequence[dict[str, Any]]) -> tuple[UUID, list[UUID]]:
    """Log turns {role, content, at, speaker, conversation, external_id}; the run that records them, and their logs.

    A turn whose external_id is known is not logged again: its log is the one that is there.
    """
    row = await db.row("remember", user_id, turns)
    assert row is not None
    return row["run_id"], row["log_ids"]
