"""`maas top`: the state of the queue, refreshed until Ctrl-C."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated

import asyncpg
import typer
import uvloop
from rich.console import Group, RenderableType
from rich.live import Live

from maas.cli.invocation import with_database
from maas.cli.ui import note, show, stdout_console, styled
from maas.cli.ui.queue import QueueSnapshot
from shared import log
from shared.db import CONNECTION_LOST, open_database
from shared.errors import MaasError
from shared.postgres import find_postgres
from shared.settings import load_settings

Show = Callable[[RenderableType], None]
READ_TIMEOUT_S = 60.0
PAUSE_RATIO = 3  # the pause between two reads is at least so many times as long as a read


def top(
    once: Annotated[bool, typer.Option("--once", help="print the state once and exit")] = False,
    interval: Annotated[float, typer.Option(min=0.1, max=3600, help="seconds between two refreshes")] = 1.0,
) -> None:
    """Redraw on a terminal; print page after page into a pipe. Raises MaasError('no_rights')."""
    if once:
        show(with_database(lambda db, _: QueueSnapshot.read(db)).render())
        return
    settings = load_settings()
    log.configure("error", settings.log_format)
    console = stdout_console()
    with find_postgres(settings, note) as postgres, suppress(KeyboardInterrupt):
        if not console.is_terminal:
            uvloop.run(_watch(postgres.query, interval, show))
            return
        with Live(console=console, screen=True, auto_refresh=False) as live:
            uvloop.run(_watch(postgres.query, interval, lambda page: live.update(page, refresh=True)))


async def _watch(dsn: str, interval: float, on_page: Show) -> None:
    """Read and show forever; a database that fails is shown as an error and tried again.

    Raises MaasError('no_rights'), which trying again does not change.
    """
    while True:
        try:
            async with open_database(dsn, 1, "maas top") as db:
                if not await db.value("schema_is_there"):
                    raise MaasError("no_schema", "the database holds no MaaS schema; run `maas migrate`")
                while True:
                    began = time.monotonic()
                    async with asyncio.timeout(READ_TIMEOUT_S):
                        snapshot = await QueueSnapshot.read(db)
                    on_page(snapshot.render())
                    # Reading a hundred thousand waiting runs takes a second; the database has other work, too.
                    await asyncio.sleep(max(interval, PAUSE_RATIO * (time.monotonic() - began)))
        except (MaasError, asyncpg.PostgresError, *CONNECTION_LOST) as error:
            if isinstance(error, MaasError) and error.code == "no_rights":
                raise
            cause = error.message if isinstance(error, MaasError) else f"Postgres does not answer ({error!r})"
            on_page(
                Group(
                    styled(f"{time.strftime('%H:%M:%S')}  {cause}", "red"),
                    styled(f"{'':10}trying again; Ctrl-C ends", "red"),
                )
            )
        await asyncio.sleep(interval)
