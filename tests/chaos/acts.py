"""What operators and the clock do while everything breaks: schedules, a limit a minute, pauses, bulk changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from random import Random
from typing import Any
from uuid import UUID

import httpx2

from tests.chaos.witness import Witness

FIRST_USER = 100_000  # nobody of the load
SCHEDULES = 5
LIMITED = "limited"
LIMITS = json.dumps([{"model": f"openai:{LIMITED}", "requests_per_minute": 20}])  # the verdict knows it, too
ASK_EVERY_S = 2.5  # which is more than the limit lets through
ASKED_AT_ONCE = 3
BATCH = 8
BATCH_EVERY_S = 4.0
LOOK_S = 0.25
SETTLE_S = 120.0
TIMEOUT_S = 5.0


@dataclass(slots=True)
class Acts:
    """The acts of a trial; `settle` ends what they have begun."""

    seed: int
    witness: Witness
    ports: Sequence[int]
    pauses: list[tuple[datetime, datetime]] = field(default_factory=list)
    _users: count[int] = field(default_factory=lambda: count(FIRST_USER))

    async def prepare(self) -> None:
        """Add the assistants and the schedules."""
        await self.witness.rows("act_assistants")
        for _ in range(SCHEDULES):
            await self.witness.rows("act_schedule", self._user())

    def all(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """Each goes on until it is cancelled."""
        return self.ask_limited, self.rest, self.cancel_and_retry

    async def ask_limited(self) -> None:
        """Ask an assistant whose model has a limit a minute, of several users at once."""
        draw = Random(f"{self.seed} limited")
        while True:
            for _ in range(ASKED_AT_ONCE):
                await self._ask(draw, LIMITED)
            await asyncio.sleep(ASK_EVERY_S * ASKED_AT_ONCE)

    async def rest(self) -> None:
        """Pause an assistant and resume it, and ask it before and meanwhile."""
        draw = Random(f"{self.seed} rest")
        while True:
            for _ in range(3):
                await self._ask(draw, "resting")
            await asyncio.sleep(draw.uniform(0, 2))
            began_at = (await self.witness.rows("act_pause"))[0]["at"]
            await self._ask(draw, "resting")
            await asyncio.sleep(draw.uniform(1, 4))
            self.pauses.append((began_at, await self.witness.value("act_time")))
            await self.witness.rows("act_resume")

    async def cancel_and_retry(self) -> None:
        """Cancel all runs of a batch, and try again those that have failed."""
        draw = Random(f"{self.seed} bulk")
        for number in count():
            batch = {"batch": number}
            for _ in range(BATCH):
                await self._ask(draw, "mentor", batch)
            await asyncio.sleep(draw.uniform(0, 1))
            await self._change("cancel", batch)
            while await self.witness.value("act_unfinished", json.dumps(batch)):
                await asyncio.sleep(LOOK_S)
            await self._change("retry", batch)
            await asyncio.sleep(BATCH_EVERY_S)

    async def settle(self) -> None:
        """End pauses and schedules, and try again what is cancelled; no process is struck any more."""
        await self.witness.rows("act_resume")
        while await self.witness.value("act_end_schedules"):
            await asyncio.sleep(LOOK_S)
        with suppress(TimeoutError):  # the verdict names what is not finished
            async with asyncio.timeout(SETTLE_S):
                for _ in range(2):  # what was being cancelled has failed by then
                    await self._change("retry", None)
                    while await self.witness.value("act_left"):
                        await asyncio.sleep(LOOK_S)

    async def tell(self, calls: Sequence[datetime]) -> None:
        await self.witness.tell("chaos_pauses", self.pauses)
        await self.witness.tell("chaos_calls", [(at,) for at in calls])

    async def _ask(self, draw: Random, assistant: str, attributes: dict[str, Any] | None = None) -> None:
        named = UUID(int=draw.getrandbits(128), version=4)
        stored = None if attributes is None else json.dumps(attributes)
        await self.witness.rows("act_ask", named, self._user(), assistant, stored)

    async def _change(self, change: str, attributes: dict[str, int] | None) -> None:
        """Cancel or retry by the first server that answers; what is repeated finds nothing to change."""
        body = (
            {"attributes": attributes, "expected": BATCH}
            if attributes
            else {"error_code": "cancelled", "expected": 999}
        )
        for turn in count():
            try:
                async with httpx2.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client:
                    address = f"http://127.0.0.1:{self.ports[turn % len(self.ports)]}/v1/admin/runs/{change}"
                    if (await client.post(address, json=body)).status_code == 200:
                        return
            except httpx2.TransportError:
                pass
            await asyncio.sleep(LOOK_S)

    def _user(self) -> UUID:
        return UUID(int=next(self._users))
