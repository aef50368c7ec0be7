"""The LISTEN connection of a process. A notification is a hint that a table has changed; the table is the truth."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import structlog

from maas import queries
from maas.engine.states import Status
from shared.db import CONNECT_TIMEOUT_S, Database, connect
from shared.json import parse_json

RUN_CHANNEL = "pipeline_events"  # a run has changed its status
WORK_CHANNEL = "pipeline_wakeup"  # there may be a run to claim
EVENT_CHANNEL = "run_events"  # a run has new events
PING_TIMEOUT_S = 5.0
CLOSE_TIMEOUT_S = 2.0
SELF_TEST_TIMEOUT_S = 2.0
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RunChange:
    """A change of one run, as the trigger of pipeline_runs sends it."""

    id: UUID
    status: Status
    operation: str


def parse_change(payload: str) -> RunChange | None:
    """Parse the payload of a notification; None for a bad one, which is logged and dropped."""
    try:
        body = parse_json(payload)
        return RunChange(UUID(body["id"]), Status(body["status"]), str(body["operation"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("event_dropped", payload=payload[:200], cause=repr(error))
        return None


class NotifyListener:
    """A pinned connection that receives notifications until it is closed or lost.

    `lost` is set when the connection ends; `is_silent` is true when it did not answer a ping in time.
    """

    def __init__(self, connection: asyncpg.Connection) -> None:
        self.connection = connection
        self.lost = asyncio.Event()
        self.is_silent = False
        connection.add_termination_listener(lambda _: self.lost.set())

    @classmethod
    async def open(cls, dsn: str, name: str, *, timeout: float = CONNECT_TIMEOUT_S) -> NotifyListener:
        """Connect, within `timeout` seconds. Raises MaasError('database_unreachable')."""
        connection = await connect(dsn, timeout=timeout, server_settings={"application_name": name})
        await connection.fetchrow(queries.set_up_session.text)
        return cls(connection)

    async def listen(self, on_change: Callable[[RunChange], None], is_wanted: Callable[[], bool]) -> None:
        """Call `on_change` at each change of a run; payloads are parsed only while `is_wanted` returns true."""

        def on_notify(_: Any, __: int, ___: str, payload: str) -> None:
            if is_wanted() and (change := parse_change(payload)):
                on_change(change)

        await self.connection.add_listener(RUN_CHANNEL, on_notify)

    async def listen_for_events(self, on_event: Callable[[UUID], None]) -> None:
        """Call `on_event` with the id of a run that has new events: text, or tool calls."""

        def on_notify(_: Any, __: int, ___: str, payload: str) -> None:
            try:
                run_id = UUID(payload)
            except ValueError:
                log.warning("notification_dropped", payload=payload[:200])
                return
            on_event(run_id)

        await self.connection.add_listener(EVENT_CHANNEL, on_notify)

    async def listen_for_work(self, on_work: Callable[[], None]) -> None:
        """Call `on_work` when there may be a run to claim. Changes of runs are parsed only to be logged at debug."""
        is_debug = log.is_enabled_for(logging.DEBUG)

        def on_notify(_: Any, __: int, ___: str, payload: str) -> None:
            if is_debug and (change := parse_change(payload)):
                log.debug("event_received", run_id=str(change.id), status=change.status, operation=change.operation)

        await self.connection.add_listener(RUN_CHANNEL, on_notify)
        await self.connection.add_listener(WORK_CHANNEL, lambda *_: on_work())

    async def is_listening(self, db: Database, within: float = SELF_TEST_TIMEOUT_S) -> bool:
        """Send a notification over another connection and wait for it.

        False when it does not arrive within so many seconds, as behind a pooler in transaction mode.
        """
        channel = f"selftest_{uuid4().hex}"
        received = asyncio.Event()

        def on_notify(*_: object) -> None:
            received.set()

        await self.connection.add_listener(channel, on_notify)
        await db.value(queries.ring, channel, "")
        try:
            async with asyncio.timeout(within):
                await received.wait()
        except TimeoutError:
            return False
        finally:
            await self.connection.remove_listener(channel, on_notify)
        return True

    async def ping(self, timeout: float = PING_TIMEOUT_S) -> None:
        """Raise unless the connection answers within `timeout` seconds: asyncpg sees a dead peer only by sending."""
        try:
            await self.connection.fetchval(queries.ping.text, timeout=timeout)
        except TimeoutError:
            self.is_silent = True
            raise

    async def close(self) -> None:
        """Close the connection; a silent one is dropped at once."""
        if self.is_silent:
            self.connection.terminate()
            return
        try:
            await self.connection.close(timeout=CLOSE_TIMEOUT_S)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError):
            self.connection.terminate()
