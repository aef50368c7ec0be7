"""Compaction: replaces old summaries by one of a higher level, exchanges by days, days by weeks, weeks by months."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from shared.db import Database


@dataclass(frozen=True, slots=True)
class Group:
    """The open summaries of one time bucket; `day` is any day in it, `level` (1 to 3) that of the new summary."""

    user_id: UUID
    level: int
    day: date


@dataclass(frozen=True, slots=True)
class Child:
    """A summary to be merged; `since` and `until` are its first and last day."""

    id: UUID
    level: int
    since: date
    until: date
    text: str
    is_degraded: bool


async def due_groups(
    db: Database, as_of: datetime | None = None, user_id: UUID | None = None, limit: int = 50
) -> list[Group]:
    """Return the groups due at a moment (now without one), at most `limit` per level; lower levels and older first."""
    rows = await db.rows("due_groups", as_of, user_id, limit)
    return [Group(row["user_id"], row["level"], row["day"]) for row in rows]


async def count_due(db: Database, as_of: datetime | None = None, user_id: UUID | None = None) -> int:
    """Count the groups that are due, without those that become due when these are merged."""
    return int(await db.value("count_due", as_of, user_id))


async def read_children(db: Database, group: Group) -> list[Child]:
    """Return the summaries of a group, oldest first."""
    rows = await db.rows("group_children", group.user_id, group.level, group.day)
    return [
        Child(row["id"], row["level"], row["time_bucket_start"], row["time_bucket_end"], row["summary"],
              row["is_degraded"])
        for row in rows
    ]  # fmt: skip


async def compact(
    db: Database, group: Group, children: Sequence[Child], summary: str, is_degraded: bool, cost: dict[str, Any]
) -> UUID | None:
    """Replace the children by a new summary and return its id.

    Returns None and changes nothing when the group no longer consists of exactly these children.
    """
    ids = [child.id for child in children]
    summary_id: UUID | None = await db.value(
        "compact", group.user_id, group.level, group.day, ids, summary, is_degraded, cost
    )
    return summary_id
