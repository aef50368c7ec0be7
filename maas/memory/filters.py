"""Filters of a search: which messages it may return, and which age of message it prefers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal

Scope = Literal["hot", "warm", "cold"]
HOT_AGE = timedelta(days=3)
WARM_AGE = timedelta(days=14)
MAX_SEQ = 2**63 - 1
MAX_TIME = datetime(9999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Restricts a search to some messages of a user; without arguments it admits all of them.

    `before_seq` excludes requests with this or a higher `seq`, the order of the user's requests. `as_of` excludes what
    was not yet known at that moment. `since` (inclusive) and `until` (exclusive) bound the time of a message. `tags`
    requires a message whose summary has at least one of them. `scope` ranks messages of that age higher, counted from
    `as_of` or from now, and excludes none. `zone` is the time zone of days, in the query and in printed lines.
    """

    before_seq: int = MAX_SEQ
    as_of: datetime | None = None
    since: datetime | None = None
    until: datetime | None = None
    tags: Sequence[str] | None = None
    scope: Scope | None = None
    zone: tzinfo = UTC

    @property
    def now(self) -> datetime:
        """The moment from which relative dates and scopes are counted."""
        return self.as_of or datetime.now(UTC)

    @property
    def query_args(self) -> tuple[int, datetime, datetime | None, datetime | None, list[str] | None]:
        """Arguments of the named queries, in their order: before_seq, known at, since, until, tags."""
        return (
            self.before_seq,
            self.as_of or MAX_TIME,
            self.since,
            self.until,
            list(self.tags) if self.tags else None,
        )

    def prefers(self, at: datetime) -> bool:
        """Return whether a message of that time is in the preferred scope."""
        return self.scope is not None and scope_of(at, self.now) == self.scope


NO_FILTER = SearchFilter()


def scope_of(at: datetime, now: datetime) -> Scope:
    """Return hot for an age of up to 3 days, warm for up to 14, and cold beyond."""
    age = now - at
    return "hot" if age <= HOT_AGE else "warm" if age <= WARM_AGE else "cold"
