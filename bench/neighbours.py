"""What one user can do to another: a neighbour posts and is answered while somebody takes all there is to take.

`python -m bench.neighbours [--quick] [--only NAME] --out FILE.json` prints, for each thing that one user does, how long
another user's POST and answer take, beside the same alone. The model is the built-in one. Every figure is held to its
gate.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import typer
import uvloop

from bench.command import prepare_output, run_command
from bench.http_load import Caller
from bench.neighbour_acts import ACTS, Act, House, open_house
from bench.processes import resident_mb
from bench.report import Figure, console, hold_gates, machine, percentile, print_table, write_json
from bench.sandbox import notes, open_sandbox, server_version
from bench.sentences import sentence
from bench.system import Bench
from maas.settings import load_settings
from shared.errors import MaasError

SECONDS, QUICK_SECONDS = 8.0, 3.0  # of each act
PAUSE_S = 0.1  # between two requests of the neighbour
LOST_S = 60.0  # a request that takes longer counts as this long
POST_LIMIT_MS, ANSWER_LIMIT_MS = 200.0, 1000.0
MEMORY_LIMIT_MB = 300.0
ANSWER_WAIT_S = 30
COLUMNS = (
    "POST p50",
    "POST p95",
    "x alone",
    "answer p50",
    "answer p95",
    "answer x alone",
    "document p95",
    "orchestrator MB",
    "server MB",
)


@dataclass(slots=True)
class Seen:
    """What the neighbour met: milliseconds of each POST, of each answer, of each short document."""

    post: list[float] = field(default_factory=list)
    answer: list[float] = field(default_factory=list)
    text: list[float] = field(default_factory=list)

    def figures(self, alone: Seen | None, has_texts: bool) -> list[Figure]:
        """The percentiles, with their gates, and how often as long they are as alone."""
        before = alone or Seen()
        kinds = [("POST", "x alone", self.post, before.post, POST_LIMIT_MS)]
        kinds += [("answer", "answer x alone", self.answer, before.answer, ANSWER_LIMIT_MS)]
        if has_texts:
            kinds += [("document", "document x alone", self.text, before.text, ANSWER_LIMIT_MS)]
        figures = []
        for name, ratio, values, values_alone, limit in kinds:
            figures.append(Figure(f"{name} p50", "ms", percentile(values, 0.5)))
            figures.append(Figure(f"{name} p95", "ms", percentile(values, 0.95), limit))
            if values_alone:
                figures.append(Figure(ratio, "x", percentile(values, 0.5) / percentile(values_alone, 0.5)))
        return figures


def neighbours(
    out: Annotated[Path, typer.Option(help="file for the figures (JSON)")],
    quick: Annotated[bool, typer.Option("--quick", help="less of everything")] = False,
    only: Annotated[str | None, typer.Option(help="only acts whose name holds this")] = None,
) -> None:
    """Measure what users do to each other."""
    settings = load_settings()
    prepare_output(out)
    acts = [act for act in ACTS if only is None or only in act.name]
    if not acts:
        raise MaasError("bad_parameter", f"--only {only}: there is no such act; {', '.join(a.name for a in ACTS)}")
    with open_sandbox(settings) as sandbox:
        about = machine(server_version(sandbox.server_dsn))
        figures = uvloop.run(measure(Bench(sandbox, settings, quick), acts, QUICK_SECONDS if quick else SECONDS))
    title = "one user beside another, on {cores} cores (load {load_before} before), Postgres {postgres}; ms"
    print_table(title.format(**about), ("", *COLUMNS), [_row(name, found) for name, found in figures.items()])
    console.print(
        f"gates: POST p95 < {POST_LIMIT_MS:g} ms, answers and documents p95 < {ANSWER_LIMIT_MS:g} ms, "
        f"memory < {MEMORY_LIMIT_MB:g} MB" + ("; with --quick those of times are not held" if quick else "")
    )
    cases = {name: [figure.to_json() for figure in found] for name, found in figures.items()}
    write_json(out, {"machine": about, "quick": quick, "figures": cases})
    hold_gates(figures, quick=quick)


def _said(name: str, figures: list[Figure]) -> str:
    values = {figure.name: figure.value for figure in figures}
    return f"{name}: POST p95 {values['POST p95']:,.0f} ms, answer p95 {values['answer p95']:,.0f} ms"


def _row(name: str, figures: list[Figure]) -> list[object]:
    values = {figure.name: figure.value for figure in figures}
    return [name, *(values.get(column) for column in COLUMNS)]


async def measure(bench: Bench, acts: Sequence[Act], seconds: float) -> dict[str, list[Figure]]:
    """The neighbour alone, then beside each act, so many seconds each."""
    async with open_house(bench) as house:
        await observe(house, 1, with_texts=True)  # connections are opened, statements prepared
        alone = await observe(house, seconds, with_texts=True)
        figures = {"alone": alone.figures(None, has_texts=True)}
        for act in acts:
            await act.prepare(house)
            await house.wait_idle()
            async with running(act, house), memory_of(house) as peak:
                seen = await observe(house, seconds, with_texts=act.has_documents)
            figures[act.name] = seen.figures(alone, act.has_documents)
            figures[act.name].append(Figure("orchestrator MB", "MB", peak.orchestrator_mb, MEMORY_LIMIT_MB))
            figures[act.name].append(Figure("server MB", "MB", peak.server_mb))
            notes.print(_said(act.name, figures[act.name]), markup=False)
            house.check()
            await act.tidy(house)
            await house.wait_idle()
    return figures


@asynccontextmanager
async def running(act: Act, house: House) -> AsyncIterator[None]:
    """The act goes on, again and again, while the context is open."""
    task = asyncio.create_task(act.run(house))
    try:
        await asyncio.sleep(act.warm_up_s)
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@dataclass(slots=True)
class Peak:
    """The most memory that two processes had while they were watched."""

    orchestrator_mb: float = 0.0
    server_mb: float = 0.0


@asynccontextmanager
async def memory_of(house: House) -> AsyncIterator[Peak]:
    """Look at the memory of the processes five times a second."""
    peak = Peak()

    async def watch() -> None:
        while True:
            peak.orchestrator_mb = max(peak.orchestrator_mb, resident_mb(house.orchestrator.pid))
            peak.server_mb = max(peak.server_mb, resident_mb(house.server.pid))
            await asyncio.sleep(0.2)

    task = asyncio.create_task(watch())
    try:
        yield peak
    finally:
        task.cancel()


async def observe(house: House, seconds: float, *, with_texts: bool) -> Seen:
    """Post and wait for the answer, one after the other, as the neighbour."""
    seen = Seen()
    user_id = str(house.bob.user_id)
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end or not seen.answer:
        number += 1
        began = time.perf_counter()
        posted, accepted = await _timed(house, "POST", "/v1/runs", {"user_id": user_id, "query": sentence(number)})
        seen.post.append(posted)
        path = f"/v1/runs/{accepted['request_id']}?wait={ANSWER_WAIT_S}" if accepted else ""
        while path and time.perf_counter() - began < LOST_S:
            _, run = await _timed(house, "GET", path, None)
            if run and run["status"] in ("COMPLETED", "FAILED"):
                break
        seen.answer.append((time.perf_counter() - began) * 1000)
        if with_texts:
            document = {"user_id": user_id, "name": f"{uuid4()}.txt", "text": sentence(number)}
            seen.text.append((await _timed(house, "POST", "/v1/knowledge/texts", document))[0])
        await asyncio.sleep(PAUSE_S)
    return seen


async def _timed(house: House, method: str, path: str, body: object) -> tuple[float, Any]:
    """Milliseconds until the whole reply was there, and its JSON; None where it was refused or lost."""
    began = time.perf_counter()
    try:
        async with asyncio.timeout(LOST_S), Caller(house.port, house.bob.key, LOST_S) as caller:
            reply = await (caller.get(path) if method == "GET" else caller.post_and_read(path, body))
    except (TimeoutError, OSError, EOFError):
        return LOST_S * 1000, None
    status, value = reply
    return (time.perf_counter() - began) * 1000 if status < 400 else LOST_S * 1000, value if status < 400 else None


if __name__ == "__main__":
    run_command(neighbours, "bench.neighbours")
