"""What comes in beside the queue: a whole file or nothing of it, and memories that are simply told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, BinaryIO
from uuid import UUID

import asyncpg

from maas.memory.history import BATCH, import_turns, read_turns
from maas.memory.lines import bad
from maas.memory.restore import is_export, read_portions
from shared.db import BAD_DATA, Database, Transaction

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
    """Take in turns, a ChatGPT export or an export of ours: one transaction, read off the event loop.

    Of an export of ours an operator keeps the ids, where they are free; for everybody else new ones are made.

    Raises MaasError('bad_import') that names the line; then nothing was imported.
    """
    whole = Intake()
    async with db.transaction() as transaction:
        if is_export(file):
            await _restore(transaction, user_id, file, name, whole, is_operator)
        else:
            await _take_turns(transaction, user_id, file, name, whole)
        counts = {"logs": whole.added, "known": whole.known, "records": whole.records, "others": whole.others}
        await transaction.value("note_audit", "import", user_id, None, counts, actor)
    return whole


async def _take_turns(transaction: Transaction, user_id: UUID, file: BinaryIO, name: str, whole: Intake) -> None:
    turns = read_turns(file, name)
    while batch := await asyncio.to_thread(lambda: list(islice(turns, BATCH))):
        try:
            done = await import_turns(transaction, user_id, batch, f"import of {len(batch)} turns from {name}")
        except REFUSED as error:
            raise bad(name, f"turns {whole.added + whole.known + 1} and following: {error}") from error
        whole.added += done.added
        whole.known += done.known
        whole.run_ids += [done.run_id] if done.run_id is not None else []


async def _restore(
    transaction: Transaction, user_id: UUID, file: BinaryIO, name: str, whole: Intake, is_operator: bool
) -> None:
    portions = read_portions(file, name)
    where = name
    try:
        while portion := await asyncio.to_thread(next, portions, None):
            where = portion.where
            added = await transaction.value(
                "restore_rows", portion.table, user_id, portion.rows, is_operator and portion.exported == user_id
            )
            if portion.table == "raw_logs":
                whole.added += added
                whole.known += len(portion.rows) - added
            elif portion.table == "lsm_storage":
                whole.records += added
            else:
                whole.others += added
        where = name
        run_id = await transaction.value("settle_restore", user_id, f"words of {name} that no record covered")
    except REFUSED as error:
        raise bad(where, str(error)) from error
    whole.run_ids += [run_id] if run_id is not None else []


async def remember(db: Database, user_id: UUID, turns: Sequence[dict[str, Any]]) -> tuple[UUID, list[UUID]]:
    """Log turns {role, content, at, speaker, conversation, external_id}; the run that records them, and their logs.

    A turn whose external_id is known is not logged again: its log is the one that is there.
    """
    row = await db.row("remember", user_id, turns)
    assert row is not None
    return row["run_id"], row["log_ids"]
