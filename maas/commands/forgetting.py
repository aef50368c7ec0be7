"""`maas forget` and `maas erase`: one memory, or a user with everything."""

from __future__ import annotations

from typing import Annotated

import typer

from maas.commands.output import show
from maas.commands.session import read_uuid, with_database
from maas.memory.forgetting import erase_user, forget_memory
from shared.text import one_line, shorten


def forget(
    memory: Annotated[str, typer.Argument(help="id of a record or a turn")],
    user: Annotated[str | None, typer.Option("--user", "-u", help="refuse if it is another user's")] = None,
    doubtful: Annotated[
        bool, typer.Option("--doubtful", help="answers, too, that were given it and may not repeat it; now or later")
    ] = False,
) -> None:
    """Delete a memory: its words, every record that was made of them, and answers that repeat them."""
    memory_id = read_uuid(memory, "memory")
    user_id = read_uuid(user, "--user") if user else None
    counts = with_database(
        lambda db, _: forget_memory(db, memory_id, user_id, "cli", is_doubtful_too=doubtful)
    )  # fmt: skip
    show(f"forgotten: {counts['logs']} turns, {counts['records']} records")
    for one in counts["doubtful"]:
        words = shorten(one_line(one["answer"]), 100) if one["answer"] else f"an answer on its way ({one['status']})"
        show(f"doubtful: {one['id'] or one['request_id']} {words}")
    if counts["doubtful_runs"]:
        show(f"{counts['doubtful_runs']} answers were given it and may repeat it: maas forget {memory_id} --doubtful")


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
