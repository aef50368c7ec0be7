"""Levels: records that have grown old are merged, exchanges into days, days into weeks, weeks into months."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from shared.db import Database


@dataclass(frozen=True, slots=True)
class Group:
    """The open records of one bucket, by a day in it; `level` (1 to 3) is that of the record to come."""

    user_id: UUID
    level: int
    day: date


@dataclass(frozen=True, slots=True)
class Child:
    """A record that is to be merged."""

    id: UUID
    level: int
    since: date
    until: date
    summary: str
    is_degraded: bool


async def due_groups(
    db: Database, as_of: datetime | None = None, user_id: UUID | None = None, limit: int = 50
) -> list[Group]:
    """What is due at a moment, at most `limit` a level: lower levels first, older buckets first."""
    rows = await db.rows("due_groups", as_of, user_id, limit)
    return [Group(row["user_id"], row["level"], row["day"]) for row in rows]


async def count_due(db: Database, as_of: datetime | None = None, user_id: UUID | None = None) -> int:
    """How many groups are due; those that their merging makes due are not among them."""
    return int(await db.value("count_due", as_of, user_id))


async def read_children(db: Database, group: Group) -> list[Child]:
    """The records of a group, oldest first."""
    rows = await db.rows("group_children", group.user_id, group.level, group.day)
    return [
        Child(row["id"], row["level"], row["time_bucket_start"], row["time_bucket_end"], row["summary"],
              row["is_degraded"])
        for row in rows
    ]  # fmt: skip


async def compact(
    db: Database, group: Group, children: Sequence[Child], summary: str, is_degraded: bool, cost: dict[str, Any]
) -> UUID | None:
    """Put a new record in the place of the children; None when others came or went meanwhile: nothing is changed."""
    ids = [child.id for child in children]
    found: UUID | None = await db.value(
        "compact", group.user_id, group.level, group.day, ids, summary, is_degraded, cost
    )
    return found
