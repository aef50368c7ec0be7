"""What a model makes of the stages: replies of use, questions taken for general ones, facts that reach the answer.

`python -m bench.stages --model PROVIDER:MODEL --out FILE.json` has the model record what two invented people say, one
in English and one in Russian (`bench/data/people.json`), asks for each fact, merges the summaries, deletes the words,
and asks again.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID, uuid4

import asyncpg
import typer
import uvloop
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.answers import BUILTIN, models_of
from bench.command import prepare_output, run_command
from bench.imports import import_messages
from bench.judging import BUDGET_S
from bench.processes import Processes
from bench.report import console, percentile, print_table, write_json
from bench.sandbox import notes, open_sandbox
from maas.memory.transfer.formats import ImportedMessage
from maas.settings import Settings, load_settings
from shared.db import Database, connect, open_database
from shared.errors import MaasError

MAAS = Path(sys.executable).parent / "maas"
PEOPLE = Path(__file__).parent / "data" / "people.json"
EXCHANGES = 174  # of both together
FIRST_DAY = timedelta(days=150)  # before now; the last day is old enough to be merged and deleted
DAYS = 90
KEPT_DAYS = 30
PHASES = ("as said", "merged", "words deleted")
STAGES = ("Analyzer", "Assembler", "Archivist")
ASK = "insert into pipeline_runs (user_id, user_query, is_remembered) values ($1, $2, false) returning id"
SEEN = """
select r.status, r.analysis_result ->> 'context_type' as kind, r.analysis_result ->> 'overruled' as overruled,
  r.final_context_payload as payload, r.final_answer as answer, r.error_message as error,
  extract(epoch from r.responding_at - r.created_at)::float8 as before_s,
  extract(epoch from r.completed_at - r.created_at)::float8 as s,
  coalesce((select sum(c.tokens_out) from llm_calls c where c.run_id = r.id and c.role_name in ('Analyzer', 'Assembler')
    and c.provider <> 'extractive'), 0)::int as written
from pipeline_runs r where r.id = $1"""
RECORDED = """
select count(*) filter (where archive_status = 'ARCHIVED')::int as done,
  count(*) filter (where archive_status in ('FAILED', 'SKIPPED'))::int as failed
from pipeline_runs where id = any($1::uuid[])"""
CALLED = """
with units as (
  select c.role_name as role, count(*) filter (where c.provider <> 'extractive') as calls,
    bool_or(c.provider = 'extractive') as is_degraded,
    coalesce(bool_or(c.error ~ '^(timeout|too_slow)'), false) as is_late,
    sum(c.tokens_in) as tokens_in, sum(c.tokens_cached) as kept, sum(c.tokens_out) as tokens_out, sum(c.ms) as ms
  from llm_calls c where c.finish <> 'skipped' and c.role_name = any($1::text[]) group by c.run_id, c.try, c.stage, 1)
select role, count(*)::int as asked, count(*) filter (where calls = 1 and not is_degraded)::int as at_once,
  count(*) filter (where calls > 1 and not is_degraded)::int as repaired,
  count(*) filter (where is_degraded)::int as degraded, count(*) filter (where is_late)::int as late,
  avg(tokens_in)::float8 as tokens_in, avg(kept)::float8 as kept, avg(tokens_out)::float8 as tokens_out,
  percentile_cont(0.5) within group (order by ms)::float8 / 1000 as p50_s
from units where calls > 0 group by role
union all
select 'Compactor', count(*)::int, count(*) filter (where c.calls = 1 and not l.is_degraded)::int,
  count(*) filter (where c.calls > 1 and not l.is_degraded)::int, count(*) filter (where l.is_degraded)::int, 0,
  avg(c.tokens_in)::float8, 0, avg(c.tokens_out)::float8,
  percentile_cont(0.5) within group (order by c.ms)::float8 / 1000
