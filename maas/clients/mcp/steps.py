"""Following a request: its statuses are told as progress while it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from uuid import UUID

from maas.clients.asynchronous import AsyncMaaS
from maas.clients.errors import MaaSError

STATUSES = ("NEW", "ANALYZING", "ANALYZED", "ASSEMBLING", "READY", "RESPONDING", "COMPLETED")
Report = Callable[[float, float, str], Awaitable[None]]


async def report_steps(client: AsyncMaaS, request_id: UUID, seconds: float, report: Report) -> None:
    """Tell each status of a request until its end; what breaks on the way tells no more."""
    with suppress(TimeoutError, MaaSError):
        async with asyncio.timeout(seconds), aclosing(client.follow(request_id)) as events:
            async for event in events:
                if event.type == "status" and (status := event.data["status"]) in STATUSES:
                    await report(STATUSES.index(status) + 1, len(STATUSES), status)
