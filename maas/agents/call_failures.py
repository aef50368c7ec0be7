"""The bodies of tool calls that were not made or failed: what a model reads of them, and what it is to do now."""

from __future__ import annotations

from typing import Any

import structlog

from maas.agents.tool_calls import MAX_DATA_BYTES, ToolArguments, ToolDoubt, ToolFailure, cut, refused
from maas.agents.tools import Tool
from maas.engine.stages import failure_message
from shared.errors import MaasError
from shared.json import map_texts
from shared.log import conceal, mask
from shared.text import shorten

log = structlog.get_logger()


def approval_required(tool: Tool, arguments: ToolArguments) -> dict[str, Any]:
    """The body of a call that waits. Code shows the call to the user below the answer."""
    return refused(
        "approval_required",
        "not done yet, it waits for the user's approval: say what will happen, do not call it again. What waits, and how to "
        "decide, is shown below your answer",
        approval_required=True,
        arguments=cut(arguments.values, MAX_DATA_BYTES)[0],
        reason=tool.reason or tool.description.strip().splitlines()[0],
    )


def failed_body(tool: Tool, error: MaasError) -> dict[str, Any]:
    log.warning("tool_failed", tool=tool.name, cause=str(error))
    message = shorten(mask(failure_message(error)), 500)  # without what a provider says
    if isinstance(error, ToolDoubt):
        return refused("failed" if _is_repeatable(tool) else "in_doubt", f"{message}. {advice_on(tool)}")
    details = error.details if isinstance(error, ToolFailure) else None
    return refused("failed", message, **map_texts(details or {}, conceal))


def crashed_body(tool: Tool, error: BaseException, advice: str) -> dict[str, Any]:
    log.error("tool_crashed", tool=tool.name, exc_info=error)
    return refused("failed", f"{tool.name} failed. {advice}")


def _is_repeatable(tool: Tool) -> bool:
    return tool.effect == "read" or tool.is_idempotent


def advice_on(tool: Tool) -> str:
    if _is_repeatable(tool):
        return "Call it once more or answer without it"
    return "It may have taken effect all the same: look before you repeat it, and tell the user"
