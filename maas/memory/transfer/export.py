"""The export of a user: a header and one line of JSON per row."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from functools import partial
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import BinaryIO
from uuid import UUID

from maas import queries
from maas.memory.transfer.export_rows import PLUGIN_TYPE
from maas.memory.transfer.interchange import ExportFormat, convert
from maas.named_queries import query_named
from maas.plugins import exports_of_plugins
from shared.db import Database
from shared.text import visible_json

PARTS = (
    "logs",
    "records",
    "corrections",
    "facts",
    "fact_decisions",
    "fact_names",
    "conversations",
    "messages",
    "documents",
    "passages",
    "attachments",
    "actions",
    "runs",
)
LARGE_PART = "attachments"  # its rows are read one at a time
PREFETCH_ROWS = 100


async def write_export(
    db: Database,
    user_id: UUID,
    out: BinaryIO,
    actor: str,
    *,
    reads: Database | None = None,
    with_tool_calls: bool = False,
    form: ExportFormat = ExportFormat.MAAS,
) -> Counter[str]:
    """Write everything stored about a user, as of one moment, and return the number of lines by part.

    Lines are NDJSON, the first one is the header. `out` should be a file: while it is written, a transaction is open,
    which a slow reader must not hold. Memory use is about a hundred lines. `with_tool_calls` adds the messages of
    tools, which are for debugging. `reads` is read instead of `db`, where the audit is written. `form`: another one is
    made of these lines.
    """
    if form is ExportFormat.MAAS:
        return await _write_lines(db, user_id, out, actor, reads or db, with_tool_calls=with_tool_calls)
    with TemporaryFile() as lines, TemporaryFile() as converted:
        counts = await _write_lines(db, user_id, lines, actor, reads or db, with_tool_calls=with_tool_calls)
        lines.seek(0)
        await asyncio.get_running_loop().run_in_executor(None, partial(convert, lines, form, converted))
        converted.seek(0)
        copyfileobj(converted, out)
    return counts


async def _write_lines(
    db: Database, user_id: UUID, out: BinaryIO, actor: str, reads: Database, *, with_tool_calls: bool
) -> Counter[str]:
    counts: Counter[str] = Counter()
    async with reads.transaction(isolation="repeatable_read", readonly=True) as snapshot:
        await snapshot.allow_long_statements()
        await snapshot.value(queries.use_utc)
        out.write((await snapshot.value(queries.export_header, user_id)).encode() + b"\n")
        for part in PARTS:
            prefetch = 1 if part == LARGE_PART else PREFETCH_ROWS
            names = [f"export_{part}", *(["export_tool_messages"] if part == "messages" and with_tool_calls else [])]
            for name in names:
                async for row in snapshot.stream(query_named(name), user_id, prefetch=prefetch):
                    out.write(visible_json(row["line"]).encode() + b"\n")
                    counts[part] += 1
        for plugin, name in exports_of_plugins():
            async for row in snapshot.stream(query_named(name), user_id, prefetch=PREFETCH_ROWS):
                start = json.dumps({"type": PLUGIN_TYPE, "plugin": plugin, "query": name})[:-1]
                # The row is not parsed: numbers keep all their digits.
                out.write(visible_json(f'{start}, "row": {row["line"]}}}').encode() + b"\n")
                counts["plugins"] += 1
    await db.value(queries.note_audit, "export", user_id, None, counts, actor)
    return counts
