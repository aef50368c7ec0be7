"""Knowledge: how fast documents are read, how fast passages are found among many, and how often the right ones.

`python -m bench.knowledge --data DIR --out FILE.json [--questions FILE] [--embedding MODEL] [--quick]`. DIR holds
manuals that we did not write; docs/knowledge.md says which ones the questions are about. Of other manuals only times
are measured.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Annotated, Any, LiteralString, get_args
from uuid import UUID, uuid4

import psycopg
import typer
import uvloop
from psycopg.rows import DictRow, dict_row

from bench.command import prepare_output, run_command
from bench.report import Figure, hold_gates, machine, percentiles, print_figures, write_json
from bench.sandbox import open_sandbox, server_version
from maas.knowledge.chunks import Chunk
from maas.knowledge.documents import store
from maas.knowledge.embedding import embed_chunks
from maas.knowledge.files import list_files
from maas.knowledge.ingestion import add_document, new_track_id
from maas.knowledge.search import Mode, Passage, search_knowledge
from maas.memory.embeddings import open_query_embedder
from maas.model_registry import open_embedder
from maas.settings import Settings, load_settings
from maas.settings.embeddings import NO_EMBEDDING_MODEL
from shared.db import Database, open_database
from shared.errors import MaasError
from shared.models import Embedder
from shared.models.calls import QueryEmbedder
from shared.text import sentences

QUESTIONS = Path(__file__).parent / "data" / "knowledge.json"
PAGE_CHARS = 1800  # a printed page, where a format has none
INGESTED_PAGES, INGEST_LIMIT_S = 1000, 60.0
CHUNKS, QUICK_CHUNKS = 100_000, 5_000
DOCUMENT_CHUNKS = 500
SENTENCES_OF_CHUNK = 9
SEARCHES, QUICK_SEARCHES, WARM_UP = 300, 60, 30
SEARCH_LIMIT_MS = 50.0
FIRST = 5
FOUND_FLOOR = 80.0
MAX_BYTES = 50 * 1024 * 1024
SIZE = "select count(*) as chunks, sum(length(text)) as chars from knowledge_chunks where user_id = %s"
FREQUENT = "select term from knowledge_terms where length(term) > 2 group by term order by sum(chunks) desc limit 5"
TEXTS = "select text from knowledge_chunks where user_id = %s"
QUESTION_TIMEOUT_S = 60.0  # what is measured is how good vectors are; a search of the product gives up earlier


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and where its answer stands: in a passage below one of the headings, or with one of the phrases."""

    manual: str
    text: str
    headings: tuple[str, ...]
    phrases: tuple[str, ...]

    @classmethod
    def of(cls, body: dict[str, Any]) -> Question:
        return cls(body["manual"], body["question"], tuple(body.get("headings", ())), tuple(body.get("phrases", ())))

    def is_answered(self, passage: Passage) -> bool:
        """Whether the passage is evidence."""
        if self.manual not in passage.name:
            return False
        inner = passage.heading.rpartition(" > ")[2]
        above = passage.heading.split(" > ")
        return any(inner.startswith(one) or any(two.startswith(one) for two in above) for one in self.headings) or any(
            phrase in passage.text for phrase in self.phrases
        )


def knowledge(
    data: Annotated[Path, typer.Option(help="folder of manuals", exists=True, file_okay=False)],
    out: Annotated[Path, typer.Option(help="file for the figures (JSON)")],
    questions: Annotated[Path, typer.Option(help="questions about the manuals (JSON)", exists=True)] = QUESTIONS,
    embedding: Annotated[
        str, typer.Option(help="the model of vectors, provider:model; none: words only")
    ] = NO_EMBEDDING_MODEL,
    quick: Annotated[bool, typer.Option("--quick", help="fewer chunks and searches")] = False,
) -> None:
    """Measure knowledge."""
    settings = load_settings(embedding_model=embedding)
    prepare_output(out)
    with open_sandbox(settings) as sandbox, sandbox.database() as dsn:
        about = machine(server_version(sandbox.server_dsn))
        figures, missed = uvloop.run(measure(dsn, settings, data, _read(questions), quick))
    print_figures("knowledge, on {cores} cores, Postgres {postgres}".format(**about), figures, quick=quick)
    cases = {name: [figure.to_json() for figure in found] for name, found in figures.items()}
    body = {"machine": about, "quick": quick, "embedding": embedding, "figures": cases, "missed": missed}
    write_json(out, body)
    hold_gates(figures, quick=quick)


