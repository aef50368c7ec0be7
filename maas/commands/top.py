"""`maas top`: the queue, live."""

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

from maas.commands.board import Board
from maas.commands.output import console, note, show, styled
from maas.commands.session import with_database
from shared import log
from shared.db import CONNECTION_LOST, open_database
from shared.dsn import find_postgres
from shared.errors import MaasError
from shared.settings import load_settings

Show = Callable[[RenderableType], None]
PATIENCE = 60.0
REST = 3


def top(
    once: Annotated[bool, typer.Option("--once", help="print one frame and end")] = False,
    interval: Annotated[float, typer.Option(min=0.1, max=3600, help="seconds between two looks")] = 1.0,
) -> None:
    """Show queue, rates, stages, orchestrators and what is stuck, until Ctrl-C."""
    if once:
        show(with_database(lambda db, _: Board.read(db)).render())
        return
    settings = load_settings()
    log.configure("error", settings.log_format)
    with find_postgres(settings, note) as postgres, suppress(KeyboardInterrupt):
        if not console.is_terminal:
            uvloop.run(_watch(postgres.query, interval, show))
            return
        with Live(console=console, screen=True, auto_refresh=False) as live:
            uvloop.run(_watch(postgres.query, interval, lambda frame: live.update(frame, refresh=True)))


async def _watch(dsn: str, interval: float, on_frame: Show) -> None:
    """Frame after frame, whatever becomes of the database. Raises MaasError('no_rights')."""
    while True:
        try:
            async with open_database(dsn, 1, "maas top") as db:
                if not await db.value("schema_is_there"):
                    raise MaasError("no_schema", "the database holds no MaaS schema; run `maas migrate`")
                while True:
                    began = time.monotonic()
                    async with asyncio.timeout(PATIENCE):
                        board = await Board.read(db)
                    on_frame(board.render())
                    # To look at a hundred thousand waiting runs takes a second; the database has other work too.
                    await asyncio.sleep(max(interval, REST * (time.monotonic() - began)))
        except (MaasError, asyncpg.PostgresError, *CONNECTION_LOST) as error:
            if isinstance(error, MaasError) and error.code == "no_rights":
                raise
            cause = error.message if isinstance(error, MaasError) else f"Postgres does not answer ({error!r})"
            on_frame(
                Group(
                    styled(f"{time.strftime('%H:%M:%S')}  {cause}", "red"),
                    styled(f"{'':10}trying again; Ctrl-C ends", "red"),
                )
            )
        await asyncio.sleep(interval)
