"""`maas embed`: every turn gets its vector, now and not in the background."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from maas.commands.output import errors, show
from maas.commands.session import with_database
from maas.memory.filler import Filler, LostFill
from maas.memory.vectors import HINT
from shared.db import Database
from shared.errors import MaasError
from shared.models.embedders import open_embedder
from shared.models.types import Embedder
from shared.settings import Settings

PRUNED_AT_ONCE = 5000


def embed(
    prune: Annotated[bool, typer.Option("--prune", help="remove the vectors of every other model instead")] = False,
) -> None:
    """Embed what has no vector of MAAS_EMBEDDING_MODEL yet; run it again after a stop, nothing is embedded twice."""
    with_database(_prune if prune else _embed_all)


async def _embed_all(db: Database, settings: Settings) -> None:
    embedder = await _open(db, settings)
    filler = Filler(db, embedder, settings)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    try:
        before = await _counts(db, filler.model)
        with Progress(*columns, console=errors) as progress:
            task = progress.add_task("turns", total=await db.value("count_turns"))
            await _sweep(filler, lambda turns: progress.advance(task, turns))
        after = await _counts(db, filler.model)
    except LostFill as error:
        raise MaasError("fill_taken", "another `maas embed` went on from here; wait for it") from error
    finally:
        await filler.release()
        await embedder.close()
    turns, refused, tokens = (now - was for now, was in zip(after, before, strict=True))
    show(f"{turns} turns embedded with {filler.model}, {refused} refused; {tokens} tokens")


async def _sweep(filler: Filler, advance: Callable[[int], None]) -> None:
    fill = await filler.restart()
    while fill.swept_to is not None:
        fill = await filler.sweep(fill, advance)


async def _prune(db: Database, settings: Settings) -> None:
    embedder = await _open(db, settings)
    model = Filler(db, embedder, settings).model
    await embedder.close()
    removed = 0
    while gone := await db.value("prune_embeddings", model, PRUNED_AT_ONCE):
        removed += gone
    await db.value("forget_fills", model)
    show(f"{removed} vectors of other models removed; {model} stays")


async def _open(db: Database, settings: Settings) -> Embedder:
    embedder = open_embedder(settings)
    if embedder is None:
        raise MaasError(
            "no_embedding_model",
            "set MAAS_EMBEDDING_MODEL, for instance local:e5-small or openai:text-embedding-3-small@512",
        )
    if not await db.value("prepare_embeddings"):
        await embedder.close()
        raise MaasError("no_vectors", f"this database has no pgvector: {HINT}")
    return embedder


async def _counts(db: Database, model: str) -> tuple[int, int, int]:
    row = await db.row("fill", model)
    return (row["turns"], row["refused"], row["tokens"]) if row is not None else (0, 0, 0)
