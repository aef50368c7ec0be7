"""`maas search`: what memory holds about a question."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Annotated

import typer

from maas.commands.output import Table, show
from maas.commands.session import LOCAL_USER, User, read_uuid, with_database
from maas.memory.dates import local
from maas.memory.reach import EVERY_TURN, Reach, Scope
from maas.memory.search import Hit, search
from maas.memory.vectors import open_questions
from shared.db import Database
from shared.models.embedders import open_embedder
from shared.settings import Settings
from shared.text import one_line, shorten

FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]  # in MAAS_TIMEZONE


def search_memory(
    question: Annotated[str, typer.Argument(help="words to look for")],
    user: User = LOCAL_USER,
    limit: Annotated[int, typer.Option(min=1, max=50, help="how many turns")] = 10,
    as_of: Annotated[
        datetime | None, typer.Option(formats=FORMATS, help="only what was known then; relative dates count from it")
    ] = None,
    since: Annotated[datetime | None, typer.Option("--from", formats=FORMATS, help="said at or after")] = None,
    until: Annotated[datetime | None, typer.Option("--to", formats=FORMATS, help="said before")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="whose record bears one of these tags")] = None,
    scope: Annotated[Scope | None, typer.Option(help="prefer up to 3 days, up to 14, or older")] = None,
) -> None:
    """Show the remembered turns that fit best."""
    user_id = read_uuid(user, "--user")

    async def find(db: Database, settings: Settings) -> list[tuple[datetime, Hit]]:
        zone = settings.zone
        moments = (_in(zone, as_of), _in(zone, since), _in(zone, until))
        reach = Reach(EVERY_TURN, *moments, tags=tag, scope=scope, zone=zone)
        async with open_questions(db, open_embedder(settings), settings.embedding_timeout) as questions:
            hits = await search(db, user_id, question, limit=limit, reach=reach, questions=questions)
        return [(local(hit.occurred_at, zone), hit) for hit in hits]

    hits = with_database(find)
    if not hits:
        show("nothing found")
        return
    table = Table()
    for name in ("score", "said", "who", "words"):
        table.add_column(name, overflow="fold")
    for said_at, hit in hits:
        table.add_row(f"{hit.score:.2f}", f"{said_at:%Y-%m-%d}", hit.speaker, shorten(one_line(hit.text), 300))
    show(table)


def _in(zone: tzinfo, at: datetime | None) -> datetime | None:
    return at.replace(tzinfo=zone) if at else None
