"""The doorbell: one LISTEN connection a process. A ring is a hint, the table is the truth."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import structlog

from maas.pipeline.states import ArchiveStatus, Status
from shared.db import CONNECT_TIMEOUT_S, Database, connect, queries

EVENTS = "pipeline_events"
BELL = "pipeline_bell"
WORDS = "run_events"
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Event:
    """A change of one run, as the trigger told it."""

    id: UUID
    status: Status
    operation: str
    archive_status: ArchiveStatus | None = None


def parse_event(payload: str) -> Event | None:
    """The event, or None for a payload that is none; that is logged and dropped."""
    try:
        body = json.loads(payload)
        archive = body.get("archive_status")
        return Event(
            UUID(body["id"]),
            Status(body["status"]),
            str(body["operation"]),
            ArchiveStatus(archive) if archive else None,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("event_dropped", payload=payload[:200], cause=repr(error))
        return None


class Doorbell:
    """A pinned connection that hears rings and events until it is closed or lost."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self.connection = connection
        self.lost = asyncio.Event()
        self.is_silent = False
        connection.add_termination_listener(lambda _: self.lost.set())

    @classmethod
    async def open(cls, dsn: str, name: str, *, timeout: float = CONNECT_TIMEOUT_S) -> Doorbell:
        """Connect, within `timeout` seconds. Raises MaasError('database_unreachable')."""
        connection = await connect(dsn, timeout=timeout, server_settings={"application_name": name})
        await connection.fetchrow(queries()["notice_dead_peer"])
        return cls(connection)

    async def listen(self, on_event: Callable[[Event], None], is_wanted: Callable[[], bool]) -> None:
        """Call back at each change of a run while that is wanted, from now on."""

        def hear(_: Any, __: int, ___: str, payload: str) -> None:
            if is_wanted() and (event := parse_event(payload)):
                on_event(event)

        await self.connection.add_listener(EVENTS, hear)

    async def listen_for_words(self, on_ring: Callable[[UUID], None]) -> None:
        """Call back with the run that said something: text, or what its tools do."""

        def hear(_: Any, __: int, ___: str, payload: str) -> None:
            try:
                run_id = UUID(payload)
            except ValueError:
                log.warning("ring_dropped", payload=payload[:200])
                return
            on_ring(run_id)

        await self.connection.add_listener(WORDS, hear)

    async def listen_for_work(self, on_ring: Callable[[], None]) -> None:
        """Call back when there may be something to claim; events are logged at debug level and cost little else."""
        is_verbose = log.is_enabled_for(logging.DEBUG)

        def hear(_: Any, __: int, ___: str, payload: str) -> None:
            if is_verbose and (event := parse_event(payload)):
                log.debug("event_received", run_id=str(event.id), status=event.status, operation=event.operation)

        await self.connection.add_listener(EVENTS, hear)
        await self.connection.add_listener(BELL, lambda *_: on_ring())

    async def can_hear(self, db: Database, within: float = 2.0) -> bool:
        """Ring from another connection; False when nothing arrives, as behind a transaction-mode pooler."""
        word = f"selftest_{uuid4().hex}"
        heard = asyncio.Event()

        def hear(*_: object) -> None:
            heard.set()

        await self.connection.add_listener(word, hear)
        await db.value("ring", word, "")
        try:
            async with asyncio.timeout(within):
                await heard.wait()
        except TimeoutError:
            return False
        finally:
            await self.connection.remove_listener(word, hear)
        return True

    async def ping(self, timeout: float = 5.0) -> None:
        """Raise when the connection is dead; asyncpg takes a dead peer for a live one until it sends."""
        try:
            await self.connection.fetchval(queries()["ping"], timeout=timeout)
        except TimeoutError:
            self.is_silent = True
            raise

    async def close(self) -> None:
        if self.is_silent:
            self.connection.terminate()
            return
        try:
            await self.connection.close(timeout=2)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError):
            self.connection.terminate()
