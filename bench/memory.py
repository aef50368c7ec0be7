"""Whether a request finds what the one before it said: facts are planted and asked for at once, before any answer.

`python -m bench.memory [--quick] --out FILE.json` inserts two requests a user, the second right behind the
first, works them off by three orchestrators, and counts in the rows which second one held the fact. Recent history is
off, so that memory alone can know it. Then it imports turns and searches for each the moment its commit is known.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Annotated
from uuid import UUID, uuid4

import asyncpg
import typer
import uvloop

from bench.command import prepare_output, run_command
from bench.http_load import Caller
from bench.imports import import_messages
from bench.plot import plot_stages
from bench.report import Figure, console, hold_gates, machine, percentile, percentiles, print_figures, write_json
from bench.sandbox import open_sandbox, server_version
from bench.sentences import sentence
from bench.system import Bench, System, open_system
from maas.memory.search import search
from maas.memory.transfer.formats import ImportedMessage
from maas.settings import load_settings
from shared.db import open_database

USERS, QUICK_USERS = 1000, 100
ORCHESTRATORS = 3
RATE = 25  # users a second: two runs each, a third of what two cores work off
SECONDS = 600.0
INSERT = "insert into pipeline_runs (id, user_id, user_query) values ($1, $2, $3)"
FACT = "The box in the cellar opens with the word {}. {}"
QUESTION = "Which word opens the box in the cellar?"
FOUND = """
select strpos(b.final_context_payload, t.token) > 0 as in_payload, strpos(b.final_answer, t.token) > 0 as in_answer,
  b.sources @> jsonb_build_array(jsonb_build_object('id', l.id)) as in_sources,
  b.claimed_at < a.archived_at as has_overtaken,
  (1000 * extract(epoch from a.archived_at - a.completed_at))::float8 as "COMPLETED to archived",
  (1000 * extract(epoch from b.analyzing_at - a.archived_at))::float8 as "archived to the next claim",
  (1000 * extract(epoch from a.archived_at - a.created_at))::float8 as "insert to archived"
from unnest($1::uuid[], $2::uuid[], $3::text[]) as t(first, second, token)
join pipeline_runs a on a.id = t.first join pipeline_runs b on b.id = t.second
join raw_logs l on l.run_id = a.id and l.message_type = 'user_query'"""
TIMES = ("COMPLETED to archived", "archived to the next claim", "insert to archived")


def read_your_writes(
    out: Annotated[Path, typer.Option(help="file for the figures (JSON); a plot goes beside it")],
    quick: Annotated[bool, typer.Option("--quick", help="a hundred users, within a minute")] = False,
    users: Annotated[int | None, typer.Option(min=1, help="how many users plant a fact and ask for it")] = None,
) -> None:
    """Plant facts, ask for them at once, count what was found."""
    settings = load_settings()
    prepare_output(out)
    count = users or (QUICK_USERS if quick else USERS)
    with open_sandbox(settings) as sandbox:
        bench = Bench(sandbox, settings, quick)
        about = machine(server_version(sandbox.server_dsn))
        figures = uvloop.run(measure(bench, count))
    title = "read your writes, on {cores} cores (load {load_before} before), Postgres {postgres}, Python {python}"
    print_figures(title.format(**about), figures, quick=quick)
    if plot_stages(bench.stages, "From COMPLETED to the next request", out.with_suffix(".png")):
        console.print(f"plot: {out.with_suffix('.png')}", markup=False, soft_wrap=True)
    cases = {name: [figure.to_json() for figure in found] for name, found in figures.items()}
    write_json(out, {"machine": about, "quick": quick, "users": count, "figures": cases})
    hold_gates(figures, quick=quick)


async def measure(bench: Bench, users: int) -> dict[str, list[Figure]]:
    """Both cases over one system."""
    async with open_system(bench, server=True, orchestrators=ORCHESTRATORS, MAAS_HISTORY_ROWS="0") as system:
        return {
            "the next request": await next_requests(bench, system, users),
            "the next search": await next_searches(bench, system, users),
        }


async def next_requests(bench: Bench, system: System, users: int) -> list[Figure]:
    """A fact, and behind it at once the question for it; both are rows before the first is answered."""
    runs = [(uuid4(), uuid4(), uuid4().hex[:12]) for _ in range(users)]
    async with asyncpg.create_pool(system.dsn, min_size=4, max_size=8) as pool:

        async def talk(first: UUID, second: UUID, token: str) -> None:
            user = uuid4()
            await pool.execute(INSERT, first, user, FACT.format(token, sentence(first.int % 1000)))
            await pool.execute(INSERT, second, user, QUESTION)

        began, talks = time.perf_counter(), []
        for number, run in enumerate(runs):
            await asyncio.sleep(max(0.0, began + number / RATE - time.perf_counter()))
            talks.append(asyncio.create_task(talk(*run)))
        await asyncio.gather(*talks)
    await system.wait_archived(SECONDS)
    rows = await system.connection.fetch(FOUND, *map(list, zip(*runs, strict=True)))
    bench.stages.update({name: [row[name] for row in rows] for name in TIMES})
    return [
        Figure("users", "", len(rows), floor=users),
        Figure("facts in the payload of the next request", "", sum(row["in_payload"] for row in rows), floor=users),
        Figure("facts among its sources", "", sum(bool(row["in_sources"]) for row in rows), floor=users),
        Figure("facts in its answer", "", sum(row["in_answer"] for row in rows)),
        Figure("requests that did not wait for memory", "", sum(row["has_overtaken"] for row in rows), limit=1),
        *(figure for name, values in bench.stages.items() for figure in percentiles(name, values, (50, 99))),
    ]


async def next_searches(bench: Bench, system: System, count: int) -> list[Figure]:
    """Turns of one user, each searched for when its import has been committed: by the function, and over HTTP."""
    user = uuid4()
    by_function, by_http, ms = 0, 0, []
    async with (
        open_database(system.dsn, bench.settings.database.pool_size, "maas bench") as db,
        Caller(system.port) as caller,
    ):
        for number in range(count):
            token = uuid4().hex[:12]
            turn = ImportedMessage("user", FACT.format(token, sentence(number)), None, None, "cellar", token)
            await import_messages(db, user, [turn], "facts")
            began = time.perf_counter()
            hits = await search(db, user, f"Is the word {token}?", limit=1)
            ms.append(1000 * (time.perf_counter() - began))
            by_function += any(token in hit.text for hit in hits)
            body = {"user_id": str(user), "query": f"Is the word {token}?", "limit": 1}
            by_http += token in (await caller.post_for("/v1/memories/search", body))["results"][0]["memory"]
    return [
        Figure("turns found by `search` at once", "", by_function, floor=count),
        Figure("turns found over HTTP at once", "", by_http, floor=count),
        Figure(f"search in up to {count:,} turns p50", "ms", percentile(ms, 0.5)),
    ]


if __name__ == "__main__":
    run_command(read_your_writes)
