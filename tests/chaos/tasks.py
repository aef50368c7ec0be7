"""Tasks under kill -9: an orchestrator is killed every second, and SQL counts what became of each step.

A slow machine may need more than a second to start one: the next is killed after a step has ended since the last kill.

`python -m tests.chaos.tasks [--tasks N] [--out FILE.json]`; the exit status is 1 when a step was done twice, was lost,
or is in doubt without a reason.
"""

from __future__ import annotations

import json
import signal
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import psycopg
import typer
from psycopg.rows import DictRow, dict_row

from bench.command import prepare_output, run_command
from bench.report import console, print_table
from tests.chaos.own_stack import conclude, own_stack, server_version
from tests.chaos.witness import statements
from tests.polling import poll
from tests.stack import Stack

STEPS = 10
TASKS_OF_A_USER = 10
STANDSTILL_S = 120.0
SETTINGS = {
    "MAAS_TOOLS": "tests.chaos.task_tools:TOOLS",
    "MAAS_POLL_INTERVAL": "0.25",
    "MAAS_CONCURRENCY": "16",
    "MAAS_LOG_LEVEL": "warning",
}


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """What SQL found; `offences` by check, all of which should be 0. `figures` count steps by status, and reclaims."""

    offences: dict[str, int]
    figures: dict[str, int]
    kills: int
    seconds: float

    @property
    def holds(self) -> bool:
        return not any(self.offences.values())


def steps_of_a_task() -> list[dict[str, Any]]:
    """Writes, one that may be repeated and a read; the last two depend on others."""
    tools = ["mark"] * STEPS
    tools[3], tools[6] = "look", "mark_again"
    needs: list[list[int]] = [[] for _ in tools]
    needs[8], needs[9] = [1, 2], [9]
    return [
        {"title": f"Step {n}", "tool": tool, "arguments": {"number": n}, "depends_on": needs[n - 1]}
        for n, tool in enumerate(tools, 1)
    ]


def hold_task_trial(stack: Stack, tasks: int, orchestrators: int = 2, interval: float = 1.0) -> TaskVerdict:
    """Insert the tasks, kill an orchestrator every `interval` seconds or later until nearly all are over, and count."""
    with psycopg.connect(stack.dsn, autocommit=True, row_factory=dict_row) as connection:
        connection.execute(statements()["task_tables"].encode())
        definition = json.dumps({"toolset": ["marks"]})
        add = "insert into assistants (name, role_name, definition) values ('worker', 'Mentor', %s)"
        connection.execute(add, (definition,))
        processes = [stack.start_orchestrator(**SETTINGS)]
        poll(lambda: connection.execute("select from tools").fetchall(), 30, "the tools are stored")
        steps = json.dumps(steps_of_a_task())
        for number in range(tasks):
            user = UUID(int=number // TASKS_OF_A_USER + 1)
            row = connection.execute(
                statements()["insert_chaos_task"].encode(), (user, f"Task {number}", steps)
            ).fetchone()
            assert row is not None and row["verdict"] == "inserted"
        processes += [stack.launch("main.py", **SETTINGS) for _ in range(orchestrators - 1)]
        began = moved = time.monotonic()
        kills, left, left_at_kill = 0, tasks * STEPS, tasks * STEPS
        for beat in count():
            time.sleep(max(0.0, began + (beat + 1) * interval - time.monotonic()))
            unfinished = _value(connection, "unfinished_tasks")
            steps_left = _value(connection, "unfinished_steps")
            if unfinished == 0:
                break
            if steps_left != left:
                left, moved = steps_left, time.monotonic()
            if time.monotonic() - moved > STANDSTILL_S:
                break
            if unfinished > max(2, tasks // 50) and left < left_at_kill:
                place = kills % orchestrators
                stack.stop(processes[place], signal.SIGKILL)
                processes[place] = stack.launch("main.py", **SETTINGS)
                kills, left_at_kill = kills + 1, left
        seconds = time.monotonic() - began
        for process in processes:
            stack.stop(process)
        rows = connection.execute(statements()["task_verdict"].encode()).fetchall()
        figures = connection.execute(statements()["task_figures"].encode()).fetchone()
        assert figures is not None
        return TaskVerdict({row["name"]: row["found"] for row in rows}, dict(figures), kills, round(seconds, 1))


def _value(connection: psycopg.Connection[DictRow], name: str) -> int:
    row = connection.execute(statements()[name].encode()).fetchone()
    assert row is not None
    return int(row["n"])


def chaos_of_tasks(
    tasks: Annotated[int, typer.Option(min=10, help="how many tasks of ten steps")] = 1000,
    out: Annotated[Path | None, typer.Option(help="file for the verdict (JSON)")] = None,
) -> None:
    """Kill an orchestrator every second while tasks are executed, and let SQL say what became of their steps."""
    path = prepare_output(out) if out else None
    with own_stack("tasks") as (stack, _):
        verdict = hold_task_trial(stack, tasks)
        version = server_version(stack)
    report(verdict)
    conclude(path, verdict, version, kills=verdict.kills, holds=verdict.holds, what="tasks")


def report(verdict: TaskVerdict) -> None:
    """Print the verdict."""
    print_table("Steps", ["", "count"], list(verdict.figures.items()))
    print_table("Offences", ["", "found"], list(verdict.offences.items()))
    console.print(f"{verdict.kills} kills in {verdict.seconds:.0f} s: {'holds' if verdict.holds else 'FAILED'}")


if __name__ == "__main__":
    run_command(chaos_of_tasks, "chaos.tasks")
