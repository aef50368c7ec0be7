"""Summaries of exchanges, written by the Archivist and the Compactor, and the messages that they were made of.

Compaction replaces old summaries by one of a higher level: exchanges by days, days by weeks, weeks by months.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any
from uuid import UUID

from maas import queries
from maas.memory.origins import Origin
from maas.memory.query import NO_FILTER, SearchFilter
from maas.memory.ranking import RankedMessage
from shared.db import Database
from shared.errors import MaasError


@dataclass(frozen=True, slots=True)
class Summary:
    """A valid summary, a row of `lsm_storage`; `score` (0 to 1) says how well it fits the query it was read for."""

    id: UUID
    period: str
    text: str
    tags: tuple[str, ...]
    raw_log_ids: tuple[UUID, ...]
    occurred_at: datetime
    score: float = 0.0

    @classmethod
    def from_row(
        cls, row: queries.RecordsRow | queries.RecordsAsOfRow | queries.WordlessRecordsRow, score: float = 0.0
    ) -> Summary:
        """Return the value of a row; `score` is 0 to 1."""
        return cls(
            row["id"],
            row["period"],
            row["summary"],
            tuple(row["tags"]),
            tuple(row["raw_log_ids"]),
            row["occurred_at"],
            score,
        )


async def summaries_of_messages(
    db: Database, user_id: UUID, messages: Sequence[RankedMessage], limit: int = 20, as_of: datetime | None = None
) -> list[Summary]:
    """Return the summaries that cover the messages, best first, then the newest ones with score 0; at most `limit`.

    A merged summary is represented by the one that it was merged into, and with `as_of` by that of its exchange.
    """
    scores: dict[UUID, float] = {}
    for one in messages:
        if (summary_id := one.record_id) is not None:
            scores.setdefault(summary_id, one.coverage)
    remaining = max(limit - len(scores), 0)
    if as_of is None:
        rows = await db.rows(queries.records, user_id, list(scores), remaining)
    else:
        rows = await db.rows(queries.records_as_of, user_id, list(scores), remaining, as_of)
    positions = {summary_id: position for position, summary_id in enumerate(scores)}
    ranked = []
    for row in rows:  # newest first
        best = min((one for one in row["wanted"] if one in positions), key=positions.__getitem__, default=None)
        position, score = (positions[best], scores[best]) if best is not None else (len(positions), 0.0)
        ranked.append((position, Summary.from_row(row, score)))
    ranked.sort(key=lambda pair: pair[0])
    return [summary for _, summary in ranked[:limit]]


def summary_of_best(messages: Sequence[RankedMessage], summaries: Sequence[Summary]) -> Summary | None:
    """Return the summary that covers the best of the messages which have one, if it is among these summaries."""
    best = next((one for one in messages if one.record_id is not None), None)
    if best is None:
        return None
    return next((replace(one, score=best.coverage) for one in summaries if best.id in one.raw_log_ids), None)


async def search_summaries_without_messages(
    db: Database, user_id: UUID, query: str, limit: int, filters: SearchFilter = NO_FILTER
) -> list[queries.WordlessRecordsRow]:
    """Return rows of matching summaries whose messages retention has removed, best first.

    A search by messages cannot return these. Of a summary that was merged the parts are found, which say more than the
    whole. `score` (0 to 1) is the share of the query's terms in the summary; a rare term counts for more.
    """
    _, _, since, until, tags = filters.query_args
    return await db.rows(queries.wordless_records, user_id, query, filters.as_of, since, until, tags, limit)


def without_parents(summaries: Sequence[Summary], parts: Sequence[Summary]) -> list[Summary]:
    """Return the summaries without those that say again, in fewer words, what one of these parts of them says."""
    known = {one.id for one in parts}
    logs = {log_id for one in parts for log_id in one.raw_log_ids}
    return [one for one in summaries if one.id in known or logs.isdisjoint(one.raw_log_ids)]


async def list_memories(
    db: Database,
    user_id: UUID,
    before: tuple[datetime, UUID] | None = None,
    limit: int = 50,
    level: int | None = None,
) -> list[queries.ListMemoriesRow]:
    """Return a page of the valid summaries of a user, or of all summaries of one level, newest first.

    `before` is the cursor: occurred_at and id of the last summary on the page before.
    """
    at, last = before or (None, None)
    return await db.rows(queries.list_memories, user_id, at, last, limit, level)


async def read_memory(db: Database, memory_id: UUID, user_id: UUID | None = None) -> queries.MemoryRow:
    """Return the summary, message or fact of this id, of this user if one is given. Raises MaasError('not_found')."""
    row = await db.row(queries.memory, memory_id)
    if row is None or user_id not in (None, row["user_id"]):
        raise MaasError("not_found", f"there is no memory {memory_id}")
    return row


async def read_totals(db: Database, user_id: UUID) -> queries.MemoryTotalsRow:
    """How many messages and summaries a user's memory has, since when, and when something was saved last."""
    [totals] = await db.rows(queries.memory_totals, user_id)
    return totals


