"""`maas export`: all that is kept of a user."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from tempfile import mkstemp
from typing import Annotated
from uuid import UUID

import typer

from maas.commands.output import note
from maas.commands.session import read_uuid, with_database
from maas.memory.export import PARTS, write_export
from shared.db import Database
from shared.errors import MaasError

ALWAYS = ("logs", "records", "runs")


def export_user(
    user: Annotated[str, typer.Argument(help="whose memory, a UUID")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="into this file instead of standard output")] = None,
) -> None:
    """Write all that is kept of a user as NDJSON that `maas import` accepts: logs, records, dialogues, images, runs."""
    user_id = read_uuid(user, "USER")
    counts = with_database(lambda db, _: _export(db, user_id, out))
    shown = [part for part in PARTS if counts[part] or part in ALWAYS]
    note(f"{', '.join(f'{counts[part]} {part}' for part in shown)} exported")


async def _export(db: Database, user_id: UUID, out: Path | None) -> Counter[str]:
    if out is None:
        return await write_export(db, user_id, sys.stdout.buffer, "cli")
    try:
        descriptor, part = mkstemp(dir=out.parent, prefix=f".{out.name}.")
        try:
            with open(descriptor, "wb") as file:
                counts = await write_export(db, user_id, file, "cli")
            os.replace(part, out)
        except BaseException:
            os.unlink(part)
            raise
    except OSError as error:
        raise MaasError("bad_parameter", f"--out: {out} cannot be written: {error}") from error
    return counts
