"""`maas search`, `import`, `export`, `forget`, `erase`, `embed` and `compact`: the commands on stored memories."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile, mkstemp
from typing import TYPE_CHECKING, Annotated, BinaryIO
from uuid import UUID

import typer

from maas import queries, users
from maas.cli.invocation import DATE_FORMATS, LOCAL_USER, User, composition_of, in_zone, read_uuid, with_database
from maas.cli.output import Table, note, progress_bar, show
from maas.knowledge.embedding import embed_chunks
from maas.memory.dates import local
from maas.memory.embeddings import PGVECTOR_HINT, BackfillTaken, EmbeddingBackfill, open_query_embedder
from maas.memory.erase import erase_user, forget_memory, forget_origin
from maas.memory.origins import mark_of
from maas.memory.query import MAX_SEQ, Scope, SearchFilter
from maas.memory.search import Hit, search
from maas.memory.transfer.containers import unpack
from maas.memory.transfer.export import PARTS, write_export
from maas.memory.transfer.formats import exported_user
from maas.memory.transfer.import_ import import_batch, import_file, read_staged, stage_file
from maas.model_registry import LOCAL_MODEL_HINT, lacks_default_embedder, open_embedder
from maas.settings import Settings
from shared.db import Database
from shared.errors import MaasError
from shared.models import Embedder
from shared.text import one_line, shorten

if TYPE_CHECKING:
    from rich.progress import Progress

MAX_MESSAGE_CHARS = 300
MAX_ANSWER_CHARS = 100
POLL_INTERVAL_S = 0.2
FORMATS = (
    "NDJSON, the output of `maas export`, or an export of ChatGPT, Claude, Gemini, mem0, Zep, Graphiti, Honcho, Letta, "
    "Open WebUI (also webui.db) or LibreChat, as a file or a zip archive"
)
MAIN_PARTS = ("logs", "records", "runs")  # counted in the last line even if there are none
PRUNE_BATCH_ROWS = 5000


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
) -> None:
    """Print a table of the best messages, the best first. Raises MaasError."""
    user_id = read_uuid(user, "--user")

    async def find(db: Database, settings: Settings) -> list[tuple[datetime, Hit]]:
        zone = settings.engine.zone
        moments = (in_zone(zone, as_of), in_zone(zone, since), in_zone(zone, until))
        filters = SearchFilter(MAX_SEQ, *moments, tags=tag, scope=scope, zone=zone)
        async with open_query_embedder(db, open_embedder(settings), settings.embeddings.embedding_timeout) as questions:
            hits = await search(db, user_id, question, limit=limit, filters=filters, query_embedder=questions)
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


def import_history(
    file: Annotated[Path, typer.Argument(help=FORMATS, exists=True, dir_okay=False)],
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            "-u",
            help="user whose memory it becomes, a UUID",
            show_default="the user of the export; of other files, a user of this machine",
        ),
    ] = None,
    owner: Annotated[
        str | None, typer.Option("--of", help="whose chats are taken of a database of several: an id or an email")
    ] = None,
    wait: Annotated[bool, typer.Option(help="wait until every message is summarized")] = True,
) -> None:
    """Import with a progress bar and print the counts. Raises MaasError, also for a line that is not valid."""
    with file.open("rb") as source:
        exported = exported_user(source, file.name)
        user_id = read_uuid(user, "--user") if user else exported or users.LOCAL_USER
        if exported is not None:
            done = with_database(lambda db, _: import_file(db, user_id, source, file.name, "cli", is_operator=True))
            others = f", {done.others} conversations, messages, notes and images" if done.others else ""
            show(
                f"{done.added} messages and {done.records} summaries restored{others}, {done.known} already known, "
                f"for user {user_id}"
            )
            return
    left_out: Counter[str] = Counter()
    with TemporaryFile() as staged:
        total = sum(stage_file(source, name, staged, left_out) for source, name in unpack(file, owner))
        work = partial(_import, user_id=user_id, staged=staged, total=total, name=file.name, wait=wait)
        added, known, unarchived = with_database(lambda db, _: work(db))
    show(f"{added} messages imported, {known} already known; ask about them with `maas ask`")
    if left_out:
        show(f"left out: {', '.join(f'{count} {what}' for what, count in left_out.most_common())}")
    if unarchived:
        show(f"{unarchived} messages are still to be summarized in the background; watch it with `maas top`")


async def _import(
    db: Database, user_id: UUID, staged: BinaryIO, total: int, name: str, wait: bool
) -> tuple[int, int, int]:
    """The numbers of added, of already known and of not yet summarized messages."""
    added = known = 0
    runs: list[UUID] = []
    with progress_bar() as progress:
        task = progress.add_task("messages logged", total=total)
        for portion in read_staged(staged):
            done = await import_batch(db, user_id, portion, name)
            added, known = added + done.added, known + done.known
            if done.run_id is not None:
                runs.append(done.run_id)
            progress.advance(task, portion.length)
        await db.value(queries.note_audit, "import", user_id, None, {"logs": added, "known": known}, "cli")
        if runs and wait and await db.rows(queries.living_engines) != []:
            await _wait_archived(db, runs, progress)
    row = await db.row(queries.import_progress, runs)
    assert row is not None
    return added, known, row["total"] - row["recorded"]


async def _wait_archived(db: Database, runs: list[UUID], progress: Progress) -> None:
    """Show the progress of the archivists until all is summarized or no orchestrator is running."""
    task = progress.add_task("messages summarized", total=None)
    while True:
        row = await db.row(queries.import_progress, runs)
        assert row is not None
        progress.update(task, completed=row["recorded"], total=row["total"])
        if row["recorded"] >= row["total"] or not await db.rows(queries.living_engines):
            return
        await asyncio.sleep(POLL_INTERVAL_S)


def export_user(
    user: Annotated[str, typer.Argument(help="user to export, a UUID")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="file to write; standard output if unset")] = None,
    tool_calls: Annotated[bool, typer.Option("--tool-calls", help="with the messages of tools")] = False,
) -> None:
    """Write the export and print the counts to standard error. Raises MaasError."""
    user_id = read_uuid(user, "USER")
    counts = with_database(lambda db, _: _export(db, user_id, out, tool_calls))
    parts = [part for part in PARTS if counts[part] or part in MAIN_PARTS]
    note(f"{', '.join(f'{counts[part]} {part}' for part in parts)} exported")


async def _export(db: Database, user_id: UUID, out: Path | None, with_tool_calls: bool) -> Counter[str]:
    """Write to a temporary file first, so that `out` is complete or unchanged; the number of lines of each part."""
    if out is None:
        return await write_export(db, user_id, sys.stdout.buffer, "cli", with_tool_calls=with_tool_calls)
    try:
        descriptor, temporary = mkstemp(dir=out.parent, prefix=f".{out.name}.")
        try:
            with open(descriptor, "wb") as file:
                counts = await write_export(db, user_id, file, "cli", with_tool_calls=with_tool_calls)
            os.replace(temporary, out)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise MaasError("bad_parameter", f"--out: {out} cannot be written: {error}") from error
    return counts


def embed(
    prune: Annotated[bool, typer.Option("--prune", help="instead, delete the vectors of every other model")] = False,
) -> None:
    """Embed with a progress bar and print the counts. Raises MaasError, 'fill_taken' if another `maas embed` runs."""
    with_database(_prune if prune else _embed_all)


async def _embed_all(db: Database, settings: Settings) -> None:
    embedder = await _open_embedder(db, settings)
    backfill = EmbeddingBackfill(db, embedder, settings.models)
    try:
        before = await _counts(db, backfill.model)
        with progress_bar() as progress:
            task = progress.add_task("messages", total=await db.value(queries.count_turns))
            await _fill(backfill, lambda messages: progress.advance(task, messages))
        after = await _counts(db, backfill.model)
        chunks = await embed_chunks(db, embedder)
    except BackfillTaken as error:
        raise MaasError("fill_taken", "another `maas embed` has taken over; wait until it ends") from error
    finally:
        await backfill.release()
        await embedder.close()
    messages, refused, tokens = (now - was for now, was in zip(after, before, strict=True))
    show(f"{messages} messages embedded with {backfill.model}, {refused} refused; {tokens} tokens")
    if chunks:
        show(f"{chunks} chunks of documents embedded")


async def _fill(backfill: EmbeddingBackfill, advance: Callable[[int], None]) -> None:
    fill = await backfill.restart()
    while fill.scanned_to is not None:
        fill = await backfill.scan(fill, advance)


async def _prune(db: Database, settings: Settings) -> None:
    embedder = await _open_embedder(db, settings)
    model = EmbeddingBackfill(db, embedder, settings.models).model
    await embedder.close()
    total = 0
    while deleted := await db.value(queries.prune_embeddings, model, PRUNE_BATCH_ROWS):
        total += deleted
    while deleted := await db.value(queries.prune_chunk_embeddings, model, PRUNE_BATCH_ROWS):
        total += deleted
    await db.value(queries.forget_fills, model)
    show(f"{total} vectors of other models deleted; those of {model} are kept")


async def _open_embedder(db: Database, settings: Settings) -> Embedder:
    """The embedding model, over a database that can store its vectors. Raises MaasError."""
    embedder = open_embedder(settings)
    if embedder is None:
        if lacks_default_embedder(settings):
            raise MaasError("missing_package", f"{LOCAL_MODEL_HINT}, or set MAAS_EMBEDDING_MODEL to another model")
        raise MaasError(
            "no_embedding_model",
            "MAAS_EMBEDDING_MODEL is none; set it, for instance to local:e5-small or openai:text-embedding-3-small@512",
        )
    if not await db.value(queries.prepare_embeddings):
        await embedder.close()
        raise MaasError("no_vectors", f"this database has no pgvector: {PGVECTOR_HINT}")
    return embedder


async def _counts(db: Database, model: str) -> tuple[int, int, int]:
    """Embedded messages, refused messages and tokens of a model, so far."""
    row = await db.row(queries.fill, model)
    return (row["turns"], row["refused"], row["tokens"]) if row is not None else (0, 0, 0)


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
