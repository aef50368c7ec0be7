"""The event stream of a run: its events and status changes in one order, readable from any cursor on.

A cursor is the id of an event, `try.rank.n`, and covers everything up to that event: of this try the first `rank`
statuses, in the order of `Status` (9 includes the end), and the stored events up to number `n`. Statuses have no rows:
their events are made from the timestamps of the run. Each cursor is greater than the one before. A cursor of an
earlier try continues at the beginning of the present one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import merge
from typing import Any, Self
from uuid import UUID

from maas import queries
from maas.engine.events import event_types
from maas.engine.states import TERMINAL, Status
from shared.db import Database
from shared.group_commit import GroupCommit

PAGE_SIZE = 100
END_RANK = len(Status) + 1
_CURSOR = re.compile(r"(\d{1,9})\.(\d)\.(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Cursor:
    """A position in the event stream of a run; the start by default."""

    try_number: int = 0
    rank: int = 0
    event_number: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the id of an event. Raises ValueError."""
        if not (match := _CURSOR.fullmatch(text)):
            raise ValueError("must be the id of an event of this run, such as 1.6.12")
        return cls(*map(int, match.groups()))

    def __str__(self) -> str:
        return f"{self.try_number}.{self.rank}.{self.event_number}"


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the stream; `data` is JSON on one line."""

    cursor: Cursor
    type: str
    data: str


@dataclass(frozen=True, slots=True)
class Page:
    """The events after a cursor, and the cursor behind them.

    `has_more`: the next page can be read at once. `is_over`: no more events will come.
    """

    cursor: Cursor
    events: tuple[Event, ...]
    has_more: bool = False
    is_over: bool = False


class EventStream:
    """Reads pages of events; reads of one moment go in one statement."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._types = event_types()
        self._reads: GroupCommit[tuple[UUID, Cursor], Page | None] = GroupCommit(self._read)

    async def read(self, run_id: UUID, cursor: Cursor) -> Page | None:
        """The page after `cursor`; None when there is no such run."""
        return await self._reads.submit((run_id, cursor))

    async def _read(self, items: list[tuple[UUID, Cursor]]) -> list[Page | None]:
        cursors = [cursor for _, cursor in items]
        rows = await self._db.rows(
            queries.follow_runs,
            [run_id for run_id, _ in items],
            [cursor.try_number for cursor in cursors],
            [cursor.event_number for cursor in cursors],
            self._types,
            PAGE_SIZE,
        )
        by_number = {row["place"]: row for row in rows}
        return [read_page(row, cursor) if (row := by_number.get(i)) else None for i, cursor in enumerate(cursors, 1)]


def read_page(row: queries.FollowRunsRow, cursor: Cursor) -> Page:
    """The page after `cursor` in a row of `follow_runs`."""
    if cursor.try_number < row["try"]:
        cursor = Cursor(row["try"], 0, cursor.event_number)
    if cursor.rank >= END_RANK:
        return Page(cursor, (), is_over=True)
    statuses = [
        (at, rank, _status(status, at))
        for rank, (status, at) in enumerate(zip(Status, row["times"], strict=True), 1)
        if at is not None and rank > cursor.rank
    ]
    stored = [
        (at, n, kind, payload)
        for at, n, kind, payload in zip(
            row["moments"] or (), row["numbers"] or (), row["types"] or (), row["payloads"] or (), strict=True
        )
    ]
    has_more = len(stored) == PAGE_SIZE
    events: list[Event] = []
    for one in merge(statuses, stored, key=_time_of):
        if len(one) == 3:
            cursor = replace(cursor, rank=one[1])
            events.append(Event(cursor, "status", one[2]))
        else:
            cursor = replace(cursor, event_number=one[1])
            events.append(Event(cursor, one[2], one[3]))
    while has_more and events[-1].type == "status":
        events.pop()  # the next page may hold events from before it
    if is_over := not has_more and Status(row["status"]) in TERMINAL:
        events.append(_end(row, replace(cursor, rank=END_RANK)))
    return Page(events[-1].cursor if events else cursor, tuple(events), has_more, is_over)


def _time_of(item: tuple[Any, ...]) -> datetime:
    at: datetime = item[0]
    return at


def _status(status: Status, at: datetime) -> str:
    return _json({"status": status, "at": at.isoformat()})


def _end(row: queries.FollowRunsRow, cursor: Cursor) -> Event:
    if row["status"] == Status.COMPLETED:
        fields = {
            "final_answer": row["final_answer"],
            "limited": row["limited"],
            "memory": row["memory"],
            "memory_reasons": row["memory_reasons"],
        }
        return Event(cursor, "done", _json(fields))
    return Event(cursor, "error", _json({"code": row["error_code"], "message": row["error_message"]}))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
