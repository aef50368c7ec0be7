"""How well memory knows what is true now: invented lives of a year, and questions whose truth is known.

`python -m bench.state --out FILE` imports and archives the lives by rules, forgets what is to be forgotten, and reads a
context for each question. A context is right if it shows what is true and marks what no longer is; no model is asked.
"""

from __future__ import annotations

import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import NAMESPACE_OID, UUID, uuid5

import typer
import uvloop
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.command import prepare_output, run_command
from bench.imports import import_messages
from bench.lives import KINDS, YEAR, Asked, Life, is_right, make_lives
from bench.processes import Processes
from bench.recall import follow_imports
from bench.report import console, percentile, print_table, write_json
from bench.sandbox import notes, open_sandbox
from maas.memory.erase import forget_memory
from maas.memory.known_context import build_known_context
from maas.memory.query import SearchFilter
from maas.memory.relevance import FOUND
from maas.memory.search import search
from maas.memory.transfer.formats import ImportedMessage
from maas.settings import Settings, load_settings
from shared.db import Database, open_database

MAX_TOKENS, FACTS_TOKENS = 2000, 300
PAST_MARKS = ("replaced 20", "(before, said", "ended 20", "uncertain since", "wrong 20")
NOW = datetime(YEAR, 12, 31, 12, tzinfo=UTC)


def state(
    out: Annotated[Path, typer.Option(help="file for the contexts (JSON)")],
    lives: Annotated[int, typer.Option(min=2, help="how many people")] = 30,
    seed: Annotated[int, typer.Option(help="of the lives")] = 1,
    facts_tokens: Annotated[
        int, typer.Option(min=0, help="most tokens of what is known; 0: words only")
    ] = FACTS_TOKENS,
) -> None:
    """Remember invented lives, ask about them, print how often the context tells the truth."""
    settings = load_settings(embedding_model="none")
    prepare_output(out)
    people = make_lives(lives, seed)
    with open_sandbox(settings) as sandbox, sandbox.database() as dsn:
        answers = uvloop.run(_measure(sandbox.folder, dsn, settings, people, facts_tokens))
    write_json(out, {"seed": seed, "lives": lives, "facts_tokens": facts_tokens, "answers": answers})
    _report(answers, facts_tokens)


async def _measure(
    folder: Path, dsn: str, settings: Settings, people: list[Life], facts_tokens: int
) -> list[dict[str, Any]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    async with open_database(dsn, 4, "maas bench") as db:
        with Processes(folder, dsn, settings) as processes, Progress(*columns, console=notes) as progress:
            processes.start("main.py")
            task = progress.add_task("lives remembered", total=len(people))
            for life in people:
                await _remember(db, processes, life)
                progress.advance(task)
        answers = []
        for life in people:
            for asked in life.asked:
                answers.append(await _ask(db, life, asked, facts_tokens))
        return answers


async def _remember(db: Database, processes: Processes, life: Life) -> None:
    messages = [
        ImportedMessage("user", one.text, one.at.isoformat(), None, f"{one.at:%Y-%m-%d}", f"{place}")
        for place, one in enumerate(life.said)
    ]
    batch = await import_messages(db, _user(life), messages, life.name)
    assert batch.run_id is not None
    await follow_imports(db, [batch.run_id], processes, lambda count: None)
    for one in life.said:
        if one.is_forgotten:
            (memory_id,) = [hit.id for hit in await search(db, _user(life), one.text) if hit.text == one.text]
            await forget_memory(db, memory_id, _user(life), "bench")


async def _ask(db: Database, life: Life, asked: Asked, facts_tokens: int) -> dict[str, Any]:
    began = time.perf_counter()
    filters = SearchFilter(as_of=NOW)
    context = await build_known_context(
        db, _user(life), asked.text, MAX_TOKENS, facts_tokens, filters=filters, by_day=True
    )
    elapsed = (time.perf_counter() - began) * 1000
    return {
        "life": life.name,
        "kind": asked.kind,
        "question": asked.text,
        "is_right": is_right(asked, context.lines, context.is_found, PAST_MARKS),
        "confidence": context.confidence,
        "ms": round(elapsed, 2),
        "context": context.fenced,
    }


def _user(life: Life) -> UUID:
    return uuid5(NAMESPACE_OID, f"life {life.name}")


def _report(answers: list[dict[str, Any]], facts_tokens: int) -> None:
    by_kind: dict[str, list[bool]] = defaultdict(list)
    for answer in answers:
        by_kind[answer["kind"]].append(answer["is_right"])
    rows: list[tuple[str, int, float]] = [
        (kind, len(right), sum(right) / len(right)) for kind in KINDS if (right := by_kind[kind])
    ]
    rows.append(("all", len(answers), sum(answer["is_right"] for answer in answers) / len(answers)))
    print_table(
        f"contexts of 2,000 tokens, {facts_tokens} of facts, that tell the truth", ("kind", "asked", "right"), rows
    )
    absent = [answer for answer in answers if answer["kind"] in ("absence", "deletion")]
    known = [answer for answer in answers if answer not in absent]
    found = sum(answer["confidence"] >= FOUND for answer in known) / len(known)
    console.print(
        f"taken for known: {found:.0%} of what was said, "
        f"{sum(answer['confidence'] >= FOUND for answer in absent) / len(absent):.0%} of what was not"
    )
    times = [answer["ms"] for answer in answers]
    console.print(f"a context: p50 {percentile(times, 0.5):.1f} ms, p95 {percentile(times, 0.95):.1f} ms")


if __name__ == "__main__":
    run_command(state)
