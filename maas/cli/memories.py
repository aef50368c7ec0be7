"""`maas search`, `forget`, `erase` and `compact`: the commands on stored memories."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Annotated
from uuid import UUID

import typer

from maas.memory.dates import local, time_reader
from maas.memory.embeddings import open_query_embedder
from maas.memory.erase import erase_user, forget_memory, forget_origin
from maas.memory.filters import MAX_HITS, Filters, fitting_memories, parse_filters
from maas.memory.origins import mark_of
from maas.memory.query import MAX_SEQ, Scope, SearchFilter
from maas.memory.search import Hit, search
from maas.model_registry import open_embedder
from maas.settings import Settings
from maas.terminal.invocation import DATE_FORMATS, LOCAL_USER, User, composition_of, in_zone, read_uuid, with_database
from maas.terminal.output import Table, progress_bar, show
from shared.db import Database
from shared.errors import MaasError
from shared.json import parse_json
from shared.text import one_line, shorten

MAX_MESSAGE_CHARS = 300
MAX_ANSWER_CHARS = 100


def search_memory(
    question: Annotated[str, typer.Argument(help="text to search for")],
    user: User = LOCAL_USER,
    limit: Annotated[int, typer.Option(min=1, max=50, help="maximum number of messages")] = 10,
    as_of: Annotated[
        datetime | None,
        typer.Option(formats=DATE_FORMATS, help="only what was known at this time; relative dates count from it"),
    ] = None,
    since: Annotated[
        datetime | None, typer.Option("--from", formats=DATE_FORMATS, help="only messages from this time on")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option("--to", formats=DATE_FORMATS, help="only messages before this time")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="only messages whose summary has this tag; may be repeated")
    ] = None,
    scope: Annotated[Scope | None, typer.Option(help="prefer an age: up to 3 days, up to 14 days, or older")] = None,
    fitting: Annotated[
        str | None,
        typer.Option("--filters", metavar="JSON", help='only messages that fit: \'{"metadata": {"topic": "travel"}}\''),
    ] = None,
) -> None:
    """Print a table of the best messages, the best first. Raises MaasError."""
    user_id = read_uuid(user, "--user")

    async def find(db: Database, settings: Settings) -> list[tuple[datetime, Hit]]:
        zone = settings.engine.zone
        moments = (in_zone(zone, as_of), in_zone(zone, since), in_zone(zone, until))
        filters = SearchFilter(MAX_SEQ, *moments, tags=tag, scope=scope, zone=zone)
        chosen = _read_filters(fitting, zone)
        count = MAX_HITS if chosen.conditions else limit
        async with open_query_embedder(db, open_embedder(settings), settings.embeddings.embedding_timeout) as questions:
            hits = await search(db, user_id, question, limit=count, filters=filters, query_embedder=questions)
        if chosen.conditions:
            known = await fitting_memories(db, user_id, [hit.id for hit in hits], chosen)
            hits = [hit for hit in hits if hit.id in known][:limit]
        return [(local(hit.occurred_at, zone), hit) for hit in hits]

    hits = with_database(find, command="search", user_id=user_id)
    if not hits:
        show("nothing found")
        return
    table = Table()
    for name in ("score", "date", "speaker", "text"):
        table.add_column(name, overflow="fold")
    for at, hit in hits:
        text = shorten(one_line(hit.text), MAX_MESSAGE_CHARS)
        speaker = ", ".join(part for part in (hit.speaker, mark_of(hit.origins)) if part)
        table.add_row(f"{hit.score:.2f}", f"{at:%Y-%m-%d}", speaker, text)
    show(table)


def _read_filters(text: str | None, zone: tzinfo) -> Filters:
    """Filters as an option holds them; a time without an offset is of `zone`. Raises MaasError('bad_parameter')."""
    if text is None:
        return Filters()
    try:
        value = parse_json(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        example = '{"metadata": {"topic": "travel"}}'
        raise MaasError("bad_parameter", f"--filters: must be a JSON object such as {example}")
    chosen = parse_filters(value, time_reader(zone))
    if chosen.user is not None:
        raise MaasError("bad_parameter", "--filters: the user is named by --user")
    return chosen


def forget(
    memory: Annotated[str | None, typer.Argument(help="id of a summary or a message")] = None,
    user: Annotated[
        str | None,
        typer.Option("--user", "-u", help="refuse to delete a memory that does not belong to this user, a UUID"),
    ] = None,
    doubtful: Annotated[
        bool, typer.Option("--doubtful", help="also delete the answers that received this memory and may repeat it")
    ] = False,
    tool: Annotated[
        str | None,
        typer.Option("--from-tool", help="instead, every answer made from this tool or MCP server"),
    ] = None,
    document: Annotated[
        str | None, typer.Option("--from-document", help="instead, every answer made from a document, a UUID")
    ] = None,
) -> None:
    """Print how much was deleted, and the answers that received the memory and may repeat it. Raises MaasError."""
    if sum(one is not None for one in (memory, tool, document)) != 1:
        raise MaasError("bad_parameter", "name a MEMORY, or --from-tool, or --from-document")
    if memory is None:
        _forget_origins(tool, document, read_uuid(user, "--user") if user else None)
        return
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


def _forget_origins(tool: str | None, document: str | None, user_id: UUID | None) -> None:
    """Forget what was made from a tool, all tools of a server, or a document, of one user or of all."""
    if document is not None:
        origins = [{"kind": "document", "id": str(read_uuid(document, "--from-document"))}]
    else:
        origins = [{"kind": "tool", "name": tool or ""}, {"kind": "tool", "domain": tool or ""}]
    counts = with_database(lambda db, _: forget_origin(db, user_id, origins, "cli"))
    show(f"deleted: {counts['answers']} answers, {counts['logs']} messages, {counts['records']} summaries")
    if counts["in_use"]:
        show(f"{counts['in_use']} are being summarized; run it again")


def erase(
    user: Annotated[str, typer.Argument(help="user to delete, a UUID")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="do not ask for confirmation")] = False,
) -> None:
    """Print the number of deleted rows of each table. Raises MaasError; aborts without a confirmation."""
    user_id = read_uuid(user, "USER")
    if not yes:
        typer.confirm(f"Delete all data of user {user_id}? It cannot be undone", abort=True, err=True)
    with progress_bar() as progress:
        task = progress.add_task("rows deleted", total=None)

        def on_progress(deleted: int) -> None:
            progress.update(task, completed=deleted)

        receipt = with_database(lambda db, _: erase_user(db, user_id, "cli", on_progress))
        progress.update(task, completed=sum(receipt.values()), total=sum(receipt.values()))
    width = max(map(len, receipt))
    for table, rows in receipt.items():
        show(f"{table:{width}}  {rows}")


def compact(
    ctx: typer.Context,
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="merge summaries of this user only, a UUID; of all if unset")
    ] = None,
) -> None:
    """Merge with a progress bar and print the number of new summaries. Raises MaasError."""
    user_id = read_uuid(user, "--user") if user is not None else None
    merge = composition_of(ctx).compact
    with progress_bar() as progress:
        task = progress.add_task("summaries merged", total=None)
        created = with_database(
            lambda db, settings: merge(
                db, settings, user_id, lambda done, total: progress.update(task, completed=done, total=total)
            ),
            command="compact",
            user_id=user_id,
        )
    show(f"{created} summaries created from older ones" if created else "nothing is due")
