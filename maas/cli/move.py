"""`maas move`: a user to another database."""

from __future__ import annotations

from typing import Annotated

import typer

from maas.moving.move import move_user
from maas.settings import load_settings
from maas.terminal.invocation import ACTOR, read_uuid
from maas.terminal.output import note, progress_bar, show
from shared import log
from shared.postgres import find_postgres


def move(
    user: Annotated[str, typer.Argument(help="user to move, a UUID")],
    target: Annotated[
        str, typer.Argument(metavar="DSN", help="address of the other database; no password if ~/.pgpass has it")
    ],
) -> None:
    """Print how many rows are there now. Raises MaasError; called again, it goes on where it was stopped."""
    settings = load_settings()
    log.configure("error", settings.diagnostics.log_format)
    user_id = read_uuid(user, "USER")
    with find_postgres(settings.database, note) as postgres, progress_bar() as progress:
        task = progress.add_task("rows copied", total=None)
        moved = move_user(postgres.listen, target, user_id, ACTOR, lambda _, rows: progress.advance(task, rows))
    show(f"{moved:,} rows moved; requests of {user_id} that still come here wait: send them to the other database")
