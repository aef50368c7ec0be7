"""What a user approved: claimed, compared with what there is now, executed by the one guard, settled once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from maas.agents.arguments import fingerprint, read_arguments
from maas.agents.calls import CallLog
from maas.agents.executor import Executor, Session
from maas.agents.results import refused
from maas.agents.tools import Context, Tool, Toolset
from maas.pipeline.runs import LostRun, Run
from shared.db import Database
from shared.errors import MaasError
from shared.models.types import ToolCall

Ending = Literal["done", "failed", "in_doubt"]


@dataclass(frozen=True, slots=True)
class Settled:
    """An action at its end: what the tool gave, or why it gave nothing. `asked` is the request that led to it."""

    words: str
    status: Ending
    body: Mapping[str, Any]
    asked: str


async def carry_out(run: Run, db: Database, tools: Toolset, calls: CallLog) -> Settled:
    """Execute the action of a run of this kind unless that was done before. Raises LostRun, MaasError('no_action')."""
    row = await db.row("open_action", run.id, run.attempt)
    assert row is not None
    match row["verdict"]:
        case "lost":
            raise LostRun
        case "missing":
            raise MaasError("no_action", f"run {run.id} executes no action; approve one with maas_decide_action")
        case "settled":
            status, body = row["status"], row["result"] or {}
        case _:
            body = await _execute(run, row, tools, calls)
            status = await db.value("end_action", run.id, run.attempt, _ending(body), body)
            if status is None:
                raise LostRun
    return Settled(run.user_query, status, body, row["asked"])


async def _execute(run: Run, row: Mapping[str, Any], tools: Toolset, calls: CallLog) -> dict[str, Any]:
    name = row["tool"]
    tool = tools.get(name)
    if tool is None:
        return refused("unknown_tool", f"{name} is not there any more")
    if tool.version != row["version"]:
        return refused("tool_changed", f"{name} is not what it was when this was proposed")
    if not row["is_intact"]:
        return refused("arguments_changed", f"the arguments of {name} are not those that were approved")
    call = ToolCall(row["call_id"], name, json.dumps(row["arguments"], ensure_ascii=False))
    session = Session(frozenset({name}), "ask", 1, marks(tool, call))
    context = Context(run.user_id, run.id, run.conversation_id)
    executor = Executor(tools, session, context, calls.ledger.count, calls.record, calls.ledger)
    await calls.announce(call)
    (result,) = await executor.run([call])
    return {part: value for part, value in result.body.items() if part != "_meta"}


def marks(tool: Tool, call: ToolCall) -> frozenset[str]:
    """What a session approves that lets this call happen; none for arguments that the tool refuses or stumbles over."""
    with suppress(Exception):
        return frozenset({fingerprint(tool, read_arguments(tool, call.arguments).values)})
    return frozenset()


def _ending(body: Mapping[str, Any]) -> Ending:
    """Where the ledger of writes has not settled it."""
    if body["success"]:
        return "done"
    return "in_doubt" if body["error_code"] == "in_doubt" else "failed"
