"""`maas trace`: everything that happened to one run."""

from __future__ import annotations

import json
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.table import Table

from maas.commands.given import memory_lines, read_given
from maas.commands.session import console, read_uuid, with_database
from maas.pipeline.submissions import read_run
from shared.db import Database
from shared.text import one_line, shorten


def trace_run(
    run: Annotated[str, typer.Argument(help="its id")],
    as_json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
) -> None:
    """Show how a run went: statuses, model calls, memories, answer."""
    run_id = read_uuid(run, "run")
    found = with_database(lambda db, _: _read(db, run_id))
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=1, default=str))
        return
    _print(found)


async def _read(db: Database, run_id: UUID) -> dict[str, Any]:
    run = await read_run(db, run_id)
    return {
        "run": run,
        "history": [dict(row) for row in await db.rows("run_history", run_id)],
        "calls": [dict(row) for row in await db.rows("run_calls", run_id)],
        "memories": await read_given(db, run["user_id"], run["sources"] or []),
    }


def _print(found: dict[str, Any]) -> None:
    run = found["run"]
    console.print(f"run {run['id']} of user {run['user_id']}, {run['kind']}, turn {run['seq']}, try {run['try']}")
    console.print(f"query: {shorten(one_line(run['user_query']), 500)}", markup=False)
    start = run["created_at"]
    steps = Table(box=None, pad_edge=False)
    for name in ("ms", "what", "details"):
        steps.add_column(name, justify="right" if name == "ms" else "left")
    for row in found["history"]:
        after = (row["at"] - start).total_seconds() * 1000
        details = json.dumps(row["details"], ensure_ascii=False) if row["details"] else ""
        steps.add_row(f"{after:.1f}", row["happened"], details)
    console.print(steps, markup=False)
    calls = Table(box=None, pad_edge=False)
    for name in ("stage", "model", "prompt", "finish", "requests", "tokens in/out", "ms", "error"):
        calls.add_column(name)
    for row in found["calls"]:
        calls.add_row(
            row["stage"], f"{row['provider']}:{row['model']}", f"{row['role_name']} v{row['prompt_version']}",
            row["finish"], str(row["attempts"]), f"{row['tokens_in']}/{row['tokens_out']}", f"{row['ms']:.1f}",
            row["error"] or "",
        )  # fmt: skip
    console.print(calls, markup=False)
    if run["degraded"]:
        console.print(f"by rule, since the model was silent: {', '.join(run['degraded'])}")
    for line in memory_lines(found["memories"]):
        console.print(line, markup=False)
    if run["error_message"]:
        console.print(f"{run['error_code']}: {run['error_message']}", markup=False)
    if run["final_answer"]:
        typer.echo(f"answer:\n{run['final_answer']}")
