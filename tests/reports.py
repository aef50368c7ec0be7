"""Tools that give long reports, for tests."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from maas.tools.tool import Tool, ToolContext, Toolset, tool


class Which(BaseModel):
    number: int = 0


@tool(domain="adverts", effect="read")
async def read_report(which: Which) -> Any:
    """Read a report."""
    return [
        {"id": f"{which.number}-{row}", "name": f"Кампания {row}", "spend": row * 1.5, "note": "<b>&</b>"}
        for row in range(240)
    ]


@tool(domain="adverts", effect="read")
async def read_codes(which: Which) -> Any:
    """Read codes, which no other number has."""
    return [{"code": 10_000 * (which.number + 1) + row} for row in range(200)]


@tool(domain="adverts", effect="read")
async def know_account() -> Any:
    """What is known of the account."""
    return {"account": "Heron & Sons", "rows": [f"row {row}: <{row * 7919}>" for row in range(2000)]}


@tool(domain="adverts", effect="read")
async def know_day() -> Any:
    """What day it is."""
    return {"day": "Monday"}


class Day(BaseModel):
    day: str = Field(description="the day of the report as ISO 8601, which is not before the account was opened")
    limit: int = Field(50, description="how many rows at most, those with the highest spend first")


async def _report(_: Day, __: ToolContext) -> Any:
    return {}


_ABOUT = "Read a report. One row for each campaign, with its spend, leads and the cost of a lead."
MANY = Toolset(Tool(f"report_{number}", "adverts", _ABOUT, "read", _report, Day) for number in range(40))
TOOLS = Toolset([read_report, read_codes, know_account, know_day])
