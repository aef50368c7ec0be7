"""Imports of chat histories that the benchmarks measure: a whole file at once, one batch a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from uuid import UUID

from maas import queries
from maas.memory.transfer.formats import ImportedMessage, read_messages
from maas.memory.transfer.import_ import ImportedBatch
from shared.db import Database
from shared.errors import MaasError


def read_history(path: Path) -> list[ImportedMessage]:
    """Return all messages of a file, in order. Raises MaasError('bad_import'), which names the line."""
    try:
        with path.open("rb") as file:
            return list(read_messages(file, path.name, Counter()))
    except OSError as error:
        raise MaasError("bad_import", f"{path} cannot be read: {error.strerror}") from error


async def import_messages(
    db: Database, user_id: UUID, messages: Sequence[ImportedMessage], label: str
) -> ImportedBatch:
    """Add the messages of one batch that are not known yet, and one run of kind archive for them."""
    row = await db.row(queries.import_turns, user_id, label, [asdict(message) for message in messages], "import")
    assert row is not None
    return ImportedBatch(row["run_id"], row["added"], row["known"])
