"""Tools for tasks whose process is killed: each call leaves a row, and takes long enough to be hit."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import asyncpg
from pydantic import BaseModel

from maas.tools.tool import ToolContext, Toolset, tool
from tests.chaos.witness import statements

CALL_S = 0.02


class Mark(BaseModel):
    number: int


async def _mark(mark: Mark, context: ToolContext) -> dict[str, Any]:
    await asyncio.sleep(CALL_S / 2)
    connection = await asyncpg.connect(os.environ["DATABASE_URL"])
    try:
        await connection.execute(statements()["mark_step"], context.run_id, mark.number)
    finally:
        await connection.close()
    await asyncio.sleep(CALL_S / 2)
    return {"marked": mark.number}


async def verify_mark(_: Mark, __: ToolContext, data: Any) -> Any:
    return data


@tool(domain="marks", effect="write", verify=verify_mark)
async def mark(mark: Mark, context: ToolContext) -> Any:
    """Leave a row."""
    return await _mark(mark, context)


@tool(domain="marks", effect="write", idempotent=True, verify=verify_mark)
async def mark_again(mark: Mark, context: ToolContext) -> Any:
    """Leave a row; may be repeated."""
    return await _mark(mark, context)


@tool(domain="marks", effect="read")
async def look(mark: Mark, context: ToolContext) -> Any:
    """Leave a row as a trace of having looked."""
    return await _mark(mark, context)


TOOLS = Toolset([mark, mark_again, look])
