"""All that is kept of a user, as NDJSON: a header, then a line for every row of its parts."""

from __future__ import annotations

from collections import Counter
from typing import BinaryIO
from uuid import UUID

from shared.db import Database
from shared.visible import visible_json

PARTS = ("logs", "records", "conversations", "messages", "notes", "attachments", "actions", "runs")
LARGE = "attachments"  # of these one at a time is enough


async def write_export(db: Database, user_id: UUID, out: BinaryIO, actor: str) -> Counter[str]:
    """Write one state of one moment, a hundred lines at a time in memory; how many lines of each part.

    `out` is a file: who reads it slowly must not hold the database.
    """
    counts: Counter[str] = Counter()
    async with db.transaction(isolation="repeatable_read", readonly=True) as snapshot:
        await snapshot.allow_long_statements()
        await snapshot.value("use_utc")
        out.write((await snapshot.value("export_header", user_id)).encode() + b"\n")
        for part in PARTS:
            async for row in snapshot.stream(f"export_{part}", user_id, prefetch=1 if part == LARGE else 100):
                out.write(visible_json(row["line"]).encode() + b"\n")
                counts[part] += 1
    await db.value("note_audit", "export", user_id, None, counts, actor)
    return counts
