"""`maas search`: what memory holds about a question."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from maas.commands.session import LOCAL_USER, User, console, read_uuid, with_database
from maas.memory.search import search
from shared.text import one_line, shorten


def search_memory(
    question: Annotated[str, typer.Argument(help="words to look for")],
    user: User = LOCAL_USER,
    limit: Annotated[int, typer.Option(min=1, max=50, help="how many turns")] = 10,
) -> None:
    """Show the remembered turns that fit best."""
    user_id = read_uuid(user, "--user")
    hits = with_database(lambda db, _: search(db, user_id, question, limit=limit))
    if not hits:
        console.print("nothing found")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("score", "said", "who", "words"):
        table.add_column(name, overflow="fold")
    for hit in hits:
        table.add_row(f"{hit.score:.2f}", f"{hit.occurred_at:%Y-%m-%d}", hit.speaker, shorten(one_line(hit.text), 300))
    console.print(table, markup=False)