from compactions c join lsm_storage l on l.id = c.record_id where c.calls > 0 and c.provider <> 'extractive'
having count(*) > 0"""
PURGE = "select maas_purge_expired($1)"
IS_LEFT = "select exists (select from maas_expired_logs(now() - make_interval(days => $1)))"


@dataclass(frozen=True, slots=True)
class Fact:
    """What somebody says, and the question about it; a right answer holds `word`, a pattern.

    `then` and `answer` are a second exchange, which refers to the first one.
    """

    said: str
    reply: str
    question: str
    word: str
    then: str = ""
    answer: str = ""

    @property
    def exchanges(self) -> list[tuple[str, str]]:
        return [(self.said, self.reply), *([(self.then, self.answer)] if self.then else [])]


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with facts to tell, small talk, and questions that have nothing to do with them."""

    language: str
    person: str
    facts: Sequence[Fact]
    world: Sequence[str]
    chatter: Sequence[tuple[str, str]]
    user: UUID = field(default_factory=uuid4)

    def conversations(self, exchanges: int) -> list[list[tuple[str, str]]]:
        """The facts in order, each in a conversation of its own, and small talk evenly between them."""
        own = [fact.exchanges for fact in self.facts]
        fillers = max(exchanges - sum(map(len, own)), 0)
        said: list[list[tuple[str, str]]] = []
        for place, one in enumerate(own):
            said.append(one)
            for number in range(place * fillers // len(own), (place + 1) * fillers // len(own)):
                said.append([self.chatter[number % len(self.chatter)]])
        return said


@dataclass(frozen=True, slots=True)
class Asked:
    """One question in one phase. `is_shown`: what it asks for stood in what the Responder was given."""

    phase: str
    language: str
    question: str
    is_about_person: bool
    kind: str
    overruled: str
    is_shown: bool
    is_right: bool
    written: int
    before_s: float
    s: float
    answer: str
    error: str


def stages(
    out: Annotated[Path, typer.Option(help="file for the figures (JSON)")],
    model: Annotated[str, typer.Option(help="model of all roles, provider:model")] = BUILTIN,
    roles: Annotated[str, typer.Option(help="roles that the model plays; empty: all")] = "",
    exchanges: Annotated[int, typer.Option(min=24, help="exchanges that are recorded")] = EXCHANGES,
) -> None:
    """Record, ask, merge, delete, and print what came of it."""
    settings = load_settings(embedding_model="none")
    prepare_output(out)
    people = read_people()
    asked: list[Asked] = []
    calls: list[dict[str, Any]] = []
    environment = {"MAAS_MODEL_PROFILE": "cloud" if model == BUILTIN else "local", "MAAS_FAST_PATH": "off"}
    trial = Trial(settings, {**environment, **models_of(model, roles)}, people, exchanges)
    with open_sandbox(settings) as sandbox, sandbox.database() as dsn, suppress(KeyboardInterrupt):
        uvloop.run(trial.run(sandbox.folder, dsn, asked, calls))
    if not asked:
        raise MaasError("bench_failed", "nothing was asked")
    report(model, asked, calls)
    write_json(out, {"model": model, "exchanges": exchanges, "stages": calls, "asked": [asdict(one) for one in asked]})
    console.print(f"every answer is in {out}", markup=False, soft_wrap=True)


def read_people() -> list[Person]:
    """The two people of the data file."""
    return [
        Person(
            one["language"],
            one["person"],
            [Fact(**fact) for fact in one["facts"]],
            one["world"],
            [(said, reply) for said, reply in one["chatter"]],
        )
        for one in json.loads(PEOPLE.read_text(encoding="utf-8"))
    ]


@dataclass(frozen=True, slots=True)
class Trial:
    """`environment` are the settings of the processes."""

    settings: Settings
    environment: Mapping[str, str]
    people: Sequence[Person]
    exchanges: int

    async def run(self, folder: Path, dsn: str, asked: list[Asked], calls: list[dict[str, Any]]) -> None:
        """Add all answers to `asked`, and what the stages did to `calls`. Raises MaasError."""
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        connection: asyncpg.Connection = await connect(dsn)
        async with open_database(dsn, 4, "maas bench") as db:
            with (
                Processes(folder, dsn, self.settings, **self.environment) as processes,
                Progress(*columns, console=notes) as progress,
            ):
                main = processes.start("main.py")
                try:
                    await self._record(db, connection, processes, progress)
                    for phase in PHASES:
                        if phase == "merged":
                            processes.stop(main)  # from here on rules answer: what reaches the Responder is asked for
                            main = processes.start("main.py", MAAS_RESPONDER_MODEL=BUILTIN)
                            await self._merge(processes, progress)
                        elif phase == "words deleted":
                            await self._delete(connection)
                        await self._ask_all(connection, processes, progress, phase, asked)
                finally:
                    calls += [dict(row) for row in await connection.fetch(CALLED, STAGES)]
        await connection.close()

    async def _record(
        self, db: Database, connection: asyncpg.Connection, processes: Processes, progress: Progress
    ) -> None:
        runs: list[UUID] = []
        first = datetime.now(UTC) - FIRST_DAY
        for person in self.people:
            said = person.conversations(self.exchanges // len(self.people))
            for number, conversation in enumerate(said):
                at = first + timedelta(days=number * DAYS // len(said), minutes=20 * (number % 30))
                for place, (text, reply) in enumerate(conversation):
                    when = (at + timedelta(minutes=place)).isoformat()
                    about = (f"{person.language}-{number}", f"{number}-{place}")
                    done = await import_messages(
                        db,
                        person.user,
                        [
                            ImportedMessage("user", text, when, person.person, about[0], f"{about[1]}-user"),
                            ImportedMessage("assistant", reply, when, None, about[0], f"{about[1]}-reply"),
                        ],
                        person.language,
                    )
                    assert done.run_id is not None
                    runs.append(done.run_id)
        task = progress.add_task("exchanges recorded", total=len(runs))
        while True:
            row = await connection.fetchrow(RECORDED, runs)
            progress.update(task, completed=row["done"])
            if row["failed"]:
                raise MaasError("archive_failed", f"an import was not archived; the log ends: {processes.log()}")
            if row["done"] == len(runs):
                return
            processes.check()
            await asyncio.sleep(0.2)

    async def _merge(self, processes: Processes, progress: Progress) -> None:
        task = progress.add_task("summaries merged", total=None)
        compact = processes.spawn("compact", str(MAAS), "compact")
        while compact.poll() is None:
            await asyncio.sleep(0.2)
        if compact.returncode != 0:
            processes.check()
        processes.stop(compact)
        progress.update(task, total=1, completed=1)

    async def _delete(self, connection: asyncpg.Connection) -> None:
        while await connection.fetchval(IS_LEFT, KEPT_DAYS):
            await connection.execute(PURGE, KEPT_DAYS)

    async def _ask_all(
        self, connection: asyncpg.Connection, processes: Processes, progress: Progress, phase: str, asked: list[Asked]
    ) -> None:
        questions = [(person, fact.question, fact.word) for person in self.people for fact in person.facts]
        if phase == PHASES[0]:
            questions += [(person, text, "") for person in self.people for text in person.world]
        task = progress.add_task(f"questions: {phase}", total=len(questions))
        for person, text, word in questions:
            row = await self._ask(connection, processes, person.user, text)
            memory = (row["payload"] or "").partition("<memory>")[2].partition("</memory>")[0]
            asked.append(
                Asked(
                    phase,
                    person.language,
                    text,
                    bool(word),
                    row["kind"] or "",
                    row["overruled"] or "",
                    bool(word and re.search(word, memory)),
                    bool(word and re.search(word, row["answer"] or "")),
                    row["written"],
                    row["before_s"] or 0.0,
                    row["s"] or 0.0,
                    row["answer"] or "",
                    row["error"] or "",
                )
            )
            progress.advance(task)

    async def _ask(self, connection: asyncpg.Connection, processes: Processes, user: UUID, text: str) -> asyncpg.Record:
        """The row of a run that is not remembered, so that no question changes what the next one finds."""
        run = await connection.fetchval(ASK, user, text)
        end = time.monotonic() + BUDGET_S
        while True:
            row = await connection.fetchrow(SEEN, run)
            if row["status"] in ("COMPLETED", "FAILED") or time.monotonic() > end:
                return row
            processes.check()
            await asyncio.sleep(0.05)


def report(model: str, asked: Sequence[Asked], calls: Sequence[Mapping[str, Any]]) -> None:
    """Print both tables."""
    stage_names = (
        "stage",
        "asked",
        "of use at once %",
        "repaired",
        "by rules",
        "out of time",
        "tokens in",
        "kept",
        "out",
        "p50 s",
    )
    if calls:
        print_table(
            f"{model}: replies",
            stage_names,
            [
                (
                    one["role"],
                    one["asked"],
                    100 * one["at_once"] / one["asked"],
                    one["repaired"],
                    one["degraded"],
                    one["late"],
                    one["tokens_in"],
                    one["kept"],
                    one["tokens_out"],
                    one["p50_s"],
                )
                for one in calls
            ],
        )
    rows = []
    for phase in PHASES:
        own = [one for one in asked if one.phase == phase and one.is_about_person]
        if own:
            rows.append(
                (
                    phase,
                    len(own),
                    sum(one.kind == "GENERAL" for one in own),
                    sum(bool(one.overruled) for one in own),
                    sum(one.is_shown for one in own),
                    sum(one.is_right for one in own),
                    max(one.written for one in own),
                    percentile([one.before_s for one in own], 0.5),
                    percentile([one.s for one in own], 0.5),
                )
            )
    names = (
        "facts",
        "asked",
        "taken for general",
        "model overruled",
        "shown to the Responder",
        "in the answer",
        "most tokens written before it",
        "p50 s before it",
        "p50 s",
    )
    print_table(f"{model}: questions about the person; rules answer in the last two lines", names, rows)
    general = [one for one in asked if not one.is_about_person]
    kept = sum(one.kind == "GENERAL" for one in general)
    console.print(f"questions about the world taken for such: {kept} of {len(general)}", markup=False)


if __name__ == "__main__":
    run_command(stages)
