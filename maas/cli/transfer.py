"""`maas import` and `export`: chat histories and all data of a user, into memory and out of it."""

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

from maas import queries, users
from maas.memory.transfer.containers import unpack
from maas.memory.transfer.export import PARTS, write_export
from maas.memory.transfer.formats import exported_user
from maas.memory.transfer.import_ import import_batch, import_file, read_staged, stage_file
from maas.memory.transfer.interchange import ExportFormat
from maas.terminal.invocation import read_uuid, with_database
from maas.terminal.output import note, progress_bar, show
from shared.db import Database
from shared.errors import MaasError

if TYPE_CHECKING:
    from rich.progress import Progress

POLL_INTERVAL_S = 0.2
FORMATS = (
    "NDJSON, the output of `maas export`, or an export of ChatGPT, Claude, Gemini, mem0, Zep, Graphiti, Honcho, Letta, "
    "Hindsight, MemPalace, AIMEM, memorywire, Open WebUI (also webui.db) or LibreChat, as a file or a zip archive"
)
MAIN_PARTS = ("logs", "records", "runs")  # counted in the last line even if there are none


def import_history(
    file: Annotated[Path, typer.Argument(help=FORMATS, exists=True, dir_okay=False)],
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            "-u",
            help="user whose memory it becomes, a UUID",
            show_default="the user of the export; of other files, a user of this machine",
        ),
    ] = None,
    owner: Annotated[
        str | None, typer.Option("--of", help="whose chats to take from a database of several users: an id or an email")
    ] = None,
    wait: Annotated[bool, typer.Option(help="wait until every message is summarized")] = True,
) -> None:
    """Import with a progress bar and print the counts. Raises MaasError, also for a line that is not valid."""
    with file.open("rb") as source:
        exported = exported_user(source, file.name)
        user_id = read_uuid(user, "--user") if user else exported or users.LOCAL_USER
        if exported is not None:
            done = with_database(lambda db, _: import_file(db, user_id, source, file.name, "cli", is_operator=True))
            others = f", {done.others} conversations, messages, facts and images" if done.others else ""
            show(
                f"{done.added} messages and {done.records} summaries restored{others}, {done.known} already known, "
                f"for user {user_id}"
            )
            return
    left_out: Counter[str] = Counter()
    with TemporaryFile() as staged:
        total = sum(stage_file(source, name, staged, left_out) for source, name in unpack(file, owner))
        work = partial(_import, user_id=user_id, staged=staged, total=total, name=file.name, wait=wait)
        added, known, unarchived = with_database(lambda db, _: work(db))
    show(f"{added} messages imported, {known} already known; ask about them with `maas ask`")
    if left_out:
        show(f"left out: {', '.join(f'{count} {what}' for what, count in left_out.most_common())}")
    if unarchived:
        show(f"{unarchived} messages are still to be summarized in the background; watch it with `maas top`")


async def _import(
    db: Database, user_id: UUID, staged: BinaryIO, total: int, name: str, wait: bool
) -> tuple[int, int, int]:
    """The numbers of added, of already known and of not yet summarized messages."""
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
        await db.value(queries.note_audit, "import", user_id, None, {"logs": added, "known": known}, "cli")
        if runs and wait and await db.rows(queries.living_engines) != []:
            await _wait_archived(db, runs, progress)
    row = await db.row(queries.import_progress, runs)
    assert row is not None
    return added, known, row["total"] - row["recorded"]


async def _wait_archived(db: Database, runs: list[UUID], progress: Progress) -> None:
    """Show the progress of the archivists until all is summarized or no orchestrator is running."""
    task = progress.add_task("messages summarized", total=None)
    while True:
        row = await db.row(queries.import_progress, runs)
        assert row is not None
        progress.update(task, completed=row["recorded"], total=row["total"])
        if row["recorded"] >= row["total"] or not await db.rows(queries.living_engines):
            return
        await asyncio.sleep(POLL_INTERVAL_S)


def export_user(
    user: Annotated[str, typer.Argument(help="user to export, a UUID")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="file to write; standard output if unset")] = None,
    tool_calls: Annotated[bool, typer.Option("--tool-calls", help="with the messages of tools")] = False,
    form: Annotated[
        ExportFormat,
        typer.Option(
            "--format",
            help="maas: our own format; aimem, memorywire: formats that other products read, and `maas import`, too",
        ),
    ] = ExportFormat.MAAS,
) -> None:
    """Write the export and print the counts to standard error. Raises MaasError."""
    user_id = read_uuid(user, "USER")
    counts = with_database(lambda db, _: _export(db, user_id, out, tool_calls, form))
    parts = [part for part in PARTS if counts[part] or part in MAIN_PARTS]
    note(f"{', '.join(f'{counts[part]} {part}' for part in parts)} exported")


async def _export(
    db: Database, user_id: UUID, out: Path | None, with_tool_calls: bool, form: ExportFormat
) -> Counter[str]:
    """Write to a temporary file first, so that `out` is complete or unchanged; the number of lines of each part."""
    write = partial(write_export, db, user_id, actor="cli", with_tool_calls=with_tool_calls, form=form)
    if out is None:
        return await write(sys.stdout.buffer)
    try:
        descriptor, temporary = mkstemp(dir=out.parent, prefix=f".{out.name}.")
        try:
            with open(descriptor, "wb") as file:
                counts = await write(file)
            os.replace(temporary, out)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise MaasError("bad_parameter", f"--out: {out} cannot be written: {error}") from error
    return counts
