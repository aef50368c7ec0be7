"""Edits of what waits: a tool looks up the arguments that a person has written, as it did those that were proposed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from maas import queries
from maas.agents.definition import Definition
from maas.conversations.actions import ActionStatus
from maas.engine.run import LostRun, Outcome, Run
from maas.engine.stages import Deps
from maas.tools.executor import Executor
from maas.tools.ledger import CallLog
from maas.tools.models import RunModels
from maas.tools.openers import OpenDomains
from maas.tools.permissions import Permissions
from maas.tools.tool import ToolContext, Toolset
from shared.models import ToolCall

CALL_ID = "edit"
DECIDED = {"error_code": "already_decided", "message": "it is decided already"}
CHANGED = {"error_code": "tool_changed", "message": "its tool has changed since it was proposed: ask for it again"}


async def look_up_edit(
    run: Run,
    deps: Deps,
    definition: Definition | None,
    tools: Toolset,
    calls: CallLog,
    domains: OpenDomains,
    wanted: Mapping[str, Any],
) -> Outcome:
    """Look up the arguments of `wanted` and store them in its action, with what they would change.

    The answer is JSON: `error_code` is `approval_required` if they are stored, else it says why they are not, with the
    `message`. Nothing is executed. Raises LostRun.
    """
    action = await deps.db.row(queries.action, UUID(wanted["action"]), run.user_id)
    if action is None or action["status"] != ActionStatus.PENDING:
        return _answer(DECIDED)
    tool = tools.get(action["tool"])
    if tool is None or tool.version != action["tool_version"]:
        return _answer(CHANGED)
    edited = replace(tool, prepare=tool.prepare_edit or tool.prepare)
    nested = definition.nested_tools(tools) if definition else frozenset()
    executor = Executor(
        Toolset([edited, *(one for one in tools if one.name != tool.name)]),
        Permissions(frozenset({tool.name}), "ask", 1, nested=nested),
        ToolContext(run.user_id, run.id, action["conversation_id"], models=RunModels(run, deps)),
        calls.count,
        calls.record_quietly,
        domains=domains,
        via=deps.settings.assistants.tools_via,
        nested=calls,
    )
    (result,) = await executor.run([ToolCall(CALL_ID, tool.name, json.dumps(wanted["arguments"], ensure_ascii=False))])
    arguments = result.arguments
    if result.code != "approval_required" or arguments is None:
        return _answer(result.body)
    verdict = await deps.db.value(queries.finish_edit, run.id, run.attempt, arguments.values, arguments.wording or {})
    if verdict == "lost":
        raise LostRun
    return _answer(result.body if verdict == "edited" else DECIDED)


def _answer(body: Mapping[str, Any]) -> Outcome:
    answer = {name: body[name] for name in ("error_code", "message", "say") if name in body}
    return Outcome(answer=json.dumps(answer, ensure_ascii=False))
