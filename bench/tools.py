"""What the tool runtime costs: a round of model and tool in the product beside the same round of the bare SDK.

`python -m bench.tools [--quick] --out FILE.json` asks one model server for dialogues of several tool rounds and of
none, by turns through the SDK's own loop and through runs of the product, whose rounds are pinned, counted, guarded,
noted and sent to followers. What a dialogue with rounds takes longer than one without is divided by its rounds.
"""

from __future__ import annotations

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
from maas.agents.tools import ToolContext, Toolset, tool
from maas.engine.stages import Deps
from shared.errors import MaasError
from shared.settings import load_settings

ROUNDS = 8
DIALOGUES, QUICK_DIALOGUES = 100, 15
LIMIT_MS = 5.0
DEFINITION = """
insert into assistants (name, role_name, definition)
values ('bench', 'Mentor', '{"toolset": ["bench", "opened"], "limits": {"rounds": 20}}')"""
ASK = "insert into pipeline_runs (user_id, user_query, assistant) values ($1, $2, 'bench') returning id"
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


TOOLS = Toolset([look, mark, look_up])
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
        "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": "none", "PYTHONPATH": root,
        "MAAS_TOOLS": "bench.tools:TOOLS", "MAAS_RESPONDER_MODEL": "openai:FinalResponder",
    }  # fmt: skip
    with Processes(bench.sandbox.folder, "", bench.settings) as processes:
        processes.spawn("model_server", "-m", "bench.model_server", str(port), PYTHONPATH=root)
        await wait_for_port(port, processes)
        async with open_system(bench, **environment) as system:
            await system.connection.execute(DEFINITION)
            await system.start(server=False, orchestrators=1)
            sdk = openai.AsyncOpenAI(api_key="none", base_url=environment["OPENAI_BASE_URL"], max_retries=0)
            count = bench.pick(DIALOGUES, QUICK_DIALOGUES)
            return {
                f"{ROUNDS} rounds, each {CASES[one.name]}": await compare(sdk, system, one.name, count) for one in TOOLS
            }


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


async def bare_dialogue(sdk: openai.AsyncOpenAI, query: str) -> float:
    """Milliseconds of the loop that everybody writes: asked, called, asked again."""
    shown = [{"name": one.name, "description": one.description, "parameters": one.parameters} for one in TOOLS]
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


async def our_dialogue(system: System, query: str) -> float:
    """Milliseconds that a run was RESPONDING."""
    run_id = await system.connection.fetchval(ASK, uuid4(), query)
    deadline = Deadline(30.0, "an answer")
    while (row := await system.connection.fetchrow(TOOK, run_id)) is None:
        await system.pause(deadline)
    if row["error_message"]:
        raise MaasError("bench_failed", row["error_message"])
    return float(row["ms"])


if __name__ == "__main__":
    run_command(tools)
