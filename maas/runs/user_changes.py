"""The changes of all runs of one user, in the order in which they are noticed.

A notification names a run; what has become of it is read from the table. A reader that was away, or whose process was
not listening for a while, gets the state of those runs among the newest ones that have changed since.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import structlog

from maas.runs.run_watcher import KEEP_ALIVE_S, POLL_INTERVAL_S, RunWatcher, wait
from shared.db import CONNECTION_LOST, Database
from shared.group_commit import GroupCommit

MAX_CHANGES = 200
OVERLAP = timedelta(seconds=2)  # a change is seen when its transaction has ended, later than the time that it bears
EPOCH = datetime.fromtimestamp(0, UTC)
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class UserEvent:
    """One event: `ready` at the beginning, then `run`; `data` is JSON on one line, `cursor` stands for its time."""

    cursor: str
    type: str
    data: str


class UserChanges:
    """Reads the changes of runs; reads of one moment go in one statement."""

    def __init__(self, db: Database, watcher: RunWatcher) -> None:
        self._db = db
        self._watcher = watcher
        self._reads: GroupCommit[UUID, Any] = GroupCommit(self._read)

    async def follow(
        self, user_id: UUID, since: datetime | None, keep_alive_s: float = KEEP_ALIVE_S
    ) -> AsyncGenerator[Sequence[UserEvent], None]:
        """Yield changes since `since`, by default now, until the process stops; nothing for `keep_alive_s`: ()."""
        sent: dict[UUID, tuple[Any, ...]] = {}
        position = since or await self._db.value("database_time")
        yield [UserEvent(to_position(position), "ready", "{}")]
        with self._watcher.subscribe_user(user_id) as waiter:
            waiter.has_gap = True
            while not self._watcher.is_closing:
                await wait(waiter.changed, keep_alive_s)
                began = time.monotonic()
                run_ids, has_gap = waiter.take()
                try:
                    rows = [row for row in await self._read_all(run_ids) if row["user_id"] == user_id]
                    if has_gap or not run_ids:
                        rows += await self._db.rows("user_changes", user_id, position - OVERLAP, MAX_CHANGES)
                except CONNECTION_LOST as error:
                    log.warning("follower_waits", user_id=str(user_id), cause=repr(error))
                    waiter.has_gap = True
                    await wait(waiter.changed, max(0.0, began + POLL_INTERVAL_S - time.monotonic()))
                    continue
                fresh = {row["id"]: row for row in rows if sent.get(row["id"]) != _state(row)}
                sent |= {row["id"]: _state(row) for row in fresh.values()}
                position = max([position, *(row["updated_at"] for row in fresh.values())])
                sent = {run_id: state for run_id, state in sent.items() if state[0] >= position - OVERLAP}
                yield [_event(row) for row in sorted(fresh.values(), key=lambda row: row["updated_at"])]

    async def _read_all(self, run_ids: Sequence[UUID]) -> list[Any]:
        found = await asyncio.gather(*(self._reads.submit(run_id) for run_id in run_ids))
        return [row for row in found if row is not None]

    async def _read(self, run_ids: list[UUID]) -> list[Any]:
        rows = {row["id"]: row for row in await self._db.rows("changed_runs", run_ids)}
        return [rows.get(run_id) for run_id in run_ids]


def to_position(at: datetime) -> str:
    """The id of an event: microseconds since 1970."""
    return str((at - EPOCH) // timedelta(microseconds=1))


def parse_position(text: str) -> datetime:
    """The time that an id stands for. Raises ValueError."""
    if not text.isascii() or not text.isdecimal() or len(text) > 16:
        raise ValueError("must be the id of an event of this stream, such as 1767225600000000")
    return EPOCH + timedelta(microseconds=int(text))


def _state(row: Any) -> tuple[Any, ...]:
    return row["updated_at"], row["status"], row["archive_status"]


def _event(row: Any) -> UserEvent:
    fields = {
        "request_id": str(row["id"]),
        "conversation_id": str(row["conversation_id"]) if row["conversation_id"] else None,
        **{name: row[name] for name in ("kind", "status", "archive_status")},
        "at": row["updated_at"].isoformat(),
    }
    return UserEvent(to_position(row["updated_at"]), "run", json.dumps(fields))
