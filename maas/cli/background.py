"""`maas embed` and `maas compact`: background tasks of orchestrators, executed now and to their end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from maas.cli.invocation import composition_of, read_uuid, with_database
from maas.cli.ui import progress_bar, show
from maas.memory.embeddings import PGVECTOR_HINT, BackfillTaken, EmbeddingBackfill
from shared.db import Database
from shared.errors import MaasError
from shared.models.embedders import open_embedder
from shared.models.types import Embedder
from shared.settings import Settings

PRUNE_BATCH_ROWS = 5000


def embed(
    prune: Annotated[
        bool, typer.Option("--prune", help="instead, delete the vectors of every other model")
    ] = False,
) -> None:  # fmt: skip
    """Embed with a progress bar and print the counts. Raises MaasError, 'fill_taken' if another `maas embed` runs."""
    with_database(_prune if prune else _embed_all)


async def _embed_all(db: Database, settings: Settings) -> None:
    embedder = await _open_embedder(db, settings)
    backfill = EmbeddingBackfill(db, embedder, settings)
    try:
        before = await _counts(db, backfill.model)
        with progress_bar() as progress:
            task = progress.add_task("messages", total=await db.value("count_turns"))
            await _fill(backfill, lambda messages: progress.advance(task, messages))
        after = await _counts(db, backfill.model)
    except BackfillTaken as error:
        raise MaasError("fill_taken", "another `maas embed` has taken over; wait for its end") from error
    finally:
        await backfill.release()
        await embedder.close()
    messages, refused, tokens = (now - was for now, was in zip(after, before, strict=True))
    show(f"{messages} messages embedded with {backfill.model}, {refused} refused; {tokens} tokens")


async def _fill(backfill: EmbeddingBackfill, advance: Callable[[int], None]) -> None:
    fill = await backfill.restart()
    while fill.scanned_to is not None:
        fill = await backfill.scan(fill, advance)


async def _prune(db: Database, settings: Settings) -> None:
    embedder = await _open_embedder(db, settings)
    model = EmbeddingBackfill(db, embedder, settings).model
    await embedder.close()
    total = 0
    while deleted := await db.value("prune_embeddings", model, PRUNE_BATCH_ROWS):
        total += deleted
    await db.value("forget_fills", model)
    show(f"{total} vectors of other models deleted; those of {model} are kept")


async def _open_embedder(db: Database, settings: Settings) -> Embedder:
    """The embedding model, over a database that can store its vectors. Raises MaasError."""
    embedder = open_embedder(settings)
    if embedder is None:
        raise MaasError(
            "no_embedding_model",
            "set MAAS_EMBEDDING_MODEL, for instance local:e5-small or openai:text-embedding-3-small@512",
        )
    if not await db.value("prepare_embeddings"):
        await embedder.close()
        raise MaasError("no_vectors", f"this database has no pgvector: {PGVECTOR_HINT}")
    return embedder


async def _counts(db: Database, model: str) -> tuple[int, int, int]:
    """Embedded messages, refused messages and tokens of a model, so far."""
    row = await db.row("fill", model)
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
            )
        )
    show(f"{created} summaries created from older ones" if created else "nothing is due")
