"""Tools that give long reports, for tests."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from maas.tools.tool import Toolset, tool


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
async def know_account() -> Any:
    """What is known of the account."""
    return {"account": "Heron & Sons", "rows": [f"row {row}: <{row * 7919}>" for row in range(2000)]}


@tool(domain="adverts", effect="read")
async def know_day() -> Any:
    """What day it is."""
    return {"day": "Monday"}


TOOLS = Toolset([read_report, know_account, know_day])
