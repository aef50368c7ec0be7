"""How well memory is found again: conversations are imported and archived, then questions are asked.

`python -m bench.recall --data DIR --out RANKINGS.json` writes, by conversation and question, the turns found in rank
order, the milliseconds of the search, and the context at three budgets, and prints how much of the evidence is found.
`--corrections FILE` prints that by the corrected evidence, too: {"QUESTION ID": ["TURN ID", ...], ...}.

Turns are found by meaning too, unless `--embedding none`: every turn has its vector before the first question.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from uuid import NAMESPACE_OID, UUID, uuid5

import typer
import uvloop
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.command import prepare_output, run_command
from bench.conversations import Conversation, Question, read_folder, shorten_for_quick
from bench.gold import print_scores, read_corrections
from bench.imports import import_messages, read_history
from bench.processes import Processes
from bench.report import console, percentile, print_table, write_json
from bench.sandbox import notes, open_sandbox
from maas import queries
from maas.builtin_model import PROVIDERS
from maas.engine.states import ArchiveStatus
from maas.memory.context import build_context
from maas.memory.embeddings import PGVECTOR_HINT, open_query_embedder
from maas.memory.query import SearchFilter
from maas.memory.search import search
from maas.memory.transfer.formats import BATCH_ROWS
from maas.model_registry import open_embedder, open_model
from maas.settings import Settings, load_settings
from maas.settings.embeddings import DEFAULT_EMBEDDING_MODEL, NO_EMBEDDING_MODEL
from shared.db import Database, open_database
from shared.errors import MaasError
from shared.models.calls import NoVector, QueryEmbedder

LIMIT = 50
BUDGETS = (500, 2000, 8000)
FAILURES = (ArchiveStatus.FAILED, ArchiveStatus.SKIPPED)
STALLED = 180.0  # seconds without a single record or vector: more than every budget of a model
QUESTION_TIMEOUT = 60.0  # what is measured is how good vectors are; a search of the product gives up earlier


@dataclass(slots=True)
class Family:
    """The conversations of one family and what was measured; times in seconds, `searches` in ms."""

    conversations: list[Conversation]
    import_s: float = 0.0
    archive_s: float = 0.0
    searches: list[float] = field(default_factory=list)


def recall(
    data: Annotated[Path, typer.Option(help="folder of conversations (*.json)")],
    out: Annotated[Path, typer.Option(help="file for the rankings (JSON)")],
    model: Annotated[str, typer.Option(help="the Archivist's model, provider:model")] = "extractive:builtin",
    embedding: Annotated[
        str, typer.Option(help="the model of vectors, provider:model; none: words only")
    ] = DEFAULT_EMBEDDING_MODEL,
    corrections: Annotated[
        Path | None, typer.Option(help="evidence that replaces the annotators': {question id: [turn id]} (JSON)")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="the smallest conversation of each family")] = False,
) -> None:
    """Import and archive conversations, ask their questions, write what was found and print how much of it is right."""
    settings = load_settings(embedding_model=embedding)
    open_embedder(settings)
    model = "extractive:builtin" if model == "extractive" else model
    open_model(model, settings, PROVIDERS)
    conversations = read_folder(data)
    if quick:
        conversations = shorten_for_quick(conversations)
    corrected = read_corrections(corrections, conversations) if corrections is not None else {}
    prepare_output(out)
    with open_sandbox(settings) as sandbox, sandbox.database() as dsn:
        rankings, families = uvloop.run(measure(sandbox.folder, dsn, settings, conversations, model))
    write_json(out, rankings)
    _report(families)
    ranked = {name: {id_: one["ranked"] for id_, one in answers.items()} for name, answers in rankings.items()}
    print_scores(conversations, ranked, corrected)
    scorer = data.absolute().parent / "score.py"
    if scorer.is_file():
        console.print(f"rankings are in {out}; score them: {scorer} {data} {out}", markup=False, soft_wrap=True)


async def measure(
    folder: Path, dsn: str, settings: Settings, conversations: Sequence[Conversation], model: str
) -> tuple[dict[str, Any], dict[str, Family]]:
    """Rankings by conversation and question, and the measured families."""
    families: dict[str, Family] = {}
    for conversation in conversations:
        families.setdefault(conversation.family, Family([])).conversations.append(conversation)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    async with (
        open_database(dsn, 4, "maas bench") as db,
        open_query_embedder(db, open_embedder(settings), QUESTION_TIMEOUT) as questions,
    ):
        if settings.embeddings.embedding_model != NO_EMBEDDING_MODEL and questions is None:
            raise MaasError("no_vectors", f"vectors need pgvector: {PGVECTOR_HINT}")
        with Progress(*columns, console=notes) as progress:
            await remember(db, folder, dsn, settings, families, progress, questions, MAAS_ARCHIVIST_MODEL=model)
            return await _ask(db, questions, families, progress), families


async def remember(
    db: Database,
    folder: Path,
    dsn: str,
    settings: Settings,
    families: dict[str, Family],
    progress: Progress,
    questions: QueryEmbedder | None,
    **environment: str,
) -> None:
    """Import, archive and embed conversations by an orchestrator with these settings."""
    environment = {"MAAS_EMBEDDING_MODEL": settings.embeddings.embedding_model} | environment
    with Processes(folder, dsn, settings, **environment) as processes:
        await _remember(db, folder, families, processes, progress)
        if questions is not None:
            await _embed(db, questions.model, processes, progress)


async def _remember(
    db: Database, folder: Path, families: dict[str, Family], processes: Processes, progress: Progress
) -> None:
    """Import and archive, one family after the other, so that each has its own figures."""
    total = sum(conversation.length for family in families.values() for conversation in family.conversations)
    logged = progress.add_task("turns logged", total=total)
    recorded = progress.add_task("turns recorded", total=total)
    processes.start("main.py")
    for family in families.values():
        began = time.perf_counter()
        runs: list[UUID] = []
        for conversation in family.conversations:
            runs += await import_conversation(db, folder, conversation)
            progress.advance(logged, conversation.length)
        family.import_s = time.perf_counter() - began
        await follow_imports(db, runs, processes, lambda count: progress.advance(recorded, count))
        family.archive_s = time.perf_counter() - began


async def import_conversation(db: Database, folder: Path, conversation: Conversation) -> list[UUID]:
    """Log its turns; the runs that will archive it. Raises MaasError('bad_data')."""
    path = folder / "history.ndjson"
    conversation.write_history(path)
    try:
        turns = read_history(path)
    except MaasError as error:
        raise MaasError("bad_data", f"{conversation.name} cannot be imported: {error.message}") from error
    runs = []
    for start in range(0, len(turns), BATCH_ROWS):
        done = await import_messages(db, user_of(conversation), turns[start : start + BATCH_ROWS], conversation.name)
        if done.run_id is not None:
            runs.append(done.run_id)
    return runs


async def follow_imports(
    db: Database, runs: Sequence[UUID], processes: Processes, on_recorded: Callable[[int], None]
) -> None:
    """Return when every turn is in a record. Raises MaasError when that fails or stands still."""
    known, moved_at = 0, time.monotonic()
    while True:
        row = await db.row(queries.import_progress, runs)
        assert row is not None
        if row["recorded"] > known:
            on_recorded(row["recorded"] - known)
            known, moved_at = row["recorded"], time.monotonic()
        states = [await db.row(queries.run_state, run) for run in runs]
        if any(state is None or state["archive_status"] in FAILURES for state in states):
            raise MaasError("archive_failed", f"an import was not archived; the log ends: {processes.log()}")
        if all(state is not None and state["archive_status"] == ArchiveStatus.ARCHIVED for state in states):
            return
        processes.check()
        if time.monotonic() - moved_at > STALLED:
            raise MaasError("archive_stalled", f"no record for {STALLED:.0f} s; the log ends: {processes.log()}")
        await asyncio.sleep(0.1)


async def _embed(db: Database, model: str, processes: Processes, progress: Progress) -> None:
    """Return when every turn has its vector. Raises MaasError when that fails or stands still."""
    total = await db.value(queries.count_turns)
    task = progress.add_task("turns embedded", total=total)
    known, moved_at = 0, time.monotonic()
    while known < total:
        row = await db.row(queries.fill, model)
        done = row["turns"] + row["refused"] if row is not None else 0
        if done > known:
            known, moved_at = done, time.monotonic()
            progress.update(task, completed=known)
        processes.check()
        if time.monotonic() - moved_at > STALLED:
            raise MaasError("embedding_stalled", f"no vector for {STALLED:.0f} s; the log ends: {processes.log()}")
        await asyncio.sleep(0.1)


async def _ask(
    db: Database, questions: QueryEmbedder | None, families: dict[str, Family], progress: Progress
) -> dict[str, Any]:
    everything = [one for family in families.values() for one in family.conversations]
    task = progress.add_task("questions asked", total=sum(len(one.questions) for one in everything))
    rankings: dict[str, Any] = {one.name: {} for one in everything}
    for family in families.values():
        for conversation in family.conversations:
            for question in conversation.questions:
                answer = await _answer(db, questions, user_of(conversation), question)
                rankings[conversation.name][question.id] = answer
                family.searches.append(answer["ms"])
                progress.advance(task)
    return rankings


async def _answer(db: Database, questions: QueryEmbedder | None, user_id: UUID, question: Question) -> dict[str, Any]:
    filters = SearchFilter(as_of=question.asked_at)
    began = time.perf_counter()
    hits = await search(db, user_id, question.text, limit=LIMIT, filters=filters, query_embedder=questions)
    elapsed = time.perf_counter() - began
    if questions is not None:
        try:
            await questions.vector(question.text)
        except NoVector as error:
            raise MaasError("no_vector", f"{questions.model} gave no vector for a question: {error}") from error
    context = {}
    for budget in BUDGETS:
        found = await build_context(
            db, user_id, question.text, budget, filters=filters, query_embedder=questions, is_full=True, by_day=True
        )
        context[str(budget)] = found.fenced
    ranked = list(dict.fromkeys(hit.external_id for hit in hits if hit.external_id))
    return {"ranked": ranked[:LIMIT], "ms": round(elapsed * 1000, 3), "context": context}


def user_of(conversation: Conversation) -> UUID:
    """The user that a conversation is remembered for."""
    return uuid5(NAMESPACE_OID, conversation.name)


def _report(families: dict[str, Family]) -> None:
    columns = ("family", "conversations", "turns", "questions", "import s", "archive s", "search p50 ms", "p95 ms")
    rows = [
        (
            name,
            len(one.conversations),
            sum(conversation.length for conversation in one.conversations),
            len(one.searches),
            one.import_s,
            one.archive_s,
            percentile(one.searches, 0.5),
            percentile(one.searches, 0.95),
        )
        for name, one in families.items()
    ]
    print_table("recall", columns, rows)


if __name__ == "__main__":
    run_command(recall)
