"""Waiting for runs: one LISTEN connection a process wakes waiting requests and event streams."""

from __future__ import annotations

import asyncio
import json
import math
import random
import time
from collections import OrderedDict, defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from uuid import UUID

import structlog

from maas import queries
from maas.engine.listener import NotifyListener, RunChange
from maas.engine.states import TERMINAL, Status
from maas.runs.event_stream import END_RANK, Cursor, Event, EventStream, Page
from maas.runs.user_events import UserEvent, UserEventStream, UserPage, UserRead
from shared.db import CONNECT_TIMEOUT_S, CONNECTION_LOST, RECONNECT_TIMEOUT_S, Database
from shared.errors import MaasError

POLL_INTERVAL_S = 1.0
PING_TIMEOUT_S = 2.5
KEEP_ALIVE_S = 15.0
USER_POLL_INTERVAL_S = 5.0
MAX_REMEMBERED_RUNS = 1000  # of which a stream of a user knows the last change that it sent
Waiters = dict[UUID, set[asyncio.Event]]
log = structlog.get_logger()


@dataclass(eq=False, slots=True)
class UserChanges:
    """What a stream of a user has not read yet. `may_be_more`: changes may have gone unnoticed."""

    changed: asyncio.Event = field(default_factory=asyncio.Event)
    run_ids: set[UUID] = field(default_factory=set)
    may_be_more: bool = False