def _read(path: Path) -> list[Question]:
    try:
        return [Question.of(one) for one in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MaasError("bad_questions", f"--questions {path}: must be a list of questions: {error!r}") from error


async def measure(
    dsn: str, settings: Settings, data: Path, questions: Sequence[Question], quick: bool
) -> tuple[dict[str, list[Figure]], list[str]]:
    """The figures, and the questions whose answer is not among the first passages."""
    user = uuid4()
    figures: dict[str, list[Figure]] = {}
    missed: list[str] = []
    async with open_database(dsn, 4, "maas bench") as db, _vectors(db, settings) as (embedder, embedded):
        names, figures["reading"] = await ingest(db, dsn, user, data)
        about = [one for one in questions if any(one.manual in name for name in names)]
        if embedder is not None:
            figures["reading"].append(await embed(db, embedder))
        if about:
            figures["questions"], missed = await ask(db, user, about, embedded)
        asked = [one.text for one in about] or [Path(name).stem for name in names]
        figures["searching"] = await search(db, dsn, user, asked, quick)
    return figures, missed


@asynccontextmanager
async def _vectors(db: Database, settings: Settings) -> AsyncIterator[tuple[Embedder | None, QueryEmbedder | None]]:
    embedder = open_embedder(settings)
    async with open_query_embedder(db, embedder, QUESTION_TIMEOUT_S) as questions:
        yield embedder, questions


async def ingest(db: Database, dsn: str, user: UUID, data: Path) -> tuple[list[str], list[Figure]]:
    """Add every file of the folder, one after another, and tell how long a thousand pages take."""
    names, track, failed = [], new_track_id(), 0
    began = time.perf_counter()
    for file in list_files([data]).files:
        content = file.read(MAX_BYTES)
        added = await add_document(db, user, file.name, content, track_id=track, max_bytes=MAX_BYTES)
        failed += added.outcome == "failed"
        names.append(file.name)
    seconds = time.perf_counter() - began
    (sizes,) = _rows(dsn, SIZE, user)
    pages = sizes["chars"] / PAGE_CHARS
    return names, [
        Figure("files", "", len(names)),
        Figure("files that cannot be read", "", failed),
        Figure(f"pages of {PAGE_CHARS} characters", "", pages),
        Figure("chunks", "", sizes["chunks"]),
        Figure(f"{INGESTED_PAGES} pages", "s", INGESTED_PAGES * seconds / max(pages, 1), INGEST_LIMIT_S),
    ]


async def embed(db: Database, embedder: Embedder) -> Figure:
    """Embed all chunks."""
    began = time.perf_counter()
    count = await embed_chunks(db, embedder)
    return Figure("chunks embedded", "1/s", count / (time.perf_counter() - began))


async def ask(
    db: Database, user: UUID, questions: Sequence[Question], embedder: QueryEmbedder | None
) -> tuple[list[Figure], list[str]]:
    """For each mode and language the share of the questions that are answered by the first passages."""
    figures, missed = [], []
    for mode in get_args(Mode):
        answered: dict[str, list[bool]] = {"English": [], "Russian": []}
        for question in questions:
            found = await search_knowledge(
                db,
                user,
                question.text,
                mode=mode,
                limit=FIRST,
                query_embedder=embedder,
            )
            is_answered = any(map(question.is_answered, found.passages))
            answered["English" if question.text.isascii() else "Russian"].append(is_answered)
            if mode == "mix" and not is_answered:
                missed.append(question.text)
        everything = [one for of in answered.values() for one in of]
        floor = FOUND_FLOOR if mode == "mix" else None
        figures.append(Figure(f"{mode}: among the first {FIRST}", "%", _percent(everything), floor=floor))
        figures += [Figure(f"{mode}: {name}", "%", _percent(of)) for name, of in answered.items() if of]
    return figures, missed


def _percent(answered: Sequence[bool]) -> float:
    return 100 * sum(answered) / max(len(answered), 1)


async def search(db: Database, dsn: str, user: UUID, queries: Sequence[str], quick: bool) -> list[Figure]:
    """Search among many chunks, which are made of sentences of the manuals, in an order of chance."""
    other = uuid4()
    texts = [row["text"] for row in _rows(dsn, TEXTS, user)]
    count = QUICK_CHUNKS if quick else CHUNKS
    for number, chunks in enumerate(_made_up(texts, count)):
        name = f"made up/{number}.md"
        fields = {
            "name": name,
            "media_type": "text/markdown",
            "sha256": sha256(name.encode()).hexdigest(),
            "bytes": 1,
            "track_id": "bench",
            "status": "processed",
            "summary": name,
        }
        await store(db, other if number % 2 else None, fields, chunks)
    _rows(dsn, "vacuum analyze knowledge_chunks")
    frequent = [row["term"] for row in _rows(dsn, FREQUENT)]
    figures = []
    for mode in get_args(Mode):
        ms = await _time_searches(db, other, queries, mode, quick)
        figures += percentiles(f"{mode}, {count:,} chunks", ms, (50, 95), SEARCH_LIMIT_MS)
    ms = await _time_searches(db, other, [" ".join(frequent), *frequent], "mix", quick)
    return [*figures, *percentiles("the most frequent words", ms, (50, 95))]


async def _time_searches(db: Database, user: UUID, queries: Sequence[str], mode: Mode, quick: bool) -> list[float]:
    """Milliseconds of each search."""
    ms: list[float] = []
    for number in range(-WARM_UP, QUICK_SEARCHES if quick else SEARCHES):
        began = time.perf_counter()
        await search_knowledge(db, user, queries[number % len(queries)], mode=mode)
        if number >= 0:
            ms.append((time.perf_counter() - began) * 1000)
    return ms


def _rows(dsn: str, query: LiteralString, *args: object) -> list[DictRow]:
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        cursor = connection.execute(query, args or None)
        return cursor.fetchall() if cursor.description is not None else []


def _made_up(texts: Sequence[str], count: int) -> Iterator[list[Chunk]]:
    """Documents whose chunks hold sentences of `texts`."""
    draw = Random(1)
    pool = [sentence for text in texts for sentence in sentences(text)]
    for first in range(0, count, DOCUMENT_CHUNKS):
        size = min(DOCUMENT_CHUNKS, count - first)
        drawn = (draw.choices(pool, k=SENTENCES_OF_CHUNK) for _ in range(size))
        yield [Chunk(f"Part {n}", None, n * 1000, " ".join(one)[:2000]) for n, one in enumerate(drawn)]


if __name__ == "__main__":
    run_command(knowledge, "bench.knowledge")
