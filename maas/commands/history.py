"""`maas import`: a chat history becomes memory, an export becomes what it was."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, BinaryIO
from uuid import UUID

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from maas.commands.output import errors, show
from maas.commands.session import LOCAL_USER, User, read_uuid, with_database
from maas.memory.intake import import_file, import_portion
from maas.memory.restore import is_export
from maas.memory.staging import read_staged, stage
from shared.db import Database

FORMS = "NDJSON, conversations.json of a ChatGPT export, or what `maas export` wrote"


def import_history(
    file: Annotated[Path, typer.Argument(help=FORMS, exists=True, dir_okay=False)],
    user: User = LOCAL_USER,
    wait: Annotated[bool, typer.Option(help="wait until every exchange is recorded")] = True,
) -> None:
    """Import a chat history; run it again after a stop, nothing is imported twice."""
    user_id = read_uuid(user, "--user")
    with file.open("rb") as opened:
        if is_export(opened):
            done = with_database(lambda db, _: import_file(db, user_id, opened, file.name, "cli", is_operator=True))
            beside = f", {done.others} conversations, messages, notes and images" if done.others else ""
            show(f"{done.added} turns and {done.records} records{beside} restored, {done.known} turns were known")
            return
        with TemporaryFile() as staged:
            total = stage(opened, file.name, staged)
            work = partial(_import, user_id=user_id, staged=staged, total=total, name=file.name, wait=wait)
            added, known = with_database(lambda db, _: work(db))
    show(f"{added} turns imported, {known} were known; ask about them with `maas ask`")


async def _import(db: Database, user_id: UUID, staged: BinaryIO, total: int, name: str, wait: bool) -> tuple[int, int]:
    added = known = 0
    runs: list[UUID] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors) as progress:
        task = progress.add_task("turns logged", total=total)
        for portion in read_staged(staged):
            done = await import_portion(db, user_id, portion, name)
            added, known = added + done.added, known + done.known
            if done.run_id is not None:
                runs.append(done.run_id)
            progress.advance(task, portion.length)
        await db.value("note_audit", "import", user_id, None, {"logs": added, "known": known}, "cli")
        if runs and wait and await db.rows("living_engines"):
            await _follow(db, runs, progress)
    return added, known


async def _follow(db: Database, runs: list[UUID], progress: Progress) -> None:
    task = progress.add_task("turns recorded", total=None)
    while True:
        row = await db.row("import_progress", runs)
        assert row is not None
        progress.update(task, completed=row["recorded"], total=row["total"])
        if row["recorded"] >= row["total"] or not await db.rows("living_engines"):
            return
        await asyncio.sleep(0.2)
