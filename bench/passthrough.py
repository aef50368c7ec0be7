"""What memory costs a client that calls a model by its name: the first token through MaaS beside the provider's own.

`python -m bench.passthrough [--quick] --out FILE.json` asks one provider by turns directly and through a server, for
users with the memory of an invented year (bench/lives.py), by words and by words and meaning.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Annotated, Any

import httpx2
import typer
import uvloop

from bench.command import prepare_output, run_command
from bench.lives import Life, make_lives
from bench.processes import Processes
from bench.report import Figure, hold_gates, machine, percentiles, print_figures, write_json
from bench.sandbox import open_sandbox, server_version
from bench.system import Bench, free_port, open_system, wait_for_port
from maas.settings import load_settings
from shared.errors import MaasError

LIVES = 10
QUESTIONS, QUICK_QUESTIONS = 300, 30
WARM_UP = 20
WORDS_LIMIT_MS, VECTORS_LIMIT_MS = 15.0, 40.0
EMBEDDERS = {"words": "none", "words and meaning": "local:e5-small"}
MODEL = "FinalResponder"  # of bench.model_server


def passthrough(
    out: Annotated[Path, typer.Option(help="file for the figures (JSON)")],
    quick: Annotated[bool, typer.Option("--quick", help="few questions, within a minute")] = False,
) -> None:
    """Measure the first token of pass-through models."""
    settings = load_settings()
    prepare_output(out)
    with open_sandbox(settings) as sandbox:
        about = machine(server_version(sandbox.server_dsn))
        figures = uvloop.run(measure(Bench(sandbox, settings, quick)))
    title = "the first token, on {cores} cores (load {load_before} before), Postgres {postgres}, Python {python}"
    print_figures(title.format(**about), figures, quick=quick)
    cases = {name: [figure.to_json() for figure in found] for name, found in figures.items()}
    write_json(out, {"machine": about, "quick": quick, "figures": cases})
    hold_gates(figures, quick=quick)


async def measure(bench: Bench) -> dict[str, list[Figure]]:
    """Figures by how memory is searched."""
    port, root = free_port(), str(Path(__file__).parents[1])
    found: dict[str, list[Figure]] = {}
    with Processes(bench.sandbox.folder, "", bench.settings) as processes:
        processes.spawn("model_server", "-m", "bench.model_server", str(port), PYTHONPATH=root)
        await wait_for_port(port, processes)
        provider = f"http://127.0.0.1:{port}/v1"
        for name, embedder in EMBEDDERS.items():
            environment: dict[str, Any] = {
                "OPENAI_BASE_URL": provider,
                "OPENAI_API_KEY": "none",
                "MAAS_EMBEDDING_MODEL": embedder,
                "MAAS_USER_RATE": "0",
            }
            async with open_system(bench, server=True, orchestrators=1, **environment) as system:
                ours = f"http://127.0.0.1:{system.port}/v1"
                limit = WORDS_LIMIT_MS if embedder == "none" else VECTORS_LIMIT_MS
                async with httpx2.AsyncClient(timeout=60, trust_env=False) as http:
                    lives = make_lives(LIVES, seed=1)
                    for life in lives:
                        await remember(http, ours, life)
                    await system.wait_archived()
                    count = bench.pick(QUESTIONS, QUICK_QUESTIONS)
                    found[name] = await compare(http, provider, ours, lives, count, limit)
    return found


async def remember(http: httpx2.AsyncClient, url: str, life: Life) -> None:
    """Import what a person said."""
    user = (await _sent(http, f"{url}/users", {"external_id": life.name}))["user_id"]
    lines = [{"role": "user", "content": one.text, "at": one.at.isoformat()} for one in life.said]
    await _sent(http, f"{url}/users/{user}/import", lines)


async def compare(
    http: httpx2.AsyncClient, provider: str, ours: str, lives: list[Life], count: int, limit: float
) -> list[Figure]:
    """Milliseconds to the first token, by turns."""
    direct, through = list[float](), list[float]()
    asked = _questions(lives)
    for _ in range(count + WARM_UP):
        user, question = next(asked)
        direct.append(await first_token(http, provider, MODEL, user, question))
        through.append(await first_token(http, ours, f"openai:{MODEL}", user, question))
    direct, through = direct[WARM_UP:], through[WARM_UP:]
    more = statistics.median(through) - statistics.median(direct)
    return [
        *percentiles("direct", direct, (50, 95)),
        *percentiles("through MaaS", through, (50, 95)),
        Figure("more through MaaS, median", "ms", more, limit=limit),
    ]


async def first_token(http: httpx2.AsyncClient, url: str, model: str, user: str, question: str) -> float:
    """Milliseconds until the first event of an answer; the rest is read, too."""
    body = {"model": model, "user": user, "stream": True, "messages": [{"role": "user", "content": question}]}
    began, first = time.perf_counter(), 0.0
    async with http.stream("POST", f"{url}/chat/completions", json=body, headers={"X-MaaS-Remember": "off"}) as reply:
        if reply.status_code != 200:
            raise MaasError("bench_failed", f"{url}: {reply.status_code} {(await reply.aread())[:300]!r}")
        async for line in reply.aiter_lines():
            if not first and line.startswith("data:"):
                first = 1000 * (time.perf_counter() - began)
    return first


def _questions(lives: list[Life]) -> Iterator[tuple[str, str]]:
    """Users and their questions, each question a little different, so that nothing is cached."""
    pairs = [(life.name, one.text) for life in lives for one in life.asked]
    for number, (name, text) in enumerate(cycle(pairs)):
        yield name, f"{text} ({number})"


async def _sent(http: httpx2.AsyncClient, url: str, body: Any) -> Any:
    reply = await http.post(url, json=body)
    if reply.status_code >= 300:
        raise MaasError("bench_failed", f"{url}: {reply.status_code} {reply.text[:300]}")
    return reply.json()


if __name__ == "__main__":
    run_command(passthrough)
