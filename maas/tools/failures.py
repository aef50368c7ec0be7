"""The bodies of tool calls that were not made or failed: what a model reads of them, and what it is to do now."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog

from maas.engine.stages import failure_message
from maas.tools.arguments import ToolArguments
from maas.tools.calls import MAX_DATA_BYTES, ToolDoubt, ToolFailure, refused, to_json
from maas.tools.rows import fit_rows
from maas.tools.tool import Tool, ToolContext
from maas.tools.wording import Preview, stored_wording
from shared.errors import MaasError
from shared.json import map_texts
from shared.log import conceal, mask
from shared.text import shorten

PREVIEW_TIMEOUT_S = 5.0
log = structlog.get_logger()


def approval_required(tool: Tool, arguments: ToolArguments) -> dict[str, Any]:
    """The body of a call that waits. Code shows the call to the user below the answer."""
    shown, left_out = fit_rows(arguments.values, MAX_DATA_BYTES)
    meta = {"_meta": {"cut": ["arguments"]}} if left_out else {}
    return refused(
        "approval_required",
        "not done yet, it waits for the user's approval: say what will happen, do not call it again. Below your "
        "answer the user sees what waits, and how to decide",
        approval_required=True,
        arguments=shown,
        reason=tool.reason or tool.description.strip().splitlines()[0],
        **meta,
    )


async def word_call(tool: Tool, arguments: ToolArguments, context: ToolContext) -> dict[str, Any]:
    """How a call that waits is described to people, without the secrets of its domain, or a preview that fails."""
    preview: Preview | None = None
    if tool.preview is not None:
        try:
            async with asyncio.timeout(PREVIEW_TIMEOUT_S):
                preview = await tool.preview(arguments.model, context)
        except Exception as error:
            log.warning("preview_failed", tool=tool.name, cause=str(error) or type(error).__name__)
    wording = stored_wording(tool.name, tool.wording, tool.description, tool.reason, preview)
    concealed: dict[str, Any] = map_texts(to_json(wording), conceal)
    return concealed


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
