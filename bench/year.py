"""A year of a busy user: how many records stay open, what a look at them reads, and whether old facts are still found.

`python -m bench.year [--quick] --out FILE.json` imports five exchanges a day, has the real Archivist record them, and
compacts day by day on a moved clock. A twin says the same and is never compacted. --quick lives four months only.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID, uuid4

import asyncpg
import typer
import uvloop
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.command import prepare_output, run_command
from bench.imports import import_messages
from bench.processes import Processes
from bench.report import Figure, console, hold_gates, machine, print_table, write_json
from bench.sandbox import notes, open_sandbox
from bench.sentences import sentence
from maas import queries
from maas.builtin_model import BuiltinModel
from maas.engine.stages import Deps, RoleModels
from maas.engine.states import ArchiveStatus
from maas.memory.ranking import rank
from maas.memory.search import gather_evidence, search
from maas.memory.summaries import due_groups, list_memories, summaries_of_messages
from maas.memory.transfer.formats import ImportedMessage
from maas.settings import Settings, load_settings
from maas.settings.models import ROLES
from shared.db import Database, connect, open_database
from shared.errors import MaasError
from workers import compactor

BEGIN = datetime(2025, 1, 1, 9, tzinfo=UTC)
A_DAY = 5
EVERY = 12  # one exchange of so many plants a fact
FOUND, CANDIDATES = 5, 3
TIMEOUT_S = 120.0
THINGS = ("kayak", "parrot", "violin", "tractor", "kiln", "drone", "canoe", "loom", "oven", "tent", "sled", "robot")
OWNERS = (
    "Alma",
    "Boris",
    "Clara",
    "Dmitri",
    "Elsa",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Katya",
    "Liam",
    "Mona",
)
NAMES = ("Zephyr", "Quill", "Marble", "Onyx", "Pippin", "Saffron", "Tundra", "Velvet", "Willow", "Yonder", "Bramble")


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the user says at a moment, and the question whose answer it is."""

    at: datetime
    text: str
    question: str | None = None


@dataclass(frozen=True, slots=True)
class Month:
    """The end of a month: open records by level, records made in it and how long that took, what a look reads."""

    name: str
    levels: Mapping[int, int]
    made: int
    seconds: float
    rows_read: int

    @property
    def open(self) -> int:
        return sum(self.levels.values())


@dataclass(frozen=True, slots=True)
class Recall:
    """Shares (0 to 1) of the planted facts: among the turns found, in a candidate record, in an open summary."""

    turns: float
    candidates: float
    summaries: float


def year(
    out: Annotated[Path, typer.Option(help="file for the figures (JSON)")],
    quick: Annotated[bool, typer.Option("--quick", help="four months, within a minute")] = False,
) -> None:
    """Live a year, count what is open, look for what was said."""
    settings = load_settings()
    prepare_output(out)
    exchanges = list(live(120 if quick else 365))
    with open_sandbox(settings) as sandbox, sandbox.database() as dsn:
        months, before, after, postgres = uvloop.run(measure(sandbox.folder, dsn, settings, exchanges))
    figures = figures_of(months, before, after)
    names = ("month", "exchanges", "days", "weeks", "months", "open", "made", "compaction s", "rows read")
    rows = [
        (one.name, *(one.levels.get(level, 0) for level in range(4)), one.open, one.made, one.seconds, one.rows_read)
        for one in months
    ]
    print_table("open records at the end of each month", names, rows)
    print_table(
        "year", ("figure", "unit", "value", "bound"), [(f.name, f.unit, f.value, f.bound(quick)) for f in figures]
    )
    table = [dict(zip(names, row, strict=True)) for row in rows]
    write_json(out, {"figures": [f.to_json([f.value]) for f in figures], "months": table, "machine": machine(postgres)})
    console.print(f"figures are in {out}", markup=False, soft_wrap=True)
    hold_gates({"year": figures}, quick=quick)


