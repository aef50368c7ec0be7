"""`maas load`: rows of stored data from an NDJSON file, or from standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from maas.loading import LoadCounts, count_lines, load_file
from maas.terminal.invocation import read_uuid, with_database
from maas.terminal.output import progress_bar, show
from shared.db import Database
from shared.errors import MaasError

STDIN = "-"


def load(
    file: Annotated[str, typer.Argument(help="NDJSON, one object of columns per line; - for standard input")],
    table: Annotated[str, typer.Option(help="table that is open for loading")],
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="user of all rows, a UUID; each row names its own if unset")
    ] = None,
) -> None:
    """Load with a progress bar and print the counts. Raises MaasError, also for a line that is not valid."""
    user_id = read_uuid(user, "--user") if user is not None else None

    async def work(db: Database, source: BinaryIO, name: str, total: int | None) -> LoadCounts:
        with progress_bar() as progress:
            task = progress.add_task("rows loaded", total=total)
            return await load_file(db, source, name, table, user_id, "cli", lambda lines: progress.advance(task, lines))

    if file == STDIN:
        counts = with_database(lambda db, _: work(db, sys.stdin.buffer, "standard input", None))
    else:
        path = Path(file)
        with _open(path) as source:
            total = count_lines(source)
            counts = with_database(lambda db, _: work(db, source, path.name, total))
    show(f"{table}: {counts.added} rows added, {counts.changed} changed, {counts.unchanged} unchanged")


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise MaasError("bad_parameter", f"FILE: cannot read {path}: {error.strerror}") from error
