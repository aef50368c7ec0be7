"""How far a search reaches: what is known, since when, of which time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal

Scope = Literal["hot", "warm", "cold"]
HOT = timedelta(days=3)
WARM = timedelta(days=14)
EVERY_TURN = 2**63 - 1
END_OF_TIME = datetime(9999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Reach:
    """What a search may find.

    `before_seq` hides requests of that turn and later ones. `as_of` shows only what was known then. `since` (inclusive)
    and `until` (exclusive) bound when a turn was said; `tags` asks for turns whose record bears one of them. `scope`
    prefers turns of an age, counted from `as_of` or now, and hides none. `zone` is that of days, here and in lines.
    """

    before_seq: int = EVERY_TURN
    as_of: datetime | None = None
    since: datetime | None = None
    until: datetime | None = None
    tags: Sequence[str] | None = None
    scope: Scope | None = None
    zone: tzinfo = UTC

    @property
    def now(self) -> datetime:
        """The moment that relative dates and scopes count from."""
        return self.as_of or datetime.now(UTC)

    @property
    def bounds(self) -> tuple[int, datetime, datetime | None, datetime | None, list[str] | None]:
        """As the queries take it: turn, known at, from, to, tags."""
        return (
            self.before_seq,
            self.as_of or END_OF_TIME,
            self.since,
            self.until,
            list(self.tags) if self.tags else None,
        )

    def prefers(self, at: datetime) -> bool:
        """Whether a turn said then is of the preferred scope."""
        return self.scope is not None and scope_of(at, self.now) == self.scope


EVERYTHING = Reach()


def scope_of(at: datetime, now: datetime) -> Scope:
    """hot up to 3 days, warm up to 14, cold beyond."""
    age = now - at
    return "hot" if age <= HOT else "warm" if age <= WARM else "cold"
