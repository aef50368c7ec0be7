"""Calls in several rounds: in the middle of a call a server may ask the user, or want to be called again (SEP-2322).

No user is there during a call, so no server is offered answers. One that asks all the same gets the answer that nobody
has decided (`cancel`), and the result says what it wanted to know: a model can ask the user and call again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from mcp import Client, MCPError
from mcp_types import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    CallToolResult,
    ElicitRequest,
    ElicitResult,
    InputRequiredResult,
    InputResponses,
    TextContent,
)

from shared.text import one_line, shorten

MAX_ROUNDS = 10
MAX_QUESTIONS, MAX_QUESTION_CHARS = 5, 300  # that a result repeats
STATE_PAUSE_S = 0.25  # before a call is repeated for a server that asks nothing

Relist = Callable[[Client], Awaitable[object]]


async def call_in_rounds(client: Client, name: str, arguments: Mapping[str, Any], relist: Relist) -> CallToolResult:
    """Call a tool and return its last result, with the questions that nobody has answered.

    `relist` lists the tools anew for a server that misses headers, which the schemas name. Raises MCPError.
    """
    questions: list[str] = []
    responses: InputResponses | None = None
    state: str | None = None
    for _ in range(MAX_ROUNDS):
        result = await _send(client, name, arguments, responses, state, relist)
        if isinstance(result, CallToolResult):
            return _with_questions(result, questions) if questions else result
        responses, state = _answer(result, questions), result.request_state
        if responses is None:
            await anyio.sleep(STATE_PAUSE_S)
    raise MCPError(INTERNAL_ERROR, f"it asked {MAX_ROUNDS} times and gave no result. {_note_on(questions)}")


async def _send(
    client: Client,
    name: str,
    arguments: Mapping[str, Any],
    responses: InputResponses | None,
    state: str | None,
    relist: Relist,
) -> CallToolResult | InputRequiredResult:
    async def send() -> CallToolResult | InputRequiredResult:
        return await client.session.call_tool(
            name, dict(arguments), input_responses=responses, request_state=state, allow_input_required=True
        )

    try:
        return await send()
    except MCPError as error:
        if error.code != HEADER_MISMATCH:
            raise
        await relist(client)
        return await send()


def _answer(result: InputRequiredResult, questions: list[str]) -> InputResponses | None:
    """The answers to what a server asks; None if it asks nothing. Raises MCPError for what is not asked of a user."""
    for request in (result.input_requests or {}).values():
        if not isinstance(request, ElicitRequest):
            raise MCPError(INVALID_REQUEST, f"it wants {request.method}, which is not offered")
        questions.append(shorten(one_line(request.params.message), MAX_QUESTION_CHARS))
    return {key: ElicitResult(action="cancel") for key in result.input_requests or {}} or None


def _with_questions(result: CallToolResult, questions: list[str]) -> CallToolResult:
    note = _note_on(questions)
    structured = result.structured_content
    if structured is not None:
        return result.model_copy(update={"structured_content": {"result": structured, "note": note}})
    return result.model_copy(update={"content": [*result.content, TextContent(text=note)]})


def _note_on(questions: list[str]) -> str:
    asked = " ".join(f"«{one}»" for one in dict.fromkeys(questions[:MAX_QUESTIONS]))
    return f"During the call the server asked, and nobody could answer: {asked} Ask the user." if asked else ""
