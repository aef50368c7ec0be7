"""The clients: each sends its requests again until they are accepted, and never a request that may be in already."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self
from uuid import UUID

import asyncpg
import httpx2

from shared.db import CONNECTION_LOST
from tests.chaos.schedule import Batch, Request, Way
from tests.chaos.witness import statements

TIMEOUT = 5.0
PAUSE = 0.1
AGAIN = 20  # one accepted HTTP request in so many is sent once more


@dataclass(frozen=True, slots=True)
class Accepted:
    """The promise that a client was given for one request."""

    request: Request
    id: UUID
    way: Way
    sent_at: datetime
    at: datetime


@dataclass(slots=True)
class Load:
    """All requests, sent by several clients when `may_send` lets them. `ports` are those of the servers."""

    batches: Sequence[Batch]
    ports: Sequence[int]
    sql_dsn: str
    may_send: Callable[[], bool]
    sent: int = 0  # requests, those that are not accepted yet, too
    accepted: list[Accepted] = field(default_factory=list)
    replies: Counter[tuple[str, str]] = field(default_factory=Counter)

    async def send(self, http_clients: int = 6, sql_clients: int = 3) -> None:
        """Return when every request is accepted."""
        http = iter([batch for batch in self.batches if batch.way is Way.HTTP])
        rows = iter([batch for batch in self.batches if batch.way is not Way.HTTP])
        async with asyncio.TaskGroup() as clients:
            for number in range(http_clients):
                clients.create_task(self._post_all(http, number))
            for _ in range(sql_clients):
                clients.create_task(self._insert_all(rows))

    async def _turn(self, batch: Batch) -> None:
        while not self.may_send():
            await asyncio.sleep(PAUSE)
        self.sent += len(batch.requests)

    async def _post_all(self, batches: Iterator[Batch], turn: int) -> None:
        async with httpx2.AsyncClient(timeout=TIMEOUT, trust_env=False) as client:
            for batch in batches:
                await self._turn(batch)
                (request,) = batch.requests
                sent_at = datetime.now(UTC)
                for _ in range(2 if request.number % AGAIN == 0 else 1):
                    while (run_id := await self._post(client, request, self.ports[turn % len(self.ports)])) is None:
                        turn += 1
                        await asyncio.sleep(PAUSE)
                    self.accepted.append(Accepted(request, run_id, Way.HTTP, sent_at, datetime.now(UTC)))

    async def _post(self, client: httpx2.AsyncClient, request: Request, port: int) -> UUID | None:
        body = {"user_id": str(request.user_id), "query": request.query}
        key = {"Idempotency-Key": f"chaos {request.number}"}
        try:
            reply = await client.post(f"http://127.0.0.1:{port}/v1/runs", json=body, headers=key)
        except httpx2.TransportError as error:
            self.replies[Way.HTTP, type(error).__name__] += 1
            return None
        self.replies[Way.HTTP, str(reply.status_code)] += 1
        return UUID(reply.json()["request_id"]) if reply.status_code == 202 else None

    async def _insert_all(self, batches: Iterator[Batch]) -> None:
        async with _Application(self.sql_dsn) as application:
            for batch in batches:
                await self._turn(batch)
                sent_at = datetime.now(UTC)
                in_doubt = False
                while True:
                    try:
                        outcome = await application.send(batch, in_doubt)
                        break
                    except (*CONNECTION_LOST, asyncpg.UniqueViolationError) as error:
                        self.replies[batch.way, type(error).__name__] += 1
                        in_doubt = True
                        await asyncio.sleep(PAUSE)
                self.replies[batch.way, outcome] += 1
                now = datetime.now(UTC)
                self.accepted += [Accepted(one, one.id, batch.way, sent_at, now) for one in batch.requests]


class _Application:
    """Another program's session. It names its rows, so that it can ask whether a transaction in doubt came through."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: asyncpg.Connection | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.terminate()

    async def send(self, batch: Batch, in_doubt: bool) -> str:
        """What happened; a transaction in doubt is looked for first. Raises CONNECTION_LOST."""
        if self._connection is None or self._connection.is_closed():
            self._connection = await asyncpg.connect(self._dsn, timeout=TIMEOUT, command_timeout=TIMEOUT)
        rows = [(one.id, one.user_id, one.query) for one in batch.requests]
        if in_doubt and await self._connection.fetchval(statements()["are_there"], [row[0] for row in rows]):
            return "was in after all"
        if batch.rolls_back and not in_doubt:
            with suppress(_Regret):
                async with self._connection.transaction():
                    await self._insert(self._connection, rows)
                    raise _Regret
        async with self._connection.transaction():
            await self._insert(self._connection, rows)
        return "committed"

    async def _insert(self, connection: asyncpg.Connection, rows: Sequence[tuple[UUID, UUID, str]]) -> None:
        if len(rows) == 1:
            await connection.execute(statements()["insert_run"], *rows[0])
        else:
            await connection.execute(statements()["insert_runs"], *map(list, zip(*rows, strict=True)))


class _Regret(Exception):
    """The transaction is not wanted any more."""
