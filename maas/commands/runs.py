"""`maas runs`: what was asked, and where it is."""

from __future__ import annotations

from typing import Annotated

import typer

from maas.commands.output import Table, show
from maas.commands.session import read_uuid, with_database
from maas.pipeline import submissions
from maas.pipeline.states import Status
from shared.text import one_line, shorten


def list_runs(
    user: Annotated[str | None, typer.Option("--user", "-u", help="of this user only")] = None,
    status: Annotated[Status | None, typer.Option(help="in this status only")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="how many")] = 20,
) -> None:
    """List runs, newest first."""
    user_id = read_uuid(user, "--user") if user else None
    rows = with_database(lambda db, _: submissions.list_runs(db, user_id=user_id, status=status, limit=limit))
    table = Table()
    for name in ("run", "at", "kind", "status", "archive", "ms", "query"):
        table.add_column(name, no_wrap=name == "run")
    for row in rows:
        took = row["completed_at"] and f"{(row['completed_at'] - row['created_at']).total_seconds() * 1000:.0f}"
        state = row["status"] + (f" ({row['error_code']})" if row["error_code"] else "")
        table.add_row(
            str(row["id"]), f"{row['created_at']:%m-%d %H:%M:%S}", row["kind"], state, row["archive_status"], took,
            shorten(one_line(row["query"]), 60),
        )  # fmt: skip
    show(table)
