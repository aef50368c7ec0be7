"""Calls that a client makes itself: one tool of an assistant, checked and decided on as if its model had called it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from maas import queries
from maas.agents.definition import Definition
from maas.conversations.language import dialogue_language
from maas.engine.run import LostRun, Outcome, Run
from maas.engine.stages import Deps
from maas.tools.executor import Executor
from maas.tools.ledger import CallLog
from maas.tools.models import RunModels
from maas.tools.openers import OpenDomains
from maas.tools.permissions import Permissions
from maas.tools.tool import Mode, ToolContext, Toolset
from maas.tools.waiting_actions import describe
from shared.errors import MaasError
from shared.models import ToolCall

CALL_ID = "own"


async def execute_own_call(
    run: Run,
    deps: Deps,
    definition: Definition | None,
    tools: Toolset,
    calls: CallLog,
    domains: OpenDomains,
    wanted: Mapping[str, Any],
) -> Outcome:
    """Call `wanted`, a tool and its arguments, once; the answer is the body that a model would read.

    A call that needs approval becomes a pending action. Raises LostRun, MaasError: `unknown_assistant`,
    `wrong_channel`.
    """
    if definition is None:
        raise MaasError("unknown_assistant", f"there is no active assistant {run.assistant!r}")
    source = await deps.db.value(queries.run_source, run.id)
    if definition.channels and source not in definition.channels:
        channels = ", ".join(definition.channels)
        raise MaasError("wrong_channel", f"{definition.name} answers requests of {channels}, not of {source}")
    mode = cast(Mode | None, await deps.db.value(queries.run_mode, run.id))
    allowed = frozenset(one.name for one in tools) - definition.completions
    limit, nested = definition.limits.calls, definition.nested_tools(tools)
    permissions = Permissions(allowed, mode or definition.default_mode, limit, nested=nested)
    context = ToolContext(run.user_id, run.id, run.conversation_id, models=RunModels(run, deps))
    via = deps.settings.assistants.tools_via
    executor = Executor(
        tools, permissions, context, calls.ledger.count, calls.record, calls.ledger, domains, via, nested=calls
    )
    call = ToolCall(CALL_ID, wanted["tool"], json.dumps(wanted["arguments"], ensure_ascii=False))
    await calls.announce(call, tools.get(call.name))
    (result,) = await executor.run([call])
    if result.code == "approval_required":
        result = replace(result, body={**result.body, "shown": await _shown(run, deps, definition)})
    return Outcome(answer=result.text())


async def _shown(run: Run, deps: Deps, definition: Definition) -> str:
    """What waits, as the end of an answer shows it. Raises LostRun."""
    rows = await deps.db.rows(queries.show_actions, run.id, run.attempt, False, 1)
    if not rows or rows[0]["number"] < 0:
        raise LostRun
    spoken = await dialogue_language(deps.db, run.id, definition.language, "")
    return describe(rows, spoken, is_dialogue=False)
