"""`maas knowledge`: documents that a user, or everybody, may find things in."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, get_args
from uuid import UUID

import typer

from maas.knowledge.documents import ingestion_status, list_documents, remove
from maas.knowledge.files import list_files
from maas.knowledge.ingestion import Added, ingest_files, new_track_id
from maas.knowledge.search import Found, Mode, search_knowledge
from maas.memory.embeddings import open_query_embedder
from maas.memory.erase import answers_from, forget_origin
from maas.model_registry import open_embedder
from maas.settings import Settings
from maas.terminal.invocation import LOCAL_USER, read_uuid, with_database
from maas.terminal.output import Table, note, progress_bar, show
from shared.db import Database
from shared.errors import MaasError
from shared.text import one_line, shorten

MAX_SHOWN = 1000
MAX_PASSAGE_CHARS = 400
User = Annotated[
    str,
    typer.Option("--user", "-u", help="user who owns the documents, a UUID", show_default="a user of this machine"),
]
Everybody = Annotated[bool, typer.Option("--everybody", help="documents for all users instead of those of one")]
cli = typer.Typer(no_args_is_help=True, add_completion=False)


def _owner(user: str, is_everybodys: bool) -> UUID | None:
    return None if is_everybodys else read_uuid(user, "--user")


@cli.command("add")
def add(
    files: Annotated[list[Path], typer.Argument(help="files and folders: txt, md, html, docx, pdf")],
    user: User = LOCAL_USER,
    everybody: Everybody = False,
) -> None:
    """Read files into documents. Run it again after an interruption or a change: unchanged files are skipped."""
    listing = list_files(files)
    for name, reason in listing.left_out.items():
        note(f"{name}: {reason}")
    found = listing.files
    if not found:
        raise MaasError("bad_parameter", "FILES: there is no txt, md, html, docx or pdf file among them")
    owner, track_id = _owner(user, everybody), new_track_id()

    async def work(db: Database, settings: Settings) -> list[Added]:
        with progress_bar() as progress:
            task = progress.add_task("files read", total=len(found))
            return await ingest_files(
                db,
                owner,
                found,
                track_id=track_id,
                max_bytes=settings.uploads.knowledge_bytes,
                on_done=lambda _: progress.advance(task),
            )

    results = with_database(work, command="knowledge add", user_id=owner)
    for one in results:
        if one.error is not None:
            note(f"{one.name}: {one.error}")
    counts = Counter(one.outcome for one in results)
    chunks = sum(one.chunks for one in results)
    outcomes = f"{counts['unchanged']} unchanged, {counts['failed']} failed"
    outcomes += f", {len(listing.left_out)} left out" if listing.left_out else ""
    show(f"{counts['added']} added ({chunks} chunks), {outcomes}; {track_id}")
    if counts["failed"]:
        sys.exit(1)


@cli.command("list")
def list_all(user: User = LOCAL_USER) -> None:
    """List the newest thousand documents that a user can search, those for all users included."""
    user_id = read_uuid(user, "--user")
    documents = with_database(
        lambda db, _: list_documents(db, user_id, MAX_SHOWN), command="knowledge list", user_id=user_id
    )
    table = Table("id", "whose", "name", "pages", "chunks", "status")
    for one in documents:
        whose = "everybody's" if one.is_everybodys else "own"
        status = one.status if one.error is None else f"{one.status}: {one.error}"
        pages = "" if one.pages is None else str(one.pages)
        table.add_row(str(one.id), whose, one_line(one.name), pages, str(one.chunks), one_line(status))
    show(table)


@cli.command("remove")
def remove_one(
    document: Annotated[str, typer.Argument(help="id of the document, see `maas knowledge list`")],
    user: User = LOCAL_USER,
    everybody: Everybody = False,
    answers: Annotated[bool, typer.Option("--answers", help="also forget the answers made from it")] = False,
) -> None:
    """Remove a document, and say how many answers in memory were made from it."""
    owner, document_id = _owner(user, everybody), read_uuid(document, "DOCUMENT")
    origin = {"kind": "document", "id": str(document_id)}

    async def work(db: Database, _: Settings) -> tuple[int, Counter[str]]:
        await remove(db, owner, document_id)
        total = (await answers_from(db, owner, origin))[1]
        return total, await forget_origin(db, owner, [origin], "cli") if answers else Counter()

    total, counts = with_database(work, command="knowledge remove", user_id=owner)
    show("removed")
    if counts["answers"]:
        show(f"forgotten: {counts['answers']} answers made from it, {counts['records']} summaries")
    elif total:
        whose = "" if owner is None else f" --user {owner}"
        show(f"{total} answers were made from it; forget them with: maas forget --from-document {document_id}{whose}")


@cli.command("search")
def search(
    query: Annotated[str, typer.Argument(help="text to search for")],
    user: User = LOCAL_USER,
    mode: Annotated[str, typer.Option(help=f"one of {', '.join(get_args(Mode))}")] = "mix",
    limit: Annotated[int, typer.Option(min=1, max=100, help="maximum number of passages")] = 5,
) -> None:
    """Print the passages that answer a query, best first."""
    if mode not in get_args(Mode):
        raise MaasError("bad_parameter", f"--mode: one of {', '.join(get_args(Mode))}")
    chosen: Mode = mode  # type: ignore[assignment]
    user_id = read_uuid(user, "--user")

    async def find(db: Database, settings: Settings) -> Found:
        async with open_query_embedder(db, open_embedder(settings), settings.embeddings.embedding_timeout) as embedder:
            return await search_knowledge(db, user_id, query, mode=chosen, limit=limit, query_embedder=embedder)

    found = with_database(find, command="knowledge search", user_id=user_id)
    for one in found.passages:
        place = ", ".join(
            part for part in (one.name, one.heading, f"page {one.page}" if one.page is not None else "") if part
        )
        show(f"{one.score:.2f}  {one_line(place)}\n      {shorten(one_line(one.text), MAX_PASSAGE_CHARS)}")
    show(f"{found.total} found" if found.total else "nothing found: try other words")


@cli.command("status")
def status(user: User = LOCAL_USER) -> None:
    """Print how many documents and chunks there are."""
    user_id = read_uuid(user, "--user")
    state = with_database(lambda db, _: ingestion_status(db, user_id), command="knowledge status", user_id=user_id)
    counts = ", ".join(f"{count} {name}" for name, count in state.items() if name != "busy")
    show(f"{counts}; {'busy' if state['busy'] else 'idle'}")
