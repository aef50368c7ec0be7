"""`maas compact`: merge the records that have grown old, all that is due now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from maas.commands.output import errors, show
from maas.commands.session import read_uuid, with_database
from shared.db import Database
from shared.settings import Settings

Compact = Callable[[Database, Settings, UUID | None, Callable[[int, int], None]], Awaitable[int]]


def compact_levels(compact: Compact, user: str | None) -> None:
    """Run it with a progress bar and say how many records were made."""
    user_id = read_uuid(user, "--user") if user is not None else None
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors) as progress:
        task = progress.add_task("records merged", total=None)
        made = with_database(
            lambda db, settings: compact(
                db, settings, user_id, lambda done, total: progress.update(task, completed=done, total=total)
            )
        )
    show(f"records made of older ones: {made}" if made else "nothing is due")
