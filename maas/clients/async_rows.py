"""ask, submit and wait by SQL, for programs that do much at once: one connection listens for all who wait."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from contextlib import AsyncExitStack, suppress
from typing import Any

import asyncpg
from tenacity import AsyncRetrying

from maas.clients.calls import Call, Look, Reply, Submit
from maas.clients.errors import Unavailable
from maas.clients.retrying import policy
from maas.clients.rows import ENDS, LOOK, arguments_of, error_of_state, refuse, reply_of
from shared.db import CONNECTION_LOST, Database, connect, open_database
from shared.errors import MaasError

CHANNEL = "pipeline_events"
SIZE = 4


class AsyncRows:
    """A small pool for all calls, opened with the first."""

    def __init__(self, dsn: str, retries: int) -> None:
        self._dsn, self._retries = dsn, retries
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._db: Database | None = None
        self._ear: asyncpg.Connection | None = None
        self._waiting: dict[str, set[asyncio.Event]] = defaultdict(set)

    async def send(self, call: Call) -> Reply:
        async for attempt in AsyncRetrying(**policy(self._retries)):
            with attempt:
                try:
                    return await self._send(call)
                except asyncpg.PostgresError as error:
                    raise error_of_state(error.sqlstate, error.message or str(error), error.column_name) from error
                except (*CONNECTION_LOST, TimeoutError) as error:
                    raise error_of_state(None, str(error) or type(error).__name__, None) from error
        raise AssertionError("tenacity returns or raises")

    async def close(self) -> None:
        if self._ear is not None:
            await self._ear.close()
        await self._stack.aclose()

    async def _send(self, call: Call) -> Reply:
        if isinstance(call, Submit):
            db = await self._open()
            await db.row("client_insert", *arguments_of(call.run))
            return reply_of({"request_id": call.run.id}, str(call.run.id))
        if isinstance(call, Look):
            return await self._look(await self._open(), call)
        raise refuse(call)

    async def _look(self, db: Database, call: Look) -> Reply:
        end, rung = time.monotonic() + call.waits, asyncio.Event()
        if call.waits:
            await self._listen()
        self._waiting[call.run_id].add(rung)
        try:
            while True:
                row = await db.row("client_look", call.run_id)
                left = end - time.monotonic()
                if row is None or row["status"] in ENDS or left <= 0:
                    return reply_of(row, call.run_id)
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, LOOK)):
                        await rung.wait()
                rung.clear()
        finally:
            self._waiting[call.run_id].discard(rung)
            if not self._waiting[call.run_id]:
                del self._waiting[call.run_id]

    async def _open(self) -> Database:
        async with self._opening:
            if self._db is None:
                try:
                    self._db = await self._stack.enter_async_context(open_database(self._dsn, SIZE, "maas client"))
                except MaasError as error:
                    raise Unavailable(error.code, error.message) from error
            return self._db

    async def _listen(self) -> None:
        async with self._opening:
            if self._ear is None or self._ear.is_closed():
                try:
                    self._ear = await connect(self._dsn, server_settings={"application_name": "maas client listener"})
                except MaasError as error:
                    raise Unavailable(error.code, error.message) from error
                await self._ear.add_listener(CHANNEL, self._hear)

    def _hear(self, _: object, __: int, ___: str, payload: Any) -> None:
        for rung in self._waiting.get(json.loads(payload)["id"], ()):
            rung.set()
