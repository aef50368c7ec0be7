"""`maas trace`: everything that happened to one run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from maas.commands.cost import dollars, tokens
from maas.commands.given import memory_lines
from maas.commands.output import Table, say, say_json, show, styled
from maas.commands.session import read_uuid, with_database
from maas.pipeline.states import ROLE_OF, STAGE_OF
from maas.pipeline.trace import read_trace
from shared.db import ReadOnly
from shared.text import one_line, shorten

WIDTH = 40
COLOURS = {"done": "green", "running": "yellow", "failed": "red"}
Trace = Mapping[str, Any]


def trace_run(
    run: Annotated[str, typer.Argument(help="its id")],
    prompts: Annotated[
        bool, typer.Option("--prompts", "-v", help="the prompts, the draft and the payload, too")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="all of it as JSON")] = False,
) -> None:
    """Show how a run went: stages, model calls, memories, answer."""
    run_id = read_uuid(run, "run")
    trace = with_database(lambda db, _: read_trace(db, run_id), ReadOnly)
    if as_json:
        say_json(trace)
        return
    _print(trace)
    if prompts:
        for title, text in _texts(trace):
            say(f"{title}:\n{text}")
    if trace["run"]["error_message"]:
        show(f"{trace['run']['error_code']}: {trace['run']['error_message']}")
    if trace["run"]["final_answer"]:
        say(f"answer:\n{trace['run']['final_answer']}")


def _print(trace: Trace) -> None:
    for line in _head(trace):
        show(line)
    show(_timeline(trace))
    for line in _events(trace):
        show(line)
    for rows, table in ((trace["calls"], _calls), (trace["tools"], _tools)):
        if rows:
            show(table(trace))
    for line in memory_lines(trace["memories"]):
        show(line)


def _head(trace: Trace) -> Iterator[str]:
    run, took = trace["run"], trace["took"]
    yield f"run {run['id']} of user {run['user_id']}, {run['kind']}, turn {run['seq']}, try {run['try']}"
    after = f" after {took['answer_ms']:.0f} ms" if took["answer_ms"] is not None else ""
    archived = f" after {took['archive_ms']:.0f} ms" if took["archive_ms"] is not None else ""
    yield f"{run['status']}{after}, archive {run['archive_status']}{archived}"
    for cost in trace["costs"]:
        if cost["try"] == run["try"]:
            unpriced = f" and {cost['unpriced']} calls without a price" if cost["unpriced"] else ""
            yield f"{cost['calls']} model calls, {tokens(cost)} tokens in/out, {dollars(cost['price'])}{unpriced}"
    yield f"query: {shorten(one_line(run['user_query']), 500)}"
    if run["attachment_ids"]:
        yield f"with images: {', '.join(run['attachment_ids'])}"
    if before := trace["waited_for"]:
        waited = trace["stages"][0]["ms"] if trace["stages"] else 0.0
        yield f"waited for run {before['id']}, the turn before, {waited:.0f} ms"
    if waiting := trace["waiting"]:
        yield f"kept waiting: {', '.join(one['id'] for one in waiting)}"


def _timeline(trace: Trace) -> Table:
    table = Table()
    table.add_column("stage", no_wrap=True)
    table.add_column("ms", justify="right", no_wrap=True)
    table.add_column("when", no_wrap=True)
    table.add_column("how")
    whole = max((span["began_ms"] + (span["ms"] or 0.0) for span in trace["stages"]), default=0.0) or 1.0
    for span in trace["stages"]:
        how = [] if span["state"] == "done" else [span["state"]]
        how += ["by rule"] if span["is_degraded"] else []
        took = "" if span["ms"] is None else f"{span['ms']:.1f}"
        colour = "yellow" if span["is_degraded"] else COLOURS[span["state"]]
        reason = ": ".join([", ".join(how), span["why"]]) if span["why"] else ", ".join(how)
        table.add_row(span["stage"], took, styled(_bar(span, whole), colour), reason)
    return table


def _bar(span: Mapping[str, Any], whole: float) -> str:
    """Where a span lies in the whole; never shorter than one block."""
    start = min(round(span["began_ms"] / whole * WIDTH), WIDTH - 1)
    end = round((span["began_ms"] + (span["ms"] or 0.0)) / whole * WIDTH)
    return f"{' ' * start}{'█' * max(end - start, 1)}".ljust(WIDTH)


def _events(trace: Trace) -> Iterator[str]:
    """What happened beside the way through the statuses: reclaims, retries, cancels."""
    statuses = {*STAGE_OF, "FAILED", "ARCHIVED"}
    for one in trace["history"]:
        if one["happened"] not in statuses:
            details = json.dumps(one["details"], ensure_ascii=False) if one["details"] else ""
            yield f"{one['at'][:19].replace('T', ' ')} {one['happened']} {details}"


def _calls(trace: Trace) -> Table:
    table = Table()
    for name in ("stage", "model", "prompt", "finish", "requests", "tokens in/out", "ms", "price", "error"):
        table.add_column(name)
    current = {(one["role"], one["version"]): one["current_version"] for one in trace["prompts"]}
    for call in trace["calls"]:
        version = current[call["role_name"], call["prompt_version"]]
        newer = f" (now v{version})" if version is not None and version != call["prompt_version"] else ""
        retried = "" if call["try"] == trace["run"]["try"] else f" (try {call['try']})"
        table.add_row(
            call["stage"] + retried, f"{call['provider']}:{call['model']}",
            f"{call['role_name']} v{call['prompt_version']}{newer}", call["finish"], str(call["attempts"]),
            tokens(call), f"{call['ms']:.1f}", dollars(call["price"]), call["error"] or "",
        )  # fmt: skip
    return table


def _tools(trace: Trace) -> Table:
    table = Table()
    for name in ("tool", "effect", "status", "ms"):
        table.add_column(name)
    for one in trace["tools"]:
        retried = "" if one["try"] == trace["run"]["try"] else f" (try {one['try']})"
        took = "" if one["ms"] is None else f"{one['ms']:.1f}"
        table.add_row(one["tool"] + retried, one["effect"], one["status"], took)
    return table


def _texts(trace: Trace) -> Iterator[tuple[str, str]]:
    run = trace["run"]
    roles = list(ROLE_OF.values())
    for prompt in sorted(trace["prompts"], key=lambda one: roles.index(one["role"]) if one["role"] in roles else 9):
        yield f"prompt {prompt['role']} v{prompt['version']}", prompt["text"] or "(the built-in text)"
    if run["analysis_result"]:
        yield "analysis", json.dumps(run["analysis_result"], ensure_ascii=False, indent=1)
    for name, text in (("draft", run["draft_context"]), ("payload", run["final_context_payload"])):
        if text:
            yield name, text
