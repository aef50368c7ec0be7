"""`maas import` and `maas export`: chat histories into memory, all data of a user out of it and back."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile, mkstemp
from typing import TYPE_CHECKING, Annotated, BinaryIO
from uuid import UUID

import typer

from maas.cli.invocation import LOCAL_USER, User, read_uuid, with_database
from maas.cli.ui import note, progress_bar, show
from maas.memory.transfer.export import PARTS, write_export
from maas.memory.transfer.formats import is_export
from maas.memory.transfer.import_ import import_batch, import_file, read_staged, stage_file
from shared.db import Database
from shared.errors import MaasError

if TYPE_CHECKING:
    from rich.progress import Progress

POLL_INTERVAL_S = 0.2
FORMATS = "NDJSON, conversations.json of a ChatGPT export, or the output of `maas export`"
MAIN_PARTS = ("logs", "records", "runs")  # counted in the last line even if there are none


def import_history(
    file: Annotated[Path, typer.Argument(help=FORMATS, exists=True, dir_okay=False)],
    user: User = LOCAL_USER,
    wait: Annotated[bool, typer.Option(help="wait until every message is summarized")] = True,
) -> None:
    """Import with a progress bar and print the counts. Raises MaasError, also for a line that is not valid."""
    user_id = read_uuid(user, "--user")
    with file.open("rb") as source:
        if is_export(source):
            done = with_database(lambda db, _: import_file(db, user_id, source, file.name, "cli", is_operator=True))
            others = f", {done.others} conversations, messages, notes and images" if done.others else ""
            show(f"{done.added} messages and {done.records} summaries restored{others}, {done.known} already known")
            return
        with TemporaryFile() as staged:
            total = stage_file(source, file.name, staged)
            work = partial(_import, user_id=user_id, staged=staged, total=total, name=file.name, wait=wait)
            added, known = with_database(lambda db, _: work(db))
    show(f"{added} messages imported, {known} already known; ask about them with `maas ask`")


async def _import(db: Database, user_id: UUID, staged: BinaryIO, total: int, name: str, wait: bool) -> tuple[int, int]:
    """The numbers of added and of already known messages."""
    added = known = 0
    runs: list[UUID] = []
    with progress_bar() as progress:
        task = progress.add_task("messages logged", total=total)
        for portion in read_staged(staged):
            done = await import_batch(db, user_id, portion, name)
            added, known = added + done.added, known + done.known
            if done.run_id is not None:
                runs.append(done.run_id)
            progress.advance(task, portion.length)
        await db.value("note_audit", "import", user_id, None, {"logs": added, "known": known}, "cli")
        if runs and wait and await db.rows("living_engines"):
            await _wait_archived(db, runs, progress)
    return added, known


async def _wait_archived(db: Database, runs: list[UUID], progress: Progress) -> None:
    """Show the progress of the archivists until all is summarized or no orchestrator is running."""
    task = progress.add_task("messages summarized", total=None)
    while True:
        row = await db.row("import_progress", runs)
        assert row is not None
        progress.update(task, completed=row["recorded"], total=row["total"])
        if row["recorded"] >= row["total"] or not await db.rows("living_engines"):
            return
        await asyncio.sleep(POLL_INTERVAL_S)


def export_user(
    user: Annotated[str, typer.Argument(help="user to export, a UUID")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="file to write; standard output if unset")
    ] = None,
) -> None:  # fmt: skip
    """Write the export and print the counts to standard error. Raises MaasError."""
    user_id = read_uuid(user, "USER")
    counts = with_database(lambda db, _: _export(db, user_id, out))
    parts = [part for part in PARTS if counts[part] or part in MAIN_PARTS]
    note(f"{', '.join(f'{counts[part]} {part}' for part in parts)} exported")


async def _export(db: Database, user_id: UUID, out: Path | None) -> Counter[str]:
    """Write to a temporary file first, so that `out` is complete or unchanged; the number of lines of each part."""
    if out is None:
        return await write_export(db, user_id, sys.stdout.buffer, "cli")
    try:
        descriptor, temporary = mkstemp(dir=out.parent, prefix=f".{out.name}.")
        try:
            with open(descriptor, "wb") as file:
                counts = await write_export(db, user_id, file, "cli")
            os.replace(temporary, out)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise MaasError("bad_parameter", f"--out: {out} cannot be written: {error}") from error
    return counts