def live(days: int) -> Iterator[Exchange]:
    """Every exchange in order of time."""
    for number in range(days * A_DAY):
        at = BEGIN + timedelta(number // A_DAY, hours=2 * (number % A_DAY))
        fact, rest = divmod(number, EVERY)
        if rest:
            yield Exchange(at, sentence(number))
        else:
            owner, thing, name = (words[fact % len(words)] for words in (OWNERS, THINGS, NAMES))
            yield Exchange(at, f"{owner} calls the {thing} {name}.", f"What does {owner} call the {thing}?")


async def measure(
    folder: Path, dsn: str, settings: Settings, exchanges: Sequence[Exchange]
) -> tuple[list[Month], Recall, Recall, str]:
    """The months, the recall of the twin and of the user whose records are merged, the version of Postgres."""
    user, twin = uuid4(), uuid4()
    rules = BuiltinModel()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    months = []
    async with open_database(dsn, 4, "maas bench") as db:
        deps = Deps(db, settings, RoleModels({role: rules for role in ROLES}, rules))
        with Processes(folder, dsn, settings) as processes, Progress(*columns, console=notes) as progress:
            processes.start("main.py")
            lived = progress.add_task("exchanges lived", total=len(exchanges))
            for name, group in groupby(exchanges, key=lambda one: f"{one.at:%Y-%m}"):
                said = list(group)
                await _archive(db, [user, twin], said, processes)
                months.append(await _end_month(deps, dsn, user, name, said))
                progress.advance(lived, len(said))
        before, after = [await _recall(db, one, exchanges) for one in (twin, user)]
        row = await db.row(queries.server_version)
        assert row is not None
    return months, before, after, row["version"]


async def _archive(db: Database, users: Sequence[UUID], said: Sequence[Exchange], processes: Processes) -> None:
    turns = [
        ImportedMessage("user", one.text, one.at.isoformat(), None, f"{one.at:%Y-%m-%d %H}", one.at.isoformat())
        for one in said
    ]
    runs = [(await import_messages(db, user, turns, "a month")).run_id for user in users]
    end = time.monotonic() + TIMEOUT_S
    while True:
        states = [await db.row(queries.run_state, run) for run in runs]
        if all(state is not None and state["archive_status"] == ArchiveStatus.ARCHIVED for state in states):
            return
        processes.check()
        if time.monotonic() > end:
            raise MaasError("archive_stalled", f"a month was not archived; the log ends: {processes.log()}")
        await asyncio.sleep(0.05)


async def _end_month(deps: Deps, dsn: str, user: UUID, name: str, said: Sequence[Exchange]) -> Month:
    """Compact at the end of each day, then count."""
    made, began = 0, time.perf_counter()
    for day in sorted({one.at.date() for one in said}):
        made += await compactor.compact_all(deps, user, datetime(day.year, day.month, day.day, 23, 59, tzinfo=UTC))
    seconds = time.perf_counter() - began
    assert await due_groups(deps.db, said[-1].at, user) == []
    records = await list_memories(deps.db, user, limit=10_000)
    turns = rank(await gather_evidence(deps.db, user, f"What does {OWNERS[0]} call the {THINGS[0]}?"), limit=50)
    ids = list({one.record_id for one in turns if one.record_id})
    return Month(name, Counter(record["level"] for record in records), made, seconds, await _rows_read(dsn, user, ids))


async def _rows_read(dsn: str, user: UUID, ids: Sequence[UUID]) -> int:
    """Rows that the query for the Analyzer's candidates fetches from tables, those that it drops among them."""
    connection: asyncpg.Connection = await connect(dsn)
    try:
        # These are two users; among thousands no scan of the table is tempting.
        await connection.execute("analyze lsm_storage; set enable_seqscan = off")
        plan = await connection.fetchval(
            f"explain (analyze, format json) {queries.records.text}", user, ids[:20], max(20 - len(ids), 0)
        )
    finally:
        await connection.close()
    return round(_count(plan[0]["Plan"]))


def _count(node: Mapping[str, Any]) -> float:
    below = sum(_count(child) for child in node.get("Plans", ()))
    if node.get("Relation Name") != "lsm_storage":
        return below
    rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return float(below + rows * node["Actual Loops"])


async def _recall(db: Database, user: UUID, exchanges: Sequence[Exchange]) -> Recall:
    asked = [(one.question, one.text) for one in exchanges if one.question is not None]
    found = covered = 0
    for question, text in asked:
        hits = await search(db, user, question, limit=FOUND)
        found += text in [hit.text for hit in hits]
        turns = rank(await gather_evidence(db, user, question), limit=50)
        fitting = {hit.id for hit in hits if hit.text == text}
        candidates = await summaries_of_messages(db, user, turns, CANDIDATES)
        covered += any(not fitting.isdisjoint(record.raw_log_ids) for record in candidates)
    summaries = " ".join(record["summary"] for record in await list_memories(db, user, limit=10_000))
    summarised = sum(text in summaries for _, text in asked)
    return Recall(found / len(asked), covered / len(asked), summarised / len(asked))


def figures_of(months: Sequence[Month], before: Recall, after: Recall) -> list[Figure]:
    """What is bounded, and what is good to know."""
    return [
        Figure("open records, most at the end of a month", "", max(one.open for one in months), limit=70),
        Figure("rows read for the candidates, most", "", max(one.rows_read for one in months), limit=300),
        Figure("compaction of a month, longest", "s", max(one.seconds for one in months)),
        Figure(f"facts among the first {FOUND} turns, not compacted", "%", 100 * before.turns),
        Figure(f"facts among the first {FOUND} turns, compacted", "%", 100 * after.turns, floor=100 * before.turns - 2),
        Figure(f"facts in the first {CANDIDATES} records, not compacted", "%", 100 * before.candidates),
        Figure(
            f"facts in the first {CANDIDATES} records, compacted",
            "%",
            100 * after.candidates,
            floor=100 * before.candidates - 2,
        ),
        Figure("facts told in open summaries, compacted", "%", 100 * after.summaries),
    ]


if __name__ == "__main__":
    run_command(year)
