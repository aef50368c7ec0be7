"""`maas runs`, `maas trace` and `maas replay`: a list of runs, the trace of one run, and its stages executed again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, cast
from uuid import UUID

import typer

from maas import queries
from maas.cli.run_control import read_attributes
from maas.engine.states import ROLE_OF, STAGE_OF, Priority, RunKind, Status
from maas.runs import lists
from maas.runs.trace import read_trace
from maas.settings import Settings
from maas.terminal.invocation import note_all, note_user, read_uuid, with_database
from maas.terminal.output import Table, show, styled, write, write_json
from shared.db import Database
from shared.text import one_line, shorten

BAR_CHARS = 40
STATE_COLOURS = {"done": "green", "running": "yellow", "failed": "red"}
MAX_MESSAGES = 10
MAX_MESSAGES_OF_SUMMARY = 5
MAX_MEMORY_CHARS = 160
MAX_VALUE_CHARS = 120  # of the arguments and of the result of a tool call
Trace = Mapping[str, Any]


def list_runs(
    user: Annotated[str | None, typer.Option("--user", "-u", help="only runs of this user, a UUID")] = None,
    status: Annotated[Status | None, typer.Option(help="only runs with this status")] = None,
    kind: Annotated[RunKind | None, typer.Option(help="only runs of this kind")] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option("--attribute", metavar="NAME=VALUE", help="only runs with this attribute; may be repeated"),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="maximum number of runs")] = 20,
) -> None:
    """Print a table of runs."""
    user_id = read_uuid(user, "--user") if user else None
    only = lists.RunFilter(user_id, status, kind, attributes=read_attributes(attribute))

    async def read(db: Database, _: Settings) -> list[queries.ListRunsRow]:
        if user_id is None:
            await note_all(db, "runs", "runs_list")
        return await lists.list_runs(db, only, limit=limit)

    rows = with_database(read, command="runs", user_id=user_id)
    table = Table()
    for name in ("run", "at", "kind", "status", "archive", "ms", "query"):
        table.add_column(name, no_wrap=name == "run")
    for row in rows:
        ended_at: datetime | None = row["completed_at"]
        ms = f"{(ended_at - row['created_at']).total_seconds() * 1000:.0f}" if ended_at else None
        place = [
            row["priority"] and Priority(row["priority"]).word,
            row["run_at"] and f"not before {row['run_at']:%m-%d %H:%M}",
        ]
        remarks = [*place, row["error_code"], row["limited"], row["memory"] != "ok" and f"memory {row['memory']}"]
        state = row["status"] + "".join(f" ({remark})" for remark in remarks if remark)
        table.add_row(
            str(row["id"]),
            f"{row['created_at']:%m-%d %H:%M:%S}",
            row["kind"],
            state,
            row["archive_status"],
            ms,
            shorten(one_line(row["query"]), 60),
        )
    show(table)


def trace_run(
    run: Annotated[str, typer.Argument(help="id of the run")],
    prompts: Annotated[
        bool, typer.Option("--prompts", "-v", help="also print the prompts, the draft and the payload")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the whole trace as JSON")] = False,
) -> None:
    """Print the trace of a run. Raises MaasError('not_found')."""
    run_id = read_uuid(run, "run")

    async def read(db: Database, _: Settings) -> Trace:
        found = await read_trace(db, run_id)
        await note_user(db, "trace", UUID(found["run"]["user_id"]))
        return found

    trace = with_database(read)
    if as_json:
        write_json(trace)
        return
    _print_trace(trace)
    if prompts:
        for title, text in _texts(trace):
            write(f"{title}:\n{text}")
    if trace["run"]["error_message"]:
        show(f"{trace['run']['error_code']}: {trace['run']['error_message']}")
    if trace["run"]["final_answer"]:
        write(f"answer:\n{trace['run']['final_answer']}")


def dollars(price: int | None) -> str:
    """A price in millionths of a dollar as dollars; `?` for an unknown price."""
    return "?" if price is None else f"${price / 1_000_000:.6f}"


def tokens(call: Mapping[str, Any]) -> str:
    """Input and output tokens, with the number of cached input tokens."""
    cached = f" ({call['tokens_cached']} cached)" if call.get("tokens_cached") else ""
    return f"{call['tokens_in']}/{call['tokens_out']}{cached}"


def _print_trace(trace: Trace) -> None:
    for line in _head(trace):
        show(line)
    show(_timeline(trace))
    for line in _history(trace):
        show(line)
    for rows, table in ((trace["calls"], _calls), (trace["tools"], _tools), (trace["steps"], _steps)):
        if rows:
            show(table(trace))
    for line in memory_lines(trace["memories"]):
        show(line)


def _head(trace: Trace) -> Iterator[str]:
    run, durations = trace["run"], trace["took"]
    yield f"run {run['id']} of user {run['user_id']}, {run['kind']}, seq {run['seq']}, try {run['try']}"
    after = f" after {durations['answer_ms']:.0f} ms" if durations["answer_ms"] is not None else ""
    archived = f" after {durations['archive_ms']:.0f} ms" if durations["archive_ms"] is not None else ""
    yield f"{run['status']}{after}, archive {run['archive_status']}{archived}"
    for cost in trace["costs"]:
        if cost["try"] == run["try"]:
            unpriced = f" and {cost['unpriced']} calls without a price" if cost["unpriced"] else ""
            yield f"{cost['calls']} model calls, {tokens(cost)} tokens in/out, {dollars(cost['price'])}{unpriced}"
    yield f"query: {shorten(one_line(run['user_query']), 500)}"
    if run["attachment_ids"]:
        yield f"with images: {', '.join(run['attachment_ids'])}"
    if before := trace["waited_for"]:
        waited_ms = trace["stages"][0]["ms"] if trace["stages"] else 0.0
        yield f"waited for run {before['id']}, the previous run of its queue, {waited_ms:.0f} ms"
    if waiting := trace["waiting"]:
        yield f"delayed runs: {', '.join(other['id'] for other in waiting)}"


def _timeline(trace: Trace) -> Table:
    table = Table()
    table.add_column("stage", no_wrap=True)
    table.add_column("ms", justify="right", no_wrap=True)
    table.add_column("when", no_wrap=True)
    table.add_column("remarks")
    total_ms = max((span["began_ms"] + (span["ms"] or 0.0) for span in trace["stages"]), default=0.0) or 1.0
    for span in trace["stages"]:
        remarks = [] if span["state"] == "done" else [span["state"]]
        remarks += ["by rule"] if span["is_degraded"] else []
        ms = "" if span["ms"] is None else f"{span['ms']:.1f}"
        colour = "yellow" if span["is_degraded"] else STATE_COLOURS[span["state"]]
        text = ": ".join([", ".join(remarks), span["why"]]) if span["why"] else ", ".join(remarks)
        table.add_row(span["stage"], ms, styled(_bar(span, total_ms), colour), text)
    return table


def _bar(span: Mapping[str, Any], total_ms: float) -> str:
    """The position of a span within the whole time; at least one block long."""
    start = min(round(span["began_ms"] / total_ms * BAR_CHARS), BAR_CHARS - 1)
    end = round((span["began_ms"] + (span["ms"] or 0.0)) / total_ms * BAR_CHARS)
    return f"{' ' * start}{'█' * max(end - start, 1)}".ljust(BAR_CHARS)


def _history(trace: Trace) -> Iterator[str]:
    """Audit events other than the usual statuses: reclaims, retries, cancels."""
    statuses = {*STAGE_OF, "FAILED", "ARCHIVED"}
    for event in trace["history"]:
        if event["happened"] not in statuses:
            details = json.dumps(event["details"], ensure_ascii=False) if event["details"] else ""
            yield f"{event['at'][:19].replace('T', ' ')} {event['happened']} {details}"


def _calls(trace: Trace) -> Table:
    table = Table("stage", "model", "prompt", "finish", "requests", "tokens in/out", "ms", "price", "error")
    current = {(prompt["role"], prompt["version"]): prompt["current_version"] for prompt in trace["prompts"]}
    for call in trace["calls"]:
        version = current[call["role_name"], call["prompt_version"]]
        newer = f" (now v{version})" if version is not None and version != call["prompt_version"] else ""
        retried = "" if call["try"] == trace["run"]["try"] else f" (try {call['try']})"
        table.add_row(
            call["stage"] + retried,
            f"{call['provider']}:{call['model']}",
            f"{call['role_name']} v{call['prompt_version']}{newer}",
            call["finish"],
            str(call["attempts"]),
            tokens(call),
            f"{call['ms']:.1f}",
            dollars(call["price"]),
            call["error"] or "",
        )
    return table


def _tools(trace: Trace) -> Table:
    table = Table("tool", "effect", "status", "ms", "arguments", "result")
    for call in trace["tools"]:
        retried = "" if call["try"] == trace["run"]["try"] else f" (try {call['try']})"
        ms = "" if call["ms"] is None else f"{call['ms']:.1f}"
        texts = (_json_line(call["arguments"]), _json_line(call["result"]))
        table.add_row(call["tool"] + retried, call["effect"], call["status"], ms, *texts)
    return table


def _json_line(value: Any) -> str:
    """The beginning of a JSON value; `--json` prints it all."""
    return "" if value is None else shorten(one_line(json.dumps(value, ensure_ascii=False)), MAX_VALUE_CHARS)


def _steps(trace: Trace) -> Table:
    table = Table("step", "title", "tool", "after", "status", "began", "ended")
    for step in trace["steps"]:
        began, ended = (at and at[11:19] for at in (step["started_at"], step["ended_at"]))
        after = ", ".join(map(str, step["depends_on"]))
        table.add_row(
            str(step["number"]),
            shorten(one_line(step["title"]), 60),
            step["tool"] or "",
            after,
            step["status"],
            began,
            ended,
        )
    return table


def _texts(trace: Trace) -> Iterator[tuple[str, str]]:
    """Titles and texts of what the models received."""
    run = trace["run"]
    roles = list(ROLE_OF.values())
    for prompt in sorted(trace["prompts"], key=lambda row: roles.index(row["role"]) if row["role"] in roles else 9):
        yield f"prompt {prompt['role']} v{prompt['version']}", prompt["text"] or "(the built-in text)"
    if run["analysis_result"]:
        yield "analysis", json.dumps(run["analysis_result"], ensure_ascii=False, indent=1)
    for name, text in (("draft", run["draft_context"]), ("payload", run["final_context_payload"])):
        if text:
            yield name, text


def memory_lines(memories: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The memories that an answer received, down to shortened messages: all summaries, the best messages, the last."""
    by_kind: dict[str, list[Mapping[str, Any]]] = {"summary": [], "turn": [], "recent": []}
    for memory in memories:
        by_kind[memory["kind"]].append(memory)
    summaries, messages, recent = by_kind.values()
    if memories:
        yield f"memory: {len(summaries)} summaries, {len(messages)} messages, and the last {len(recent)} messages"
    for summary in summaries:
        if "memory" not in summary:
            yield f"  {summary['score']:.2f} a deleted summary"
            continue
        tags = ", ".join(summary["tags"])
        yield f"  {summary['score']:.2f} {summary['period']} [{tags}] {_short(summary['memory'])}"
        yield from (f"         {_message(log)}" for log in summary["logs"][:MAX_MESSAGES_OF_SUMMARY])
        if len(summary["logs"]) > MAX_MESSAGES_OF_SUMMARY:
            yield f"         and {len(summary['logs']) - MAX_MESSAGES_OF_SUMMARY} more messages"
    for memory in messages[:MAX_MESSAGES]:
        yield f"  {memory['score']:.2f} {_message_of(memory)}"
    if len(messages) > MAX_MESSAGES:
        yield f"  and {len(messages) - MAX_MESSAGES} more messages"
    for memory in recent:
        yield f"  last {_message_of(memory)}"


def _message_of(memory: Mapping[str, Any]) -> str:
    return _message(memory["logs"][0]) if memory["logs"] else "a deleted message"


def _message(log: Mapping[str, Any]) -> str:
    from maas.memory.search import Spoken, speaker_of  # slow to load, needed only where messages are shown

    speaker = speaker_of(cast("Spoken", log))
    return f"{log['occurred_at'][:10]} {speaker}: {_short(log['content'])}"


def _short(text: str) -> str:
    return shorten(one_line(text), MAX_MEMORY_CHARS)