async def read_days(db: Database, user_id: UUID, year: int) -> list[queries.MemoryDaysRow]:
    """The days of a year, in MAAS_TIMEZONE, on which something was said that a user's memory has, and how much."""
    return await db.rows(queries.memory_days, user_id, year)


async def read_history(db: Database, memory: queries.MemoryRow) -> list[queries.HistoryRow]:
    """Return the messages of a memory in order of time, then every summary that was made of them."""
    return await db.rows(queries.history, memory["user_id"], memory["raw_log_ids"])


async def read_sources(db: Database, memory: queries.MemoryRow) -> list[queries.SourcesRow]:
    """Return the messages that a memory was made of, in order of time."""
    return await db.rows(queries.sources, memory["user_id"], memory["raw_log_ids"])


@dataclass(frozen=True, slots=True)
class SummaryGroup:
    """The open summaries of one time bucket; `day` is any day in it, `level` (1 to 3) that of the new summary."""

    user_id: UUID
    level: int
    day: date


@dataclass(frozen=True, slots=True)
class ChildSummary:
    """A summary to be merged; `since` and `until` are its first and last day, `messages` the number it covers."""

    id: UUID
    level: int
    since: date
    until: date
    text: str
    is_degraded: bool
    origins: tuple[Origin, ...] = ()
    messages: int = 1


async def due_groups(
    db: Database, as_of: datetime | None = None, user_id: UUID | None = None, limit: int = 50
) -> list[SummaryGroup]:
    """Return the groups due at a moment (now without one), at most `limit` per level; lower levels and older first."""
    rows = await db.rows(queries.due_groups, as_of, user_id, limit)
    return [SummaryGroup(row["user_id"], row["level"], row["day"]) for row in rows]


async def count_due(db: Database, as_of: datetime | None = None, user_id: UUID | None = None) -> int:
    """Count the groups that are due, without those that become due when these are merged."""
    return int(await db.value(queries.count_due, as_of, user_id))


async def read_children(db: Database, group: SummaryGroup) -> list[ChildSummary]:
    """Return the summaries of a group, oldest first."""
    rows = await db.rows(queries.group_children, group.user_id, group.level, group.day)
    return [
        ChildSummary(
            row["id"],
            row["level"],
            row["time_bucket_start"],
            row["time_bucket_end"],
            row["summary"],
            row["is_degraded"],
            Origin.from_json(row["origins"]),
            row["messages"],
        )
        for row in rows
    ]


async def compact(
    db: Database,
    group: SummaryGroup,
    children: Sequence[ChildSummary],
    summary: str,
    is_degraded: bool,
    cost: dict[str, Any],
) -> UUID | None:
    """Replace the children by a new summary and return its id.

    Returns None and changes nothing when the group no longer consists of exactly these children.
    """
    ids = [child.id for child in children]
    summary_id: UUID | None = await db.value(
        queries.compact, group.user_id, group.level, group.day, ids, summary, is_degraded, cost
    )
    return summary_id
