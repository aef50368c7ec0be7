"""What the model layer costs: our part of a call beside the bare SDK, and the tokens and dollars of an exchange.

`python -m bench.models [--quick] --out FILE.json` asks one server by turns through the SDK and through the product's
layer, has 1,000 exchanges answered and reads what they cost from the ledger, and then waits for the first text of
answers by models of 60 tokens a second.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import openai
import typer
import uvloop

from bench.command import prepare_output, run_command
from bench.processes import Processes
from bench.report import Figure, console, hold_gates, machine, print_figures, print_table, write_json
from bench.sandbox import open_sandbox, server_version
from bench.sentences import sentence
from bench.system import Bench, free_port, open_system, wait_for_port
from maas.settings import load_settings
from shared.errors import MaasError
from shared.models import Message, Request
from shared.models.calls import complete
from shared.models.openai import OpenAIModel

CALLS, QUICK_CALLS = 1000, 200
EXCHANGES, QUICK_EXCHANGES = 1000, 40
USERS = 20
TOKENS_PER_S = 60
TALKS, QUICK_TALKS, ANSWERS_A_TALK = 10, 2, 8
AT_ONCE = 100
PROMPT = "\n".join(map(sentence, range(150)))  # some 3,000 tokens
ROLES = {"ANALYZER": "Analyzer", "ASSEMBLER": "Assembler", "RESPONDER": "FinalResponder", "ARCHIVIST": "Archivist"}
SPENT = """
select role, sum(calls)::int as calls, sum(tokens_in)::int as tokens_in, sum(tokens_out)::int as tokens_out
from v_cost_daily group by role order by role"""
WRITTEN_BEFORE = """
select coalesce(sum(tokens_out), 0)::float8 from v_cost_daily where role in ('Analyzer', 'Assembler')"""
PRICED = """
select p.provider, m.model, maas_price(p.provider, m.model, $1, 0, $2) / 1e6 as dollars
from model_prices p cross join lateral replace(p.model, '%', '') as m(model)
where p.output > 0 and p.model not like '%-20\\%' order by dollars, m.model"""


def models(
    out: Annotated[Path, typer.Option(help="file for the figures (JSON)")],
    quick: Annotated[bool, typer.Option("--quick", help="little of everything, within a minute")] = False,
) -> None:
    """Measure the model layer."""
    settings = load_settings()
    prepare_output(out)
    with open_sandbox(settings) as sandbox:
        bench = Bench(sandbox, settings, quick)
        about = machine(server_version(sandbox.server_dsn))
        figures, prices = uvloop.run(measure(bench))
    title = "the model layer, on {cores} cores (load {load_before} before), Postgres {postgres}, Python {python}"
    print_figures(title.format(**about), figures, quick=quick)
    print_table("1,000 of these exchanges, all four roles with one model", ("model", "dollars"), prices)
    cases = {name: [figure.to_json() for figure in found] for name, found in figures.items()}
    write_json(out, {"machine": about, "quick": quick, "figures": cases, "dollars": dict(prices)})
    console.print(f"figures are in {out}", markup=False, soft_wrap=True)
    hold_gates(figures, quick=quick)


async def measure(bench: Bench) -> tuple[dict[str, list[Figure]], list[tuple[str, float]]]:
    """Figures by case, and dollars by model."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/v1"
    with Processes(bench.sandbox.folder, "", bench.settings) as processes:
        processes.spawn(
            "model_server", "-m", "bench.model_server", str(port), PYTHONPATH=str(Path(__file__).parents[1])
        )
        await wait_for_port(port, processes)
        overhead = [*await calls(url, bench.pick(CALLS, QUICK_CALLS)), *await memory(url)]
        spent, prices = await exchanges(bench, url, bench.pick(EXCHANGES, QUICK_EXCHANGES))
        waited = await first_text(bench, url, bench.pick(TALKS, QUICK_TALKS))
    return {"a call": overhead, "an exchange": spent, f"{TOKENS_PER_S} tokens a second": waited}, prices


async def calls(url: str, count: int) -> list[Figure]:
    """The same call by turns through the SDK and through our layer."""
    sdk, ours = _bare(url), _layered(url)
    times: dict[str, list[float]] = {"sdk": [], "ours": []}
    cpu = {"sdk": 0.0, "ours": 0.0}
    for name, ask in [("sdk", sdk), ("ours", ours)] * (count + 20):
        began, used = time.perf_counter(), time.process_time()
        await ask()
        times[name].append(1000 * (time.perf_counter() - began))
        if len(times[name]) > 20:
            cpu[name] += 1000 * (time.process_time() - used)
    bare, layered = (statistics.median(times[name][20:]) for name in ("sdk", "ours"))
    return [
        Figure("the SDK alone", "ms", bare),
        Figure("through the layer", "ms", layered),
        Figure("the layer's part, median", "ms", layered - bare, limit=1.0),
        Figure("the layer's part, CPU", "ms", (cpu["ours"] - cpu["sdk"]) / count),
    ]


