"""Lists of runs: of a user or of all, by what they are and where they are in the queue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from maas import queries
from maas.engine.states import QueueState, RunKind, Status
from maas.runs.submit import Attribute
from shared.db import Database

MAX_COLLECTED_MESSAGES = 20_000  # that a search collects for one word


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are listed; None means any. `since` and `until` bound `created_at`, the latter exclusively.

    `text`: every word of it, or its beginning, is in the query or in the answer. `attributes`: each of them is one of
    the run's. `queue`: where in the queue they are; trials are listed, too.
    """

    user_id: UUID | None = None
    status: Status | None = None
    kind: RunKind | None = None
    conversation_id: UUID | None = None
    assistant: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str | None = None
    error_code: str | None = None
    attributes: dict[str, Attribute] | None = None
    queue: QueueState | None = None


async def list_runs(
    db: Database, only: RunFilter, before: tuple[datetime, UUID] | None = None, limit: int = 50
) -> list[queries.ListRunsRow]:
    """Runs, newest first; `before` is created_at and id of the last run of the previous page."""
    at, last = before or (None, None)
    filters = (
        only.user_id,
        only.status,
        at,
        last,
        limit,
        only.kind,
        only.conversation_id,
        only.assistant,
        only.since,
        only.until,
    )
    others = (only.error_code, only.attributes)
    if only.queue is not None:
        return await db.filtered_rows(queries.list_queued_runs, *filters, *others, only.queue, only.text)
    if only.text is None:
        return await db.filtered_rows(queries.list_runs, *filters, *others)
    words = (only.text, MAX_COLLECTED_MESSAGES)
    return await db.filtered_rows(queries.search_runs, *filters, *words, *others)
