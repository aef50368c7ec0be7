"""`maas forget` and `maas erase`: one memory, or a user with everything."""

from __future__ import annotations

from typing import Annotated

import typer

from maas.commands.output import show
from maas.commands.session import read_uuid, with_database
from maas.memory.forgetting import erase_user, forget_memory


def forget(
    memory: Annotated[str, typer.Argument(help="id of a record or a turn")],
    user: Annotated[str | None, typer.Option("--user", "-u", help="refuse if it is another user's")] = None,
) -> None:
    """Delete a memory: its words, and every record that was made of them."""
    memory_id = read_uuid(memory, "memory")
    user_id = read_uuid(user, "--user") if user else None
    counts = with_database(lambda db, _: forget_memory(db, memory_id, user_id, "cli"))
    show(f"forgotten: {counts['logs']} turns, {counts['records']} records")


def erase(
    user: Annotated[str, typer.Argument(help="a UUID")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="do not ask")] = False,
) -> None:
    """Erase a user from every table; print what went."""
    user_id = read_uuid(user, "USER")
    if not yes:
        typer.confirm(f"Erase all that is kept of user {user_id}? It cannot be undone", abort=True, err=True)
    receipt = with_database(lambda db, _: erase_user(db, user_id, "cli"))
    width = max(map(len, receipt))
    for table, rows in receipt.items():
        show(f"{table:{width}}  {rows}")
