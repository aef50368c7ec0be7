"""The events of a user: how each of their runs has changed since a cursor, in the order in which it was committed.

A cursor is a snapshot of Postgres: the transactions whose changes were sent. Times could not tell that, because a
transaction that began earlier may commit later. As the id of an event it is `next.xid.xid…`: the first transaction
that was not seen, and those before it that were still in flight. Where one transaction changed several runs,
`_xid_run` follows: of this one, the runs up to that id were sent.

A change is sent as the present state of its run, so changes that follow each other quickly are sent as one. A change
that was made under a savepoint and committed while nobody listened may be missed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Self
from uuid import UUID

from maas import queries
from shared.db import Database
from shared.group_commit import GroupCommit

NEWEST_RUNS = 30  # that every read compares with the cursor; older ones change only as notified, or are all compared
MAX_IN_FLIGHT = 1000
USER_CURSOR_PATTERN = (
    rf"^([0-9]{{1,18}}(\.[0-9]{{1,18}}){{0,{MAX_IN_FLIGHT}}}(_[0-9]{{1,18}}_[0-9a-f]{{32}})?)?$"  # JSON Schema
)
_CURSOR = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})*+)(?:_([0-9]{1,18})_([0-9a-f]{32}))?+", re.ASCII)


@dataclass(frozen=True, slots=True)
class UserCursor:
    """A position in the events of a user. `last`: a transaction that was sent in part, and the last run of it."""

    next_xid: int
    in_flight: frozenset[int] = frozenset()
    last: tuple[int, UUID] | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the id of an event. Raises ValueError."""
        match = _CURSOR.fullmatch(text)
        if match is None or text.count(".") > MAX_IN_FLIGHT:
            raise ValueError("must be the id of an event of this user, such as 4711")
        next_xid, *in_flight = map(int, match[1].split("."))
        return cls(next_xid, frozenset(in_flight), (int(match[2]), UUID(match[3])) if match[2] else None)

    def __str__(self) -> str:
        text = ".".join(map(str, (self.next_xid, *sorted(self.in_flight))))
        return text if self.last is None else f"{text}_{self.last[0]}_{self.last[1].hex}"

    def through(self, xid: int, present: UserCursor, run_id: UUID | None = None) -> UserCursor:
        """This cursor after the changes up to transaction `xid`, of those that the snapshot `present` shows.

        With `run_id`, of `xid` itself only the runs up to that one.
        """
        rest = xid if run_id is not None else xid + 1  # the first transaction that was not sent as a whole
        next_xid = max(self.next_xid, rest)
        unsent = {one for one in self.in_flight if one >= rest} | {one for one in present.in_flight if one < next_xid}
        if run_id is None:
            return UserCursor(next_xid, frozenset(unsent))
        return UserCursor(next_xid, frozenset(unsent | {xid} if xid < next_xid else unsent), (xid, run_id))


@dataclass(frozen=True, slots=True)
class UserEvent:
    """A run of the user in its present state; `data` is JSON on one line."""

    cursor: UserCursor
    run_id: UUID
    xid: int
    data: str
    type: str = "run"


@dataclass(frozen=True, slots=True)
class UserPage:
    """The changes after a cursor, and the cursor behind them."""

    cursor: UserCursor
    events: tuple[UserEvent, ...]


@dataclass(frozen=True, slots=True)
class UserRead:
    """What a stream asks for: changes after `cursor`, and the runs that were notified.

    Without a cursor: the unfinished runs and the newest one. With `is_thorough` every run of the user is compared.
    """

    user_id: UUID
    cursor: UserCursor | None
    run_ids: frozenset[UUID] = frozenset()
    is_thorough: bool = False


class UserEventStream:
    """Reads pages of events; reads of one moment go in one statement."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._reads: GroupCommit[UserRead, UserPage] = GroupCommit(self._read)

    async def read(self, read: UserRead) -> UserPage:
        """The present page."""
        return await self._reads.submit(read)

    async def _read(self, reads: list[UserRead]) -> list[UserPage]:
        cursors = [read.cursor for read in reads]
        lasts = [cursor.last if cursor else None for cursor in cursors]
        rows = await self._db.rows(
            queries.follow_users,
            [read.user_id for read in reads],
            [cursor.next_xid if cursor else None for cursor in cursors],
            [_array(cursor.in_flight if cursor else ()) for cursor in cursors],
            [last[0] if last else None for last in lasts],
            [last[1] if last else None for last in lasts],
            [_array(read.run_ids) for read in reads],
            [None if read.is_thorough else 1 if read.cursor is None else NEWEST_RUNS for read in reads],
        )
        rows_of: list[list[queries.FollowUsersRow]] = [[] for _ in reads]
        for row in rows:
            rows_of[row["place"] - 1].append(row)
        return [to_page(cursor, found) for cursor, found in zip(cursors, rows_of, strict=True)]


def to_page(cursor: UserCursor | None, rows: Sequence[queries.FollowUsersRow]) -> UserPage:
    """The page after `cursor` in rows of `follow_users`."""
    present = UserCursor(rows[0]["next_xid"], frozenset(rows[0]["in_flight"]))
    changed = sorted((row for row in rows if row["id"] is not None), key=lambda row: (row["xid"], row["id"]))
    if cursor is None:  # all that is not sent now counts as seen
        cursor = UserCursor(present.next_xid, present.in_flight | {row["xid"] for row in changed})
    events = []
    for row, following in zip_longest(changed, changed[1:]):
        is_whole = following is None or following["xid"] != row["xid"]
        at = present if following is None else cursor.through(row["xid"], present, None if is_whole else row["id"])
        events.append(UserEvent(at, row["id"], row["xid"], _data(row)))
    return UserPage(present, tuple(events))


def _data(row: queries.FollowUsersRow) -> str:
    fields = {
        "request_id": row["id"],
        "conversation_id": row["conversation_id"],
        "kind": row["kind"],
        "status": row["status"],
        "archive_status": row["archive_status"],
        "at": row["updated_at"].isoformat(),
    }
    return json.dumps(fields, default=str)


def _array(values: Collection[object]) -> str:
    return f"{{{','.join(map(str, values))}}}"
