"""Cancelling and retrying all runs that a filter matches: they are counted first, and changed in portions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from maas import queries
from maas.runs.lists import RunFilter
from shared.db import Database
from shared.errors import MaasError

Change = Literal["cancel", "retry"]
PORTION_RUNS = 500  # that are changed in one call: each is an event and a line of the audit


@dataclass(frozen=True, slots=True)
class BulkResult:
    """How many runs matched, and how many of them are cancelled or tried again by the call."""

    matched: int
    changed: int


async def change_runs(db: Database, change: Change, only: RunFilter, expected: int | None, actor: str) -> BulkResult:
    """Count the runs that match, and change PORTION_RUNS of them unless `expected` is None; call it again for more.

    Cancelled are those that are not finished, the newest first, so that none of their user starts meanwhile; tried
    again are those that have failed, the oldest first. Of `only` the text and the conversation are not used. Raises
    MaasError('conflict') where more match than `expected`.
    """
    ids = await _matching(db, change, only)
    if expected is None:
        return BulkResult(len(ids), 0)
    if len(ids) > expected:
        raise MaasError("conflict", f"{len(ids)} runs match by now, not {expected}; look at them and send that number")
    query = queries.cancel_runs if change == "cancel" else queries.retry_runs
    changed = await db.value(query, ids[:PORTION_RUNS], actor) if ids else 0
    return BulkResult(len(ids), changed or 0)


async def _matching(db: Database, change: Change, only: RunFilter) -> Sequence[UUID]:
    common = (only.kind, only.assistant, only.since, only.until, only.attributes)
    if change == "cancel":
        return [row["id"] for row in await db.rows(queries.runs_to_cancel, only.user_id, only.status, *common)]
    return [row["id"] for row in await db.rows(queries.runs_to_retry, only.user_id, only.error_code, *common)]