class RunWatcher:
    """Wakes the requests that wait for a run and the streams that follow one.

    Notifications are hints and the table is the truth, so every waiter also polls each POLL_INTERVAL_S. A lost
    connection is reopened.
    """

    def __init__(self, db: Database, listen_dsn: str, name: str = "maas server listener") -> None:
        self._db = db
        self._listen_dsn = listen_dsn
        self._name = name  # of the connection, in pg_stat_activity
        self._answer_waiters: Waiters = defaultdict(set)
        self._event_waiters: Waiters = defaultdict(set)
        self._user_waiters: dict[UUID, set[UserChanges]] = defaultdict(set)
        self._ownerless: set[UUID] = set()  # runs that changed, whose users are to be looked up
        self._has_ownerless = asyncio.Event()
        self.is_closing = False

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Listen while the context is open."""
        tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._find_users())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def wait_for_answer(self, run_id: UUID, timeout_s: float) -> None:
        """Return when the run is finished or does not exist, after `timeout_s` seconds, or when the process stops."""
        with _waiter(self._answer_waiters, run_id) as changed, suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not self.is_closing:
                    row = await self._db.row(queries.run_state, run_id)
                    if row is None or Status(row["status"]) in TERMINAL:
                        return
                    await _wait(changed, POLL_INTERVAL_S)
                    changed.clear()

    def subscribe(self, run_id: UUID) -> AbstractContextManager[asyncio.Event]:
        """Return an event that is set whenever the run changes its status or writes an event."""
        return _waiter(self._event_waiters, run_id)

    @contextmanager
    def subscribe_to_user(self, user_id: UUID) -> Iterator[UserChanges]:
        """Yield what takes up the changes of all runs of a user while the context is open."""
        changes = UserChanges()
        self._user_waiters[user_id].add(changes)
        try:
            yield changes
        finally:
            self._user_waiters[user_id].discard(changes)
            if not self._user_waiters[user_id]:
                del self._user_waiters[user_id]

    def close(self) -> None:
        """Wake every waiter for the last time: the process stops, and waiting requests and event streams end."""
        self.is_closing = True
        for run_id in (*self._answer_waiters, *self._event_waiters):
            _wake(self._answer_waiters, run_id)
            _wake(self._event_waiters, run_id)
        self._wake_users()

    @property
    def watched_runs(self) -> int:
        """The number of runs that event streams follow."""
        return len(self._event_waiters)

    async def _listen(self) -> None:
        timeout, is_silent = CONNECT_TIMEOUT_S, False
        while True:
            listener: NotifyListener | None = None
            try:
                listener = await NotifyListener.open(self._listen_dsn, self._name, timeout=timeout)
                if is_silent:  # the network was cut: connections that hang in it would block the pool for minutes
                    await self._db.renew()
                    is_silent = False
                await listener.listen(self._on_change, self._is_wanted)
                await listener.listen_for_events(self._on_event)
                self._wake_users()  # nobody was notified of what changed before
                while not listener.lost.is_set():
                    await asyncio.sleep(POLL_INTERVAL_S)
                    await listener.ping(PING_TIMEOUT_S)
            except (MaasError, *CONNECTION_LOST) as error:
                log.warning("listener_lost", cause=repr(error))
                timeout, is_silent = RECONNECT_TIMEOUT_S, is_silent or (listener is not None and listener.is_silent)
            finally:
                if listener is not None:
                    await listener.close()
            await asyncio.sleep(0.1 + random.random() / 2)

    async def _find_users(self) -> None:
        """Wake the streams of users whose runs have changed; notifications name no user, since any login hears them."""
        while True:
            await self._has_ownerless.wait()
            self._has_ownerless.clear()
            run_ids, self._ownerless = self._ownerless, set()
            try:
                rows = await self._db.rows(queries.users_of_runs, list(run_ids))
            except (MaasError, *CONNECTION_LOST) as error:
                log.warning("run_users_unavailable", cause=repr(error))
                self._wake_users()
                await asyncio.sleep(POLL_INTERVAL_S)
                continue
            for row in rows:
                for changes in self._user_waiters.get(row["user_id"], ()):
                    changes.run_ids.add(row["id"])
                    changes.changed.set()

    def _is_wanted(self) -> bool:
        return bool(self._answer_waiters or self._event_waiters or self._user_waiters)

    def _wake_users(self) -> None:
        for changes in [one for waiters in self._user_waiters.values() for one in waiters]:
            changes.may_be_more = True
            changes.changed.set()

    def _on_change(self, event: RunChange) -> None:
        self._on_event(event.id)
        if self._user_waiters:
            self._ownerless.add(event.id)
            self._has_ownerless.set()
        if event.status in TERMINAL:
            _wake(self._answer_waiters, event.id)

    def _on_event(self, run_id: UUID) -> None:
        _wake(self._event_waiters, run_id)


async def watch(
    event_stream: EventStream, watcher: RunWatcher, run_id: UUID, first: Page, keep_alive_s: float = KEEP_ALIVE_S
) -> AsyncGenerator[Sequence[Event], None]:
    """Yield the events of the page `first`, then those that follow, until the run ends or the process stops.

    The next page is read when the consumer has taken the one before. An empty sequence means that no event has come
    for `keep_alive_s`.
    """
    page, sent_at = first, time.monotonic()
    with watcher.subscribe(run_id) as changed:
        changed.set()  # nobody was notified of what happened since `first` was read
        while True:
            if page.events:
                yield page.events
                sent_at = time.monotonic()
            if page.is_over or watcher.is_closing:
                return
            if not page.has_more:
                await _wait(changed, min(POLL_INTERVAL_S, sent_at + keep_alive_s - time.monotonic()))
            if time.monotonic() >= sent_at + keep_alive_s:
                yield ()
                sent_at = time.monotonic()
            changed.clear()
            try:
                next_page = await event_stream.read(run_id, page.cursor)
            except CONNECTION_LOST as error:
                log.warning("event_stream_delayed", run_id=str(run_id), cause=repr(error))
                await asyncio.sleep(POLL_INTERVAL_S)
                next_page = Page(page.cursor, ())
            if next_page is None:
                yield [_erased(run_id, page.cursor)]
                return
            page = next_page


async def watch_user(
    stream: UserEventStream,
    watcher: RunWatcher,
    user_id: UUID,
    first: UserPage,
    wait_s: float = math.inf,
    keep_alive_s: float = KEEP_ALIVE_S,
) -> AsyncGenerator[Sequence[UserEvent], None]:
    """Yield the events of the page `first`, then those that follow, for `wait_s` seconds or until the process stops.

    An empty sequence means that no event has come for `keep_alive_s`.
    """
    sent = OrderedDict[UUID, int]()  # run -> the transaction of the change that was sent last
    cursor, events, sent_at = first.cursor, first.events, time.monotonic()
    end_at = sent_at + wait_s
    with watcher.subscribe_to_user(user_id) as changes:
        changes.may_be_more = True  # nobody was notified of what happened since `first` was read
        changes.changed.set()
        while True:
            if events:
                yield events
                sent_at = time.monotonic()
                _remember(sent, events)
            if watcher.is_closing or time.monotonic() >= end_at:
                return
            next_at = min(sent_at + keep_alive_s, end_at)
            await _wait(changes.changed, min(USER_POLL_INTERVAL_S, next_at - time.monotonic()))
            if time.monotonic() >= sent_at + keep_alive_s:
                yield ()
                sent_at = time.monotonic()
            read = UserRead(user_id, cursor, frozenset(changes.run_ids), changes.may_be_more)
            changes.changed.clear()
            changes.run_ids.clear()
            changes.may_be_more = False
            try:
                page = await stream.read(read)
            except CONNECTION_LOST as error:
                log.warning("event_stream_delayed", user_id=str(user_id), cause=repr(error))
                changes.may_be_more = True
                await asyncio.sleep(POLL_INTERVAL_S)
                events = ()
                continue
            cursor = page.cursor
            # A notification may arrive after a page that holds its change.
            events = tuple(event for event in page.events if sent.get(event.run_id) != event.xid)


def _remember(sent: OrderedDict[UUID, int], events: Sequence[UserEvent]) -> None:
    for event in events:
        sent[event.run_id] = event.xid
        sent.move_to_end(event.run_id)
    while len(sent) > MAX_REMEMBERED_RUNS:
        sent.popitem(last=False)


def _erased(run_id: UUID, cursor: Cursor) -> Event:
    error = {"code": "erased", "message": f"run {run_id} was erased"}
    return Event(replace(cursor, rank=END_RANK), "error", json.dumps(error))


async def _wait(changed: asyncio.Event, timeout_s: float) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await changed.wait()
    except TimeoutError:
        return


@contextmanager
def _waiter(waiters: Waiters, run_id: UUID) -> Iterator[asyncio.Event]:
    changed = asyncio.Event()
    waiters[run_id].add(changed)
    try:
        yield changed
    finally:
        waiters[run_id].discard(changed)
        if not waiters[run_id]:
            del waiters[run_id]


def _wake(waiters: Waiters, run_id: UUID) -> None:
    for changed in waiters.get(run_id, ()):
        changed.set()
