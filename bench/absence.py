"""Whether memory knows when it does not know: questions of a conversation, and those of another one put to it.

`python -m bench.absence --data DIR --out FILE` imports the conversations, asks each its own questions and as many of
the others in its language, and prints how often something is taken for an answer. `--embedding none`: words only. The
file has, of every question, what `maas.memory.relevance` sees of its best messages.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.command import prepare_output, run_command
from bench.conversations import Conversation, Question, read_folder
from bench.recall import QUESTION_TIMEOUT, Family, remember, user_of
from bench.report import console, print_table, write_json
from bench.sandbox import notes, open_sandbox
from maas.memory.embeddings import open_query_embedder
from maas.memory.query import SearchFilter
from maas.memory.ranking import rank
from maas.memory.relevance import FOUND, Relevance, confidence
from maas.memory.search import gather_evidence
from maas.model_registry import open_embedder
from maas.settings import Settings, load_settings
from maas.settings.embeddings import DEFAULT_EMBEDDING_MODEL
from shared.db import Database, open_database
from shared.models.calls import QueryEmbedder

QUESTIONS = 100  # of a conversation, and as many of others
RANKED = 50
_CYRILLIC = re.compile("[а-яё]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, whether the conversation answers it, and what was seen of the messages that might."""

    family: str
    question: str
    is_known: bool
    confidence: float
    signs: dict[str, Any]


def absence(
    data: Annotated[Path, typer.Option(help="folder of conversations (*.json)")],
    out: Annotated[Path, typer.Option(help="file for the questions (JSON)")],
    questions: Annotated[int, typer.Option(min=1, help="questions of each conversation")] = QUESTIONS,
    embedding: Annotated[str, typer.Option(help="the model of vectors; none: words only")] = DEFAULT_EMBEDDING_MODEL,
) -> None:
    """Ask what is known and what is not, and print the shares that count as found."""
    settings = load_settings(embedding_model=embedding)
    conversations = read_folder(data)
    prepare_output(out)
    with open_sandbox(settings) as sandbox, sandbox.database() as dsn:
        asked = uvloop.run(_measure(sandbox.folder, dsn, settings, conversations, questions))
    write_json(out, {"embedding": embedding, "asked": [asdict(one) for one in asked]})
    _report(asked)


async def _measure(
    folder: Path, dsn: str, settings: Settings, conversations: Sequence[Conversation], count: int
) -> list[Asked]:
    families: dict[str, Family] = {}
    for one in conversations:
        families.setdefault(one.family, Family([])).conversations.append(one)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    async with (
        open_database(dsn, 4, "maas bench") as db,
        open_query_embedder(db, open_embedder(settings), QUESTION_TIMEOUT) as embedder,
    ):
        with Progress(*columns, console=notes) as progress:
            await remember(db, folder, dsn, settings, families, progress, embedder)
            task = progress.add_task("questions asked", total=len(conversations))
            asked = []
            for one in conversations:
                for question, is_known in _questions(one, conversations, count):
                    asked.append(await _ask(db, embedder, one, question, is_known))
                progress.advance(task)
        return asked


def _questions(one: Conversation, conversations: Sequence[Conversation], count: int) -> list[tuple[Question, bool]]:
    """Its own questions that have evidence, and as many that others of its language have."""
    draw = random.Random(one.name)
    own = [(each, True) for each in one.questions if each.evidence and not each.is_adversarial]
    is_russian = bool(_CYRILLIC.search(one.questions[0].text))
    others = [
        (each, False)
        for other in conversations
        if other is not one and bool(_CYRILLIC.search(other.questions[0].text)) == is_russian
        for each in other.questions
        if not each.is_adversarial
    ]
    own = draw.sample(own, min(count, len(own)))
    return own + draw.sample(others, min(len(own), len(others)))


async def _ask(
    db: Database, embedder: QueryEmbedder | None, one: Conversation, question: Question, is_known: bool
) -> Asked:
    last = max(turn.at for session in one.sessions for turn in session.turns)
    filters = SearchFilter(as_of=max(question.asked_at, last))
    evidence = await gather_evidence(db, user_of(one), question.text, filters, embedder, is_full=True)
    ranked = rank(evidence, limit=RANKED)
    relevance = await Relevance.of(db, evidence)
    ordered = sorted(zip(evidence.term_weights, evidence.frequency, strict=True), reverse=True)
    similarity = evidence.similarity
    nearest = [] if similarity is None else sorted(similarity.own.tolist(), reverse=True)[:5]
    signs = {
        "form": relevance.form,
        "terms": len(evidence.terms),
        "weights": [(round(weight, 3), df) for weight, df in ordered],
        "best": [(round(m.score, 3), round(m.coverage, 3), round(m.own_coverage, 3), m.mask) for m in ranked[:5]],
        "coverage": max((m.coverage for m in ranked), default=0.0),
        "own": max((m.own_coverage for m in ranked), default=0.0),
        "named": max((m.coverage for m in ranked if m.mask & relevance.names), default=0.0),
        "nearest": nearest,
    }
    return Asked(one.family, question.text, is_known, round(confidence(evidence, ranked), 3), signs)


def _report(asked: Sequence[Asked]) -> None:
    shares: dict[str, dict[bool, list[bool]]] = defaultdict(lambda: {True: [], False: []})
    for one in asked:
        shares[one.family][one.is_known].append(one.confidence >= FOUND)
    rows = [
        (family, len(found[True]), *(100 * sum(found[known]) / max(len(found[known]), 1) for known in (True, False)))
        for family, found in sorted(shares.items())
    ]
    print_table("taken for known", ("family", "questions", "of what was said %", "of what was not %"), rows)
    console.print("of what was not: questions about somebody else's conversations", markup=False)


if __name__ == "__main__":
    run_command(absence)
