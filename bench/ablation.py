"""What each part of recall buys: evidence ranked without a signal, with a boost, after a typo, and put into contexts.

`python -m bench.ablation --data DIR --out FILE.json` imports conversations whose questions name their evidence, gathers
what each question is ranked by once, and ranks it with the product's weights, with fewer and with boosts. Nothing is
archived. Every turn has its vector before the first question, unless `--embedding none`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer
import uvloop
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.asked import Asked
from bench.boosts import BOOSTS
from bench.command import prepare_output, run_command
from bench.conversations import Conversation, read_folder, shorten_for_quick
from bench.plot import plot_coverage, plot_gains
from bench.recall import QUESTION_TIMEOUT, import_conversation, user_of
from bench.report import Figure, console, hold_gates, machine, print_figures, print_table, write_json
from bench.sandbox import notes, open_sandbox, server_version
from bench.scoring import Score, mean
from bench.typos import misspell, without_repair
from bench.weightings import PRODUCT, SIGNALS, WORD_SIGNALS, weightings, without
from maas.memory.embeddings import PGVECTOR_HINT, EmbeddingBackfill, open_query_embedder
from maas.memory.ranking import WEIGHTS, Weights
from maas.model_registry import open_embedder
from maas.settings import Settings, load_settings
from maas.settings.embeddings import DEFAULT_EMBEDDING_MODEL
from shared.db import open_database
from shared.errors import MaasError

BUDGETS = (250, 500, 1000, 2000, 4000, 8000, 16_000)
SAMPLE = 60  # questions a family whose contexts are filled
TYPO_LIMIT, TYPO_AIM = 6.0, 2.0
COLUMNS = ("turn R@5", "turn R@10", "nDCG@10", "session R@5", "adversarial R@10")
CLEAN, TYPO, UNREPAIRED = "clean", "typo", "typo, repair off"


@dataclass(slots=True)
class Family:
    """What came of the questions of a family: scores by weights and by spelling, shares of evidence by budget."""

    scores: dict[str, list[Score]] = field(default_factory=lambda: defaultdict(list))
    adversarial: dict[str, list[Score]] = field(default_factory=lambda: defaultdict(list))
    spelling: dict[str, list[Score]] = field(default_factory=lambda: defaultdict(list))
    context: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))


def ablation(
    data: Annotated[Path, typer.Option(help="folder of conversations (*.json) whose questions name their evidence")],
    out: Annotated[Path, typer.Option(help="file for the figures (JSON); the pictures lie beside it")],
    embedding: Annotated[
        str, typer.Option(help="the model of vectors, provider:model; none: words only")
    ] = DEFAULT_EMBEDDING_MODEL,
    quick: Annotated[bool, typer.Option("--quick", help="the smallest conversation of each family")] = False,
) -> None:
    """Rank the evidence of every question with the product's weights and with fewer."""
    settings = load_settings(embedding_model=embedding)
    open_embedder(settings)
    conversations = read_folder(data)
    if not any(question.evidence for conversation in conversations for question in conversation.questions):
        raise MaasError("bad_data", f"--data {data}: no question names its evidence (a list of turn ids)")
    if quick:
        conversations = shorten_for_quick(conversations)
    prepare_output(out)
    with open_sandbox(settings) as sandbox, sandbox.database() as dsn:
        about = machine(server_version(dsn))
        families = uvloop.run(measure(sandbox.folder, dsn, settings, conversations))
    _report(families, out, {"machine": about, "quick": quick, "embedding": settings.embeddings.embedding_model})


async def measure(
    folder: Path, dsn: str, settings: Settings, conversations: Sequence[Conversation]
) -> dict[str, Family]:
    """Import, embed and ask what names its evidence, conversation by conversation. Raises MaasError."""
    families: dict[str, Family] = {}
    filled = _sample(conversations)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    embedder = open_embedder(settings)
    async with (
        open_database(dsn, 4, "maas bench") as db,
        open_query_embedder(db, embedder, QUESTION_TIMEOUT) as query_embedder,
    ):
        if embedder is not None and query_embedder is None:
            raise MaasError("no_vectors", f"vectors need pgvector: {PGVECTOR_HINT}")
        weights = weightings(SIGNALS if query_embedder else WORD_SIGNALS)
        backfill = EmbeddingBackfill(db, embedder, settings.models) if embedder is not None else None
        with Progress(*columns, console=notes) as progress:
            task = progress.add_task("questions asked", total=sum(len(one.questions) for one in conversations))
            for conversation in conversations:
                await import_conversation(db, folder, conversation)
                while backfill is not None and await backfill.step():
                    pass
                family = families.setdefault(conversation.family, Family())
                for question in conversation.questions:
                    if question.evidence:
                        asked = Asked(db, user_of(conversation), question, conversation.homes, query_embedder)
                        await _ask(asked, family, weights, (conversation.name, question.id) in filled)
                    progress.advance(task)
    return families


