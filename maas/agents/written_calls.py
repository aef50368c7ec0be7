"""Calls that a model writes as text: made where the model is known to do so, else asked for once more, never shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container
from dataclasses import replace
from typing import Protocol

import structlog

from maas.tools.calls import own_name
from shared.models import CallIds, Message, Reply, Request, ToolCall
from shared.models.calls import StreamListener
from shared.models.text_calls import HeldListener, read_text_calls

SAY_IT_IN_WORDS = "Answer the user in words, without JSON."
CALL_OR_SAY_IT = (
    "That was text, so no tool was called. Call the tool itself if you need it; otherwise answer the user in words, "
    "without JSON."
)
Ask = Callable[[Request, StreamListener | None], Awaitable[Reply]]
log = structlog.get_logger()


class Translate(Protocol):
    """Turns a call of a tool that was not offered into one of an offered tool that makes it; None: it may not be made.

    `is_written`: the call is text of the model, so that it may be none.
    """

    def __call__(self, call: ToolCall, *, is_written: bool) -> ToolCall | None: ...


def no_other_call(call: ToolCall, *, is_written: bool) -> None:
    """Where only what is offered may be called."""


def offered_call(call: ToolCall, offered: Container[str], translate: Translate, *, is_written: bool) -> ToolCall | None:
    """A call as one of an offered tool, whatever namespace its name stands behind; None where it is none."""
    call = replace(call, name=own_name(call.name, offered))
    return call if call.name in offered else translate(call, is_written=is_written)


async def ask_with_tools(
    ask: Ask,
    request: Request,
    listener: StreamListener | None,
    writes_calls: Callable[[Reply], bool],
    pin: Callable[[], Awaitable[None]],
    translate: Translate = no_other_call,
) -> Reply:
    """Ask for a reply to a request with tools; a written call is none of its text.

    `writes_calls` says whether the model of a reply writes its calls as text. The text of such a call is held back from
    `listener`. The text is empty where the model writes nothing else, asked twice. Raises MaasError, LostRun.
    """
    reply, calls = await _ask(ask, request, listener)
    if not calls:
        return reply
    offered = {tool.name for tool in request.tools}
    written = offered_call(calls[0], offered, translate, is_written=True)
    if len(calls) == 1 and written is not None and request.tool_choice != "none" and writes_calls(reply):
        call = CallIds(request.messages)(written)
        log.info("text_tool_call_accepted", tool=call.name)
        return replace(reply, text="", finish="tool_calls", calls=(call,), raw={})
    log.warning("text_tool_call_rejected", tools=[call.name for call in calls][:8])
    await pin()
    instruction = SAY_IT_IN_WORDS if request.tool_choice == "none" else CALL_OR_SAY_IT
    again = (Message("assistant", reply.text), Message("user", instruction))
    reply, calls = await _ask(ask, replace(request, messages=(*request.messages, *again)), listener)
    return replace(reply, text="", finish="malformed", raw={}) if calls else reply


async def _ask(ask: Ask, request: Request, listener: StreamListener | None) -> tuple[Reply, tuple[ToolCall, ...]]:
    """Return a reply and the calls that its text consists of; a text that is an answer has reached the listener."""
    held = None if listener is None else HeldListener(listener)
    reply = await ask(request, held)
    calls = read_text_calls(reply.text)
    if reply.calls and calls:  # written beside being made
        return replace(reply, text=""), ()
    if held is not None and not calls:
        held.release()
    return reply, calls
