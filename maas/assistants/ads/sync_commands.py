"""`maas ads sync` and `maas ads syncs`: read the services now, and see when each is read by itself."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from maas.assistants.ads import queries
from maas.assistants.ads.account import read_account
from maas.assistants.ads.owner import Owner, find_owner, with_owner
from maas.assistants.ads.settings import MAX_SYNC_INTERVAL_MIN, AdsSettings
from maas.assistants.ads.sync import FIRST_DAYS
from maas.assistants.ads.sync_queue import NO_ACCOUNT, SyncQueue
from maas.settings import Settings
from maas.terminal.invocation import note_all, note_user, with_database
from maas.terminal.output import Table, note, progress_bar, readable_duration, show
from shared.db import Database
from shared.errors import MaasError

if TYPE_CHECKING:
    from rich.progress import TaskID

MAX_DAYS = 1100  # Facebook keeps figures for 37 months
Only = Annotated[str | None, typer.Option("--account", "-a", help="only this account: its id, or act_NUMBER")]


def sync(
    user: Owner,
    account: Only = None,
    days: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_DAYS,
            help="read figures and dialogues of this many days again",
            show_default=f"what is new, at first {FIRST_DAYS}",
        ),
    ] = None,
) -> None:
    """It can be interrupted and repeated. Raises MaasError if a service could not be read to the end."""
    with_owner(user, lambda db, settings, user_id: sync_now(db, settings, user_id, account, days), "ads sync")


async def sync_now(db: Database, settings: Settings, user_id: UUID, account: str | None, days: int | None) -> None:
    """Sync connections of a user with a progress bar, and print what was stored. Raises MaasError as `sync`."""
    counts: Counter[str] = Counter()
    queue = SyncQueue(db, settings, days)
    with progress_bar() as progress:
        tasks: dict[str, TaskID] = {}

        def report(kind: str, rows: int) -> None:
            if kind not in tasks:
                tasks[kind] = progress.add_task(kind, total=None)
            progress.advance(tasks[kind], rows)
            counts[kind] += rows

        try:
            failures = await queue.run_all(user_id, account, report, note)
        finally:
            await queue.close()
    show(", ".join(f"{kind} {rows:,}" for kind, rows in counts.items()) or "nothing is connected")
    for one in failures:
        note(one)
    if failures:
        raise MaasError(
            "failed", "not everything was read; what was stored is kept, and the next sync continues from there"
        )


def syncs(
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="user whose connections are listed", show_default="all users")
    ] = None,
    account: Only = None,
    every: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=MAX_SYNC_INTERVAL_MIN,
            help="sync these connections every so many minutes; 0: never",
            show_default="as it is",
        ),
    ] = None,
) -> None:
    """Print how old the data of each connection is and how its last sync ended. Raises MaasError."""
    if every is not None and user is None:
        raise MaasError("bad_parameter", "--every needs --user, whose connections are meant")

    async def run(db: Database, settings: Settings) -> list[queries.AdsSyncsRow]:
        user_id = None if user is None else await find_owner(db, user)
        if user_id is None:
            await note_all(db, "ads syncs", "ads_syncs")
        else:
            await note_user(db, "ads syncs", user_id)
            if await read_account(db, user_id, account) is None:
                raise MaasError("not_found", NO_ACCOUNT)
        interval_min = settings.of(AdsSettings).ads_sync_interval
        rows = await db.rows(queries.ads_syncs, user_id, account, interval_min)
        if every is None or user_id is None:
            return rows
        for row in rows:
            await db.rows(queries.ads_set_sync_interval, user_id, row["id"], every)
        return await db.rows(queries.ads_syncs, user_id, account, interval_min)

    rows = with_database(run)
    if not rows:
        note("nothing is connected; `maas ads connect` connects a business")
        return
    names = ("business", "service", "data of", "every", "state", "last error")
    table = Table(*(names if user is not None else ("user", *names)))
    for row in rows:
        of_facebook = f"{row['service']} {row['named']}" if row["service"] == "Facebook" else row["service"]
        cells = (
            row["account"],
            of_facebook,
            "never" if row["synced_at"] is None else f"{_readable(row['read_at'] - row['synced_at'])} ago",
            "never" if not row["interval_min"] else f"{row['interval_min']} min",
            _state(row),
            row["error"] or "",
        )
        table.add_row(*(cells if user is not None else (str(row["user_id"]), *cells)))
    show(table)


def _state(row: queries.AdsSyncsRow) -> str:
    if row["is_claimed"] and row["begun_at"] is not None:
        return f"since {_readable(row['read_at'] - row['begun_at'])}"
    if row["due_at"] is None:
        return "by hand alone"
    if row["begun_at"] is None or row["due_at"] <= row["read_at"]:
        return "due"
    return f"in {_readable(row['due_at'] - row['read_at'])}" + (
        f", failed {row['failures']} x" if row["failures"] else ""
    )


def _readable(time: timedelta) -> str:
    return readable_duration(max(0, round(time.total_seconds())))
