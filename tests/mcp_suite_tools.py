"""Tools of an assistant that the conformance suite of MCP asks for by name: their calls are runs, and so tasks."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import BaseModel, Field

from maas.tools.calls import ToolFailure
from maas.tools.tool import ToolContext, Toolset, tool


class Computing(BaseModel):
    seconds: float = Field(ge=0, le=60)
    label: str


class Deleting(BaseModel):
    filename: str


@tool(domain="suite", effect="read", timeout=90)
async def slow_compute(computing: Computing) -> Any:
    """Compute for some seconds."""
    await asyncio.sleep(computing.seconds)
    return {"computed": computing.label}


@tool(domain="suite", effect="read")
async def failing_job() -> Any:
    """Fail after a while."""
    await asyncio.sleep(1)
    raise ToolFailure("this job always fails")


async def is_deleted(_: Deleting, __: ToolContext, data: Any) -> Any:
    """Whether the file is gone."""
    return data


@tool(domain="suite", effect="dangerous", reason="A file is gone for good", verify=is_deleted)
async def confirm_delete(deleting: Deleting) -> Any:
    """Delete a file."""
    return {"deleted": deleting.filename}


TOOLS = Toolset([slow_compute, failing_job, confirm_delete])