async def memory(url: str) -> list[Figure]:
    """The most that a hundred calls at once hold, through the SDK and through our layer."""
    sdk, ours = [await _peak(ask) for ask in (_bare(url), _layered(url))]
    return [
        Figure(f"{AT_ONCE} calls at once, the SDK", "MB", sdk),
        Figure(f"{AT_ONCE} calls at once, through the layer", "MB", ours),
        Figure(f"{AT_ONCE} calls at once, the layer's part", "MB", ours - sdk, limit=2.0),
    ]


async def exchanges(bench: Bench, url: str, count: int) -> tuple[list[Figure], list[tuple[str, float]]]:
    """Talks of twenty users, answered by models that tell their tokens; what the ledger says of an exchange."""
    async with open_system(bench, orchestrators=1, **_environment(url)) as system:
        users = [uuid4() for _ in range(USERS)]
        rows = [(users[number % USERS], f"{sentence(number)} What else do you know of it?") for number in range(count)]
        await system.connection.executemany("insert into pipeline_runs (user_id, user_query) values ($1, $2)", rows)
        await system.wait_archived(600.0)
        spent = {row["role"]: row for row in await system.connection.fetch(SPENT)}
        if set(spent) != set(ROLES.values()) or any(row["calls"] != count for row in spent.values()):
            raise MaasError("bench_failed", f"the ledger holds other calls than four an exchange: {spent}")
        tokens_in, tokens_out = (sum(row[side] for row in spent.values()) for side in ("tokens_in", "tokens_out"))
        scale = 1000 / count
        found = await system.connection.fetch(PRICED, round(tokens_in * scale), round(tokens_out * scale))
        figures = [
            Figure(f"{role}, tokens {side}", "", spent[role][f"tokens_{side}"] / count)
            for role in ROLES.values()
            for side in ("in", "out")
        ]
        return figures, [(f"{row['provider']}:{row['model']}", float(row["dollars"])) for row in found]


async def first_text(bench: Bench, url: str, talks: int) -> list[Figure]:
    """How long a person waits for the first text where all models write 60 tokens a second and every stage is asked."""
    seconds: list[float] = []
    async with openai.AsyncOpenAI(api_key="none", base_url=url) as client:
        model = f"{ROLES['RESPONDER']}@{TOKENS_PER_S}"
        alone = [
            await _seconds_to_text(client, model, "somebody", sentence(number)) for number in range(ANSWERS_A_TALK)
        ]
    async with open_system(bench, server=True, orchestrators=1, **_environment(url, TOKENS_PER_S)) as system:
        async with openai.AsyncOpenAI(api_key="none", base_url=f"http://127.0.0.1:{system.port}/v1") as client:
            for _ in range(talks):
                user = str(uuid4())
                for number in range(ANSWERS_A_TALK):
                    seconds.append(await _seconds_to_text(client, "mentor", user, sentence(number)))
                    await system.wait_archived()  # a person reads the answer meanwhile
        written = await system.connection.fetchval(WRITTEN_BEFORE)
    return [
        Figure("tokens written before an answer", "", written / len(seconds), limit=120),
        Figure("the first text of the Responder alone, median", "s", statistics.median(alone)),
        Figure(
            "what comes on top of it, median", "s", statistics.median(seconds) - statistics.median(alone), limit=1.2
        ),
        Figure("the first text of an answer, the last of ten", "s", sorted(seconds)[-1 - len(seconds) // 10]),
    ]


async def _seconds_to_text(client: openai.AsyncOpenAI, model: str, user: str, text: str) -> float:
    """Ask, read the whole answer, and return when its first text was there."""
    began, first = time.perf_counter(), 0.0
    messages: Any = [{"role": "user", "content": f"{text} What else do you know of it?"}]
    async for chunk in await client.chat.completions.create(model=model, messages=messages, user=user, stream=True):
        if not first and chunk.choices and chunk.choices[0].delta.content:
            first = time.perf_counter() - began
    return first


def _environment(url: str, tokens_per_s: int | None = None) -> dict[str, Any]:
    pace = f"@{tokens_per_s}" if tokens_per_s else ""
    environment = {f"MAAS_{name}_MODEL": f"openai:{role}{pace}" for name, role in ROLES.items()}
    environment |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "MAAS_ANALYZER_TIMEOUT": "30"}
    return environment | {"MAAS_ASSEMBLER_TIMEOUT": "30", "MAAS_USER_QUEUE_LIMIT": "10000"}


def _bare(url: str) -> Callable[[], Awaitable[Any]]:
    client = openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0)

    async def ask() -> Any:
        return await client.chat.completions.create(
            model="FinalResponder",
            messages=[{"role": "user", "content": PROMPT}],
            max_tokens=2000,
            temperature=0.7,
            timeout=30,
        )

    return ask


def _layered(url: str) -> Callable[[], Awaitable[Any]]:
    model = OpenAIModel("FinalResponder", api_key="none", base_url=url)
    request = Request(role="FinalResponder", messages=(Message("user", PROMPT),))
    return lambda: complete(model, request, budget=60, attempt_timeout=30)


async def _peak(ask: Callable[[], Awaitable[Any]]) -> float:
    await asyncio.gather(*(ask() for _ in range(AT_ONCE)))
    gc.collect()
    tracemalloc.start()
    await asyncio.gather(*(ask() for _ in range(AT_ONCE)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


if __name__ == "__main__":
    run_command(models)
