"""`maas embed`: the vectors of messages and documents that are missing, or those of other models."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from maas import queries
from maas.knowledge.embedding import embed_chunks
from maas.memory.embeddings import PGVECTOR_HINT, BackfillTaken, EmbeddingBackfill
from maas.model_registry import LOCAL_MODEL_HINT, lacks_default_embedder, open_embedder
from maas.settings import Settings
from maas.terminal.invocation import with_database
from maas.terminal.output import progress_bar, show
from shared.db import Database
from shared.errors import MaasError
from shared.models import Embedder

if TYPE_CHECKING:
    pass

PRUNE_BATCH_ROWS = 5000


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
