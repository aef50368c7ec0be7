"""`maas search`, `maas forget` and `maas erase`: find memories, delete one, or delete a user."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Annotated

import typer

from maas.cli.invocation import LOCAL_USER, User, read_uuid, with_database
from maas.cli.ui import Table, show
from maas.memory.dates import local
from maas.memory.embeddings import open_query_embedder
from maas.memory.erase import erase_user, forget_memory
from maas.memory.filters import MAX_SEQ, Scope, SearchFilter
from maas.memory.search import Hit, search
from shared.db import Database
from shared.models.embedders import open_embedder
from shared.settings import Settings
from shared.text import one_line, shorten

DATE_FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]  # in MAAS_TIMEZONE
MAX_MESSAGE_CHARS = 300
MAX_ANSWER_CHARS = 100


def search_memory(
    question: Annotated[str, typer.Argument(help="text to search for")],
    user: User = LOCAL_USER,
    limit: Annotated[int, typer.Option(min=1, max=50, help="maximum number of messages")] = 10,
    as_of: Annotated[
        datetime | None,
        typer.Option(formats=DATE_FORMATS, help="only what was known then; relative dates count from it"),
    ] = None,
    since: Annotated[
        datetime | None, typer.Option("--from", formats=DATE_FORMATS, help="only messages of this time or later")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option("--to", formats=DATE_FORMATS, help="only messages before this time")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="only messages whose summary has this tag; may be repeated")
    ] = None,
    scope: Annotated[
        Scope | None, typer.Option(help="prefer an age: up to 3 days, up to 14 days, or older")
    ] = None,
) -> None:  # fmt: skip
    """Print a table of the best messages, the best first. Raises MaasError."""
    user_id = read_uuid(user, "--user")

    async def find(db: Database, settings: Settings) -> list[tuple[datetime, Hit]]:
        zone = settings.zone
        moments = (_in_zone(zone, as_of), _in_zone(zone, since), _in_zone(zone, until))
        filters = SearchFilter(MAX_SEQ, *moments, tags=tag, scope=scope, zone=zone)
        async with open_query_embedder(db, open_embedder(settings), settings.embedding_timeout) as questions:
            hits = await search(db, user_id, question, limit=limit, filters=filters, query_embedder=questions)
        return [(local(hit.occurred_at, zone), hit) for hit in hits]

    hits = with_database(find)
    if not hits:
        show("nothing found")
        return
    table = Table()
    for name in ("score", "date", "speaker", "text"):
        table.add_column(name, overflow="fold")
    for at, hit in hits:
        text = shorten(one_line(hit.text), MAX_MESSAGE_CHARS)
        table.add_row(f"{hit.score:.2f}", f"{at:%Y-%m-%d}", hit.speaker, text)
    show(table)


def _in_zone(zone: tzinfo, at: datetime | None) -> datetime | None:
    return at.replace(tzinfo=zone) if at else None


def forget(
    memory: Annotated[str, typer.Argument(help="id of a summary or a message")],
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="refuse to delete a memory of another user than this UUID")
    ] = None,
    doubtful: Annotated[
        bool, typer.Option("--doubtful", help="also delete the answers that received this memory and may repeat it")
    ] = False,
) -> None:
    """Print how much was deleted, and the answers that received the memory and may repeat it. Raises MaasError."""
    memory_id = read_uuid(memory, "memory")
    user_id = read_uuid(user, "--user") if user else None
    counts = with_database(lambda db, _: forget_memory(db, memory_id, user_id, "cli", is_doubtful_too=doubtful))
    show(f"deleted: {counts['logs']} messages, {counts['records']} summaries")
    for run in counts["doubtful"]:
        answer = run["answer"]
        text = shorten(one_line(answer), MAX_ANSWER_CHARS) if answer else f"an unfinished answer ({run['status']})"
        show(f"doubtful: {run['id'] or run['request_id']} {text}")
    if counts["doubtful_runs"]:
        show(
            f"{counts['doubtful_runs']} answers received this memory and may repeat it; delete them with: "
            f"maas forget {memory_id} --doubtful"
        )


def erase(
    user: Annotated[str, typer.Argument(help="user to delete, a UUID")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="do not ask for confirmation")] = False,
) -> None:
    """Print the number of deleted rows of each table. Raises MaasError; aborts without a confirmation."""
    user_id = read_uuid(user, "USER")
    if not yes:
        typer.confirm(f"Delete all data of user {user_id}? It cannot be undone", abort=True, err=True)
    receipt = with_database(lambda db, _: erase_user(db, user_id, "cli"))
    width = max(map(len, receipt))
    for table, rows in receipt.items():
        show(f"{table:{width}}  {rows}")