async def _ask(asked: Asked, family: Family, weights: Mapping[str, Weights], is_filled: bool) -> None:
    text = asked.question.text
    found = await asked.scores(text, weights, BOOSTS)
    kept = family.adversarial if asked.question.is_adversarial else family.scores
    for name, one in found.items():
        kept[name].append(one)
    if asked.question.is_adversarial:
        return
    if (wrong := misspell(text)) is not None:
        family.spelling[CLEAN].append(found[PRODUCT])
        family.spelling[TYPO].append((await asked.scores(wrong, {PRODUCT: WEIGHTS}))[PRODUCT])
        with without_repair():
            family.spelling[UNREPAIRED].append((await asked.scores(wrong, {PRODUCT: WEIGHTS}))[PRODUCT])
    for budget in BUDGETS if is_filled else ():
        family.context[budget].append(await asked.shown(budget))


def _sample(conversations: Sequence[Conversation]) -> set[tuple[str, str]]:
    """Questions evenly spread over each family, by conversation and id."""
    families: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for conversation in conversations:
        families[conversation.family] += [
            (conversation.name, one.id) for one in conversation.questions if one.evidence and not one.is_adversarial
        ]
    return {one for asked in families.values() for one in asked[:: -(-len(asked) // SAMPLE) or 1]}


def typo_figures(families: Mapping[str, Family]) -> dict[str, list[Figure]]:
    """What a typo costs, in points of turn recall@10."""
    figures: dict[str, list[Figure]] = {}
    for name, family in families.items():
        if family.spelling:
            clean, typo, unrepaired = (100 * mean(family.spelling[one]).turns_10 for one in (CLEAN, TYPO, UNREPAIRED))
            figures[name] = [
                Figure("a typo costs", "points of R@10", clean - typo, limit=TYPO_LIMIT, aim=TYPO_AIM),
                Figure("a typo costs, repair off", "points of R@10", clean - unrepaired),
            ]
    return figures


def gains(families: Mapping[str, Family]) -> dict[str, dict[str, float]]:
    """By family, points of turn recall@10 that each signal buys: the product less the product without it."""
    return {
        name: {
            one: 100 * (mean(family.scores[PRODUCT]).turns_10 - mean(family.scores[without(one)]).turns_10)
            for one in SIGNALS
            if without(one) in family.scores
        }
        for name, family in families.items()
        if family.scores[PRODUCT]
    }


def coverage(families: Mapping[str, Family]) -> dict[str, dict[int, float]]:
    """By family and budget, the mean share (percent) of the evidence that a context shows."""
    return {
        name: {budget: 100 * fmean(shares) for budget, shares in family.context.items()}
        for name, family in families.items()
        if family.context
    }


def _report(families: Mapping[str, Family], out: Path, about: Mapping[str, object]) -> None:
    measured = {}
    for name, family in families.items():
        if not (family.scores[PRODUCT] or family.adversarial[PRODUCT]):
            continue  # its evidence is not named by turns
        rows = {one: _percents(family, one) for one in family.scores or family.adversarial}
        asked = f"{len(family.scores[PRODUCT])} questions, {len(family.adversarial[PRODUCT])} adversarial apart"
        print_table(f"{name}: {asked}", ("weights", *COLUMNS), [(one, *row) for one, row in rows.items()])
        measured[name] = {one: dict(zip(COLUMNS, row, strict=True)) for one, row in rows.items()}
    figures = typo_figures(families)
    print_figures("typos", figures)
    shown = coverage(families)
    columns = ("evidence in the context, %", *(f"{budget:,} tokens" for budget in BUDGETS))
    print_table("contexts", columns, [(name, *curve.values()) for name, curve in shown.items()])
    bars, curves = out.with_suffix(".png"), out.with_suffix(".context.png")
    if plot_gains(gains(families), "What each signal buys", bars):
        console.print(f"plot: {bars}", markup=False, soft_wrap=True)
    if plot_coverage(shown, "Evidence in the context", curves):
        console.print(f"plot: {curves}", markup=False, soft_wrap=True)
    typos = {name: [one.to_json() for one in found] for name, found in figures.items()}
    write_json(out, {**about, "weights": asdict(WEIGHTS), "rankings": measured, "figures": typos, "context": shown})
    console.print(f"figures are in {out}", markup=False, soft_wrap=True)
    hold_gates(figures)


def _percents(family: Family, name: str) -> tuple[float | None, ...]:
    """The cells of a row; None where there was no question."""
    found, adversarial = family.scores[name], family.adversarial[name]
    cells = astuple(mean(found)) if found else (None,) * 4
    last = mean(adversarial).turns_10 if adversarial else None
    return tuple(None if cell is None else 100 * cell for cell in (*cells, last))


if __name__ == "__main__":
    run_command(ablation)
