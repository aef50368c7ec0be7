"""What the tool runtime costs: a round of model and tool in the product beside the same round of the bare SDK.

`python -m bench.tools [--quick] --out FILE.json` asks one model server for dialogues of several tool rounds and of
none, by turns through the SDK's own loop and through runs of the product, whose rounds are pinned, counted, guarded,
noted and sent to followers. What a dialogue with rounds takes longer than one without is divided by its rounds.

Two more cases show what is done side by side: tools of three domains, and six sources of context.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import openai
import typer
import uvloop
from pydantic import BaseModel, SecretStr

from bench.command import prepare_output, run_command
from bench.processes import Deadline, Processes
from bench.report import Figure, hold_gates, machine, print_figures, write_json
from bench.sandbox import open_sandbox, server_version
from bench.system import Bench, System, free_port, open_system, wait_for_port
from maas.engine.stages import Deps
from maas.settings import load_settings
from maas.tools.tool import Tool, ToolContext, Toolset, tool
from shared.errors import MaasError

ROUNDS = 8
DIALOGUES, QUICK_DIALOGUES = 100, 15
LIMIT_MS = 5.0
SLOW_DOMAINS, SOURCES = ("first", "second", "third"), tuple(f"source_{number}" for number in range(1, 7))
DOMAIN_S, SOURCE_S = 0.5, 0.3
DOMAINS_LIMIT_MS, SOURCES_LIMIT_MS = 600.0, 400.0
BATCHES, QUICK_BATCHES = 20, 5
DEFINITIONS: dict[str, dict[str, Any]] = {
    "bench": {"toolset": ["bench", "opened"], "limits": {"rounds": 20}},
    "domains": {"routing": "meta_tools", "toolset": list(SLOW_DOMAINS)},
    "sources": {"toolset": ["bench"], "context_providers": list(SOURCES)},
}
ADD_ASSISTANT = "insert into assistants (name, role_name, definition) values ($1, 'Mentor', $2)"
ASK = "insert into pipeline_runs (user_id, user_query, assistant) values ($1, $2, $3) returning id"
TOOK = """
select extract(epoch from completed_at - responding_at) * 1000 as ms, error_message from pipeline_runs
where id = $1 and status in ('COMPLETED', 'FAILED')"""


class Place(BaseModel):
    number: int


@tool(domain="bench", effect="read")
async def look(place: Place) -> Any:
    """Look at a place."""
    return {"number": place.number, "is_open": True}


async def verify_mark(_: Place, __: ToolContext, data: Any) -> Any:
    """What `mark` has returned: it marks nothing."""
    return data


@tool(domain="bench", effect="write", verify=verify_mark)
async def mark(place: Place) -> Any:
    """Mark a place."""
    return {"number": place.number, "is_marked": True}


@tool(domain="opened", effect="read", needs="connected")
async def look_up(place: Place, context: ToolContext) -> Any:
    """Look up a place in an account."""
    return {"number": place.number, "account": context.values["account"]}


async def open_account(deps: Deps, context: ToolContext) -> Mapping[str, Any]:
    """An account and its token."""
    return {"connected": True, "has_data": True, "account": "act_1", "token": SecretStr(f"token-of-{context.user_id}")}


def slow_tool(name: str, domain: str, seconds: float) -> Tool:
    @tool(name=name, domain=domain, effect="read")
    async def wait() -> Any:
        """Wait."""
        await asyncio.sleep(seconds)
        return {"waited": seconds}

    return wait


ROUND_TOOLS = Toolset([look, mark, look_up])
SLOW_TOOLS = [slow_tool(f"wait_{name}", name, DOMAIN_S) for name in SLOW_DOMAINS]
TOOLS = Toolset([*ROUND_TOOLS, *SLOW_TOOLS, *(slow_tool(name, "sources", SOURCE_S) for name in SOURCES)])
OPENERS = {"opened": open_account}
CASES = {"look": "a read", "mark": "a write", "look_up": "a read in a domain with an opener"}


def tools(
    out: Annotated[Path, typer.Option(help="file for the figures (JSON)")],
    quick: Annotated[bool, typer.Option("--quick", help="few dialogues, within a minute")] = False,
) -> None:
    """Measure a round of tools."""
    settings = load_settings()
    prepare_output(out)
    with open_sandbox(settings) as sandbox:
        bench = Bench(sandbox, settings, quick)
        about = machine(server_version(sandbox.server_dsn))
        figures = uvloop.run(measure(bench))
    title = "a round of tools, on {cores} cores (load {load_before} before), Postgres {postgres}, Python {python}"
    print_figures(title.format(**about), figures, quick=quick)
    cases = {name: [figure.to_json() for figure in found] for name, found in figures.items()}
    write_json(out, {"machine": about, "quick": quick, "figures": cases})
    hold_gates(figures, quick=quick)


async def measure(bench: Bench) -> dict[str, list[Figure]]:
    """Figures by the tool that the rounds call."""
    port = free_port()
    root = str(Path(__file__).parents[1])
    environment: dict[str, Any] = {
        "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "OPENAI_API_KEY": "none",
        "PYTHONPATH": root,
        "MAAS_TOOLS": "bench.tools:TOOLS",
        "MAAS_RESPONDER_MODEL": "openai:FinalResponder",
    }
    with Processes(bench.sandbox.folder, "", bench.settings) as processes:
        processes.spawn("model_server", "-m", "bench.model_server", str(port), PYTHONPATH=root)
        await wait_for_port(port, processes)
        async with open_system(bench, **environment) as system:
            for name, definition in DEFINITIONS.items():
                await system.connection.execute(ADD_ASSISTANT, name, definition)
            await system.start(server=False, orchestrators=1)
            sdk = openai.AsyncOpenAI(api_key="none", base_url=environment["OPENAI_BASE_URL"], max_retries=0)
            count = bench.pick(DIALOGUES, QUICK_DIALOGUES)
            rounds = {
                f"{ROUNDS} rounds, each {CASES[one.name]}": await compare(sdk, system, one.name, count)
                for one in ROUND_TOOLS
            }
            return rounds | {"side by side": await side_by_side(system, bench.pick(BATCHES, QUICK_BATCHES))}


async def compare(sdk: openai.AsyncOpenAI, system: System, name: str, count: int) -> list[Figure]:
    """Dialogues with rounds and without, of the SDK and of the product, by turns."""
    bare: dict[int, list[float]] = {0: [], ROUNDS: []}
    ours: dict[int, list[float]] = {0: [], ROUNDS: []}
    for rounds in [0, ROUNDS] * (count + 3):
        query = f"Call {name} {rounds} times."
        bare[rounds].append(await bare_dialogue(sdk, query))
        ours[rounds].append(await our_dialogue(system, query))
    a_round = {
        who: (statistics.median(took[ROUNDS][3:]) - statistics.median(took[0][3:])) / ROUNDS
        for who, took in (("bare", bare), ("ours", ours))
    }
    return [
        Figure("a round of the SDK's loop", "ms", a_round["bare"]),
        Figure("a round of the product", "ms", a_round["ours"]),
        Figure("the runtime's part, median", "ms", a_round["ours"] - a_round["bare"], limit=LIMIT_MS),
    ]


async def side_by_side(system: System, count: int) -> list[Figure]:
    """What tools of three domains and six sources of context add to a run; each of them waits."""
    calls = json.dumps({"tools": [{"name": one.name} for one in SLOW_TOOLS]})
    queries = {
        "bench": "Call look 0 times.",
        "domains": f"Call executeTools 1 times. {calls}",
        "sources": "Call look 0 times.",
    }
    took: dict[str, list[float]] = {name: [] for name in queries}
    for _ in range(count):
        for name, query in queries.items():
            took[name].append(await our_dialogue(system, query, name))
    plain, domains, sources = (statistics.median(one) for one in took.values())
    return [
        Figure(f"three domains of {DOMAIN_S} s and a round of the model", "ms", domains - plain, DOMAINS_LIMIT_MS),
        Figure(f"six sources of {SOURCE_S} s", "ms", sources - plain, SOURCES_LIMIT_MS),
    ]


async def bare_dialogue(sdk: openai.AsyncOpenAI, query: str) -> float:
    """Milliseconds of the loop that everybody writes: asked, called, asked again."""
    shown = [{"name": one.name, "description": one.description, "parameters": one.parameters} for one in ROUND_TOOLS]
    specs: list[Any] = [{"type": "function", "function": one} for one in shown]
    messages: list[Any] = [{"role": "user", "content": query}]
    began = time.perf_counter()
    while True:
        async with sdk.chat.completions.stream(model="FinalResponder", messages=messages, tools=specs) as stream:
            message = (await stream.get_final_completion()).choices[0].message
        if not message.tool_calls:
            return 1000 * (time.perf_counter() - began)
        messages.append(message.model_dump(include={"role", "content", "tool_calls"}))
        for call in message.tool_calls:
            arguments = json.loads(call.function.arguments)
            content = json.dumps({"success": True, "data": {"number": arguments["number"]}})
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


async def our_dialogue(system: System, query: str, assistant: str = "bench") -> float:
    """Milliseconds that a run was RESPONDING."""
    run_id = await system.connection.fetchval(ASK, uuid4(), query, assistant)
    deadline = Deadline(30.0, "an answer")
    while (row := await system.connection.fetchrow(TOOK, run_id)) is None:
        await system.pause(deadline)
    if row["error_message"]:
        raise MaasError("bench_failed", row["error_message"])
    return float(row["ms"])


if __name__ == "__main__":
    run_command(tools)
