"""Tools that ask models themselves, for tests."""

from __future__ import annotations

from typing import Any

from maas.tools.tool import ToolContext, Toolset, tool
from shared.models import Message, Request
from tests.toolbox import Line, verify_line, wait_for_go, write_line

SUMMARISER = "You are the Summariser."  # stands in the system text of what the tools ask


def request_of(text: str) -> Request:
    return Request(role="FinalResponder", system=SUMMARISER, messages=(Message("user", text),), temperature=0.0)


@tool(domain="desk", effect="read", timeout=20)
async def shorten_text(line: Line, context: ToolContext) -> Any:
    """Shorten a text by a model."""
    reply = await context.ask(request_of(line.text))
    await wait_for_go()
    return {"short": reply.text}


@tool(domain="desk", effect="dangerous", timeout=20, reason="It is sent", verify=verify_line)
async def send_short(line: Line, context: ToolContext) -> Any:
    """Shorten a text by a model and send it."""
    return {"sent": (await context.ask(request_of(line.text))).text}


@tool(domain="desk", effect="write", timeout=20, verify=verify_line)
async def paint(line: Line, context: ToolContext) -> Any:
    """Paint what the text says."""
    return {"bytes": len((await context.draw(line.text)).data) > 0}


@tool(domain="desk", effect="read", timeout=20)
async def ask_nobody(context: ToolContext) -> Any:
    """Ask in a role that there is not."""
    return (await context.ask(Request(role="Nobody", messages=(Message("user", "?"),)))).text


TOOLS = Toolset([shorten_text, send_short, paint, ask_nobody, write_line])
